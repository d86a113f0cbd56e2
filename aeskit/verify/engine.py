"""The parent: gives chunks to child processes, and makes a finding of one that dies or never comes back."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from typing import Any

from aeskit.verify import worker
from aeskit.verify.runner import NativeRunner, Runner
from aeskit.verify.worker import BEGUN, CELLS, ROWS, Chunk, Found, Position

PATIENCE = 60.0
"""Seconds after which a check that has not come back is given up."""

CRASHES = 5
"""Of one function; then it is left out of the rest of the run."""

STARTS = 3
"""Times that a process may end before its first check; then the run is given up."""

_context = multiprocessing.get_context("forkserver")


class EngineError(RuntimeError):
    """The checks themselves went wrong, or the processes that make them cannot be started."""


@dataclass
class _Child:
    """A process, the numbers it shares, and what it is at."""

    process: Any
    connection: Connection
    numbers: Any
    chunk: Chunk | None = None
    seen: tuple[int, ...] = ()
    since: float = 0.0
    given_up: bool = False

    def give(self, chunk: Chunk, first: Position) -> None:
        """Set it to a chunk, from a position on."""
        self.chunk, self.since = chunk, time.monotonic()
        self.numbers[:ROWS] = (*first, 0)
        with contextlib.suppress(ConnectionError):  # it has died, which the other end of the pipe tells
            self.connection.send((chunk, first))

    @property
    def position(self) -> Position:
        """Where it stands: problem, function, layout."""
        problem, function, layout = self.numbers[:BEGUN]
        return problem, function, layout

    def stuck(self, patience: float) -> bool:
        """Whether it has made no check for so many seconds."""
        now = tuple(self.numbers)
        if now != self.seen:
            self.seen, self.since = now, time.monotonic()
        return bool(self.numbers[BEGUN]) and time.monotonic() - self.since > patience


@dataclass
class Engine:
    """Runs chunks on `processes` children; `totals` are the numbers of every row, CELLS each."""

    rows: int
    processes: int
    make_runner: Callable[[], Runner] = NativeRunner
    patience: float = PATIENCE
    ended: list[int] = field(default_factory=list)
    crashes: dict[int, int] = field(default_factory=dict)
    """By row."""
    unstarted: int = 0
    """Processes that ended before their first check."""
    _children: list[_Child] = field(default_factory=list)

    def run(self, chunks: Iterable[Chunk]) -> Iterator[tuple[int, Found] | None]:
        """Yield findings with the row they belong to, and None now and then so that the caller looks up.

        EngineError where the checks cannot be made.
        """
        self.ended = [0] * (self.rows * CELLS)
        _context.set_forkserver_preload([worker.__name__])
        waiting = iter(chunks)
        try:
            self._children = [self._start() for _ in range(self.processes)]
            for child in self._children:
                self._next(child, waiting)
            while busy := [child for child in self._children if child.chunk]:
                ready = wait([child.connection for child in busy], timeout=0.1)
                for child in busy:
                    if child.connection in ready:
                        yield from self._hear(child, waiting)
                    elif child.stuck(self.patience):
                        child.given_up = True
                        child.process.kill()
                yield None
        finally:
            self._stop()

    def totals(self) -> list[int]:
        """The numbers of every row as they stand now."""
        totals = list(self.ended)
        for child in self._children:
            for place, number in enumerate(child.numbers[ROWS:]):
                totals[place] += number
        return totals

    def _start(self) -> _Child:
        ours, theirs = _context.Pipe()
        numbers = _context.RawArray("q", ROWS + CELLS * self.rows)
        process = _context.Process(target=worker.work, args=(theirs, numbers, self.make_runner), daemon=True)
        try:
            process.start()
        except (OSError, EOFError) as error:
            raise EngineError(f"a checking process cannot be started: {error}") from None
        theirs.close()
        return _Child(process, ours, numbers)

    def _next(self, child: _Child, waiting: Iterator[Chunk]) -> None:
        child.chunk = None
        for chunk in waiting:
            child.give(replace(chunk, left_out=self.left_out), (0, 0, 0))
            return

    def _hear(self, child: _Child, waiting: Iterator[Chunk]) -> Iterator[tuple[int, Found]]:
        assert child.chunk
        try:
            found = child.connection.recv()
        except (EOFError, ConnectionError):
            yield from self._died(child, waiting)
            return
        if isinstance(found, str):
            raise EngineError(f"a checking process failed:\n{found}")
        if found is None:
            self._next(child, waiting)
        else:
            yield child.chunk.rows[found[0]], found

    def _died(self, child: _Child, waiting: Iterator[Chunk]) -> Iterator[tuple[int, Found]]:
        """Blame the check that it stood at, and go on behind it in a new child."""
        chunk, (problem, function, layout) = child.chunk, child.position
        assert chunk
        child.process.join()
        exit_code = child.process.exitcode
        if not child.numbers[BEGUN]:
            self._unstarted(exit_code)
            self._replace(child, chunk, child.position)
            return
        row = chunk.rows[function]
        self.crashes[row] = self.crashes.get(row, 0) + (CRASHES if child.given_up else 1)
        child.numbers[ROWS + CELLS * row + worker.CHECKS] += 1
        child.numbers[ROWS + CELLS * row + worker.FAILURES] += 1
        text = f"killed by {_signal(exit_code)}"
        if child.given_up:
            text = f"did not return in {self.patience:g} s"
        place = chunk.layouts(chunk.problems[problem])[layout]
        self._replace(child, chunk, (problem, function, layout + 1))
        yield row, (function, chunk.problems[problem], place, text)

    def _replace(self, child: _Child, chunk: Chunk, first: Position) -> None:
        self.ended = [a + b for a, b in zip(self.ended, child.numbers[ROWS:], strict=True)]
        self._children[self._children.index(child)] = fresh = self._start()
        fresh.give(replace(chunk, left_out=self.left_out), first)

    def _unstarted(self, exit_code: int) -> None:
        self.unstarted += 1
        if self.unstarted >= STARTS:
            raise EngineError(
                f"{self.unstarted} checking processes ended before their first check, the last by "
                f'{_signal(exit_code)}; a script must call this under if __name__ == "__main__":'
            )

    @property
    def left_out(self) -> frozenset[int]:
        """The rows whose functions have crashed too often."""
        return frozenset(row for row, count in self.crashes.items() if count >= CRASHES)

    def _stop(self) -> None:
        for child in self._children:
            child.process.kill()
            child.process.join()
            child.connection.close()


def _signal(exit_code: int) -> str:
    return signal.Signals(-exit_code).name if exit_code < 0 else f"its own exit with status {exit_code}"
