"""Bitwise logic and tests of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from aeskit.machine.semantics import Array, Kind, family, vector

BOOLEAN = Kind.BOOLEAN


# DEST := SRC1 AND SRC2
@vector("pand", "pandd:4", "pandq:8", "andps:4", "andpd:8", kind=BOOLEAN)
def pand(a: Any, b: Any) -> Any:
    """Both."""
    return a & b


# DEST := SRC1 OR SRC2
@vector("por", "pord:4", "porq:8", "orps:4", "orpd:8", kind=BOOLEAN)
def por(a: Any, b: Any) -> Any:
    """Either."""
    return a | b


# DEST := SRC1 XOR SRC2
@vector("pxor", "pxord:4", "pxorq:8", "xorps:4", "xorpd:8", kind=BOOLEAN)
def pxor(a: Any, b: Any) -> Any:
    """One of them."""
    return a ^ b


# DEST := (NOT SRC1) AND SRC2
@vector("pandn", "pandnd:4", "pandnq:8", "andnps:4", "andnpd:8", kind=BOOLEAN)
def pandn(a: Any, b: Any) -> Any:
    """The second where the first is not."""
    return ~a & b


def monomials(table: int) -> list[int]:
    """The algebraic normal form of a truth table: which products of three inputs are in the sum."""
    values = [table >> index & 1 for index in range(8)]
    for bit in (1, 2, 4):
        values = [v ^ (values[i ^ bit] if i & bit else 0) for i, v in enumerate(values)]
    return [index for index in range(8) if values[index]]


# DEST[j] := imm8[DEST[j] × 4 + SRC1[j] × 2 + SRC2[j]], bit by bit
@vector("pternlogd:4", "pternlogq:8", kind=BOOLEAN, arity=3, reads_destination=True)
def pternlog(a: Any, b: Any, c: Any, imm: int) -> Any:
    """Any function of three bits, as a sum of products."""
    out = a ^ a
    for product in monomials(imm):
        factors = [x for x, bit in ((a, 4), (b, 2), (c, 1)) if product & bit]
        term = factors[0] if factors else ~(a ^ a)
        for factor in factors[1:]:
            term = term & factor
        out = out ^ term
    return out


# ZF := (SRC1 AND SRC2) = 0; CF := (NOT SRC1 AND SRC2) = 0
@vector("ptest", kind=BOOLEAN, arity=2, to_flags=True)
def ptest(a: Any, b: Any) -> tuple[Any, Any]:
    """The two values whose being zero the flags tell."""
    return a & b, ~a & b


# k[i] := (SRC1[i] AND SRC2[i]) ≠ 0, or = 0
@family("ptestm{}", "bwdq", kind=Kind.COMPARE, to_mask=True)
def ptestm(size: int) -> Callable[[Array, Array], Array]:
    """Elements with a common bit."""
    return lambda a, b: np.any((a & b).reshape(-1, size), -1)


@family("ptestnm{}", "bwdq", kind=Kind.COMPARE, to_mask=True)
def ptestnm(size: int) -> Callable[[Array, Array], Array]:
    """Elements without one."""
    return lambda a, b: ~np.any((a & b).reshape(-1, size), -1)
