"""Bytes over GF(2): a constant XOR a sum of linear maps of atoms, interned, so that equal means the same id.

An atom is an unknown byte: of an input, or what the S-box makes of an earlier byte. A byte is an int id: its
low 8 bits are the constant, the rest numbers the sum of maps; so an id below 256 *is* that constant, moving
bytes is moving ids, and the XOR with a constant is that of the ids. A map is a 64-bit int whose byte j is the
image of bit j.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from aeskit.machine.semantics import Array
from aeskit.models import aes

IDENTITY = 0x8040201008040201
CONSTANTS = 256
"""Ids below are constants."""

KEPT = 20_000
"""Results of one plan that are remembered."""

Terms = tuple[tuple[int, int], ...]
"""(atom, map), by rising atom, no map zero."""


@cache
def apply(matrix: int, byte: int) -> int:
    """The image of a byte."""
    out = 0
    for bit in range(8):
        if byte >> bit & 1:
            out ^= matrix >> 8 * bit & 0xFF
    return out


@cache
def compose(outer: int, inner: int) -> int:
    """The map that does `inner`, then `outer`."""
    if outer == IDENTITY:
        return inner
    return sum(apply(outer, inner >> 8 * bit & 0xFF) << 8 * bit for bit in range(8))


@cache
def rows(matrix: int) -> int:
    """The output bits that depend on the input at all."""
    out = 0
    for bit in range(8):
        out |= matrix >> 8 * bit & 0xFF
    return out


@cache
def keep(mask: int) -> int:
    """The map that keeps the bits of `mask`."""
    return sum((mask & 1 << bit) << 8 * bit for bit in range(8))


class Expressions:
    """The table of all sums that were met, and of their atoms."""

    def __init__(self) -> None:
        """Constants only."""
        self.terms: list[Terms] = [()]
        self._numbers: dict[Terms, int] = {(): 0}
        self.atoms: list[tuple[Any, ...]] = []
        """("input", name, index), ("forward" or "inverse", id), ("sum", base, constant, index) for a byte of
        base + constant, ("plus", base, base, index) for one of the sum of two, ("high", word, base, constant,
        index) for one of word + the carry of base + constant, ("form", ((base, factor), …), index) for one of
        a sum of multiples; of `indices` ("index", input, byte, mask), ("and", coordinates) and ("chosen",
        bit, byte)."""
        self._atoms: dict[tuple[Any, ...], int] = {}
        self._inputs: dict[str, Array] = {}
        self._xor: dict[tuple[int, int], int] = {}
        self._varying: dict[int, int] = {0: 0}
        self._products: dict[tuple[int, int], int | None] = {}
        self.chosen: dict[tuple[int, int], int | None] = {}
        """Products that `indices` has made."""
        self._named: dict[int, frozenset[str]] = {}
        self._kept_names: dict[frozenset[str], frozenset[str]] = {}

    # ---- Atoms

    def atom(self, *what: Any) -> int:
        """The id of an atom's byte, made if it is new."""
        found = self._atoms.get(what)
        if found is None:
            self.atoms.append(what)
            found = self._atoms[what] = self._number(((len(self.atoms) - 1, IDENTITY),)) << 8
        return found

    def inputs(self, name: str, size: int) -> Array:
        """`size` unknown bytes of one input."""
        known = self._inputs.get(name)
        if known is None or len(known) < size:
            known = np.array([self.atom("input", name, index) for index in range(size)], np.int64)
            self._inputs[name] = known
        return known[:size].copy()

    def substitute(self, byte: int, direction: str) -> int:
        """The byte through the S-box (``forward``) or its inverse; the two undo each other."""
        if byte < CONSTANTS:
            return (aes.SBOX if direction == "forward" else aes.INV_SBOX)[byte]
        terms = self.terms[byte >> 8]
        if not byte & 0xFF and len(terms) == 1 and terms[0][1] == IDENTITY:
            what = self.atoms[terms[0][0]]
            if what[0] in ("forward", "inverse") and what[0] != direction:
                return int(what[1])
        return self.atom(direction, byte)

    # ---- Sums

    def _number(self, terms: Terms) -> int:
        number = self._numbers.get(terms)
        if number is None:
            number = self._numbers[terms] = len(self.terms)
            self.terms.append(terms)
        return number

    def combine(self, parts: Iterable[tuple[int, int]], constant: int = 0) -> int:
        """The sum of maps of bytes: `parts` are (map, id)."""
        total: dict[int, int] = {}
        every = self.terms
        for matrix, byte in parts:
            if byte & 0xFF:
                constant ^= apply(matrix, byte & 0xFF)
            for atom, inner in every[byte >> 8]:
                image = matrix if inner == IDENTITY else compose(matrix, inner)
                total[atom] = total[atom] ^ image if atom in total else image
        terms = sorted(total.items())
        if 0 in total.values():
            terms = [item for item in terms if item[1]]
        return self._number(tuple(terms)) << 8 | constant

    def xor(self, a: int, b: int) -> int:
        """The sum of two bytes."""
        left, right = a >> 8, b >> 8
        if not left or not right:
            return a ^ b
        key = (left, right) if left < right else (right, left)
        number = self._xor.get(key)
        if number is None:
            number = self._xor[key] = self._sum(self.terms[left], self.terms[right])
        return number << 8 | (a ^ b) & 0xFF

    def _sum(self, one: Terms, two: Terms) -> int:
        """The number of the sum of two sums."""
        if one[-1][0] < two[0][0]:
            return self._number(one + two)
        if two[-1][0] < one[0][0]:
            return self._number(two + one)
        total = dict(one)
        for atom, matrix in two:
            total[atom] = total.get(atom, 0) ^ matrix
        return self._number(tuple(sorted(item for item in total.items() if item[1])))

    def map(self, matrix: int, byte: int) -> int:
        """One map of one byte."""
        return self.combine(((matrix, byte),))

    def varying(self, byte: int) -> int:
        """The bits that are no constant."""
        number = byte >> 8
        found = self._varying.get(number)
        if found is None:
            found = 0
            for _, matrix in self.terms[number]:
                found |= rows(matrix)
            self._varying[number] = found
        return found

    def product(self, a: int, b: int) -> int | None:
        """a AND b: None where a bit of it is the product of two unknown ones."""
        if a < CONSTANTS and b < CONSTANTS:
            return a & b
        key = (a, b) if a < b else (b, a)
        if key not in self._products:
            self._products[key] = self._product(*key)
        return self._products[key]

    def _product(self, a: int, b: int) -> int | None:
        if a == b:
            return a
        if a ^ b == 0xFF:
            return 0
        vary_a, vary_b = self.varying(a), self.varying(b)
        if vary_a & vary_b:
            return None
        through_a, through_b = vary_a & b, ~vary_a & a & 0xFF
        return self.combine(((keep(through_a), a), (keep(through_b), b)))

    # ---- What a byte depends on

    def inputs_of(self, byte: int) -> frozenset[str]:
        """The names of the inputs that it depends on."""
        found: frozenset[str] = frozenset()
        for atom, _ in self.terms[byte >> 8]:
            found |= self._named.get(atom) or self._names_of(atom)
        return found

    def _names_of(self, atom: int) -> frozenset[str]:
        """The same for an atom: what it is made of is asked first, remembered for each."""
        named, ahead = self._named, [atom]
        while ahead:
            at = ahead[-1]
            what = self.atoms[at]
            if what[0] in ("input", "index"):
                named[at] = frozenset({what[1]})
            below = self._below(what)
            left = [inner for inner in below if inner not in named]
            if left:
                ahead += left
                continue
            if at not in named:
                names = frozenset().union(*(named[inner] for inner in below))
                named[at] = self._kept_names.setdefault(names, names)
            ahead.pop()
        return named[atom]

    def _below(self, what: tuple[Any, ...]) -> list[int]:
        """The atoms that an atom is made of."""
        parts: tuple[int, ...] = (what[1],)
        if what[0] in ("input", "index"):
            return []
        if what[0] == "and":
            return [atom for atom, _ in what[1]]
        if what[0] == "form":
            parts = tuple(byte for word, _ in what[1] for byte in word)
        elif what[0] in ("sum", "plus", "high"):
            parts = what[1] if what[0] == "sum" else what[1] + what[2]
        elif what[0] == "chosen":
            parts = what[1:]
        return [atom for part in parts for atom, _ in self.terms[part >> 8]]


