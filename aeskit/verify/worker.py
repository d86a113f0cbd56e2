"""The child process that makes the checks: it says where it stands before each, in case the next kills it."""

from __future__ import annotations

import resource
import signal
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from aeskit.verify import cases, inputs, known, layouts, oracle
from aeskit.verify.differential import Expected, examine
from aeskit.verify.inputs import Inputs
from aeskit.verify.known import Known
from aeskit.verify.layouts import Layout
from aeskit.verify.replay import Problem
from aeskit.verify.runner import Runner

SHOWN = 20
"""Findings of one function in one chunk that are reported in words; all are counted."""

PROBLEM, FUNCTION, LAYOUT, BEGUN, ROWS = range(5)
"""Places in the shared numbers: where the worker stands, whether it has begun, then CELLS for each row."""
CHECKS, FAILURES, NANOSECONDS, CELLS = range(4)

Position = tuple[int, int, int]
Cells = memoryview


@dataclass(frozen=True)
class Chunk:
    """Problems of one mode and direction, for the functions of that mode and direction."""

    problems: tuple[Problem, ...]
    functions: tuple[str, ...]
    rows: tuple[int, ...]
    """Their places in the report, and behind them that of the mode's model."""
    level: str
    only: Layout | None = None
    """A single layout, to replay."""
    seed: int = 0
    """The first of the run's seeds: its cases have every split, and the model's answer."""
    left_out: frozenset[int] = frozenset()
    """Rows that are not run any more."""

    def layouts(self, problem: Problem) -> tuple[Layout, ...]:
        """Those in which the problem is set."""
        if self.only:
            return (self.only,)
        if isinstance(problem, Known):
            every = layouts.of("ecb", problem.length, "quick")[:2]
            return every[:1] if problem.mode == "keys" else every
        turn = problem.length + problem.key_bits // 64
        carries = problem.start.startswith("carry") and self.level == "full"
        splits = problem.seed == self.seed and (problem.start == "random" or carries)
        return layouts.of(problem.mode, problem.length, self.level, turn, splits)

    def model_due(self, problem: Problem) -> bool:
        """Whether the model, which is slow, has to answer as well.

        To known answers always, else once for each mode, key size and length: directions and orders of
        stealing take turns. In the full level, up to 600 bytes, both directions answer; in the brief one the
        longer lengths are a sample.
        """
        if isinstance(problem, Known) or self.only:
            return not self.only
        length, mode = problem.length, problem.mode
        first = problem.seed == self.seed and cases.takes(mode, length)
        first = first and problem.start in ("random", "zeros", "ones")
        if not first or mode == "keys":
            return first
        if self.level == "brief":
            return length <= 48 or length % 7 == 0
        turn = length // 2 + problem.key_bits // 64
        in_turn = not problem.stealing or problem.stealing == ("CS1", "CS2", "CS3")[turn % 3]
        both = self.level == "full" and length <= 600
        return in_turn and (both or problem.direction in ("crypt", ("encrypt", "decrypt")[turn % 2]))

    @property
    def checks(self) -> int:
        """How many it holds, those of the model with them."""
        models = sum(self.model_due(problem) for problem in self.problems)
        return models + len(self.functions) * sum(len(self.layouts(problem)) for problem in self.problems)


def solve(problem: Problem) -> tuple[Inputs, Expected]:
    """What goes in and what must come out."""
    if isinstance(problem, Known):
        return known.inputs(problem), known.expected(problem)
    made = inputs.of(problem)
    return made, oracle.expected(made)


def work(connection: Connection, numbers: Any, make_runner: Callable[[], Runner]) -> None:
    """Serve chunks until the connection closes: ``(chunk, first position)`` in, findings and None out.

    An error of the checks themselves goes out as its traceback.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        runner, cells = make_runner(), memoryview(numbers).cast("B").cast("q")
        while True:
            try:
                chunk, first = connection.recv()
            except (EOFError, ConnectionError):
                return
            cells[BEGUN] = 1
            for finding in _run(runner, chunk, first, cells):
                connection.send(finding)
            connection.send(None)
    except Exception:
        connection.send(traceback.format_exc())


Found = tuple[int, Problem, Layout | None, str]
"""A function's place in the chunk (the model's is behind the last), problem, layout and what is wrong."""


def _run(runner: Runner, chunk: Chunk, first: Position, cells: Cells) -> Iterator[Found]:
    shown = [0] * len(chunk.rows)
    for p in range(first[PROBLEM], len(chunk.problems)):
        problem, fresh = chunk.problems[p], (p, 0, 0) >= first
        made, wanted = solve(problem)
        if fresh and (text := _model(chunk, problem, made, wanted, cells)):
            yield len(chunk.functions), problem, None, text
        context, places = oracle.context(made.mode, made.key), chunk.layouts(problem)
        for f, function in enumerate(chunk.functions):
            if chunk.rows[f] in chunk.left_out:
                continue
            begin = first[LAYOUT] if (p, f) == first[:2] else len(places) if (p, f) < first[:2] else 0
            base, since = ROWS + CELLS * chunk.rows[f], time.perf_counter_ns()
            for k in range(begin, len(places)):
                cells[PROBLEM], cells[FUNCTION], cells[LAYOUT] = p, f, k
                text = examine(runner, function, made, context, wanted, places[k])
                cells[base + CHECKS] += 1
                if text:
                    cells[base + FAILURES] += 1
                    shown[f] += 1
                    if shown[f] <= SHOWN:
                        yield f, problem, places[k], text
            cells[base + NANOSECONDS] += time.perf_counter_ns() - since


def _model(chunk: Chunk, problem: Problem, made: Inputs, wanted: Expected, cells: Cells) -> str | None:
    """Check the mode's model; None if it agrees or has no turn."""
    if not chunk.model_due(problem):
        return None
    base, since = ROWS + CELLS * chunk.rows[-1], time.perf_counter_ns()
    text = oracle.difference(made, wanted)
    cells[base + CHECKS] += 1
    cells[base + FAILURES] += bool(text)
    cells[base + NANOSECONDS] += time.perf_counter_ns() - since
    return text
