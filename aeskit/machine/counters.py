"""Counters over GF(2): words x + c with the constant folded, and questions about them that may split a run.

Adding is not linear, so x + c of n bytes becomes n atoms of its own; x + c + d folds to x + (c + d). Whether
such a word is below, at or above a constant is asked of what is assumed about x, an interval; where that does
not tell, `Split` names the place at which the interval must be cut.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from aeskit.machine.decode import Instruction
from aeskit.machine.errors import OutsideDomain, SecretDependence
from aeskit.machine.gf2 import CONSTANTS, Expressions, keep
from aeskit.machine.indexed import Indexed
from aeskit.machine.linear import LinearForms
from aeskit.machine.splits import Impossible, Interval, Split

Word = tuple[int, ...]
"""Ids of bytes, least significant first."""


@dataclass(frozen=True)
class Predicate:
    """Whether x lies from `low` to `high`, round the top where low > high."""

    word: Word
    low: int
    high: int


@dataclass(frozen=True)
class Carry(Predicate):
    """The carry of `low` + `constant`: an ADC that follows may take it in undecided."""

    before: Word = ()
    constant: int = 0


@dataclass(frozen=True)
class PairPredicate:
    """Whether the sum of two unknowns, over the integers, is at least a threshold."""

    one: Word
    two: Word
    threshold: int


@dataclass(frozen=True)
class Unknown:
    """A flag that no expression gives; reading it is an error that says why."""

    reason: str


@dataclass
class Counters:
    """The sums of one table of expressions, under assumptions."""

    expressions: Expressions
    assumed: Mapping[Any, Interval] = field(default_factory=dict)
    """By a base, or by two whose sum is meant."""
    public: frozenset[str] = frozenset()
    """Inputs that a branch may depend on."""
    ordered: set[Word] = field(default_factory=set)
    """Parts of counters as the models know them, low byte first."""
    layout: set[str] = field(default_factory=set)
    """Names of distances between buffers: a branch may depend on them, for then it is taken both ways."""
    _origin: dict[Word, tuple[Word, int]] = field(default_factory=dict)
    _added: dict[tuple[Word, int], Word] = field(default_factory=dict)
    _derived: dict[Word, tuple[Word, int, int, int]] = field(default_factory=dict)
    """A base that is ((another + low) >> bits) − less, under what is now assumed."""
    _halves: dict[Word, tuple[Word, Word, int]] = field(default_factory=dict)
    """An upper half with carries in it: as it was at first, the lower base, what was added to that."""
    _plus: dict[Word, tuple[Word, Word]] = field(default_factory=dict)
    """A base that is the sum of two."""
    _names: dict[Word, frozenset[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Sums with an index in them are another's matter, and so are those of several lengths."""
        self.indexed, self.forms = Indexed(self), LinearForms(self)

    def assume(self, intervals: dict[Any, Interval]) -> None:
        """Another case: what was derived from the last one's intervals does not hold in it."""
        self.assumed = intervals
        self._derived.clear()

    @property
    def derived(self) -> int:
        """How many bases are known to be another one shifted, under what is now assumed."""
        return len(self._derived)

    def origin(self, word: Word) -> tuple[Word, int]:
        """x and c of a word x + c; x has zeros where the word has constant bits."""
        found = self._origin.get(word)
        if found is None:
            known = [byte & 0xFF & ~self.expressions.varying(byte) for byte in word]
            base = tuple(byte ^ constant for byte, constant in zip(word, known, strict=True))
            inner, more = self._origin.get(base, (base, 0))  # set bits are a sum where the base has none
            offset = int.from_bytes(bytes(known), "little") + more
            found = self._origin[word] = (inner, offset % (1 << 8 * len(word)))
        return found

    def zero(self, word: Word) -> Predicate | bool:
        """Whether a word is 0; where its bytes are a counter turned round, that is asked of the counter."""
        base, offset = self.origin(word)
        size = len(bytes(map(bool, base)).rstrip(b"\0"))
        back, value = base[:size][::-1], -offset % (1 << 8 * len(word))
        if not back or self.origin(back)[0] not in self.ordered or value >> 8 * size:
            return self.between(word, 0, 0)
        value = int.from_bytes(value.to_bytes(size, "big"), "little")
        return self.between(back, value, value)

    def granularity(self, base: Word) -> int:
        """2^t for a base whose low t bits are constant: it is a multiple of that."""
        step = 1
        for byte in base:
            vary = self.expressions.varying(byte)
            if vary:
                return step * (vary & -vary)
            step <<= 8
        return step

    def add(self, word: Word, constant: int) -> Word:
        """word + constant, modulo its size."""
        key = (word, constant)
        found = self._added.get(key)
        if found is None:
            found = self._added[key] = self._add(word, constant)
        return found

    def _add(self, word: Word, constant: int) -> Word:
        """With x a multiple of 2^t only c's upper part can carry: x + c = (x + upper) XOR lower.

        The lower half is the sum of the lower halves: so 32 bits of a LEA of 64 fold like an ADD of 32.
        """
        base, offset = self.origin(word)
        total, size = (offset + constant) % (1 << 8 * len(word)), len(word)
        low = self.indexed.low(base)
        if low is not None:
            out = self.indexed.add(low, total)
        else:
            lower = total % self.granularity(base)
            upper = self._sum_atoms(base, total - lower) if total != lower else base
            out = tuple(a ^ b for a, b in zip(upper, lower.to_bytes(size, "little"), strict=True))
        half = size // 2
        if half:
            out = (*self.add(word[:half], constant % (1 << 8 * half)), *out[half:])
        self._origin[out] = (base, total)
        return out

    def _sum_atoms(self, base: Word, constant: int) -> Word:
        """Bits below the lowest set one of the constant stay; those above the largest sum are zero."""
        if not any(base):
            return tuple(constant.to_bytes(len(base), "little"))
        size, out = len(base), []
        largest = int.from_bytes(bytes(map(self.expressions.varying, base)), "little") + constant
        low = (constant & -constant) - 1
        high = (1 << min(largest.bit_length(), 8 * size)) - 1
        masks = zip(low.to_bytes(size, "little"), (high & ~low).to_bytes(size, "little"), strict=True)
        for index, (below, within) in enumerate(masks):
            atom = self.expressions.atom("sum", base, constant, index)
            out.append(self.expressions.combine(((keep(below), base[index]), (keep(within), atom))))
        return tuple(out)

    def sum(self, x: Word, y: Word, minus: bool = False) -> Word | None:
        """x + y, or x − y; None where that is neither linear nor a counter and a constant."""
        if is_constant(y):
            value = int.from_bytes(bytes(y), "little")
            if not value:
                return x
            if minus or self._overlap(x, y):
                return self.add(x, -value if minus else value)
        elif minus:
            (base, c), (other, d) = self.origin(x), self.origin(y)
            difference = (c - d) % (1 << 8 * len(x))
            return tuple(difference.to_bytes(len(x), "little")) if base == other else None
        if is_constant(x) and self._overlap(x, y):
            return self.add(y, int.from_bytes(bytes(x), "little"))
        if self._overlap(x, y):
            return self._sum_of_two(x, y)
        return tuple(self.expressions.xor(a, b) for a, b in zip(x, y, strict=True))

    def _sum_of_two(self, x: Word, y: Word) -> Word | None:
        """Two public unknowns: a counter of their own; None for secret ones."""
        if self.forms.are_lengths(x, y) or self.forms.are_mixed(x, y):
            return self.forms.sum(x, y)
        if not self.names(x) | self.names(y) <= self.public:
            return None
        (a, c), (b, d) = self.origin(x), self.origin(y)
        both = self._beside(a, b)
        if both is not None:
            return self.add(both, c + d)
        one, two = sorted((a, b))
        base = tuple(self.expressions.atom("plus", one, two, index) for index in range(len(x)))
        self._plus[base] = one, two
        return self.add(base, c + d)

    def _beside(self, a: Word, b: Word) -> Word | None:
        """The sum of two bases, one with an index in it, of which no bit may be set in both; else None."""
        if self._overlap(a, b) or (self.indexed.low(a) is None and self.indexed.low(b) is None):
            return None
        return tuple(self.expressions.xor(x, y) for x, y in zip(a, b, strict=True))

    def with_carry(self, high: Word, low: Word, constant: int) -> Word | None:
        """`high` plus the carry of `low` + `constant`, undecided: the upper half of a counter of two words.

        Over the integers the counter's lower half is x + s: s is kept with the upper half's atoms, so that
        later carries fold into it. None where the two are not known to be halves of one counter.
        """
        base, offset = self.origin(low)
        index = self.indexed.low(base)
        if index is not None:
            public = self.names((*high, *low)) <= self.public
            return self.indexed.with_carry(high, index, offset, constant) if public else None
        step, size = self.granularity(base), 1 << 8 * len(low)
        top, known, so_far = self._halves.get(high, (high, base, 0))
        if known != base or so_far % size != offset - offset % step:
            return None
        total = so_far + offset % step + constant
        upper = total - total % step
        if upper >= size or not self.names((*high, *low)) <= self.public:
            return None
        if not upper:
            return high
        out = tuple(self.expressions.atom("high", top, base, upper, index) for index in range(len(high)))
        self._halves[out] = (top, base, upper)
        return out

    def decided(self, question: Predicate) -> bool | None:
        """The answer, or None where the assumptions do not tell."""
        try:
            return self.decide(question)
        except Split:
            return None

    def carry(self, x: Word, y: Word) -> Predicate | PairPredicate | Unknown | bool:
        """Whether x + y exceeds its size, for two unknowns.

        Over the integers x is its base plus an offset that may be negative; so is y. That is decided first.
        """
        if not self.names(x) | self.names(y) <= self.public:
            return Unknown("the carry of a value that is not constant")
        size = threshold = 1 << 8 * len(x)
        for word in (x, y):
            base, offset = self.origin(word)
            wraps = offset and self.decide_either(self.between(base, size - offset, size - 1))
            threshold -= offset - size * bool(wraps)
        one, two = sorted((self.origin(x)[0], self.origin(y)[0]))
        both = self._beside(one, two)
        if both is not None:
            return self.between(both, max(threshold, 0), size - 1)
        return PairPredicate(one, two, threshold)

    def shifted_right(self, word: Word, bits: int, shift: Callable[[Word], Word]) -> Word | None:
        """(x + c) >> bits as (x + c's low bits) >> bits, plus the rest of c; None where x + c may wrap.

        `shift` is the linear map. So that lengths in blocks fold like lengths in bytes.
        """
        base, offset = self.origin(word)
        size = 1 << 8 * len(word)
        known = base in self.assumed or base in self._derived or self.forms.bounds(base)
        if not any(base) or not known:
            return None
        first, last = self.bounds(base)
        signed = offset - size if offset >= size // 2 else offset
        low = signed % (1 << bits)
        if first + signed < 0 or last + max(signed, low) >= size:
            return None
        blocks = shift(self.add(base, low))
        derived, less = self.origin(blocks)
        self._derived[derived] = (base, low, bits, less)
        if not low:
            self.forms.shifted(base, bits, derived)
        return self.add(blocks, signed >> bits)

    def known(self, base: Word) -> Any:
        """All that answers about a base hang on."""
        index = self.indexed.low(base)
        return self.bounds(base), None if index is None else self.bounds(index.upper)

    def bounds(self, base: Word) -> Interval:
        """What is assumed of x."""
        if base in self.assumed:
            return self.assumed[base]
        if base in self._derived:
            source, low, bits, less = self._derived[base]
            first, last = self.bounds(source)
            return ((first + low) >> bits) - less, ((last + low) >> bits) - less
        if base in self._plus:
            one, two = map(self.bounds, self._plus[base])
            if one[1] + two[1] < 1 << 8 * len(base):
                return one[0] + two[0], one[1] + two[1]
        return self.forms.bounds(base) or self._all(base)

    def _all(self, base: Word) -> Interval:
        return 0, int.from_bytes(bytes(map(self.expressions.varying, base)), "little")

    def _overlap(self, x: Word, y: Word) -> bool:
        """Whether a bit may be set in both, so that adding may carry."""
        vary = self.expressions.varying
        return any((vary(a) | a & 0xFF) & (vary(b) | b & 0xFF) for a, b in zip(x, y, strict=True))

    def between(self, word: Word, low: int, high: int) -> Predicate | bool:
        """Whether word, x + c, lies from `low` to `high` (0 ≤ low ≤ high): as a question about x."""
        base, offset = self.origin(word)
        modulus = 1 << 8 * len(word)
        if low > high:
            return False
        if high - low >= modulus - 1:
            return True
        if not any(base):
            return low <= offset <= high
        form = self.forms.of_base(base)
        if len(form) == 1 and form[0][1] == -1:
            return Predicate(form[0][0], (offset - high) % modulus, (offset - low) % modulus)
        return Predicate(base, (low - offset) % modulus, (high - offset) % modulus)

    def below(self, one: Word, two: Word) -> Predicate | bool | None:
        """Whether x + c < x + d, unsigned, each modulo its size: a question about x; None for other words.

        So code finds a carry: the sum is below what was added to.
        """
        (x, c), (other, d) = self.origin(one), self.origin(two)
        if x != other:
            return None
        size = 1 << 8 * len(one)
        more = (c - d) % size
        return self.between(two, size - more, size - 1) if more else False

    def decide_either(self, question: Predicate | bool) -> bool:
        """An answer, whether it hangs on the assumptions or not."""
        return question if isinstance(question, bool) else self.decide(question)

    def _decide_pair(self, question: PairPredicate) -> bool:
        one, two, key = self.bounds(question.one), self.bounds(question.two), (question.one, question.two)
        first, last = self.assumed.get(key, (0, one[1] + two[1]))
        first, last = max(first, one[0] + two[0]), min(last, one[1] + two[1])
        if first > last:
            raise Impossible
        if first >= question.threshold or last < question.threshold:
            return bool(first >= question.threshold)
        raise Split(key, question.threshold, (first, last), 1)

    def decide(self, question: Predicate | PairPredicate) -> bool:
        """The answer under the assumptions; Split where they do not tell, SecretDependence for a secret x."""
        if isinstance(question, PairPredicate):
            return self._decide_pair(question)
        word, modulus = question.word, 1 << 8 * len(question.word)
        secret = self.names(word) - self.public - self.layout
        if secret:
            raise SecretDependence(f"the run depends on {', '.join(sorted(secret))}")
        index = self.indexed.low(word)
        if index is not None and word not in self.assumed:
            return self.indexed.decide(index, question)
        step = self.granularity(word)
        first, last = self.bounds(word)
        low, high = question.low, question.high
        pieces = [(low, high)] if low <= high else [(0, high), (low, modulus - 1)]
        pieces = [(-(-start // step) * step, end // step * step) for start, end in pieces]
        if any(start <= first and last <= end for start, end in pieces):
            return True
        meeting = [(s, e) for s, e in pieces if s <= e and s <= last and first <= e]
        if not meeting:
            return False
        start, end = meeting[0]
        raise self._split(word, start if start > first else end + step, (first, last), step)

    def _split(self, word: Word, at: int, interval: Interval, step: int) -> Split:
        """A base that is another one shifted, (x + low >> bits) − less, or times, is split as x must be."""
        cut = None if word in self.assumed else self.forms.cut(word, at)
        if cut:
            step = self.granularity(cut[0])
            return self._split(cut[0], -(-cut[1] // step) * step, self.bounds(cut[0]), step)
        if word in self.assumed or word not in self._derived:
            return Split(word, at, interval, step)
        source, low, bits, less = self._derived[word]
        step = self.granularity(source)
        least = (at + less << bits) - low
        return self._split(source, -(-least // step) * step, self.bounds(source), step)

    def names(self, word: Word) -> frozenset[str]:
        """The inputs that a word depends on."""
        found = self._names.get(word)
        if found is None:
            names = (self.expressions.inputs_of(byte) for byte in word)
            found = self._names[word] = frozenset().union(*names)
        return found


def outside(instruction: Instruction, what: str) -> OutsideDomain:
    """The error for a step that the domain cannot follow."""
    return OutsideDomain(f"{instruction.mnemonic} of {what} is no linear map: {instruction.where()}")


def is_constant(word: Word) -> bool:
    """Whether every byte is known."""
    return all(byte < CONSTANTS for byte in word)
