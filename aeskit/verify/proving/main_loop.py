"""The main loop found: an address to which a run comes back with more of the message done."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aeskit.bits import BLOCK
from aeskit.machine.counters import Counters, Word
from aeskit.machine.memory import Region
from aeskit.machine.run import Machine


@dataclass
class Watch:
    """What is asked before every instruction of a run: `stride` is above 0 where it stands at the head."""

    machine: Machine
    counters: Counters
    length: Word
    """The base of the unknown length."""
    tried: frozenset[int] = frozenset()
    """Addresses that are not the main loop's head."""
    stride: int = 0
    _before: int = 0
    _seen: dict[int, tuple[list[Any], int] | None] = field(default_factory=dict)
    _data: list[tuple[Region, NDArray[Any]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        """The call is placed."""
        names = ("source", "destination", "data")
        self._data = [(r, r.data.copy()) for r in self.machine.memory.regions if r.name in names]

    def __call__(self, rip: int) -> bool:
        """Whether the run stands at the head for the second time."""
        back, self._before = rip < self._before, rip
        if not back or rip in self.tried:
            return False
        now = list(self.machine.state.gpr), self._done()
        # A loop of rounds, or a callee, comes back before the data has moved: it is not the head.
        known = self._seen.setdefault(rip, now)
        self.stride = self._between(known, now) if known else 0
        if known is not now:
            self._seen[rip] = None
        return self.stride > 0

    def _done(self) -> int:
        """Behind the last byte of source and destination that was written."""
        changed = (np.flatnonzero(region.data != before) for region, before in self._data)
        return max((int(at[-1]) + 1 for at in changed if len(at)), default=0)

    def _between(self, first: tuple[list[Any], int], second: tuple[list[Any], int]) -> int:
        """By how much a count of bytes fell, or else a pointer rose, or else more was written."""
        falls, rises = set(), set()
        for old, new in zip(first[0], second[0], strict=True):
            if isinstance(old, tuple) and isinstance(new, tuple):
                (x, c), (y, d) = self.counters.origin(old), self.counters.origin(new)
                if x == y == self.length and 0 < (c - d) % (1 << 64) < 1 << 32:
                    falls.add((c - d) % (1 << 64))
            elif isinstance(old, int) and isinstance(new, int) and new > old and self._moves(old):
                rises.add(new - old)
        stride = max(falls or rises or {second[1] - first[1]})
        return stride if stride % BLOCK == 0 else 0

    def _moves(self, address: int) -> bool:
        """Whether an address lies in source or destination; others are of round keys."""
        return any(region.address <= address <= region.end for region, _ in self._data)
