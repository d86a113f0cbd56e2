"""Systems of equations over GF(2), bits in integers."""

from __future__ import annotations

from collections.abc import Sequence


def solve(columns: Sequence[int], wanted: int) -> tuple[int, int] | None:
    """One x for which the columns[i] of the bits i of x add up to `wanted`, and the bits that may be others.

    None where there is no such x. Gaussian elimination; the bits that may be others are those of the sums of
    columns that are zero.
    """
    basis: dict[int, tuple[int, int]] = {}
    loose = 0
    for number, column in enumerate(columns):
        vector, made = _reduced(basis, column, 1 << number)
        if vector:
            basis[vector.bit_length()] = (vector, made)
        else:
            loose |= made
    left, found = _reduced(basis, wanted, 0)
    return None if left else (found, loose)


def _reduced(basis: dict[int, tuple[int, int]], vector: int, made: int) -> tuple[int, int]:
    """What is left of a vector whose highest bit is no longer a pivot, and the columns that were added."""
    while vector.bit_length() in basis:
        other, how = basis[vector.bit_length()]
        vector, made = vector ^ other, made ^ how
    return vector, made
