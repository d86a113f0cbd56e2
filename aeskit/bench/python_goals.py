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


@dataclass(frozen=True)
class PythonVerdict:
    """A goal in words beside what was measured; `factor` is at most 1 where it is met."""

    goal: str
    size: int
    found: str
    factor: float
    noisy: bool = False
    """Whether a figure behind it is: then it shows nothing."""

    @property
    def met(self) -> bool:
        """Whether the goal is reached."""
        return self.factor <= 1 and not self.noisy


def judge(rows: Iterable[PythonRow]) -> list[PythonVerdict]:
    """Every goal that the rows measure."""
    return list(_judge({(row.operation, row.name, row.size): row for row in rows}))


def _judge(rows: dict[tuple[str, str, int], PythonRow]) -> Iterator[PythonVerdict]:
    for (operation, name, size), row in rows.items():
        native = rows.get((operation, NATIVE, size))
        alone = rows.get((operation.removesuffix(", 2 threads"), name, size))
        if (operation, name, size) == ("xts encrypt", "aeskit", 512):
            goal = f"{operation}: ≤ {MICROSECONDS} µs"
            yield PythonVerdict(goal, size, f"{row.time} µs", row.microseconds / MICROSECONDS, row.noisy)
        elif name == "aeskit" and native and size >= FROM:
            part = native.microseconds / row.microseconds
            goal = f"{operation}: ≥ {OF_NATIVE:.0%} of native"
            yield PythonVerdict(goal, size, f"{part:.1%}", OF_NATIVE / part, row.noisy or native.noisy)
        elif alone and alone is not row:
            scaling = alone.microseconds / row.microseconds
            goal = f"{operation}: ≥ {SCALING} × one"
            yield PythonVerdict(goal, size, f"{scaling:.2f} ×", SCALING / scaling, row.noisy or alone.noisy)
