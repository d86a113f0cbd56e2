"""aeskit: verify and explore SIMD implementations of AES modes, lane by lane.

Importing it loads neither galois nor JupyterLab; each room of the package is imported when it is asked for.
"""

__version__ = "0.1.0"
