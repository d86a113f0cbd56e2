"""The plain form: strings are `bytes`, sums and MIXCOLUMNS are made on integers as long as the string."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from aeskit.bits import BLOCK, BitOrder, from_be, from_le, from_polynomial, to_be, to_le, to_polynomial, xor
from aeskit.models import aes, gf128
from aeskit.models.aes import Bytes
from aeskit.models.arithmetic import Arithmetic


class Plain(Arithmetic[bytes]):
    """Python's own bytes and integers."""

    run = 256

    def string(self, data: bytes) -> bytes:
        """Themselves."""
        return bytes(data)

    def value(self, string: bytes) -> bytes:
        """Themselves."""
        return string

    def length(self, string: bytes) -> int:
        """Their number."""
        return len(string)

    def part(self, string: bytes, start: int, stop: int) -> bytes:
        """A slice."""
        return string[start:stop]

    def join(self, *strings: bytes) -> bytes:
        """Joined bytes."""
        return b"".join(strings)

    def xor(self, left: bytes, right: bytes) -> bytes:
        """The sum as integers."""
        return xor(left, right)

    def sub_bytes(self, string: bytes) -> bytes:
        """By the table."""
        return string.translate(aes.SBOX)

    def inv_sub_bytes(self, string: bytes) -> bytes:
        """By the table."""
        return string.translate(aes.INV_SBOX)

    def linear(self, body: Callable[[Bytes], Bytes], string: bytes) -> bytes:
        """By the array body; those of AES and the field's are overridden below."""
        return body(np.frombuffer(string, np.uint8).reshape(-1, BLOCK)).tobytes()

    def shift_rows(self, string: bytes) -> bytes:
        """By slices: byte i of every block at once."""
        return _permute(string, aes.SHIFT_ROWS)

    def inv_shift_rows(self, string: bytes) -> bytes:
        """By slices: byte i of every block at once."""
        return _permute(string, aes.INV_SHIFT_ROWS)

    def mix_columns(self, string: bytes) -> bytes:
        """On one integer that holds every column."""
        s0, s1, s2, s3 = _rows_from(string)
        return to_le(_xtimes(s0 ^ s1, len(string)) ^ s1 ^ s2 ^ s3, len(string))

    def inv_mix_columns(self, string: bytes) -> bytes:
        """MIXCOLUMNS after {04}(s_r ⊕ s_r+2) was added to every s_r."""
        size = len(string)
        s0, _, s2, _ = _rows_from(string)
        return self.mix_columns(to_le(s0 ^ _xtimes(_xtimes(s0 ^ s2, size), size), size))

    def add_round_key(self, string: bytes, round_key: bytes) -> bytes:
        """One round key to every block."""
        return xor(string, round_key * (len(string) // BLOCK))

    def mul_alpha(self, block: bytes) -> bytes:
        """One doubling of the little-endian integer."""
        return to_le(gf128.double(from_le(block)), BLOCK)

    def counters(self, block: bytes, count: int) -> bytes:
        """Integers modulo 2^128."""
        first = from_be(block)
        return b"".join(to_be((first + j) % 2**128, BLOCK) for j in range(count))

    def products(self, block: bytes, factors: Sequence[int], order: BitOrder) -> bytes:
        """Products of integers."""
        p = to_polynomial(block, order)
        return b"".join(from_polynomial(gf128.multiply(p, factor), order) for factor in factors)


def _permute(string: bytes, places: Sequence[int]) -> bytes:
    moved = bytearray(len(string))
    for i, place in enumerate(places):
        moved[i::BLOCK] = string[place::BLOCK]
    return bytes(moved)


def _rows_from(string: bytes) -> list[int]:
    """The columns as one integer, each rotated so that byte r of result k is s_(r+k mod 4)."""
    s = from_le(string)
    return [s] + [
        (s >> 8 * k & _repeat(0xFFFFFFFF >> 8 * k, len(string)))
        | (s & _repeat((1 << 8 * k) - 1, len(string))) << (32 - 8 * k)
        for k in (1, 2, 3)
    ]


def _xtimes(s: int, size: int) -> int:
    """XTIMES on each of `size` bytes of an integer (FIPS 197, 4.2)."""
    return (s & _repeat(0x7F7F7F7F, size)) << 1 ^ (s >> 7 & _repeat(0x01010101, size)) * 0x1B


@lru_cache(maxsize=256)
def _repeat(pattern: int, size: int) -> int:
    """A 32-bit pattern in every column of `size` bytes."""
    return from_le(to_le(pattern, 4) * (size // 4))
