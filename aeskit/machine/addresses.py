"""Addresses in a proof: numbers at which the tool put buffers and stack, of which code must ask no bits.

Moving one, adding to it, taking two apart and comparing two is what every caller's addresses allow; the
outcome of anything else hangs on where the buffers lie, so there an address becomes 8 unknown bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

WORD = 1 << 64
SMALL = 1 << 40
"""Numbers below are no addresses."""
NEAR = 1 << 20
"""Two addresses of different buffers are a multiple of `step` and less than this apart."""
ALIGNED = 4096
"""A function may align its stack pointer to so many bytes."""
SUMS = frozenset({"add", "sub", "cmp", "inc", "dec", "neg", "adc", "sbb"})
SAME = frozenset({"test", "and", "or", "xor"})
"""Of an address with itself these ask whether it is 0, or clear it."""


@dataclass(frozen=True)
class Addresses:
    """Buffers lie from `first` on, one every `step` bytes; the stack from `stack` to `top`."""

    first: int
    step: int
    count: int
    stack: int
    top: int

    def is_address(self, value: int) -> bool:
        """Whether a number is an address of a buffer or of the stack, or the distance of two buffers."""
        if value < SMALL or value > WORD - SMALL:
            return False
        if 0 <= value - self.first < self.count * self.step or self.stack <= value <= self.top:
            return True
        distance = min(value, WORD - value)
        times = (distance + NEAR) // self.step
        return 0 < times < self.count and abs(distance - times * self.step) < NEAR

    def spoiled(self, name: str, bits: int, values: Sequence[int]) -> bool:
        """Whether an instruction asks more of an address among its operands than any address can tell."""
        marks = [self.is_address(value) for value in values]
        if not any(marks):
            return False
        if bits != 64:
            return True
        x, y = (*values, 0)[:2]
        if x == y and name in SAME:
            return False
        if name == "and":  # the stack pointer may be aligned downwards
            return not any(self.stack <= a <= self.top and b >= WORD - ALIGNED for a, b in ((x, y), (y, x)))
        if name not in SUMS:
            return True
        if name == "cmp":
            return not (all(marks[:2]) or y == 0)
        if name in ("sub", "sbb") and all(marks[:2]):
            return False
        sign = -1 if name in ("sub", "sbb", "dec") else 1
        total = -x if name == "neg" else x + sign * (1 if name in ("inc", "dec") else y)
        return not self.is_address(total % WORD)

    def kept(self, values: Sequence[int], total: int) -> bool:
        """Whether a sum of addresses and numbers is one again, or has none in it."""
        return self.is_address(total) or not any(map(self.is_address, values))
