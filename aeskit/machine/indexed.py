"""Counters whose low bits are an index kept unknown: x = u + i, u a multiple of a power of 2 above all i.

With m the bit that tells whether i + c carries out of the low k bits, x + c is u + c', or u + c' + 2^k where
m is set, beside the low bits of i + c: m and these are functions of i, of which equal ones have one form.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from aeskit.machine import indices
from aeskit.machine.indices import Low
from aeskit.machine.splits import Narrow

if TYPE_CHECKING:
    from aeskit.machine.counters import Counters, Predicate, Word


class Indexed:
    """What `Counters` asks of such words."""

    def __init__(self, counters: Counters) -> None:
        """Works with the counters' expressions."""
        self.counters, self.expressions = counters, counters.expressions
        self._known: dict[Word, Low | None] = {}

    def low(self, base: Word) -> Low | None:
        """The index in a base; None where there is none."""
        if base not in self._known:
            self._known[base] = indices.low_part(self.expressions, base)
        return self._known[base]

    def add(self, low: Low, total: int) -> Word:
        """x + total, 0 ≤ total < 2^(8 · size)."""
        size, step = len(low.upper), 1 << low.bits
        rest = total % step
        sums = [value + rest for value in low.values]
        inner = indices.word_of(self.expressions, low.coordinates, [s % step for s in sums], size)
        outer = self._either(low, low.upper, total - rest, [s >= step for s in sums], step)
        return tuple(self.expressions.xor(a, b) for a, b in zip(outer, inner, strict=True))

    def _either(self, low: Low, word: Word, constant: int, carries: list[bool], step: int) -> Word:
        """word + constant, or word + constant + step where the index carries."""
        plain, more = (self.counters.add(word, constant + extra) for extra in (0, step))
        bit = indices.word_of(self.expressions, low.coordinates, list(map(int, carries)), 1)[0]
        xor, select = self.expressions.xor, indices.select
        return tuple(
            xor(a, select(self.expressions, bit, xor(a, b))) for a, b in zip(plain, more, strict=True)
        )

    def with_carry(self, high: Word, low: Low, offset: int, constant: int) -> Word | None:
        """`high` plus the carry of (x + offset) + constant; Split where u does not tell.

        None where that x + offset has carried hangs on the index.
        """
        size, step = 1 << 8 * len(low.upper), 1 << low.bits
        if offset % step:
            return None
        wrapped = bool(offset) and self._above(low.upper, size - offset)
        rest = (offset + constant) % step
        begin = offset + constant - rest - size * wrapped
        carries = [self._above(low.upper, size - begin - extra) for extra in (0, step)]
        first = self.counters.add(high, int(carries[0]))
        if carries[0] == carries[1]:
            return first
        return self._either(low, high, 0, [value + rest >= step for value in low.values], 1)

    def _above(self, upper: Word, threshold: int) -> bool:
        """Whether u ≥ threshold."""
        top = (1 << 8 * len(upper)) - 1
        return self.counters.decide_either(self.counters.between(upper, max(threshold, 0), top))

    def decide(self, low: Low, question: Predicate) -> bool:
        """The answer for all values of the index; Split of u where that does not tell, else Narrow."""
        counters, answers = self.counters, {}
        for value in low.values:
            if value not in answers:
                answers[value] = counters.decide_either(self._for_upper(low, question, value))
        found = [answers[value] for value in low.values]
        if len(set(found)) == 1:
            return found[0]
        names = {atom for atom, _ in low.coordinates}
        name, index, mask = indices.source(self.expressions, low.coordinates[0][0])
        at = next(i for i, answer in enumerate(found) if answer != found[0])
        raise Narrow(name, index, mask, at if len(names) == 1 and len(found) == 1 << mask.bit_count() else 0)

    def _for_upper(self, low: Low, question: Predicate, value: int) -> Predicate | bool:
        modulus = 1 << 8 * len(low.upper)
        first, last = (question.low - value) % modulus, (question.high - value) % modulus
        if low.alone:
            return first == 0 or first > last
        return replace(question, word=low.upper, low=first, high=last)
