"""What the models, `cryptography` and the native code answer to test vectors; vectors made for the edges."""
