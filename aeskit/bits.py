"""Bytes, integers and polynomials: the only place that knows an endianness.

A block is 16 bytes. A polynomial over GF(2) is an int whose bit i is the coefficient of x^i.
"""

from __future__ import annotations

from enum import Enum

BLOCK = 16
"""Bytes of an AES block (FIPS 197, 3.1) and of a lane."""

_REVERSED = bytes(int(f"{value:08b}"[::-1], 2) for value in range(256))


class BitOrder(Enum):
    """How a 16-byte block spells a polynomial of GF(2^128)."""

    XTS = "xts"
    """Byte 0 holds x^0 to x^7, its low bit x^0 (IEEE 1619-2018, 5.2)."""
    GHASH = "ghash"
    """Byte 0 holds x^0 to x^7, its high bit x^0 (SP 800-38D, 6.3)."""
    LRW = "lrw"
    """Byte 15 holds x^0 to x^7, its low bit x^0: a big-endian integer (IEEE P1619 draft 2004)."""


def from_le(data: bytes) -> int:
    """The unsigned integer whose least significant byte is data[0]."""
    return int.from_bytes(data, "little")


def to_le(value: int, size: int) -> bytes:
    """`value` as `size` bytes, least significant first; OverflowError if it does not fit."""
    return value.to_bytes(size, "little")


def from_be(data: bytes) -> int:
    """The unsigned integer whose most significant byte is data[0]."""
    return int.from_bytes(data, "big")


def to_be(value: int, size: int) -> bytes:
    """`value` as `size` bytes, most significant first; OverflowError if it does not fit."""
    return value.to_bytes(size, "big")


def reverse_bits(data: bytes) -> bytes:
    """Each byte with its bits reversed, the bytes where they were."""
    return data.translate(_REVERSED)


def to_polynomial(block: bytes, order: BitOrder) -> int:
    """The polynomial that a 16-byte block spells in `order`; ValueError at another length."""
    if len(block) != BLOCK:
        raise ValueError(f"block must be 16 bytes, not {len(block)}")
    if order is BitOrder.LRW:
        return from_be(block)
    return from_le(reverse_bits(block) if order is BitOrder.GHASH else block)


def from_polynomial(polynomial: int, order: BitOrder) -> bytes:
    """The 16-byte block that spells a polynomial of degree below 128 in `order`."""
    if polynomial < 0:
        raise ValueError(f"polynomial must not be negative: {polynomial}")
    if polynomial >> 128:
        raise ValueError(f"polynomial must have a degree below 128, not {polynomial.bit_length() - 1}")
    if order is BitOrder.LRW:
        return to_be(polynomial, BLOCK)
    block = to_le(polynomial, BLOCK)
    return reverse_bits(block) if order is BitOrder.GHASH else block


def xor(a: bytes, b: bytes) -> bytes:
    """The bytewise exclusive or of two byte strings of one length; ValueError if they differ."""
    if len(a) != len(b):
        raise ValueError(f"both sides of an exclusive or must have one length, not {len(a)} and {len(b)}")
    return (from_le(a) ^ from_le(b)).to_bytes(len(a), "little")


def format_polynomial(polynomial: int, variable: str = "x") -> str:
    """A polynomial as people write it: ``x^7 + x^2 + x + 1``; ``0`` for none."""
    powers = [degree for degree in reversed(range(polynomial.bit_length())) if polynomial >> degree & 1]
    terms = {0: "1", 1: variable}
    return " + ".join(terms.get(degree, f"{variable}^{degree}") for degree in powers) or "0"
