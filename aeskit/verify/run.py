"""A whole run: what is selected, what must be skipped and why, the chunks, the report."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import chain

from aeskit import implementations
from aeskit.cpu import CPU, FEATURES, detect
from aeskit.implementations import Implementation
from aeskit.verify import cases, engine, known, replay
from aeskit.verify.replay import Problem
from aeskit.verify.report import MODEL, Finding, Report, Row
from aeskit.verify.runner import NativeRunner, Runner
from aeskit.verify.worker import CELLS, CHECKS, SHOWN, Chunk, Found

MODES = {
    "keys": ("keys",),
    "ecb": ("ecb",),
    "cbc": ("cbc", "cts", "cbc_streams"),
    "ctr": ("ctr",),
    "xts": ("xts", "xts_sectors"),
}
"""What can be asked for, and the modes that it means: with stealing, of many messages or sectors at once."""

REQUIRE = "AESKIT_REQUIRE"
"""The environment variable with names to require, separated by commas."""

AVX512 = "avx512"
"""Requires every feature of that family."""

OTHERS = ("browser", "emulator", "silicon")
"""Names in the environment variable that the tests alone know."""

_CHUNK = 6000
"""Checks, about: a fraction of a second."""

Progress = Callable[[int, int], None]
"""Hears how many checks are made, of how many."""


def select(modes: Iterable[str], names: Iterable[str]) -> list[Implementation]:
    """The implementations of these modes (all by default) and names; a name may be an instruction set.

    ValueError for what there is not, and where the two exclude each other.
    """
    wanted = {mode for name in (list(modes) or MODES) for mode in MODES[name]}
    rows = [row for row in implementations.ALL if row.mode in wanted]
    for name in (names := list(names)):
        if not any(name in (row.name, row.instruction_set) for row in implementations.ALL):
            implementations.named(name)
        if not any(name in (row.name, row.instruction_set) for row in rows):
            raise ValueError(f"{name} is no implementation of {', '.join(sorted(wanted))}")
    return [row for row in rows if not names or row.name in names or row.instruction_set in names]


def requirements(given: Iterable[str]) -> list[str]:
    """The names given, and those of the environment that are for us; ValueError for one that is nothing's.

    A name is an implementation's, an instruction set's, a CPU feature's in either case, or `AVX512`.
    """

    def known(name: str) -> bool:
        return any(_requires(name, row, row.needs) for row in implementations.ALL)

    wrong = 'nothing is called "{}": require a CPU feature or an implementation'
    for name in (names := list(given)):
        if not known(name):
            raise ValueError(wrong.format(name))
    ours = []
    for name in os.environ.get(REQUIRE, "").replace(",", " ").split():
        if known(name):
            ours.append(name)
        elif name not in OTHERS and name.upper() not in FEATURES:
            raise ValueError(f"{REQUIRE}: {wrong.format(name)}, or {', '.join(OTHERS)} for the tests")
    return [*names, *ours]


def _requires(name: str, row: Implementation, features: Iterable[str]) -> bool:
    """Whether requiring `name` requires this row, which needs or lacks these features."""
    if name in (row.name, row.instruction_set):
        return True
    family = name.lower() == AVX512
    return any(f.lower() == name.lower() or (family and f.lower().startswith(AVX512)) for f in features)


def verify(
    selected: list[Implementation],
    level: str = "quick",
    seed: int = 0,
    required: Iterable[str] = (),
    progress: Progress | None = None,
    cpu: CPU | None = None,
    make_runner: Callable[[], Runner] = NativeRunner,
) -> Report:
    """Every case of the level on every implementation that can run; KeyboardInterrupt ends it early.

    Another `seed`, from 0 to 2^31, gives other keys and data. `cpu` says what `make_runner`'s engine can run.
    The checks run in other processes, which import the calling script again: it must call this under
    ``if __name__ == "__main__":`` alone. `engine.EngineError` where they cannot be started.
    """
    cpu, required = cpu or detect(), list(required)
    rows = [_row(row, cpu, required) for row in selected]
    models = sorted({row.mode for row in selected}, key=[row.mode for row in selected].index)
    rows += [Row(f"{MODEL}{mode}") for mode in models]
    report = Report(level, cpu.name, rows, seed=seed)
    execute(report, list(_chunks(selected, rows, level, seed)), progress, make_runner)
    return report


def again(identity: str, cpu: CPU | None = None, make_runner: Callable[[], Runner] = NativeRunner) -> Report:
    """Make one check again; ValueError if the line is not one, or its function cannot run here."""
    function, problem, layout = replay.parse(identity)
    cpu = cpu or detect()
    row = _row(implementations.named(function), cpu, [])
    if row.skipped:
        raise ValueError(f"{function} needs {row.skipped}")
    report = Report("replay", cpu.name, [row, Row(f"{MODEL}{problem.mode}")])
    execute(report, [Chunk((problem,), (function,), (0, 1), "quick", layout)], None, make_runner)
    del report.rows[1]
    return report


def _row(row: Implementation, cpu: CPU, required: list[str]) -> Row:
    missing = row.can(cpu)
    skipped = cpu.explain(missing) if missing else "" if row.built else "a build that holds it"
    return Row(row.name, skipped, any(_requires(name, row, missing) for name in required))


def _chunks(selected: list[Implementation], rows: list[Row], level: str, seed: int) -> Iterator[Chunk]:
    places = {row.name: place for place, row in enumerate(rows)}
    for mode, direction in dict.fromkeys((row.mode, row.direction) for row in selected):
        functions = tuple(
            row.name
            for row in selected
            if (row.mode, row.direction) == (mode, direction) and not rows[places[row.name]].skipped
        )
        numbers = (*(places[name] for name in functions), places[f"{MODEL}{mode}"])
        problems: list[Problem] = []
        checks = 0
        seeded = (replace(case, seed=case.seed + seed) for case in cases.cases(mode, direction, level))
        both: Iterator[Problem] = chain(known.every(mode, direction), seeded)
        for problem in both:
            problems.append(problem)
            checks += 20 + Chunk((problem,), functions, numbers, level, seed=seed).checks
            if checks > _CHUNK:
                yield Chunk(tuple(problems), functions, numbers, level, seed=seed)
                problems, checks = [], 0
        yield Chunk(tuple(problems), functions, numbers, level, seed=seed)


def execute(
    report: Report, chunks: list[Chunk], progress: Progress | None, make_runner: Callable[[], Runner]
) -> None:
    """Run the chunks and fill the report, its rows where the chunks say; KeyboardInterrupt ends it."""
    began, total = time.monotonic(), sum(chunk.checks for chunk in chunks)
    work = engine.Engine(len(report.rows), min(os.cpu_count() or 1, len(chunks)), make_runner)
    shown = [0] * len(report.rows)
    try:
        for event in work.run(chunks):
            if event:
                number, found = event
                shown[number] += 1
                if shown[number] <= SHOWN:
                    report.findings.append(_finding(report.rows[number].name, found))
            elif progress:
                progress(sum(work.totals()[CHECKS::CELLS]), total)
    except KeyboardInterrupt:
        report.interrupted = True
    totals = work.totals()
    planned = _planned(chunks, len(report.rows)) if report.interrupted else [0] * len(report.rows)
    for place, row in enumerate(report.rows):
        row.cases, row.failures, nanoseconds = totals[CELLS * place : CELLS * (place + 1)]
        row.stopped = row.cases < planned[place]
        row.seconds = nanoseconds / 1e9
        row.note = "left out after repeated crashes" if place in work.left_out else ""
    report.seconds = time.monotonic() - began


def _planned(chunks: Iterable[Chunk], rows: int) -> list[int]:
    """The checks that each row was to have."""
    planned = [0] * rows
    for chunk in chunks:
        for place in chunk.rows[:-1]:
            planned[place] += sum(len(chunk.layouts(problem)) for problem in chunk.problems)
        planned[chunk.rows[-1]] += sum(map(chunk.model_due, chunk.problems))
    return planned


def _finding(name: str, found: Found) -> Finding:
    _, problem, layout, text = found
    if layout is None:
        return Finding(name, f"{name}, {problem.direction}, {problem.title}: {text}", "")
    title = f"{name}, {problem.title}, {layout.title}: {text}"
    return Finding(name, title, replay.identity(name, problem, layout))
