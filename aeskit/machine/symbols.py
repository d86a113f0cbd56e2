"""Arrays of ids with the operators of Boolean bodies."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from aeskit.machine.gf2 import CONSTANTS, Expressions
from aeskit.machine.indices import product
from aeskit.machine.semantics import Array


class Symbols:
    """An array of ids with & | ^ ~, for bodies of kind BOOLEAN; `ValueError` for a product of unknowns."""

    def __init__(self, ids: Array, expressions: Expressions) -> None:
        """Wrap `ids`."""
        self.ids, self.expressions = ids, expressions

    def _pairs(self, other: Symbols, function: Callable[[int, int], int | None]) -> Symbols:
        a, b = np.broadcast_arrays(self.ids, other.ids)
        out = [function(x, y) for x, y in zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)]
        if None in out:
            raise ValueError("the product of two unknown bits")
        return Symbols(np.array(out, np.int64).reshape(a.shape), self.expressions)

    def __xor__(self, other: Symbols) -> Symbols:
        """The sum."""
        return Symbols(xor_arrays(self.expressions, self.ids, other.ids), self.expressions)

    def __and__(self, other: Symbols) -> Symbols:
        """The product."""
        return self._pairs(other, partial(product, self.expressions))

    def __or__(self, other: Symbols) -> Symbols:
        """a + b + ab."""
        return ~(~self & ~other)

    def __invert__(self) -> Symbols:
        """Each bit's complement."""
        return Symbols(self.ids ^ 0xFF, self.expressions)


def xor_arrays(expressions: Expressions, a: Array, b: Array) -> Array:
    """The sum of two arrays of ids."""
    out = a ^ b
    both = (a >= CONSTANTS) & (b >= CONSTANTS)
    if both.any():
        a, b = np.broadcast_arrays(a, b)
        out[both] = [expressions.xor(x, y) for x, y in zip(a[both].tolist(), b[both].tolist(), strict=True)]
    return out
