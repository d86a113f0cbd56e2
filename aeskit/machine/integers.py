"""The scalar set over GF(2): words of 8 ids, shifts and logic linear, counters with a folded constant."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from aeskit.machine import carries
from aeskit.machine.counters import Carry, Predicate, Unknown, Word, is_constant, outside
from aeskit.machine.decode import Instruction, Memory
from aeskit.machine.gf2 import CONSTANTS
from aeskit.machine.pointers import FEW_BITS
from aeskit.machine.semantics import Array, Kind, Scalar
from aeskit.machine.symbols import Symbols

if TYPE_CHECKING:
    from aeskit.machine.symbolic import Symbolic

DATA = {"shld": (0, 1), "shrd": (0, 1), "rcl": (0, 2), "rcr": (0, 2)}
"""Sources that a linear body is linear in, others must be constant; the first alone where not listed."""

Outcome = tuple[Any, Any, Any, Any]


class Integers:
    """The symbolic half of `Symbolic.integer`: called where a source is not an int."""

    def __init__(self, domain: Symbolic) -> None:
        """Works with the domain's expressions and counters."""
        self.domain = domain

    def compute(self, entry: Scalar, bits: int, instruction: Instruction) -> Callable[..., Outcome]:
        """The function for an entry's kind, on values that are ints or words."""
        if entry.kind is Kind.BOOLEAN:
            return lambda *values: self._boolean(entry, bits, instruction, *values)
        if entry.kind is Kind.LINEAR:
            return lambda *values: self._linear(entry, bits, instruction, *values)
        if entry.kind is Kind.SUM:
            return lambda *values: self._sum(entry, bits, instruction, *values)
        return lambda *values: self._single_bit(entry, bits, instruction, *values)

    def _flags(self, entry: Scalar, result: Word, bits: int) -> Any:
        if not entry.flags:
            return None
        word = result[: bits // 8]
        sign: Any = self.domain.expressions.map(1 << 56, word[-1])
        if self.domain.counters.forms.are_lengths(word):
            sign = as_flag(self.domain.counters.between(word, 1 << bits - 1, (1 << bits) - 1))
        return self.domain.is_zero(word), sign, Unknown("the parity of a value that is not constant")

    def _finish(self, entry: Scalar, out: Word, bits: int, cf: Any, of: Any) -> Outcome:
        result = self.domain.from_bytes(np.array(out, np.int64))
        return result, cf, of, self._flags(entry, out, bits)

    # ---- Logic and shifts

    def _boolean(self, entry: Scalar, bits: int, instruction: Instruction, *values: Any) -> Outcome:
        size, expressions = bits // 8, self.domain.expressions
        if entry.name == "and":
            whole = self._rounded(entry, bits, *values)
            if whole is not None:
                return whole
        given = [Symbols(self.domain.plain_bytes(v, size), expressions) for v in values]
        try:
            out, cf, of = entry.body(bits, *given)
        except ValueError as error:
            raise outside(instruction, str(error)) from None
        return self._finish(entry, tuple(out.ids.tolist()), bits, cf, of)

    def _linear(self, entry: Scalar, bits: int, instruction: Instruction, *values: Any) -> Outcome:
        data = DATA.get(entry.name, (0,))
        if any(type(v) is not int for p, v in enumerate(values) if p not in data):
            raise outside(instruction, "a count or index that is not constant")
        by_name = {"shr": self._shift_counter, "shl": self._times, "sal": self._times}
        whole = by_name[entry.name](entry, bits, *values) if entry.name in by_name else None
        return whole or self._by_matrix(entry, bits, data, values)

    def _length(self, value: Any, bits: int) -> Word | None:
        """A value of 64 bits that hangs on lengths alone; None for any other."""
        word = tuple(self.domain.plain_bytes(value, bits // 8).tolist())
        return word if bits == 64 and self.domain.counters.forms.are_lengths(word) else None

    def _times(self, entry: Scalar, bits: int, value: Any, count: int) -> Outcome | None:
        """A length shifted to the left is a multiple of it."""
        word, unknown = self._length(value, bits), Unknown("the bits shifted out of a length")
        if word is None or not count & 63 > 0:
            return None
        return self._finish(
            entry, self.domain.counters.forms.times(word, 1 << (count & 63)), bits, unknown, unknown
        )

    def _rounded(self, entry: Scalar, bits: int, *values: Any) -> Outcome | None:
        """A length AND −2^k is 2^k times what a shift by k makes of it."""
        mask = next((v for v in values if type(v) is int), 0)
        word = self._length(next((v for v in values if type(v) is not int), 0), bits)
        low = -mask % (1 << bits)
        if word is None or low < 2 or low & low - 1:
            return None
        places, counters = low.bit_length() - 1, self.domain.counters
        blocks = counters.shifted_right(word, places, lambda inner: self.domain.shifted(inner, places))
        return self._finish(entry, counters.forms.times(blocks, low), bits, 0, 0) if blocks else None

    def _shift_counter(self, entry: Scalar, bits: int, value: Any, count: int) -> Outcome | None:
        """A public length or counter shifted right, its constant folded; CF is the last bit out."""
        word, count = (
            tuple(self.domain.plain_bytes(value, bits // 8).tolist()),
            count & (63 if bits == 64 else 31),
        )

        def shift(inner: Word) -> Word:
            padded = (*inner, *[0] * (8 - len(inner)))
            out = self._by_matrix(entry, bits, (0,), (padded, count))[0]
            return tuple(self.domain.plain_bytes(out, bits // 8).tolist())

        known = self.domain.is_public(word) or self.domain.counters.forms.are_lengths(word)
        if not 0 < count < bits or not known:
            return None
        out = self.domain.counters.shifted_right(word, count, shift)
        if not out:
            return None
        last, bit = divmod(count - 1, 8)
        carry = self.domain.expressions.map(1 << 8 * bit, word[last])
        return self._finish(entry, out, bits, carry, Unknown("the overflow of a shifted length"))

    def _by_matrix(self, entry: Scalar, bits: int, data: tuple[int, ...], values: tuple[Any, ...]) -> Outcome:
        """By the matrix of the body; its carry and overflow are linear too, or left alone."""
        size = bits // 8
        fixed = tuple(v for p, v in enumerate(values) if p not in data)
        unset = entry.body(bits, *[0 if p in data else v for p, v in enumerate(values)])

        def one(row: Array) -> bytes:
            parts = iter(int.from_bytes(row[at : at + size].tobytes(), "little") for at in starts)
            r, cf, of = entry.body(bits, *[next(parts) if p in data else v for p, v in enumerate(values)])
            packed = (r & (1 << bits) - 1).to_bytes(size, "little")
            return packed + bytes([int(cf or 0) & 1, int(of or 0) & 1])

        starts = range(0, size * len(data), size)
        plan = self.domain.plan(
            (entry.name, bits, data, fixed),
            lambda batch: np.array([list(one(row)) for row in batch], np.uint8),
            size * len(data),
        )
        ids = [byte for p in data for byte in self._source(values[p], size, p == 2)]
        *out, cf, of = plan(self.domain.expressions, ids)
        carry, overflow = (None if u is None else v for u, v in zip(unset[1:], (cf, of), strict=True))
        if carry is None and overflow is None and entry.flags:
            return self.domain.from_bytes(np.array(out, np.int64)), None, None, None
        return self._finish(entry, tuple(out), bits, carry, overflow)

    def _source(self, value: Any, size: int, is_carry: bool) -> list[int]:
        if is_carry:
            return [value, *[0] * (size - 1)]
        return list(self.domain.plain_bytes(value, size).tolist())

    def _single_bit(self, entry: Scalar, bits: int, instruction: Instruction, *values: Any) -> Outcome:
        """A body of one unknown bit is affine whatever it does; of more it is not followed."""
        unknown = [p for p, v in enumerate(values) if type(v) is not int]
        word = values[unknown[0]][: bits // 8]
        vary = [self.domain.expressions.varying(byte) for byte in word]
        constant = any(byte & 0xFF & ~v for byte, v in zip(word, vary, strict=True))
        if len(unknown) != 1 or constant or sum(v.bit_count() for v in vary) != 1:
            raise outside(instruction, "a value that is not constant")
        return self._by_matrix(entry, bits, (unknown[0],), values)

    # ---- Sums

    def _sum(self, entry: Scalar, bits: int, instruction: Instruction, *values: Any) -> Outcome:
        size, name, domain = bits // 8, entry.name, self.domain
        carry = values[2] if name in ("adc", "sbb") else 0
        minus = name in ("sub", "sbb", "cmp", "dec", "neg")
        by_one = name in ("inc", "dec")
        operands = (0, values[0]) if name == "neg" else (values[0], 1 if by_one else values[1])
        x, y = (tuple(domain.plain_bytes(v, size).tolist()) for v in operands)
        if isinstance(carry, Carry):
            whole = None if any(y) else domain.counters.with_carry(x, carry.before, carry.constant)
            if whole is not None:
                unknown = Unknown("the flags of a counter's upper half")
                return self._finish(entry, whole, bits, unknown, unknown)
            carry = domain.flag(carry, instruction)
        if carry >= CONSTANTS:
            return self._with_carry_bit(entry, bits, instruction, x, y, carry, minus)
        if x == y:
            return self._equal(entry, bits, x, carry, minus)
        x, y = self._settled(x, y)
        total = domain.counters.sum(x, y, minus)
        if total is None and name == "cmp" and is_constant(x):
            return self._compare(x, y, bits)
        total = total and domain.counters.sum(total, (carry, *[0] * (size - 1)), minus)
        if total is None:
            self._choose(x, y)
            if domain.counters.forms.are_mixed(x, y) and not carry:
                total = domain.counters.forms.sum(x, y, minus)
        if total is None:
            return self._single_bit(entry, bits, instruction, *values)
        cf = None if by_one else self._carry(x, y, carry, minus, bits)
        return self._finish(entry, total, bits, cf, self._overflow(x, y, carry, minus))

    def _overflow(self, x: Word, y: Word, carry: int, minus: bool) -> Any:
        """OF: 0 where lengths stay within the signed numbers, which is all that is ever told."""
        forms = self.domain.counters.forms
        if carry or not forms.are_lengths(x, y) or not forms.fits(x, y, minus):
            return Unknown("the overflow of a value that is not constant")
        return 0

    def _compare(self, x: Word, y: Word, bits: int) -> Outcome:
        """A number beside a counter: whether it is less, or equal, are questions about the counter."""
        k, unknown = int.from_bytes(bytes(x), "little"), Unknown("the difference of a number and a counter")
        same = as_flag(self.domain.counters.between(y, k, k))
        return 0, self._carry(x, y, 0, True, bits), unknown, (same, unknown, unknown)

    def _choose(self, x: Word, y: Word) -> None:
        """A sum of two public words of which one has few unknown bits: a case for each of its values."""
        vary = self.domain.expressions.varying
        for word in (x, y):
            few = sum(vary(byte).bit_count() for byte in word) <= FEW_BITS
            if few and not is_constant(word) and self.domain.is_public((*x, *y)):
                self.domain.choose(word, tuple(vary(byte) for byte in word))

    def _equal(self, entry: Scalar, bits: int, x: Word, carry: int, minus: bool) -> Outcome:
        """x − x − carry is the carry's alone; x + x + carry is a shift."""
        if minus:
            r = -carry & (1 << bits) - 1
            return r, carry, 0, (1 - carry, carry, 1)
        top = self.domain.expressions.map(1 << 56, x[-1])
        doubled = self.domain.doubled(x)
        out = (self.domain.expressions.xor(doubled[0], carry), *doubled[1:])
        return self._finish(entry, out, bits, top, Unknown("the overflow of a doubled value"))

    def _with_carry_bit(
        self, entry: Scalar, bits: int, instruction: Instruction, x: Word, y: Word, carry: int, minus: bool
    ) -> Outcome:
        """An unknown carry: spread by x − x − carry, taken in by x + x + carry, or added to an even value."""
        expressions, unknown = self.domain.expressions, Unknown("the flags of a sum with an unknown carry")
        if minus and x == y:
            spread = expressions.map(0xFF, carry)
            return self._finish(entry, (spread,) * len(x), bits, carry, 0)
        if not minus and x == y:
            doubled = self.domain.doubled(x)
            out = (expressions.xor(doubled[0], carry), *doubled[1:])
            return self._finish(entry, out, bits, expressions.map(1 << 56, x[-1]), unknown)
        base = self.domain.counters.sum(x, y, minus)
        total = base and not minus and self.domain.counters.sum(base, (carry, *[0] * (len(x) - 1)))
        if not total:
            raise outside(instruction, "a carry that is not constant")
        return self._finish(entry, total, bits, unknown, unknown)

    def _carry(self, x: Word, y: Word, carry: int, minus: bool, bits: int) -> Any:
        """CF of x ± y ± carry as a question about the counter in it."""
        counters, top = self.domain.counters, (1 << bits) - 1
        values = [int.from_bytes(bytes(w), "little") if is_constant(w) else None for w in (x, y)]
        unknown = Unknown("the carry of a value that is not constant")
        known = values[1] if values[1] is not None else values[0]
        if known is None and not carry and counters.forms.are_lengths(x, y):
            answer = counters.forms.less(x, y) if minus else counters.forms.wraps(x, y)
            question = counters.between(*answer) if isinstance(answer, tuple) else answer
            return unknown if question is None else as_flag(question)
        if known is None and minus and not carry:
            return self._below(x, y, bits)
        if known is None:
            return unknown if minus or carry else as_flag(counters.carry(x, y))
        if not minus:  # word + known + carry > top
            word = x if values[1] is not None else y
            question = counters.between(word, top - known - carry + 1, top)
            if isinstance(question, Predicate) and not carry and bits == 64:
                return Carry(question.word, question.low, question.high, word, known)
            return as_flag(question)
        if values[1] is not None:  # x < known + carry
            return as_flag(counters.between(x, 0, known + carry - 1))
        return as_flag(counters.between(y, known - carry + 1, top))  # known < y + carry

    def _below(self, x: Word, y: Word, bits: int) -> Any:
        """Whether x < y of two unknowns: where x is y + k, whether that carries."""
        counters = self.domain.counters
        question = counters.below(x, y)
        if not isinstance(question, Predicate):
            return Unknown("the carry of a value that is not constant") if question is None else int(question)
        k = (counters.origin(x)[1] - counters.origin(y)[1]) % (1 << bits)
        return Carry(question.word, question.low, question.high, y, k) if bits == 64 else question

    # ---- Addresses computed as values

    def effective(self, binder: Any, operand: Memory) -> Callable[[], Any]:
        """base + index × scale + displacement, any of them unknown."""
        gpr, plain = binder.state.gpr, binder.address(operand)
        registers = [r for r in (operand.base, operand.index) if r is not None]

        def compute() -> Any:
            values, pointers = [gpr[r] for r in registers], self.domain.pointers
            if all(type(v) is int for v in values):
                known = plain()
                if pointers is None or pointers.addresses.kept(values, known):
                    return known
                values = [self.domain.opaque(v) for v in values]
            elif pointers is not None and not pointers.effective(operand, values):
                values = [self.domain.opaque(v) for v in values]
            return self._effective(binder.ins, operand, [self._word(v) for v in values])

        return compute

    def _effective(self, instruction: Instruction, operand: Memory, words: list[Word]) -> Any:
        if operand.index is not None:
            words[-1] = self._scaled(words[-1], operand.scale)
        words.append(self._word(operand.displacement))
        total: Word | None = words[0]
        for word in words[1:]:
            total = total and (self.domain.doubled(total) if total == word else self._add(total, word))
        if total is None:
            raise outside(instruction, "a sum of values that are not constant")
        return self.domain.from_bytes(np.array(total[: 4 if operand.bits32 else 8], np.int64))

    def _add(self, x: Word, y: Word) -> Word | None:
        return self.domain.counters.sum(*self._settled(x, y))

    def _settled(self, x: Word, y: Word) -> tuple[Word, Word]:
        """Two words to be added, a carry among them as the number that it is in this case."""
        if is_constant(x) or is_constant(y):
            return x, y
        return carries.settled(self.domain.counters, x), carries.settled(self.domain.counters, y)

    def _word(self, value: Any) -> Word:
        return tuple(self.domain.plain_bytes(value, 8).tolist())

    def _scaled(self, word: Word, scale: int) -> Word:
        if self.domain.counters.forms.are_lengths(word):
            return self.domain.counters.forms.times(word, scale)
        while scale > 1:
            word, scale = self.domain.doubled(word), scale // 2
        return word


def as_flag(question: Any) -> Any:
    """A question that is answered already becomes 0 or 1."""
    return int(question) if isinstance(question, bool) else question
