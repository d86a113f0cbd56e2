"""What calls from Python are to reach: met, or by what factor not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from aeskit.bench.python_calls import NATIVE, PythonRow

MICROSECONDS = 1.2
"""For a fresh sector of 512 bytes, tweak and bytes in, bytes out, on a machine of 3 GHz."""
OF_NATIVE = 0.97
FROM = 1 << 18
"""Batches of so many bytes are to reach that part of the native rate."""
SCALING = 1.9
"""Of two threads."""


Rows = dict[tuple[str, str, int], PythonRow]
"""By operation, name and size."""


@dataclass(frozen=True)
class PythonVerdict:
    """A goal in words beside what was measured; `factor` is at most 1 where it is met."""

    goal: str
    size: int
    found: str
    factor: float
    noisy: bool = False
    """Whether a figure behind it is: then it shows nothing."""
    reason: str = ""
    """What limits it, by figures of the same run; for a goal that is met, what leaves so little room."""

    @property
    def met(self) -> bool:
        """Whether the goal is reached."""
        return self.factor <= 1 and not self.noisy


def judge(rows: Iterable[PythonRow]) -> list[PythonVerdict]:
    """Every goal that the rows measure."""
    return list(_judge({(row.operation, row.name, row.size): row for row in rows}))


def _judge(rows: Rows) -> Iterator[PythonVerdict]:
    for (operation, name, size), row in rows.items():
        native = rows.get((operation, NATIVE, size))
        alone = rows.get((operation.removesuffix(", 2 threads"), name, size))
        if (operation, name, size) == ("xts encrypt", "aeskit", 512):
            goal = f"{operation}: ≤ {MICROSECONDS} µs"
            factor = row.microseconds / MICROSECONDS
            yield PythonVerdict(goal, size, f"{row.time} µs", factor, row.noisy, _call(rows, row))
        elif name == "aeskit" and native and size >= FROM:
            part = native.microseconds / row.microseconds
            goal = f"{operation}: ≥ {OF_NATIVE:.0%} of native"
            reason = _interpreter(rows, operation, native, row)
            noisy = row.noisy or native.noisy
            yield PythonVerdict(goal, size, f"{part:.1%}", OF_NATIVE / part, noisy, reason)
        elif alone and alone is not row:
            scaling = alone.microseconds / row.microseconds
            goal = f"{operation}: ≥ {SCALING} × one"
            reason = _memory(rows, alone, row)
            noisy = row.noisy or alone.noisy
            yield PythonVerdict(goal, size, f"{scaling:.2f} ×", SCALING / scaling, noisy, reason)


def _call(rows: Rows, row: PythonRow) -> str:
    """What a call takes that has least to encrypt."""
    least = min((one for one in rows.values() if _same(one, row)), key=lambda one: one.size)
    return f"{row.operation}, {row.size} bytes: {row.time} µs; {least.size} bytes take {least.time} µs."


def _same(one: PythonRow, row: PythonRow) -> bool:
    return (one.operation, one.name) == (row.operation, row.name)


def _interpreter(rows: Rows, operation: str, native: PythonRow, row: PythonRow) -> str:
    """What the interpreter adds to a batch, beside what it may and what it adds to the smallest one."""
    least = min(size for name, by, size in rows if (name, by) == (operation, NATIVE))
    small, small_native = rows.get((operation, row.name, least)), rows[operation, NATIVE, least]
    room = native.microseconds * (1 / OF_NATIVE - 1)
    text = (
        f"{operation}, {row.size} bytes: {native.time} µs from C leave {room:.2f} µs for Python, "
        f"which took {row.microseconds - native.microseconds:.2f}"
    )
    if small and small is not row:
        text += f"; with {least} bytes it took {small.microseconds - small_native.microseconds:.2f}"
    return text + "."


def _memory(rows: Rows, alone: PythonRow, row: PythonRow) -> str:
    """What one thread and two get out of memory, beside the best of one thread out of caches."""
    caches = max(one.megabytes_a_second for one in rows.values() if one.operation == alone.operation)
    return (
        f"{row.operation}, {row.size} bytes: {alone.megabytes_a_second:.0f} MB/s by one thread, "
        f"{caches:.0f} where the data are in its caches, {row.megabytes_a_second:.0f} by two: the rest "
        "is memory, which threads share, or a CPU that another process was using."
    )


def reasons(verdicts: Iterable[PythonVerdict]) -> list[str]:
    """What limits each goal that is missed; a noisy figure has no reason but the noise."""
    return [one.reason for one in verdicts if one.reason and not one.met and not one.noisy]
