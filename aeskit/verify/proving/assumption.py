"""The cases of a proof: what is assumed of public inputs in each, so that together they are all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aeskit.bits import BLOCK
from aeskit.contracts import Call
from aeskit.machine import indices
from aeskit.machine.gf2 import Expressions, keep
from aeskit.machine.pointers import address_of
from aeskit.machine.splits import Choose, Impossible, Interval, Narrow, Split

Ids = NDArray[np.int64]
Bits = tuple[str, int, int]
"""An input, the index of a byte of it and a mask."""


@dataclass(frozen=True)
class Assumption:
    """One case: intervals of counters, bits of public inputs that are fixed, and bits that are an index."""

    intervals: tuple[tuple[Any, Interval], ...] = ()
    bits: tuple[tuple[str, int, int, int], ...] = ()
    """(input, byte, mask, value)"""
    indices: tuple[tuple[Bits, Interval], ...] = ()
    """Bits and, of the values that they can have, the numbers of the first and the last."""

    def halves(self, split: Split) -> Iterator[Assumption]:
        """The two cases of a split."""
        if isinstance(split, Narrow):
            yield from self._narrowed(split)
            return
        others = tuple(item for item in self.intervals if item[0] != split.word)
        for half in split.halves:
            yield replace(self, intervals=(*others, (split.word, half)))

    def _narrowed(self, split: Narrow) -> Iterator[Assumption]:
        low, high = dict(self.indices)[split.key]
        if not low < split.at <= high:
            raise Choose(*split.key)
        others = tuple(item for item in self.indices if item[0] != split.key)
        for half in ((low, split.at - 1), (split.at, high)):
            yield replace(self, indices=(*others, (split.key, half)))

    def public(self) -> frozenset[str]:
        """The inputs that it says something of."""
        return frozenset(name for name, *_ in self.bits) | {name for (name, *_), _ in self.indices}

    def alignments(self, call: Call) -> dict[str, tuple[int, int]]:
        """By a buffer's name the low bits of its address that are fixed, as (mask, value).

        Impossible for a value that no such buffer has: one that must be aligned is at a multiple of 16.
        """
        named = {address_of(buffer.name): buffer for buffer in call.buffers}
        out: dict[str, tuple[int, int]] = {}
        for name, _, mask, value in self.bits:
            buffer = named.get(name)
            if buffer is not None:
                known, so_far = out.get(buffer.name, (0, 0))
                out[buffer.name] = known | mask, so_far | value
            elsewhere = buffer is None or (buffer.aligned and value % BLOCK)
            if value and elsewhere and name.startswith(address_of("")):
                raise Impossible
        return out

    def inputs(self, expressions: Expressions) -> Callable[[str, int], Ids]:
        """The function that gives the bytes of an input of a name and size."""

        def unknown(name: str, size: int) -> Ids:
            ids = expressions.inputs(name, size)
            for where, index, mask, value in self.bits:
                if where == name:
                    ids[index] = expressions.map(keep(0xFF & ~mask), int(ids[index])) ^ value
            for (where, index, mask), (low, high) in self.indices:
                if where == name:
                    rest = expressions.map(keep(0xFF & ~mask), int(ids[index]))
                    ids[index] = expressions.xor(
                        rest, indices.kept(expressions, name, index, mask, low, high)
                    )
            return ids

        return unknown


@dataclass
class Choices:
    """Bits of public inputs that choose an address: an index kept unknown first, else each value a case."""

    fixed: list[Bits] = field(default_factory=list)
    indices: list[Bits] = field(default_factory=list)

    def cases(self, start: Assumption) -> list[Assumption]:
        """The cases to begin with."""
        every = tuple((bits, (0, (1 << bits[2].bit_count()) - 1)) for bits in self.indices)
        cases = [replace(start, indices=every)]
        for name, index, mask in self.fixed:
            values = [value for value in range(256) if value & ~mask == 0]
            cases = [replace(c, bits=(*c.bits, (name, index, mask, v))) for c in cases for v in values]
        return cases

    def hear(self, choice: Choose) -> None:
        """Bits of one byte are an index once; those that choose an address as an index does not are fixed."""
        place, mask = (choice.name, choice.index), choice.mask
        known = next((b[2] for b in self.indices if b[:2] == place), 0)
        fixed = any(b[:2] == place for b in self.fixed)
        others = [b for b in self.indices if b[:2] != place]
        count = sum(other.bit_count() for *_, other in others) + (known | mask).bit_count()
        if fixed or choice.name.startswith(address_of("")) or known & mask or count > indices.MOST:
            self._fix((*place, known | mask))
        else:
            others.append((*place, known | mask))
        self.indices = others

    def _fix(self, *every: Bits) -> None:
        for name, index, mask in every:
            left = mask
            for *where, other in self.fixed:
                left &= ~other if where == [name, index] else 0xFF
            if left:
                self.fixed.append((name, index, left))

    def give_up(self) -> bool:
        """Fix what was kept unknown; whether there was any."""
        given = bool(self.indices)
        self._fix(*self.indices)
        self.indices = []
        return given


def placed(call: Call) -> str:
    """Where the buffers lie whose addresses the code has asked about, for the end of a finding."""
    return placed_at((name, *low) for name, low in call.alignments.items())


def placed_at(places: Iterable[tuple[str, int, int]]) -> str:
    """The same of low bits of addresses, as (name, mask, value)."""
    told = [f"{name} at {value} modulo {mask + 1}" for name, mask, value in places]
    return f", with {' and '.join(told)}" if told else ""
