"""Addresses in a proof: where the tool put buffers, stack and code, of which code must ask no bits.

Moving one, adding to it, taking two apart and comparing two is what every caller's addresses allow; the
outcome of anything else hangs on where things lie, so there an address becomes 8 unknown bytes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

WORD = 1 << 64
SMALL = 1 << 28
"""Numbers below are no addresses."""
NEAR = 1 << 20
"""Two addresses of different buffers are a multiple of `step` and less than this apart."""
ALIGNED = 4096
"""A function may align its stack pointer to so many bytes."""
ZONE, ZONES = 3072, 2
"""Bytes of a zone at the stack's lower end, and how many there are: each is for what one pointer that was
aligned leads to, and what lies above them all for the others."""
SUMS = frozenset({"add", "sub", "cmp", "inc", "dec", "neg", "adc", "sbb"})
SAME = frozenset({"test", "and", "or", "xor"})
"""Of an address with itself these ask whether it is 0, or clear it."""

STACK, IMAGE, RETURN_ADDRESS, UNDEFINED, DISTANCE = "stack", "image", "return", "undefined", "distance"
Interval = tuple[int, int]
Place = int | str
"""What an address belongs to: a buffer by its number, or one of the words above."""


@dataclass(frozen=True)
class Addresses:
    """Buffers lie from `first` on, one every `step` bytes; the stack from `stack` to `top`."""

    first: int
    step: int
    count: int
    stack: int
    top: int
    others: tuple[tuple[Place, int, int], ...] = ()
    """What else lies somewhere, nobody knows how far from each other: name, first and last address."""

    @cached_property
    def _sorted(self) -> list[tuple[int, int, Place]]:
        return sorted((first, last, name) for name, first, last in self.others)

    def place(self, value: int) -> Place | None:
        """What a number is an address of; DISTANCE for that of two buffers, None for any other number."""
        if value < SMALL or value > WORD - SMALL:
            return None
        if -NEAR <= value - self.first < self.count * self.step:
            return (value - self.first + NEAR) // self.step
        if self.stack <= value <= self.top:
            return STACK
        distance = min(value, WORD - value)
        times = (distance + NEAR) // self.step
        if 0 < times < self.count and abs(distance - times * self.step) < NEAR:
            return DISTANCE
        at = bisect_right(self._sorted, value, key=lambda other: other[0]) - 1
        return self._sorted[at][2] if at >= 0 and value <= self._sorted[at][1] else None

    def zone(self, value: int) -> int:
        """How often a pointer to the stack was aligned: its number tells."""
        return max(ZONES - (value - self.stack) // ZONE, 0)

    def strays(self, values: Sequence[int], total: int) -> bool:
        """Whether a sum leads out of the zone of a pointer in it: how far that is hangs on the caller."""
        if self.place(total) != STACK:
            return False
        return any(self.place(v) == STACK and self.zone(v) != self.zone(total) for v in values)

    def is_address(self, value: int) -> bool:
        """Whether a number is an address, or the distance of two buffers."""
        return self.place(value) is not None

    def spoiled(self, name: str, bits: int, values: Sequence[int]) -> bool:
        """Whether an instruction asks more of an address among its operands than any address can tell."""
        x, y = (*values, 0)[:2]
        one, two = self.place(x), self.place(y)
        if one is None and two is None:
            return False
        if bits != 64:
            return True
        if x == y and name in SAME:
            return one in (DISTANCE, UNDEFINED)
        if name == "and":  # the stack pointer may be aligned downwards
            return not any(p == STACK and n >= WORD - ALIGNED for p, n in ((one, y), (two, x)))
        if name not in SUMS:
            return True
        if name == "cmp":
            return not comparable(one, two, y == 0)
        if name in ("sub", "sbb") and exact(one, two):
            return False
        sign = -1 if name in ("sub", "sbb", "dec") else 1
        total = -x if name == "neg" else x + sign * (1 if name in ("inc", "dec") else y)
        return self.strays((x, y), total % WORD) or not self.sums((one, two), total % WORD)

    def sums(self, places: Sequence[Place | None], total: int) -> bool:
        """Whether a sum of addresses and numbers is an address, or the distance of two.

        None of two distances: of which buffers that is would not be known.
        """
        place = self.place(total)
        return place is not None and not (
            place == DISTANCE and DISTANCE in places and sum(p is not None for p in places) > 1
        )

    def steps(self, distance: int) -> int:
        """By how many buffers one lies above another, of a distance."""
        signed = distance - WORD if distance >> 63 else distance
        return (signed + self.step // 2) // self.step

    def apart(
        self, distance: int, buffers: Mapping[int, tuple[int, int]], taken: Iterable[tuple[int, int]]
    ) -> Interval | None:
        """The numbers between which a distance of two buffers, plus a number, lies in no layout.

        `distance` is what it is in this one; `buffers` are (address, bytes) by number, `taken` the pairs of
        which it may be that of the first from the second. Of two that do not overlap the upper one is as far
        away as the lower one is long, or further. None where it is none.
        """
        if self.place(distance) != DISTANCE:
            return None
        signed = distance - WORD if distance >> 63 else distance
        low, high = -self.step, self.step
        for one, two in taken:
            (address, size), (other, length) = (buffers.get(n, (0, 0)) for n in (one, two))
            more = signed - (address - other)
            low, high = max(low, more - size), min(high, more + length)
        return (low, high) if low > -self.step else None

    def kept(self, values: Sequence[int], total: int) -> bool:
        """Whether a sum of addresses and numbers is one again, or has none in it."""
        places = [self.place(value) for value in values]
        return self.sums(places, total) or not any(place is not None for place in places)


def exact(one: Place | None, two: Place | None) -> bool:
    """Whether the distance of two addresses is the same in every layout."""
    return one == two and one not in (DISTANCE, UNDEFINED, None)


def comparable(one: Place | None, two: Place | None, with_zero: bool) -> bool:
    """Whether what two addresses belong to, or an address and 0, says how they compare in every layout.

    Of two buffers, or a buffer and the stack, it does not: that one lies lower is the tool's choice, and told
    as an assumption.
    """
    if with_zero:
        return one not in (DISTANCE, UNDEFINED, None)
    return exact(one, two) or all(isinstance(place, int) or place == STACK for place in (one, two))
