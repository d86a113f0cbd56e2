"""Test vectors: `TestVector`, and a file a format with `read()` and `write()`."""

from aeskit.vectors.test_vector import TestVector

__all__ = ["TestVector"]
