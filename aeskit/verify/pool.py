"""Processes that share a long command's work: on every core, and never longer than the command itself."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from typing import Any, TypeVar

Piece = TypeVar("Piece")
Result = TypeVar("Result")

_context = multiprocessing.get_context("forkserver")
"""Not copies of this process: a lock that a thread of it holds, a progress bar's, would be held for ever."""


def cores(workers: int | None) -> int:
    """As many processes as are asked for, by default one a core."""
    return workers or os.cpu_count() or 1


@contextmanager
def processes(
    count: int, begin: Callable[..., None] | None = None, *given: Any
) -> Iterator[ProcessPoolExecutor]:
    """`count` processes, each of which begins with `begin(*given)`; behind the block there are none.

    What they are at then is not waited for. A script that comes here must do so under its
    ``if __name__ == "__main__":``.
    """
    pool = ProcessPoolExecutor(count, _context, _start, (begin, given))
    try:
        yield pool
    finally:
        for process in list((pool._processes or {}).values()):
            process.terminate()
        pool.shutdown(wait=False, cancel_futures=True)


@contextmanager
def shared(count: int) -> Iterator[Executor]:
    """The same where the work harms nobody: one process is this one, and does at once what is submitted."""
    if count == 1:
        yield _Here()
        return
    with processes(count) as pool:
        yield pool


class _Here(Executor):
    def submit(self, task: Callable[..., Any], /, *given: Any, **named: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(task(*given, **named))
        return future


def each(task: Callable[[Piece], Result], pieces: Sequence[Piece], workers: int | None) -> Generator[Result]:
    """`task` of every piece, as they end; where one process is enough it is this one."""
    count = min(cores(workers), len(pieces))
    if count <= 1:
        yield from map(task, pieces)
        return
    with processes(count) as pool:
        for done in as_completed([pool.submit(task, piece) for piece in pieces]):
            yield done.result()


def _start(begin: Callable[..., None] | None, given: tuple[Any, ...]) -> None:
    """A process leaves Ctrl-C to its parent, and ends when its parent has, however that was."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if begin is not None:
        begin(*given)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
