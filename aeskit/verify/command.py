"""The command `aeskit verify`: a progress bar, the table, the findings, the exit status."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace as changed
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn

from aeskit.printed import progress, write_whole
from aeskit.verify import run
from aeskit.verify.engine import EngineError
from aeskit.verify.report import INCOMPLETE, Report

_SHOWN = 40
"""Findings that the terminal shows; the JSON file has all that the report keeps."""

_LEVEL = {"native": "quick", "emulator": "brief"}

ENGINES = tuple(_LEVEL)
"""What can run the functions: this CPU, or an emulated one that has AVX-512, some hundred times slower."""


def verify(
    modes: Sequence[str],
    names: Sequence[str],
    level: str | None,
    seed: int,
    required: Sequence[str],
    file: str | None,
    engine: str = "native",
) -> int:
    """Run the level (by default the engine's) on what is selected; the exit status.

    A wrong name is told and costs no run.
    """
    level = level or _LEVEL[engine]
    try:
        selected, wanted = run.select(modes, names), run.requirements(required)
        how = _engine(engine)
    except ValueError as error:
        return _misused(error)
    columns = (
        TextColumn("verify"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    try:
        with progress(*columns) as bar:
            task = bar.add_task("verify", total=None)
            report = run.verify(
                selected,
                level,
                seed,
                wanted,
                lambda done, of: bar.update(task, completed=done, total=of),
                **how,
            )
    except EngineError as error:
        return _misused(error)
    return _conclude(report, file, engine)


def replay(identity: str, file: str | None, engine: str = "native") -> int:
    """Make one check again; the exit status."""
    try:
        report = run.again(identity, **_engine(engine))
    except (ValueError, EngineError) as error:
        return _misused(error)
    return _conclude(report, file, engine)


def _engine(name: str) -> dict[str, Any]:
    """What `run` is told of an engine; ValueError, with what to install, where it cannot be had."""
    if name == "native":
        return {}
    from aeskit.verify import emulated

    emulated.EmulatedRunner()
    return {"cpu": emulated.EMULATED, "make_runner": emulated.EmulatedRunner}


def _conclude(report: Report, file: str | None, engine: str) -> int:
    report.engine = engine
    report.findings = [changed(finding, engine=engine) for finding in report.findings]
    console = Console()
    console.print(report.table(console.width))
    for finding in report.findings[:_SHOWN]:
        console.print(finding.text, style="red", markup=False, highlight=False, soft_wrap=True)
        if finding.identity:
            console.print(f"    {finding.command}", markup=False, highlight=False, soft_wrap=True)
    more = len(report.findings) - _SHOWN
    if more > 0:
        console.print(f"and {more} more findings kept (--json FILE has them)")
    for line in report.skips():
        console.print(line, style="yellow", markup=False, highlight=False)
    console.print(report.summary(), highlight=False)
    if file:
        write_whole(file, json.dumps(report.to_json(), indent=1) + "\n")
    return report.status


def _misused(error: Exception) -> int:
    Console(stderr=True).print(
        f"aeskit verify: {error}", style="red", markup=False, highlight=False, soft_wrap=True
    )
    return INCOMPLETE
