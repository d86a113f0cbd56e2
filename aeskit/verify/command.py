"""The command `aeskit verify`: a progress bar, the table, the findings, the exit status."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from aeskit.verify import run
from aeskit.verify.report import INCOMPLETE, Report

_SHOWN = 40
"""Findings that the terminal shows; the JSON file has all that the report keeps."""


def verify(
    modes: Sequence[str],
    names: Sequence[str],
    level: str,
    seed: int,
    required: Sequence[str],
    file: str | None,
) -> int:
    """Run the level on what is selected; the exit status. A wrong name is told and costs no run."""
    try:
        selected, wanted = run.select(modes, names), run.requirements(required)
        if file and not Path(file).absolute().parent.is_dir():
            raise ValueError(f'the folder of "{file}" must exist')
    except ValueError as error:
        return _misused(error)
    columns = (
        TextColumn("verify"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("verify", total=None)
        report = run.verify(
            selected, level, seed, wanted, lambda done, of: bar.update(task, completed=done, total=of)
        )
    return _conclude(report, file)


def replay(identity: str, file: str | None) -> int:
    """Make one check again; the exit status."""
    try:
        report = run.again(identity)
    except ValueError as error:
        return _misused(error)
    return _conclude(report, file)


def _conclude(report: Report, file: str | None) -> int:
    console = Console()
    console.print(report.table())
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
        Path(file).write_text(json.dumps(report.to_json(), indent=1) + "\n", encoding="utf-8")
    return report.status


def _misused(error: ValueError) -> int:
    Console(stderr=True).print(
        f"aeskit verify: {error}", style="red", markup=False, highlight=False, soft_wrap=True
    )
    return INCOMPLETE
