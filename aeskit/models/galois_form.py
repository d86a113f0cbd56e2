"""The galois form, the judge: every product is one of galois, in GF(2^8) or in GF(2^128).

Importing this module imports galois (0.5 to 2 s) and makes both fields (about 1 s).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import galois
import numpy as np

from aeskit.bits import BLOCK, BitOrder, from_polynomial, to_polynomial
from aeskit.models import aes, gf128
from aeskit.models.aes import Bytes
from aeskit.models.numpy_form import Numpy
from aeskit.trace import Note

GF8: Any = galois.GF(2**8, irreducible_poly="x^8 + x^4 + x^3 + x + 1")
"""The field of FIPS 197, 4."""
GF128: Any = galois.GF(
    2**128, irreducible_poly="x^128 + x^7 + x^2 + x + 1", primitive_element="x", verify=False
)
"""The field of IEEE 1619-2018, 5.2 and of SP 800-38D, 6.3."""

MIX = GF8([0x02, 0x03, 0x01, 0x01])
"""MIXCOLUMNS: what s_r, s_r+1, s_r+2 and s_r+3 are multiplied with (FIPS 197, equation 5.8)."""
INV_MIX = GF8([0x0E, 0x0B, 0x0D, 0x09])
"""INVMIXCOLUMNS, as `MIX` (FIPS 197, equation 5.15)."""


class Galois(Numpy):
    """Arrays whose field arithmetic is done by galois."""

    def expand(self, key: bytes, note: Note | None = None, name: str = "K") -> list[Bytes]:
        """With its own S-box."""
        return aes.key_expansion(self, self.string(key), note, name)

    def sub_bytes(self, string: Bytes) -> Bytes:
        """The inverse in the field, then the affine transformation."""
        return _AFFINE[_inverse(string)]

    def inv_sub_bytes(self, string: Bytes) -> Bytes:
        """The affine transformation undone, then the inverse in the field."""
        return _inverse(_INV_AFFINE[string])

    def mix_columns(self, string: Bytes) -> Bytes:
        """Sums of products in the field."""
        return _mix(MIX, string)

    def inv_mix_columns(self, string: Bytes) -> Bytes:
        """Sums of products in the field."""
        return _mix(INV_MIX, string)

    def mul_alpha(self, block: Bytes) -> Bytes:
        """The product with the field's element x."""
        return self.products(block, [2], BitOrder.XTS)

    def powers(self, block: Bytes, count: int) -> Bytes:
        """The product with each power of x."""
        return self.products(block, [int(GF128(2) ** j) for j in range(count)], BitOrder.XTS)

    def products(self, block: Bytes, factors: Sequence[int], order: BitOrder) -> Bytes:
        """Products of the field."""
        rows = [multiply_blocks(row, factors, order) for row in block.reshape(-1, BLOCK)]
        return np.array(rows).reshape(*block.shape[:-1], BLOCK * len(factors))


def multiply(p: int, q: int) -> int:
    """The product of two polynomials in GF(2^128)."""
    return int(GF128(p) * GF128(q))


def multiply_blocks(block: Bytes, factors: Sequence[int], order: BitOrder) -> Bytes:
    """One block of 16 bytes times each polynomial, as one array of n · 16 bytes."""
    p = to_polynomial(block.tobytes(), order)
    return np.frombuffer(b"".join(from_polynomial(multiply(p, q), order) for q in factors), np.uint8)


def inverse(byte: int) -> int:
    """The inverse in GF(2^8); 0 stays 0 (FIPS 197, 5.1.1, equation 5.2)."""
    return int(GF8(1) / GF8(byte)) if byte else 0


_AFFINE = np.array([aes.affine(byte) for byte in range(256)], np.uint8)
_INV_AFFINE = np.argsort(_AFFINE).astype(np.uint8)


def _inverse(string: Bytes) -> Bytes:
    invertible = GF8(np.where(string == 0, 1, string).astype(np.uint8))
    return np.where(string == 0, 0, np.reciprocal(invertible).view(np.ndarray)).astype(np.uint8)


def _mix(factors: Any, string: Bytes) -> Bytes:
    # Products one by one: the matrix product of galois starts threads, 20 ms for one column.
    columns = GF8(string.reshape(*string.shape[:-1], -1, 4))
    total = GF8.Zeros(columns.shape)
    for k, factor in enumerate(factors):
        total += factor * np.roll(columns, -k, axis=-1)
    return total.view(np.ndarray).astype(np.uint8).reshape(string.shape)


assert int(GF128.irreducible_poly) == gf128.POLYNOMIAL
