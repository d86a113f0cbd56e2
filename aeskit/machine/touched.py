"""What a stretch of a run has read and written in memory."""

from __future__ import annotations

import numpy as np

from aeskit.machine.memory import UNREAD, Memory, Region, runs
from aeskit.machine.semantics import Array

READ, WRITTEN, READ_BACK = 1, 2, 4

Spans = tuple[tuple[int, int], ...]
"""Memory as (address, bytes)."""
Log = list[tuple[str, int, Array]]


class Undeclared(Exception):
    """A result hangs on what was not said to be read."""


def touched(memory: Memory, log: Log) -> tuple[Spans, bytes, list[tuple[int, Array]], Spans]:
    """What is read before it is written, its content; what is written; what is read after that alone."""
    marks: dict[int, tuple[Region, Array, Array]] = {}
    for kind, address, data in log:
        region, at = memory.find("read" if kind == "r" else "write", address, len(data))
        if (data >= UNREAD).any():
            raise Undeclared
        size = len(region.data)
        _, mark, first = marks.setdefault(
            region.address, (region, np.zeros(size, np.uint8), np.zeros(size, np.int64))
        )
        here = slice(at, at + len(data))
        if kind == "w":
            mark[here] |= WRITTEN
            continue
        new = mark[here] & WRITTEN == 0
        first[here][new] = data[new]
        mark[here] |= np.where(new, READ, READ_BACK).astype(np.uint8)
    spans, content, written, back = [], [], [], []
    for region, mark, first in marks.values():
        for begin, end in runs(mark & READ != 0):
            spans.append((region.address + begin, end - begin))
            content.append(first[begin:end].tobytes())
        for begin, end in runs(mark & WRITTEN != 0):
            written.append((region.address + begin, region.data[begin:end].copy()))
        for begin, end in runs(mark & READ_BACK != 0):
            back.append((region.address + begin, end - begin))
    return tuple(spans), b"".join(content), written, tuple(back)
