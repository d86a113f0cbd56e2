"""Sums of multiples of lengths, held against the same sums of numbers."""

import random

import pytest
from evaluating import evaluate

from aeskit.machine.counters import Predicate
from aeskit.machine.symbolic import Symbolic

WORD = 1 << 64
BOUNDS = {"n": (32, 1 << 40), "i": (0, 1 << 36)}


def words():
    """The counters of a domain, and two lengths: n a multiple of 16, i any number."""
    domain = Symbolic(public=frozenset(BOUNDS))
    counters, inputs = domain.counters, domain.expressions.inputs
    counters.forms.lengths = frozenset(BOUNDS)
    low = domain.expressions.map(0x80_40_20_10_00_00_00_00, int(inputs("n", 1)[0]))
    n = (low, *inputs("n", 6)[1:].tolist(), 0, 0)
    i = (*inputs("i", 5).tolist(), 0, 0, 0)
    counters.assume({n: BOUNDS["n"], i: BOUNDS["i"]})
    return counters, n, i


def values(rng, edge=False):
    n, i = (rng.choice(BOUNDS[x]) if edge else rng.randint(*BOUNDS[x]) for x in "ni")
    return n & -16, i


def number(counters, word, n, i):
    inputs = {"n": n.to_bytes(8, "little"), "i": i.to_bytes(8, "little")}
    return int.from_bytes(bytes(evaluate(counters.expressions, b, inputs) for b in word), "little")


def grown(rng, counters, n, i, steps=6):
    """A random sum: its word, and p, q, r where it is p·n + q·i + r, modulo 2^64."""
    known = [(n, (1, 0, 0)), (i, (0, 1, 0))]
    for _ in range(steps):
        (a, f), (b, g), k = rng.choice(known), rng.choice(known), rng.choice([1, 2, 3, 16, 1 << 20])
        made = {
            "+": (counters.forms.sum(a, b), tuple(x + y for x, y in zip(f, g, strict=True))),
            "-": (counters.forms.sum(a, b, minus=True), tuple(x - y for x, y in zip(f, g, strict=True))),
            "*": (counters.forms.times(a, k), tuple(k * x for x in f)),
            "+k": (counters.add(a, k), (*f[:2], f[2] + k)),
        }
        known.append(made[rng.choice(list(made))])
    return known[-1]


def meant(function, n, i):
    return (function[0] * n + function[1] * i + function[2]) % WORD


@pytest.mark.parametrize("seed", range(40))
def test_words_are_the_numbers_that_their_forms_say(seed):
    rng = random.Random(seed)
    counters, n, i = words()
    word, function = grown(rng, counters, n, i)
    for edge in (False, True):
        x, y = values(rng, edge)
        assert number(counters, word, x, y) == meant(function, x, y)


def answer(counters, question, x, y):
    if isinstance(question, tuple):
        question = counters.between(*question)
    if not isinstance(question, Predicate):
        return question
    value = number(counters, question.word, x, y)
    inside = question.low <= value <= question.high
    return inside if question.low <= question.high else value <= question.high or question.low <= value


@pytest.mark.parametrize("seed", range(200))
def test_comparisons_are_those_of_the_numbers(seed):
    rng = random.Random(seed)
    counters, n, i = words()
    (a, f), (b, g) = (grown(rng, counters, n, i, rng.randrange(4)) for _ in "ab")
    less, wraps = counters.forms.less(a, b), counters.forms.wraps(a, b)
    low, high = sorted((rng.randrange(WORD), rng.randrange(WORD)))
    for edge in (False, False, True, True):
        x, y = values(rng, edge)
        one, two = meant(f, x, y), meant(g, x, y)
        assert answer(counters, less, x, y) in (None, one < two)
        assert wraps in (None, one + two >= WORD)
        assert answer(counters, counters.between(a, low, high), x, y) == (low <= one <= high)
        first, last = counters.bounds(counters.origin(a)[0])
        assert first <= (one - counters.origin(a)[1]) % WORD <= last
        signed = [v - WORD if v >> 63 else v for v in (one, two)]
        for minus, total in ((False, sum(signed)), (True, signed[0] - signed[1])):
            assert not counters.forms.fits(a, b, minus) or -WORD // 2 <= total < WORD // 2
        cut = counters.forms.cut(counters.origin(a)[0], high)
        if cut:
            above = number(counters, counters.origin(a)[0], x, y) >= high
            beyond = number(counters, cut[0], x, y) >= cut[1]
            factor = counters.forms.of(a)[0][0][1]
            assert above == (beyond if factor > 0 else not beyond)


def test_what_is_added_and_taken_away_leaves_the_same_word():
    counters, n, i = words()
    forms = counters.forms
    steps = forms.times(i, 16)
    assert forms.sum(forms.sum(n, steps), steps, minus=True) == n
    assert forms.sum(forms.sum(n, n, minus=True), steps) == steps
    assert forms.less(counters.add(steps, 16), forms.sum(n, steps)) is True  # n is 32 and more
    assert forms.less(counters.add(steps, 48), forms.sum(n, steps)) == (n, 49, WORD - 1)


def test_secret_words_have_no_forms():
    counters, n, _ = words()
    key = tuple(counters.expressions.inputs("key", 8).tolist())
    assert not counters.forms.are_lengths(n, key)
    assert counters.sum(n, key) is None
