"""Systematic faults that a set of vectors should find: `every`. Changed code can stand beside them."""

from __future__ import annotations

from functools import cache

from aeskit.answers.mutants import chains, ctr, keys, xts
from aeskit.answers.mutants.base import Killer, Mutant

__all__ = ["Killer", "Mutant", "every"]


@cache
def every(mode: str = "") -> tuple[Mutant, ...]:
    """The mutants of a mode, or of all."""
    found = [
        *xts.mutants(),
        *ctr.mutants(),
        *chains.cbc_mutants(),
        *chains.cts_mutants(),
        *chains.ecb_mutants(),
        *keys.mutants(),
    ]
    return tuple(item for item in found if mode in ("", item.mode))
