"""Sums of multiples of unknown words, modulo their size: so that n + 16·i − 16·i is n, and folds like it.

A form is ((word, factor), …) by rising word, factors signed and none 0; its words are bases of `counters`.
Every form has one word: of a factor that is a power of two the word's bits moved up, else atoms of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from aeskit.machine.gf2 import keep

if TYPE_CHECKING:
    from aeskit.machine.counters import Counters, Interval, Word

Form = tuple[tuple["Word", int], ...]


class LinearForms:
    """The forms of one table of counters."""

    def __init__(self, counters: Counters) -> None:
        """Works with the counters' expressions and assumptions."""
        self.counters = counters
        self._forms: dict[Word, Form] = {}
        self._words: dict[tuple[int, Form], Word] = {}
        self._whole: dict[Word, tuple[Word, int]] = {}
        self.lengths: frozenset[str] = frozenset()
        """Names of unknown lengths and numbers of passes: of words of these, and counters, forms are made."""

    def are_lengths(self, *words: Word) -> bool:
        """Whether words hang on nothing else."""
        names = self.counters.names
        return bool(self.lengths) and all(names(word) <= self.lengths for word in words)

    def are_mixed(self, *words: Word) -> bool:
        """Whether words of 64 bits hang on lengths and public counters, on a length at least."""
        names = frozenset().union(*map(self.counters.names, words))
        known = names <= self.lengths | self.counters.public
        return known and not names.isdisjoint(self.lengths) and len(words[0]) == 8

    # ---- Words and forms

    def of(self, word: Word) -> tuple[Form, int]:
        """Form and constant of a word."""
        base, offset = self.counters.origin(word)
        return self.of_base(base), offset

    def of_base(self, base: Word) -> Form:
        """The form of a base."""
        return self._forms.get(base, ((base, 1),) if any(base) else ())

    def sum(self, x: Word, y: Word, minus: bool = False) -> Word:
        """x + y, or x − y, modulo their size."""
        (one, c), (two, d), sign = self.of(x), self.of(y), -1 if minus else 1
        return self._word([*one, *((word, sign * k) for word, k in two)], c + sign * d, len(x))

    def times(self, word: Word, factor: int) -> Word:
        """A multiple of a word, modulo its size."""
        form, offset = self.of(word)
        return self._word([(base, factor * k) for base, k in form], factor * offset, len(word))

    def shifted(self, base: Word, bits: int, blocks: Word) -> None:
        """`blocks` is `base` >> `bits`, of which no set bit was lost: so blocks · 2^bits is the base."""
        if self.counters.granularity(base) >> bits and blocks != base:
            self._whole[blocks] = base, bits

    def _word(self, parts: Iterable[tuple[Word, int]], constant: int, size: int) -> Word:
        modulus = 1 << 8 * size
        total: dict[Word, int] = {}
        for base, factor in parts:
            whole, bits = self._whole.get(base, (base, 0))
            if factor % (1 << bits):
                whole, bits = base, 0
            for inner, k in self.of_base(whole):
                total[inner] = total.get(inner, 0) + (factor >> bits) * k
        half = modulus // 2
        signed = ((base, (k + half) % modulus - half) for base, k in total.items())
        form = tuple(sorted((base, k) for base, k in signed if k))
        known = self._words.get((size, form))
        if known is None:
            known = self._words[size, form] = self._make(form, size)
        return self.counters.add(known, constant)

    def _make(self, form: Form, size: int) -> Word:
        if not form:
            return (0,) * size
        (base, factor), *more = form
        if not more and factor == 1:
            return base
        if not more and factor > 0 and not factor & factor - 1:
            word = self._moved_up(base, factor.bit_length() - 1)
        else:
            word = self._atoms(form, size)
        self._forms[word] = form
        return word

    def _moved_up(self, base: Word, places: int) -> Word:
        whole, bits = divmod(places, 8)
        up = sum(1 << 8 * bit + bit + bits for bit in range(8 - bits))
        over = sum(1 << 8 * bit + bit + bits - 8 for bit in range(8 - bits, 8))
        below = (*(0,) * (whole + 1), *base)
        pairs = zip(below[1:], below, strict=False)
        combine = self.counters.expressions.combine
        return tuple(combine(((up, byte), (over, under))) for byte, under in pairs)[: len(base)]

    def _atoms(self, form: Form, size: int) -> Word:
        """Bits of their own, but for the low ones, which are 0 where all terms have them 0."""
        step = min((k & -k) * self.counters.granularity(base) for base, k in form)
        masks = (-step % (1 << 8 * size)).to_bytes(size, "little")
        expressions = self.counters.expressions
        return tuple(
            expressions.map(keep(mask), expressions.atom("form", form, index))
            for index, mask in enumerate(masks)
        )

    # ---- Over the integers

    def span(self, form: Form, constant: int) -> Interval:
        """Between what the sum over the integers lies, by what is assumed of its words."""
        low = high = constant
        for base, factor in form:
            ends = [factor * end for end in self.counters.bounds(base)]
            low, high = low + min(ends), high + max(ends)
        return low, high

    def exact(self, word: Word, signed: bool = False) -> tuple[Form, int] | None:
        """The form and the constant whose sum over the integers is the word's number; None if none always is.

        The number is from 0 on, or `signed`. Words of which one value alone is left are in the constant.
        """
        (every, offset), modulus = self.of(word), 1 << 8 * len(word)
        bounds = [self.counters.bounds(base) for base, _ in every]
        offset += sum(k * first for (_, k), (first, last) in zip(every, bounds, strict=True) if first == last)
        form = tuple(term for term, (first, last) in zip(every, bounds, strict=True) if first < last)
        low, high = self.span(form, offset + modulus // 2 * signed)
        turns = low // modulus
        return (form, offset - turns * modulus) if high // modulus == turns else None

    def bounds(self, base: Word) -> Interval | None:
        """Between what a base lies that is another form than itself, where it does not wrap."""
        if base not in self._forms:
            return None
        exact = self.exact(base)
        return self.span(*exact) if exact else None

    def less(self, x: Word, y: Word) -> tuple[Word, int, int] | bool | None:
        """Whether x < y, unsigned: an answer, or (word, low, high) between which a word must lie.

        None where it is not known that neither wraps, or where it hangs on several words.
        """
        one, two = self.exact(x), self.exact(y)
        if one is None or two is None:
            return None
        total = dict(one[0])
        for base, factor in two[0]:
            total[base] = total.get(base, 0) - factor
        form = tuple((base, k) for base, k in total.items() if k)
        low, high = self.span(form, one[1] - two[1])
        if high < 0 or low >= 0:
            return high < 0
        if len(form) > 1:
            return None
        (base, factor), constant, top = form[0], one[1] - two[1], (1 << 8 * len(x)) - 1
        if factor > 0:  # factor · base < −constant
            return base, 0, (-constant - 1) // factor
        return base, constant // -factor + 1, top

    def wraps(self, x: Word, y: Word) -> bool | None:
        """Whether x + y exceeds its size; None where the bounds do not tell."""
        one, two, size = self.exact(x), self.exact(y), 1 << 8 * len(x)
        if one is None or two is None:
            return None
        low, high = self.span((*one[0], *two[0]), one[1] + two[1])
        return low >= size if (low >= size) == (high >= size) else None

    def fits(self, x: Word, y: Word, minus: bool) -> bool:
        """Whether x + y or x − y, as signed numbers, is sure to be one of their size."""
        one, two, half = self.exact(x, signed=True), self.exact(y, signed=True), 1 << 8 * len(x) - 1
        if one is None or two is None:
            return False
        sign = -1 if minus else 1
        form = (*one[0], *((base, sign * k) for base, k in two[0]))
        low, high = self.span(form, one[1] + sign * two[1])
        return -half <= low and high < half

    def cut(self, base: Word, at: int) -> tuple[Word, int] | None:
        """(x, c) where base ≥ `at` is x ≥ c, or its opposite; None where no one word tells."""
        exact = self.exact(base) if base in self._forms else None
        if exact is None or len(exact[0]) != 1:
            return None
        ((source, factor),), constant = exact
        if factor > 0:
            return source, -((constant - at) // factor)
        return source, (constant - at) // -factor + 1
