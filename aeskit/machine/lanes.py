"""Vector instructions over GF(2): what each kind of the semantics table does with ids."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from aeskit.machine.arithmetic import compare
from aeskit.machine.counters import Predicate, Word, is_constant, outside
from aeskit.machine.decode import Instruction
from aeskit.machine.gf2 import CONSTANTS
from aeskit.machine.semantics import Array, Entry, Kind
from aeskit.machine.symbols import Symbols

if TYPE_CHECKING:
    from aeskit.machine.symbolic import Symbolic

Body = Callable[..., Any]

KEPT = 40_000
"""Lanes whose results are remembered."""


class Lanes:
    """The symbolic half of `Symbolic.body`: called where a source is not constant."""

    def __init__(self, domain: Symbolic) -> None:
        """Works with the domain's expressions and counters."""
        self.domain = domain
        self._lanes: dict[Any, list[int]] = {}

    def body(self, entry: Entry, instruction: Instruction) -> Body:
        """The function for an entry's kind."""
        make = {
            Kind.MOVE: self._move,
            Kind.BOOLEAN: self._boolean,
            Kind.LINEAR: self._whole if entry.whole else self._linear,
            Kind.BILINEAR: self._bilinear,
            Kind.SUM: self._sum,
            Kind.COMPARE: self._compare,
        }
        return make[entry.kind](entry, instruction) if entry.kind in make else lambda *a: None

    # ---- Moves and logic

    def _move(self, entry: Entry, instruction: Instruction) -> Body:
        def run(*arguments: Any, **extra: Any) -> Array:
            given = list(arguments)
            for position in entry.control:
                given[position] = known(given[position], instruction)
            return np.asarray(entry.body(*given, **extra))

        return run

    def _boolean(self, entry: Entry, instruction: Instruction) -> Body:
        expressions = self.domain.expressions

        def run(*arguments: Any) -> Array:
            given = [a if isinstance(a, int) else Symbols(a, expressions) for a in arguments]
            try:
                return np.asarray(entry.body(*given).ids)
            except ValueError as error:
                raise outside(instruction, str(error)) from None

        return run

    # ---- Linear maps

    def _linear(self, entry: Entry, instruction: Instruction) -> Body:
        def run(*arguments: Any) -> Array:
            arrays = [a for a in arguments if not isinstance(a, int)]
            immediates = tuple(a for a in arguments if isinstance(a, int))
            for position in entry.control:
                if position < len(arrays):
                    arrays[position] = known(arrays[position], instruction)
            lanes = max(len(a) for a in arrays)
            rows = [[a[lane if len(a) > 1 else 0] for a in arrays] for lane in range(lanes)]
            return np.array([self._lane(entry, row, immediates) for row in rows], np.int64)

        return run

    def _lane(self, entry: Entry, sources: list[Array], immediates: tuple[int, ...]) -> list[int]:
        """One lane, remembered: a run at another length meets the same lanes again."""
        key = (entry.name, immediates, *(byte for s in sources for byte in s.tolist()))
        found = self._lanes.get(key)
        if found is None:
            if len(self._lanes) > KEPT:
                self._lanes.clear()
            if entry.substitution:
                sources = [self.domain.substitute(sources[0], entry.substitution), *sources[1:]]
            found = self._lanes[key] = self._by_plan(entry, sources, immediates)
        return found

    def _by_plan(self, entry: Entry, sources: list[Array], immediates: tuple[int, ...]) -> list[int]:
        control = {p: sources[p][None, :] for p in entry.control if p < len(sources)}
        widths = [0 if p in control else len(s) for p, s in enumerate(sources)]
        key = (entry.name, immediates, tuple(widths), *((p, c.tobytes()) for p, c in control.items()))
        ends = np.cumsum(widths)

        def body(batch: Array) -> Array:
            given = [
                control[p] if p in control else np.ascontiguousarray(batch[:, ends[p] - widths[p] : ends[p]])
                for p in range(len(sources))
            ]
            return np.asarray(entry.body(*given, *immediates))

        data = [byte for p, s in enumerate(sources) if p not in control for byte in s.tolist()]
        return self.domain.plan(key, body, len(data))(self.domain.expressions, data)

    def _whole(self, entry: Entry, instruction: Instruction) -> Body:
        def run(a: Array, **extra: Any) -> Array:
            def body(batch: Array) -> Array:
                out = entry.body(batch.reshape(-1, *a.shape), **extra)
                return np.asarray(out).reshape(len(batch), -1)

            key = (entry.name, a.shape, *extra.items())
            plan = self.domain.plan(key, body, a.size)
            return np.array(plan(self.domain.expressions, a.ravel().tolist()), np.int64)

        return run

    def _bilinear(self, entry: Entry, instruction: Instruction) -> Body:
        domain = self.domain

        def lane(a: Array, b: Array, imm: int) -> list[int]:
            # Only the quadword that the immediate names is used: the other need not be constant.
            used = [a[8 * (imm & 1) :][:8], b[8 * (imm >> 4 & 1) :][:8]]
            constant = [p for p in (0, 1) if (used[p] < CONSTANTS).all()]
            if not constant:
                raise outside(instruction, "two values that are not constant")
            fixed = used[constant[0]].astype(np.uint8)
            data = used[1 - constant[0]].tolist()

            def body(batch: Array) -> Array:
                wide = np.concatenate((batch, np.zeros_like(batch)), -1)
                other = np.concatenate((fixed, np.zeros(8, np.uint8)))[None, :]
                return np.asarray(entry.body(wide, other, 0))

            plan = domain.plan((entry.name, fixed.tobytes()), body, 8)
            return plan(domain.expressions, data)

        def run(a: Array, b: Array, imm: int) -> Array:
            pairs = zip(*np.broadcast_arrays(a, b), strict=True)
            return np.array([lane(x, y, imm) for x, y in pairs], np.int64)

        return run

    # ---- Sums and comparisons of elements

    def _sum(self, entry: Entry, instruction: Instruction) -> Body:
        domain, size, minus = self.domain, entry.element, entry.name.startswith("psub")

        def element(x: Word, y: Word) -> Word:
            if x == y and not minus:
                return domain.doubled(x)
            total = domain.counters.sum(x, y, minus)
            if total is None:
                raise outside(instruction, "two values that are not constant")
            return total

        def run(a: Array, b: Array) -> Array:
            return np.array([element(x, y) for x, y in elements(a, b, size)], np.int64).reshape(a.shape)

        return run

    def _compare(self, entry: Entry, instruction: Instruction) -> Body:
        size, stem = entry.element, entry.name.split(" ")[0][:-1]
        answer = {
            "pcmpeq": lambda x, y: self._answer(x, y, 0, False, instruction),
            "pcmpgt": lambda x, y: self._answer(x, y, 6, True, instruction),
            "ptestm": lambda x, y: not self._no_common(x, y, instruction),
            "ptestnm": lambda x, y: self._no_common(x, y, instruction),
        }

        def run(*arguments: Any) -> Array:
            arrays = [a for a in arguments if not isinstance(a, int)]
            imm = next((a for a in arguments if isinstance(a, int)), 0) & 7
            pairs = elements(arrays[0], arrays[-1], size)
            if entry.name.startswith("pmov"):
                return np.array([self._sign(x, instruction) for x, _ in pairs], np.bool_)
            if entry.to_mask:
                ask = answer.get(stem) or (
                    lambda x, y: self._answer(x, y, imm, not stem.startswith("pcmpu"), instruction)
                )
                return np.array([ask(x, y) for x, y in pairs], np.bool_)
            out = [self._all_ones(x, y, answer[stem], stem == "pcmpgt") for x, y in pairs]
            return np.array(out, np.int64).reshape(arrays[0].shape)

        return run

    def _all_ones(self, x: Word, y: Word, ask: Callable[[Word, Word], bool], greater: bool) -> Word:
        """All ones or 0; 0 > y, signed, is the sign of y all over, which is linear."""
        if greater and not any(x) and not is_constant(y) and not self.domain.is_public(y):
            sign = self.domain.expressions.map(0xFF << 56, y[-1])
            return (sign,) * len(y)
        return (0xFF if ask(x, y) else 0,) * len(x)

    def _answer(self, x: Word, y: Word, predicate: int, signed: bool, instruction: Instruction) -> bool:
        """x OP y for OP of VPCMP; a signed comparison is an unsigned one with both top bits flipped."""
        if signed:
            x, y = ((*word[:-1], word[-1] ^ 0x80) for word in (x, y))
        if is_constant(x) and is_constant(y):
            left, right = (np.array(int.from_bytes(bytes(w), "little"), np.uint64) for w in (x, y))
            return bool(compare(left, right, predicate))
        if x == y:
            return predicate in (0, 2, 5, 7)
        if predicate & 4:
            return not self._answer_unsigned(x, y, predicate & 3, instruction)
        return self._answer_unsigned(x, y, predicate & 3, instruction)

    def _answer_unsigned(self, x: Word, y: Word, predicate: int, instruction: Instruction) -> bool:
        between, top = self.domain.counters.between, (1 << 8 * len(x)) - 1
        if predicate == 3:
            return False
        if is_constant(y):
            k = int.from_bytes(bytes(y), "little")
            question = between(x, k if predicate == 0 else 0, k - (predicate == 1))
        elif is_constant(x):
            k = int.from_bytes(bytes(x), "little")
            question = between(y, k + (predicate == 1), k if predicate == 0 else top)
        else:
            below = self.domain.counters.below(x, y)
            if below is None:
                raise outside(instruction, "two values that are not constant")
            equal = self.domain.counters.origin(x) == self.domain.counters.origin(y)
            question = predicate != 1 if equal else predicate != 0 and below
        return self._decide(question, instruction)

    def _decide(self, question: Predicate | bool, instruction: Instruction) -> bool:
        return bool(self.domain.flag(question, instruction))

    def _no_common(self, x: Word, y: Word, instruction: Instruction) -> bool:
        products = [self.domain.expressions.product(a, b) for a, b in zip(x, y, strict=True)]
        if None in products:
            raise outside(instruction, "the product of two unknown bits")
        zero = self.domain.is_zero(tuple(p for p in products if p is not None))
        return bool(self.domain.flag(zero, instruction))

    def _sign(self, x: Word, instruction: Instruction) -> bool:
        if self.domain.expressions.varying(x[-1]) & 0x80:
            raise outside(instruction, "a sign that is not constant")
        return bool(x[-1] & 0x80)


def known(data: Any, instruction: Instruction) -> Any:
    """An array of constants as uint8; OutsideDomain where one is not."""
    if isinstance(data, int):
        return data
    if not (data < CONSTANTS).all():
        raise outside(instruction, "indices, counts or a choice that are not constant")
    return data.astype(np.uint8)


def elements(a: Array, b: Array, size: int) -> list[tuple[Word, Word]]:
    """Pairs of elements as tuples of ids."""
    x, y = (np.broadcast_to(m, a.shape).reshape(-1, size).tolist() for m in (a, b))
    return [(tuple(p), tuple(q)) for p, q in zip(x, y, strict=True)]
