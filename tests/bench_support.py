"""Made-up figures of a benchmark."""

from aeskit.bench.limit import Limit
from aeskit.bench.table import Row

XMM, YMM = Limit("xmm", 16, 4.0, 2.0), Limit("ymm", 32, 4.0, 2.0)
LIMIT = 64 / 14
"""Bytes a cycle of AES-256."""


def row(operation: str, size: int, cycles: float, name: str = "vaes_avx2", key_bits: int = 256) -> Row:
    rate = size / cycles
    ours = name.startswith(("aesni", "vaes"))
    return Row(operation, name, key_bits, size, cycles, 1.0, rate, 100 * rate / LIMIT, False, ours, None)