class Plan:
    """A linear (or affine) body as maps: for each byte of the result (source byte, map) and a constant."""

    def __init__(self, images: Array) -> None:
        """`images` is uint8 (1 + 8·sources, results): the body's values at zero and at each basis vector."""
        self.constants = images[0].tolist()
        sources = (len(images) - 1) // 8
        basis = (images[1:] ^ images[0]).reshape(sources, 8, -1).transpose(2, 0, 1)
        maps = np.ascontiguousarray(basis).view("<u8")[..., 0]
        self._known: dict[tuple[int, ...], list[int]] = {}
        self.parts = [[(int(i), int(row[i])) for i in np.flatnonzero(row)] for row in maps]

    def __call__(self, expressions: Expressions, data: Sequence[int]) -> list[int]:
        """The result's ids for the sources' ids; remembered, for other runs meet the same sources."""
        key = tuple(data)
        found = self._known.get(key)
        if found is None:
            if len(self._known) > KEPT:
                self._known.clear()
            found = self._known[key] = self._apply(expressions, data)
        return found

    def _apply(self, expressions: Expressions, data: Sequence[int]) -> list[int]:
        out = []
        for parts, constant in zip(self.parts, self.constants, strict=True):
            if len(parts) == 1 and parts[0][1] == IDENTITY:
                out.append(data[parts[0][0]] ^ constant)
            else:
                out.append(expressions.combine([(matrix, data[i]) for i, matrix in parts], constant))
        return out


def basis(size: int) -> Array:
    """Zero and the 8·size basis vectors of `size` bytes: uint8 (1 + 8·size, size)."""
    identity = np.packbits(np.eye(8 * size, dtype=np.uint8), axis=-1, bitorder="little")
    return np.concatenate((np.zeros((1, size), np.uint8), identity))
