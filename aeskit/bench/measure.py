"""Cycles of a native call, measured so that noise shows instead of deciding.

A pass times every call of the run for some microseconds, between two chains of dependent additions, one
core cycle each; the ratio is the call in cycles whatever the clock was doing. Where the two chains disagree,
the pass is taken again. Passes are spread over time and the calls are interleaved, so a disturbance hits
single passes, not single calls. The minimum is the figure; the spread, median over minimum, says how far to
trust it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from aeskit import _native

ADDITIONS = 64
"""Dependent additions of one iteration of `limit_add`."""

CLOCK_ITERATIONS = 500
PASS_NANOSECONDS = 40_000
STEADY = 0.005
"""How far the clocks before and after a pass may differ, as a part of either."""
TRIES = 8
NOISY = 1.05
"""A spread beyond this marks a figure as noisy."""


@dataclass(frozen=True)
class Call:
    """A native function by address, up to six integers or pointers, and in `keep` what these point to."""

    address: int
    arguments: tuple[int, ...]
    keep: object = None


@dataclass(frozen=True)
class Figure:
    """A measured call: core cycles (the minimum over the passes) and the spread (median over minimum)."""

    cycles: float
    spread: float

    @property
    def noisy(self) -> bool:
        """Whether the passes disagreed so much that the figure should be taken again."""
        return self.spread > NOISY


def address(name: str) -> int:
    """The address of a native function; AttributeError if the core was built without it."""
    return int(_native.ffi.cast("uintptr_t", _native.ffi.addressof(_native.lib, name)))


def time_calls(call: Call, repeats: int) -> int:
    """Nanoseconds of `repeats` calls in a row."""
    arguments = list(call.arguments) + [0] * (6 - len(call.arguments))
    return int(_native.lib.bench_calls(call.address, arguments, repeats))


def nanoseconds_a_cycle() -> float:
    """One core cycle now, by the chain of dependent additions."""
    clock = Call(address("limit_add"), (CLOCK_ITERATIONS,))
    return time_calls(clock, 1) / (CLOCK_ITERATIONS * ADDITIONS)


def measure(calls: Sequence[Call], passes: int = 50, step: Callable[[], None] = lambda: None) -> list[Figure]:
    """Cycles a call for each of `calls`, in their order; `step` is called after each pass."""
    repeats = [_repeats(call) for call in calls]
    cycles: list[list[float]] = [[] for _ in calls]
    for _ in range(passes):
        for call, count, found in zip(calls, repeats, cycles, strict=True):
            found.append(_steady_pass(call, count))
        step()
    return [Figure(min(found), median(found) / min(found)) for found in cycles]


def _steady_pass(call: Call, count: int) -> float:
    """Cycles a call in a pass during which the clock stood still, or in the last of TRIES passes."""
    for _ in range(TRIES):
        before = nanoseconds_a_cycle()
        taken = time_calls(call, count)
        after = nanoseconds_a_cycle()
        if abs(before - after) < STEADY * after:
            break
    return taken / count / min(before, after)


def _repeats(call: Call) -> int:
    """How many calls fill a pass; the first call warms caches and is not counted."""
    time_calls(call, 1)
    return max(1, PASS_NANOSECONDS // max(1, time_calls(call, 1)))
