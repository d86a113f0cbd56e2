"""Shifts and rotations of elements: linear for every constant count."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from aeskit.machine.semantics import TABLE, Array, Kind, family, signed, to_bytes, vector, words

LINEAR = Kind.LINEAR


def _count(control: Array | int) -> int:
    """An immediate, or the low quadword of a register."""
    return control if isinstance(control, int) else int(words(control.reshape(-1)[:8], 8)[0])


def _left(x: Array, count: Array, bits: int) -> Array:
    return np.where(count < bits, x << np.minimum(count, bits - 1), 0).astype(x.dtype)


def _right(x: Array, count: Array, bits: int) -> Array:
    return np.where(count < bits, x >> np.minimum(count, bits - 1), 0).astype(x.dtype)


def _one(count: Array | int, like: Array) -> Array:
    return np.asarray(min(_count(count), 255)).astype(like.dtype)


# COUNT > element bits − 1: 0; ELSE DEST[i] := SRC1[i] << COUNT
@family("psll{}", "wdq", kind=LINEAR, control=(1,), scattered=True)
def psll(size: int) -> Callable[[Array, Array | int], Array]:
    """Left, all by one count."""
    return lambda a, n: to_bytes(_left(words(a, size), _one(n, words(a, size)), 8 * size))


# COUNT > element bits − 1: 0; ELSE DEST[i] := SRC1[i] >> COUNT
@family("psrl{}", "wdq", kind=LINEAR, control=(1,), scattered=True)
def psrl(size: int) -> Callable[[Array, Array | int], Array]:
    """Right, zeros in."""
    return lambda a, n: to_bytes(_right(words(a, size), _one(n, words(a, size)), 8 * size))


# COUNT > element bits − 1: COUNT := element bits − 1; DEST[i] := SignExtend(SRC1[i] >> COUNT)
@family("psra{}", "wdq", kind=LINEAR, control=(1,), scattered=True)
def psra(size: int) -> Callable[[Array, Array | int], Array]:
    """Right, the sign in."""
    return lambda a, n: to_bytes(signed(a, size) >> min(_count(n), 8 * size - 1))


# DEST[i] := SRC1[i] << SRC2[i]; 0 where SRC2[i] exceeds element bits − 1
@family("psllv{}", "wdq", kind=LINEAR, control=(1,))
def psllv(size: int) -> Callable[[Array, Array], Array]:
    """Left, each by its own."""
    return lambda a, n: to_bytes(_left(words(a, size), words(n, size), 8 * size))


@family("psrlv{}", "wdq", kind=LINEAR, control=(1,))
def psrlv(size: int) -> Callable[[Array, Array], Array]:
    """Right, each by its own."""
    return lambda a, n: to_bytes(_right(words(a, size), words(n, size), 8 * size))


@family("psrav{}", "wdq", kind=LINEAR, control=(1,))
def psrav(size: int) -> Callable[[Array, Array], Array]:
    """Right, the sign in, each by its own."""
    return lambda a, n: to_bytes(
        signed(a, size) >> np.minimum(words(n, size), 8 * size - 1).astype(f"<i{size}")
    )


def _rotate(x: Array, count: Array, size: int) -> Array:
    bits = 8 * size
    left = (count % bits).astype(x.dtype)
    right = ((bits - left) % bits).astype(x.dtype)
    return to_bytes(np.where(left == 0, x, x << left | x >> right).astype(x.dtype))


# DEST[i] := SRC[i] rotated by COUNT modulo element bits
@family("prol{}", "dq", kind=LINEAR, arity=1)
def prol(size: int) -> Callable[[Array, int], Array]:
    """Left."""
    return lambda a, n: _rotate(words(a, size), np.asarray(n), size)


@family("pror{}", "dq", kind=LINEAR, arity=1)
def pror(size: int) -> Callable[[Array, int], Array]:
    """Right."""
    return lambda a, n: _rotate(words(a, size), np.asarray(-n), size)


@family("prolv{}", "dq", kind=LINEAR, control=(1,))
def prolv(size: int) -> Callable[[Array, Array], Array]:
    """Left, each by its own."""
    return lambda a, n: _rotate(words(a, size), words(n, size), size)


@family("prorv{}", "dq", kind=LINEAR, control=(1,))
def prorv(size: int) -> Callable[[Array, Array], Array]:
    """Right, each by its own."""
    return lambda a, n: _rotate(words(a, size), -signed(n, size) % (8 * size), size)


def _double_left(a: Array, b: Array, count: Array, size: int) -> Array:
    x, y, bits = words(a, size), words(b, size), 8 * size
    n = (count % bits).astype(x.dtype)
    back = ((bits - n) % bits).astype(x.dtype)
    return to_bytes(np.where(n == 0, x, x << n | y >> back).astype(x.dtype))


# DEST[i] := upper half of (SRC1[i]:SRC2[i]) << COUNT
@family("pshld{}", "wdq", kind=LINEAR)
def pshld(size: int) -> Callable[[Array, Array, int], Array]:
    """Left, the second's high bits in."""
    return lambda a, b, n: _double_left(a, b, np.asarray(n), size)


# DEST[i] := lower half of (SRC2[i]:SRC1[i]) >> COUNT
@family("pshrd{}", "wdq", kind=LINEAR)
def pshrd(size: int) -> Callable[[Array, Array, int], Array]:
    """Right, the second's low bits in."""

    def body(a: Array, b: Array, n: int) -> Array:
        n %= 8 * size
        return a if n == 0 else _double_left(b, a, np.asarray(8 * size - n), size)

    return body


@family("pshldv{}", "wdq", kind=LINEAR, arity=3, reads_destination=True, control=(2,))
def pshldv(size: int) -> Callable[[Array, Array, Array], Array]:
    """Left, each by its own."""
    return lambda a, b, n: _double_left(a, b, words(n, size), size)


# DEST[i] := top bit of SRC[i], into a general register
def _signs(size: int) -> Callable[[Array], Array]:
    def body(a: Array) -> Array:
        flat = a.reshape(*a.shape[:-2], -1) if a.ndim > 1 else a
        packed = np.packbits(flat[..., size - 1 :: size] >> 7, axis=-1, bitorder="little")
        return np.concatenate((packed, np.zeros((*packed.shape[:-1], 8 - packed.shape[-1]), np.uint8)), -1)

    return body


for _name, _size in (("pmovmskb", 1), ("movmskps", 4), ("movmskpd", 8)):
    vector(_name, kind=LINEAR, arity=1, whole=True)(_signs(_size))

# The same counts as an immediate
for _name in ("psll", "psrl", "psra"):
    for _letter in "wdq":
        _row = TABLE[_name + _letter]
        vector(f"{_name}{_letter} by immediate:{_row.element}", kind=LINEAR, arity=1)(_row.body)
