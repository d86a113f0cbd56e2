"""Constant tables read at an unknown index: one read for all its values.

An address c + x, where x is a function of an index's bits, is the number v + c in a *view* of constant
memory: a region in which the byte at v + a is, as a function of the index, the byte at x + a.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from aeskit.machine import indices
from aeskit.machine.counters import Word
from aeskit.machine.gf2 import CONSTANTS
from aeskit.machine.indices import Low
from aeskit.machine.memory import UNREAD, Memory, Region
from aeskit.machine.semantics import Array
from aeskit.machine.splits import Choose

if TYPE_CHECKING:
    from aeskit.machine.symbolic import Symbolic

FAR = 1 << 48
"""No program or kernel has an address that far from 0 on either side (Intel SDM volume 1, 3.3.7.1)."""
FIRST, APART, MOST = 1 << 62, 1 << 54, 255
"""Where views lie, `FAR` at most about their place: 8 · `FAR` from one is no other's, and of two views
the sum is none."""
POINTERS = (4, 8)
"""Bytes of a number that may be an address."""


@dataclass
class Entries:
    """The views of one domain: by the word that the index is, and the region. Code has none."""

    domain: Symbolic
    _views: dict[tuple[Word, int], Region] = field(default_factory=dict)
    _numbers: dict[Word, int] = field(default_factory=dict)
    _addresses: dict[tuple[int, int, int], bool] = field(default_factory=dict)

    def address(self, base: Word, low: Low, memory: Memory) -> int:
        """What stands for x = `base` in addresses; from now on `memory` has its views."""
        number = self._numbers.setdefault(base, len(self._numbers))
        if number > MOST or max(low.values) >= FAR:
            raise self._choose(low)
        at = FIRST + APART * number
        there = set(map(id, memory.regions))
        made = set(map(id, self._views.values()))
        tables = [r for r in memory.regions if r.constant and r.permissions == "r" and id(r) not in made]
        for region in tables:
            view = self._views.get((base, id(region)))
            if view is None:
                view = self._views[base, id(region)] = self._view(region, low, at)
            if len(view.data) and id(view) not in there:
                memory.add(view)
        return at

    def granularity(self, address: int) -> int:
        """Of what power of 2 all values of the index at this address in a view are multiples; 1 elsewhere."""
        number = (address - FIRST + APART // 2) // APART
        base = next((word for word, n in self._numbers.items() if n == number), None)
        return 1 if base is None else self.domain.counters.granularity(base)

    def _view(self, region: Region, low: Low, at: int) -> Region:
        first, last = min(low.values), max(low.values)
        size = max(len(region.data) - (last - first), 0)
        data = np.full(size, UNREAD, np.int64)
        view = Region(f"{region.name} at an index", at + region.address - first, data, "r", constant=True)
        view.fill = partial(self._fill, region, view, low, first)
        return view

    def _fill(self, region: Region, view: Region, low: Low, first: int, start: int, size: int) -> None:
        """Bytes `start` to `start` + `size` of a view; Choose where one may be of an address."""
        ids: Array = view.data
        if (ids[start : start + size] < UNREAD).all():
            return
        starts = [start + value - first for value in low.values]
        if region.fill is not None:
            for at in starts:
                region.fill(at, size)
        rows = np.array([region.data[at : at + size] for at in starts])
        if (rows >= CONSTANTS).any() or any(self._of_address(region, at, size) for at in starts):
            raise self._choose(low)
        tables = np.ascontiguousarray(rows.T.astype(np.uint8))
        ids[start : start + size] = indices.function(self.domain.expressions, low.coordinates, tables)

    def _of_address(self, region: Region, start: int, size: int) -> bool:
        """Whether a number that has a byte of these may be an address, of which no bits may be asked."""
        key = region.address, start, size
        if key not in self._addresses:
            self._addresses[key] = self._has_address(region, start, size)
        return self._addresses[key]

    def _has_address(self, region: Region, start: int, size: int) -> bool:
        pointers = self.domain.pointers
        if pointers is None:
            return False
        data: Array = region.data[max(start - 7, 0) : start + size + 7].astype(np.uint8)
        text = data.tobytes()
        numbers = (int.from_bytes(text[at : at + n], "little") for n in POINTERS for at in range(len(text)))
        return any(map(pointers.addresses.is_address, numbers))

    def _choose(self, low: Low) -> Choose:
        return Choose(*indices.source(self.domain.expressions, low.coordinates[0][0]))
