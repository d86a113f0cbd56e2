"""The executable standards, one file each; galois is loaded only when its form is asked for."""
