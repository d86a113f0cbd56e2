"""Cycles of a call, measured so that noise shows instead of deciding.

A pass times a call for some microseconds between two chains of dependent additions, one core cycle each; the
ratio is the call in cycles whatever the clock was doing. Passes are spread over time and the calls are
interleaved, so a disturbance hits single passes, not single calls.

A disturbance makes a chain or a call slower, never faster, and the clock's frequency moves slowly beside a
pass. So a pass is held against the fastest chain of the passes near it, and the figure of a call is its
fastest pass: what is disturbed drops out, and no figure comes out better than the truth because its chain
was the one that was disturbed. A call of whose passes too few agree is measured further, and marked as noisy
where that does not help.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from statistics import median
from time import perf_counter_ns
from typing import Protocol

from aeskit import _native

ADDITIONS = 64
"""Dependent additions of one iteration of `limit_add`."""

CLOCK_ITERATIONS = 700
PASS_NANOSECONDS = 40_000
NEAR = 6
"""How many passes before and after one give their chains for its clock: less than a millisecond."""
AGREEING = 8
"""So many passes must agree with the fastest, or the figure is noisy; of few passes, half of them."""
AGREES = 1.02
FURTHER = 3
"""A noisy call has the passes asked for again, until it has had them so often."""

Times = tuple[int, int, int]
"""Nanoseconds of a chain, of the calls, and of a chain again."""


class Timed(Protocol):
    """What can be measured."""

    def times(self, repeats: int) -> Times:
        """One pass of `repeats` calls between two chains."""


@dataclass(frozen=True)
class Call:
    """A native function by address, up to six integers or pointers, and in `keep` what these point to."""

    address: int
    arguments: tuple[int, ...]
    keep: object = None

    def times(self, repeats: int) -> Times:
        """See `Timed`."""
        arguments = list(self.arguments) + [0] * (6 - len(self.arguments))
        times = _native.ffi.new("uint64_t[3]")
        chain = address("limit_add")
        _native.lib.bench_pass(chain, CLOCK_ITERATIONS, self.address, arguments, repeats, times)
        return times[0], times[1], times[2]


@dataclass(frozen=True)
class PythonCall:
    """Anything that Python calls without arguments, the interpreter's own time included."""

    function: Callable[[], object]

    def times(self, repeats: int) -> Times:
        """See `Timed`."""
        function, chain = self.function, Call(address("limit_add"), (1,))
        before, _, _ = chain.times(1)
        start = perf_counter_ns()
        for _ in range(repeats):
            function()
        taken = perf_counter_ns() - start
        after, _, _ = chain.times(1)
        return before, taken, after


@dataclass(frozen=True)
class Figure:
    """A measured call: core cycles (of the fastest pass), and how far to trust them."""

    cycles: float
    spread: float
    """The median of the passes over the fastest."""
    noisy: bool
    """Whether too few passes agree with the fastest: the figure should be taken again."""
    gigahertz: float
    """The clock that the chains gave."""


def address(name: str) -> int:
    """The address of a native function; AttributeError if the core was built without it."""
    return int(_native.ffi.cast("uintptr_t", _native.ffi.addressof(_native.lib, name)))


def measure(
    calls: Sequence[Timed],
    passes: int = 50,
    step: Callable[[], None] = lambda: None,
    one_cpu: bool = True,
    nanoseconds: int = PASS_NANOSECONDS,
) -> list[Figure]:
    """Cycles a call for each of `calls`, in their order; `step` is called after each pass over them.

    A pass takes about so many `nanoseconds`. Calls that start threads must not be held on one CPU.
    """
    with _one_cpu() if one_cpu else nullcontext():
        repeats = [_repeats(call, nanoseconds) for call in calls]
        log: list[tuple[int, int, Times]] = []
        chosen = list(range(len(calls)))
        for further in range(FURTHER):
            for _ in range(passes if chosen else 0):
                log += [(index, repeats[index], calls[index].times(repeats[index])) for index in chosen]
                if not further:
                    step()
            chosen = _noisy(log, len(calls), passes)
    return figures(log, len(calls), passes)


def figures(log: Sequence[tuple[int, int, Times]], count: int, passes: int) -> list[Figure]:
    """The figures of `count` calls out of a log in the order of time: index, repeats and nanoseconds.

    `passes` is how many there should have been of each call.
    """
    chains = [min(before, after) for _, _, (before, _, after) in log]
    cycles: list[list[float]] = [[] for _ in range(count)]
    for at, (index, repeats, (_, taken, _)) in enumerate(log):
        near = min(chains[max(0, at - NEAR) : at + NEAR + 1])
        cycles[index].append(taken / repeats / near * CLOCK_ITERATIONS * ADDITIONS)
    gigahertz = CLOCK_ITERATIONS * ADDITIONS / median(chains)
    return [_figure(found, passes, gigahertz) for found in cycles]


def _figure(cycles: list[float], passes: int, gigahertz: float) -> Figure:
    least = min(cycles)
    agree = sum(found <= AGREES * least for found in cycles)
    return Figure(least, median(cycles) / least, agree < min(AGREEING, (passes + 1) // 2), gigahertz)


def _noisy(log: Sequence[tuple[int, int, Times]], count: int, passes: int) -> list[int]:
    return [index for index, figure in enumerate(figures(log, count, passes)) if figure.noisy]


def _repeats(call: Timed, nanoseconds: int) -> int:
    """How many calls fill a pass; the first pass warms caches and is not counted."""
    call.times(1)
    return max(1, nanoseconds // max(1, min(call.times(1)[1], call.times(1)[1])))


@contextmanager
def _one_cpu() -> Iterator[None]:
    """Stay on one CPU, where the system lets us say so: another has other caches, perhaps another clock."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(allowed)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)
