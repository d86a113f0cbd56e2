"""Public bits that choose an entry of a constant table, kept unknown: functions of few bits over GF(2).

A counter's low bits as an index into a table would make a case of every value. Kept unknown, they are
*coordinates*: bits of an atom ("index", input, byte, mask) that numbers the values of the bits of `mask`. Any
function of them has one form as a sum of products of coordinates, its algebraic normal form, so two functions
are equal exactly when their forms are. A byte that a table chooses may select between two other bytes:
that is the product of one such bit and a byte, an atom ("chosen", bit, byte).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aeskit.machine.gf2 import CONSTANTS, Expressions, apply, keep
from aeskit.machine.semantics import Array

MOST = 8
"""Coordinates of one function at most: it is held as its value for each of their values."""

Coordinate = tuple[int, int]
"""(atom, bit)"""
Coordinates = tuple[Coordinate, ...]
"""In rising order; value number i of them has coordinate j at bit j."""
OF_INDICES = frozenset({"index", "and"})


def kept(expressions: Expressions, name: str, index: int, mask: int, low: int, high: int) -> int:
    """The bits `mask` of byte `index` of an input, which have one of their values number `low` to `high`.

    What is below or above counts as the nearest of these: so every case is a function of all values.
    """
    values = [value for value in range(256) if value & ~mask == 0]
    atom = expressions.terms[expressions.atom("index", name, index, mask) >> 8][0][0]
    coordinates = tuple((atom, bit) for bit in range(mask.bit_count()))
    table = [values[min(max(number, low), high)] for number in range(len(values))]
    return function(expressions, coordinates, np.array([table], np.uint8))[0]


def coordinates_of(expressions: Expressions, word: Sequence[int]) -> Coordinates | None:
    """What a word is a function of; None where it hangs on anything else, or on too much."""
    found: set[Coordinate] = set()
    for byte in word:
        for atom, matrix in expressions.terms[byte >> 8]:
            what = expressions.atoms[atom]
            if what[0] not in OF_INDICES:
                return None
            bits = [bit for bit in range(8) if matrix >> 8 * bit & 0xFF]
            found.update(what[1] if what[0] == "and" else ((atom, bit) for bit in bits))
    return tuple(sorted(found)) if len(found) <= MOST else None


def values(expressions: Expressions, byte: int, coordinates: Coordinates) -> Array:
    """A byte for every value of the coordinates: uint8 (2^coordinates,)."""
    numbers = np.arange(1 << len(coordinates))
    bits = {c: (numbers >> place & 1).astype(np.uint8) for place, c in enumerate(coordinates)}
    out = np.full(len(numbers), byte & 0xFF, np.uint8)
    for atom, matrix in expressions.terms[byte >> 8]:
        what = expressions.atoms[atom]
        if what[0] == "and":
            product = np.bitwise_and.reduce([bits[c] for c in what[1]])
            out ^= product * np.uint8(apply(matrix, 1))
        else:
            for bit in (b for b in range(8) if matrix >> 8 * b & 0xFF):
                out ^= bits[atom, bit] * np.uint8(apply(matrix, 1 << bit))
    return out


def function(expressions: Expressions, coordinates: Coordinates, tables: Array) -> list[int]:
    """Bytes by their value for every value of the coordinates: uint8 (bytes, 2^coordinates) as ids."""
    form = tables.copy()
    for place in range(len(coordinates)):
        parts = form.reshape(len(form), -1, 2, 1 << place)
        parts[:, :, 1] ^= parts[:, :, 0]
    return [_sum(expressions, coordinates, row) for row in form.tolist()]


def _sum(expressions: Expressions, coordinates: Coordinates, form: list[int]) -> int:
    """The sum of the products of coordinates, each times the byte that `form` has for it."""
    parts = []
    for number, image in enumerate(form):
        if image and number:
            factors = tuple(c for place, c in enumerate(coordinates) if number >> place & 1)
            parts.append(_product(expressions, factors, image))
    return expressions.combine(parts, form[0])


def _product(expressions: Expressions, factors: Coordinates, image: int) -> tuple[int, int]:
    """(map, id) of a byte that is `image` where all factors are set, else 0."""
    if len(factors) > 1:
        return image, expressions.atom("and", factors)
    what = expressions.atoms[factors[0][0]]
    return image << 8 * factors[0][1], expressions.atom(*what)


def source(expressions: Expressions, atom: int) -> tuple[str, int, int]:
    """The input, byte and mask that an atom is of, or the first of its factors."""
    what = expressions.atoms[atom]
    return tuple(what[1:]) if what[0] == "index" else source(expressions, what[1][0][0])


# ---- Words with an index in their low bits


@dataclass(frozen=True)
class Low:
    """A word whose low bits are a function of an index, and whose bits above are of no index."""

    coordinates: Coordinates
    values: tuple[int, ...]
    """The low bits for every value of the coordinates."""
    bits: int
    upper: tuple[int, ...]
    """The word with its low bits cleared."""

    @property
    def alone(self) -> bool:
        """Whether there is nothing above."""
        return not any(self.upper)


def low_part(expressions: Expressions, word: Sequence[int]) -> Low | None:
    """Such a word taken apart; None for any other."""
    size = len(word)
    inner = [_of_index(expressions, byte) for byte in word]
    varying = int.from_bytes(bytes(map(expressions.varying, inner)), "little")
    if not varying:
        return None
    bits = varying.bit_length()
    below = ((1 << bits) - 1).to_bytes(size, "little")
    low = [expressions.map(keep(mask), byte) for mask, byte in zip(below, word, strict=True)]
    coordinates = coordinates_of(expressions, low)
    if coordinates is None:
        return None
    upper = tuple(expressions.xor(a, b) for a, b in zip(word, low, strict=True))
    numbers = zip(*(values(expressions, byte, coordinates).tolist() for byte in low), strict=True)
    found = tuple(int.from_bytes(bytes(number), "little") for number in numbers)
    return Low(coordinates, found, bits, upper)


def _of_index(expressions: Expressions, byte: int) -> int:
    """The part of a sum that is of indices."""
    terms = expressions.terms[byte >> 8]
    parts = [
        (m, expressions.atom(*what)) for a, m in terms if (what := expressions.atoms[a])[0] in OF_INDICES
    ]
    return expressions.combine(parts)


def word_of(
    expressions: Expressions, coordinates: Coordinates, numbers: Sequence[int], size: int
) -> list[int]:
    """`size` bytes by their number for every value of the coordinates."""
    rows = np.frombuffer(b"".join(n.to_bytes(size, "little") for n in numbers), np.uint8).reshape(-1, size)
    return function(expressions, coordinates, np.ascontiguousarray(rows.T))


# ---- Products


def product(expressions: Expressions, a: int, b: int) -> int | None:
    """a AND b: where bits of both are unknown, those of one must be functions of an index, else None."""
    known = expressions.product(a, b)
    if known is not None:
        return known
    key = (a, b) if a < b else (b, a)
    if key not in expressions.chosen:
        expressions.chosen[key] = _of_indices(expressions, *key)
    return expressions.chosen[key]


def _of_indices(expressions: Expressions, a: int, b: int) -> int | None:
    of_both = coordinates_of(expressions, (a, b))
    if of_both is not None:
        tables = values(expressions, a, of_both) & values(expressions, b, of_both)
        return function(expressions, of_both, tables[None, :])[0]
    both = expressions.varying(a) & expressions.varying(b)
    for choice, data in ((a, b), (b, a)):
        if coordinates_of(expressions, (expressions.map(keep(both), choice),)) is not None:
            return _chosen(expressions, choice, data, both)
    return None


def _chosen(expressions: Expressions, choice: int, data: int, both: int) -> int | None:
    """The product of a byte whose bits `both` are functions of an index, and one with unknown bits there."""
    rest = expressions.product(expressions.map(keep(0xFF & ~both), choice), data)
    if rest is None:
        return None
    masks: dict[int, int] = {}
    for bit in (bit for bit in range(8) if both >> bit & 1):
        one = expressions.map(1 << 8 * bit, choice)
        masks[one] = masks.get(one, 0) | 1 << bit
    parts = [select(expressions, one, expressions.map(keep(mask), data)) for one, mask in masks.items()]
    return expressions.combine([(keep(0xFF), part) for part in (rest, *parts)])


def select(expressions: Expressions, bit: int, byte: int) -> int:
    """`byte` where `bit`, bit 0 of a byte that is a function of an index, is set, else 0."""
    if bit < CONSTANTS:
        return byte if bit & 1 else 0
    inner, constant = byte & ~0xFF, byte & 0xFF
    parts = [(keep(0xFF), byte)] if bit & 1 else []
    bit &= ~0xFF
    parts.append((constant, bit))
    if inner:
        mask = expressions.varying(inner)
        parts.append((keep(mask), expressions.atom("chosen", bit, inner)))
    return expressions.combine(parts)
