"""A counter that code adds to in parts, byte by byte or by words, each of which it asks for its carry."""

from __future__ import annotations

from aeskit.machine.counters import Counters, Word

PARTS = (1, 2, 4)
"""Bytes of a part; of 8 the models know by themselves."""


def asked(counters: Counters, word: Word) -> int:
    """The bytes of the lowest part of a little-endian word of which something is assumed; 0 for none."""
    lower = (size for size in PARTS if size < len(word))
    return next((size for size in lower if counters.origin(word[:size])[0] in counters.assumed), 0)


def learn(counters: Counters, word: Word) -> None:
    """From now on the parts of a counter are known, low byte first, where code has them turned round."""
    for size in (*PARTS[1:], 8):
        counters.ordered.update(word[at : at + size] for at in range(0, len(word), size))


def add(counters: Counters, word: Word, number: int) -> Word:
    """word + number, part by part where code has asked about parts: so that both have the same expressions.

    Whether a part wraps is told by what is assumed of it, or splits the run.
    """
    size = asked(counters, word) if number else 0
    if not size:
        return counters.add(word, number) if number else word
    part, limit = word[:size], 1 << 8 * size
    carry, low = divmod(number, limit)
    wraps = bool(low) and counters.decide_either(counters.between(part, limit - low, limit - 1))
    return (*counters.add(part, low), *add(counters, word[size:], carry + wraps))
