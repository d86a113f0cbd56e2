"""Sums, differences and comparisons of elements."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from aeskit.machine.semantics import Array, Kind, family, signed, to_bytes, vector, words

SUM, COMPARE, NUMBERS = Kind.SUM, Kind.COMPARE, Kind.NUMBERS


# DEST[i] := SRC1[i] + SRC2[i], no carry between elements
@family("padd{}", "bwdq", kind=SUM)
def padd(size: int) -> Callable[[Array, Array], Array]:
    """The sum."""
    return lambda a, b: to_bytes(words(a, size) + words(b, size))


# DEST[i] := SRC1[i] − SRC2[i]
@family("psub{}", "bwdq", kind=SUM)
def psub(size: int) -> Callable[[Array, Array], Array]:
    """The difference."""
    return lambda a, b: to_bytes(words(a, size) - words(b, size))


# DEST[i] := all ones if SRC1[i] = SRC2[i], else 0; to k: one bit
@family("pcmpeq{}", "bwdq", kind=COMPARE)
def pcmpeq(size: int) -> Callable[[Array, Array], Array]:
    """Equal."""
    return lambda a, b: to_bytes(-(words(a, size) == words(b, size)).astype(f"<i{size}"))


# DEST[i] := all ones if SRC1[i] > SRC2[i] signed, else 0
@family("pcmpgt{}", "bwdq", kind=COMPARE)
def pcmpgt(size: int) -> Callable[[Array, Array], Array]:
    """Greater, signed."""
    return lambda a, b: to_bytes(-(signed(a, size) > signed(b, size)).astype(f"<i{size}"))


@family("pcmpeq{} to mask", "bwdq", kind=COMPARE, to_mask=True)
def pcmpeq_mask(size: int) -> Callable[[Array, Array], Array]:
    """Equal."""
    return lambda a, b: (words(a, size) == words(b, size)).reshape(-1)


@family("pcmpgt{} to mask", "bwdq", kind=COMPARE, to_mask=True)
def pcmpgt_mask(size: int) -> Callable[[Array, Array], Array]:
    """Greater, signed."""
    return lambda a, b: (signed(a, size) > signed(b, size)).reshape(-1)


def compare(x: Array, y: Array, predicate: int) -> Array:
    """Predicate 0 to 7: =, <, ≤, false, ≠, ≥, >, true (SDM, VPCMP)."""
    if predicate & 3 == 3:
        return np.full(x.shape, predicate == 7)
    value = (x == y, x < y, x <= y)[predicate & 3]
    return ~value if predicate & 4 else value


# k[i] := SRC1[i] OP SRC2[i], OP from imm8[2:0]
@family("pcmpu{}", "bwdq", kind=COMPARE, to_mask=True)
def pcmpu(size: int) -> Callable[[Array, Array, int], Array]:
    """Unsigned."""
    return lambda a, b, imm: compare(words(a, size), words(b, size), imm & 7).reshape(-1)


@family("pcmp{}", "bwdq", kind=COMPARE, to_mask=True)
def pcmp(size: int) -> Callable[[Array, Array, int], Array]:
    """Signed."""
    return lambda a, b, imm: compare(signed(a, size), signed(b, size), imm & 7).reshape(-1)


def _pick(function: np.ufunc, is_signed: bool) -> Callable[[int], Callable[[Array, Array], Array]]:
    view = signed if is_signed else words
    return lambda size: lambda a, b: to_bytes(function(view(a, size), view(b, size)))


# DEST[i] := the lesser, the greater of SRC1[i] and SRC2[i]
family("pminu{}", "bwdq", kind=NUMBERS)(_pick(np.minimum, False))
family("pmaxu{}", "bwdq", kind=NUMBERS)(_pick(np.maximum, False))
family("pmins{}", "bwdq", kind=NUMBERS)(_pick(np.minimum, True))
family("pmaxs{}", "bwdq", kind=NUMBERS)(_pick(np.maximum, True))


# DEST[i] := low half of SRC1[i] × SRC2[i]
@family("pmull{}", "wdq", kind=NUMBERS)
def pmull(size: int) -> Callable[[Array, Array], Array]:
    """The product's low half."""
    return lambda a, b: to_bytes(words(a, size) * words(b, size))


# DEST[i] := SRC1[low doubleword of i] × SRC2[the same], unsigned quadwords
@vector("pmuludq:8", kind=NUMBERS)
def pmuludq(a: Array, b: Array) -> Array:
    """The product of the even doublewords."""
    return to_bytes((words(a, 8) & 0xFFFFFFFF) * (words(b, 8) & 0xFFFFFFFF))


# DEST[i] := |SRC[i]|
@family("pabs{}", "bwdq", kind=NUMBERS, arity=1)
def pabs(size: int) -> Callable[[Array], Array]:
    """The magnitude."""
    return lambda a: to_bytes(np.abs(signed(a, size)))


# DEST[i] := SRC1[i] + SRC2[i], SRC1[i] − SRC2[i], held at the type's bounds
def _saturate(is_signed: bool, sign: int) -> Callable[[int], Callable[[Array, Array], Array]]:
    view, letter = (signed, "i") if is_signed else (words, "u")

    def make(size: int) -> Callable[[Array, Array], Array]:
        bounds = np.iinfo(f"<{letter}{size}")

        def body(a: Array, b: Array) -> Array:
            exact = view(a, size).astype(np.int64) + sign * view(b, size).astype(np.int64)
            return to_bytes(np.clip(exact, bounds.min, bounds.max).astype(f"<{letter}{size}"))

        return body

    return make


family("paddus{}", "bw", kind=NUMBERS)(_saturate(False, 1))
family("psubus{}", "bw", kind=NUMBERS)(_saturate(False, -1))
family("padds{}", "bw", kind=NUMBERS)(_saturate(True, 1))
family("psubs{}", "bw", kind=NUMBERS)(_saturate(True, -1))
