"""Many checks of one function as tables, which a process with nothing else in it works through by itself.

`Script` lays the tables out as native/prototypes.h has them (``struct calls_script``); `aeskit.verify.alone`
runs them.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from aeskit.verify.placing import Placed
from aeskit.verify.runner import Call

_HEAD = (
    "function",
    "checks",
    "calls",
    "bytes",
    "which",
    "count",
    "stack",
    "stack_size",
    "watched",
    "cleared",
)
HEAD = np.dtype([(name, "<u8") for name in _HEAD])
"""`struct calls_script`."""
_NONE = (0,) * 6


class Pool:
    """Byte strings in one piece, each once, at an address."""

    def __init__(self, address: int) -> None:
        """Empty."""
        self.address, self.size = address, 0
        self._known: dict[bytes, int] = {}

    def add(self, data: bytes) -> int:
        """The address of the bytes."""
        found = self._known.get(data)
        if found is None:
            found = self._known[data] = self.address + self.size
            self.size += len(data)
        return found

    def whole(self) -> bytes:
        """All of them."""
        return b"".join(self._known)


@dataclass
class Script:
    """Tables of 8-byte numbers; addresses are those of the process that will run the checks."""

    pool: Pool
    count: int = 0
    checks: array[int] = field(default_factory=lambda: array("Q"))
    """9 numbers each, as ``struct calls_check``."""
    calls: array[int] = field(default_factory=lambda: array("Q"))
    """6 numbers each."""
    ranges: array[int] = field(default_factory=lambda: array("Q"))
    """3 numbers each, as ``struct calls_bytes``."""

    def add(self, call: Call, placed: Placed, behind: Iterable[tuple[int, bytes]]) -> None:
        """One message: where its buffers lie and what memory must hold after it."""
        add, calls, ranges = self.pool.add, self.calls, self.ranges
        first = len(calls)
        for arguments in placed.arguments(call):
            calls.extend(arguments)
            calls.extend(_NONE[len(arguments) :])
        fill = len(ranges)
        for at, data in placed.before(call):
            ranges.extend((at, add(data), len(data)))
        want = len(ranges)
        for at, data in behind:
            ranges.extend((at, add(data), len(data)))
        places = (first, len(calls) - first)
        self.checks.extend((places[0] // 6, places[1] // 6, fill // 3, (want - fill) // 3, want // 3))
        self.checks.extend(((len(ranges) - want) // 3, placed.iv, add(call.iv), len(call.iv)))
        self.count += 1
