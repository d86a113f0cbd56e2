"""A carry that code has shifted down, to be added to a counter's next part, as a question about the part."""

from __future__ import annotations

from aeskit.machine.counters import Counters, Predicate, Word, is_constant


def question(counters: Counters, word: Word) -> Predicate | bool | None:
    """Whether a word of 0 or 1 is 1, where it is the highest bit of a sum x + c; None for other words."""
    expressions = counters.expressions
    terms = expressions.terms[word[0] >> 8]
    if len(terms) != 1 or word[0] & 0xFF or any(word[1:]):
        return None
    what, matrix = expressions.atoms[terms[0][0]], terms[0][1]
    places = [bit for bit in range(8) if matrix >> 8 * bit & 0xFF]
    if what[0] != "sum" or len(places) != 1 or matrix >> 8 * places[0] != 1:
        return None
    _, base, constant, index = what
    largest = int.from_bytes(bytes(map(expressions.varying, base)), "little")
    position, size = 8 * index + places[0], -(-largest.bit_length() // 8)
    low, high = (1 << position) - constant, (1 << 8 * size) - 1
    if (largest + constant) >> position + 1 or not 0 < low <= high:
        return None
    return counters.between(base[:size], low, high)


def settled(counters: Counters, word: Word) -> Word:
    """The word, or 0 or 1 where it is a carry of public words: the run is split where that is not known."""
    if is_constant(word) or not counters.names(word) <= counters.public:
        return word
    asked = question(counters, word)
    return word if asked is None else (int(counters.decide_either(asked)), *[0] * (len(word) - 1))
