"""The lengths of one case of a proof for every length, in words."""

from __future__ import annotations

from aeskit.contracts import Contract
from aeskit.machine.counters import Word
from aeskit.machine.symbolic import Symbolic
from aeskit.verify.proving.assumption import Assumption

LONGEST = 1 << 40
"""Lengths are below this, a tebibyte."""


def lengths_of(assumption: Assumption, length: Word, domain: Symbolic, contract: Contract) -> str:
    """``from 16 to 96 bytes``: by what is assumed of the length, and of it shifted to the right."""
    base, offset = domain.counters.origin(length)
    low, high = dict(assumption.intervals)[base]
    for word, (first, last) in assumption.intervals:
        for count in range(1, LONGEST.bit_length()):
            if domain.shifted(base, count)[: len(word)] == word:
                low, high = max(low, first << count), min(high, (last + 1 << count) - 1)
    multiple = contract.multiple
    low, high = -(-low // multiple) * multiple + offset, high // multiple * multiple + offset
    return f"at {low} bytes and more" if high >= LONGEST - multiple else f"from {low} to {high} bytes"
