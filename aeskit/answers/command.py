"""The commands `aeskit vectors check`, `convert` and `show`: what they print, and their exit status."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import Progress, SpinnerColumn, TextColumn
from rich.table import Table

from aeskit.answers import check as checking
from aeskit.answers.check import Row, Status
from aeskit.answers.engines import select
from aeskit.vectors import VectorError, files, registry
from aeskit.vectors.registry import Format
from aeskit.vectors.source import Source

VERSION = 1
"""Of the JSON report."""

PASSED, FAILED, MISUSED = 0, 1, 2
"""Exit status: all that ran passed; a failure; a file that is broken, a wrong name, or nothing that ran."""


def check(paths: Sequence[str], names: tuple[str, ...], form: str | None, report: str | None) -> int:
    """Check files against engines: a table, the reasons, the failures; the exit status."""
    console = Console(stderr=True)
    try:
        engines, missing = select(names)
        found = _files(paths, form)
    except ValueError as error:
        console.print(f"[red]{escape(str(error))}[/]")
        return MISUSED
    rows: list[Row] = []
    broken: list[str] = []
    notes: list[str] = []
    with Progress(SpinnerColumn(), TextColumn("{task.description}"), console=console, transient=True) as bar:
        for entry, source in found:
            task = bar.add_task(source.stem)
            mine = [Row(source.stem, engine.name) for engine in engines]
            try:
                for number in checking.run(files.stream(entry, source), engines, mine):
                    bar.update(task, description=f"{source.stem}: {number} vectors")
            except VectorError as error:
                broken.append(str(error))
            rows += mine
            notes += [f"{source.stem}: {note}" for note in source.notes]
    _print(rows, missing, notes, broken)
    status = _status(rows, broken)
    if report:
        Path(report).write_text(json.dumps(_report(rows, missing, notes, broken, status), indent=1), "utf-8")
    return status


def convert(path: str, out: str, to: str, form: str | None, answers: Sequence[str]) -> int:
    """Read one format, write another; what cannot be held is told."""
    console = Console(stderr=True)
    try:
        read = files.read(path, *answers, form=form)
        refused = files.write(out, read, to, title=_title(read), flags=read.flags)
    except (ValueError, OSError) as error:
        console.print(f"[red]{escape(str(error))}[/]")
        return MISUSED
    left = sum(map(len, refused.values()))
    console.print(escape(f"{out}: {len(read) - left} of {len(read)} vectors as {registry.named(to).title}"))
    for reason, names in refused.items():
        console.print(escape(f"not written, {reason}: {_some(names)}"))
    return PASSED


def _files(paths: Sequence[str], form: str | None) -> list[tuple[Format, Source]]:
    if form is None:
        return files.group(paths)
    return [(registry.named(form), Source(Path(path))) for path in paths]


def _title(read: files.VectorSet) -> str:
    sources = {vector.source for vector in read if vector.source}
    return sources.pop() if len(sources) == 1 else Path(read.name).stem


def _print(rows: list[Row], missing: dict[str, str], notes: list[str], broken: list[str]) -> None:
    console = Console()
    table = Table(title="aeskit vectors check", title_justify="left")
    table.add_column("file", overflow="fold")
    table.add_column("implementation", no_wrap=True)
    for name in ("passed", "failed", "unsupported"):
        table.add_column(name, justify="right")
    shown = ""
    for row in rows:
        failed = row.counts[Status.FAILED]
        style = "red" if failed else "" if row.counts[Status.PASSED] else "yellow"
        counts = [f"{row.counts[status]:,}" for status in Status]
        table.add_row("" if row.file == shown else escape(row.file), row.engine, *counts, style=style)
        shown = row.file
    if rows:
        console.print(table)
    reasons: dict[tuple[str, str], dict[str, int]] = {}
    for row in rows:
        for reason, count in row.reasons.items():
            reasons.setdefault((row.file, reason), {})[row.engine] = count
    lines = []
    for (file, reason), by in reasons.items():
        counts = [f"{count:,} by {engine}" for engine, count in by.items()]
        lines.append(f"unsupported, {file}: {reason}: {', '.join(counts)}")
    lines += [f"skipped, {reason}" for reason in missing.values()]
    lines += [f"note, {note}" for note in notes]
    for line in lines:
        console.print(escape(line), highlight=False)
    for line in [*_failures(rows), *broken]:
        console.print(f"[red]{escape(line)}[/]", highlight=False, soft_wrap=True)


def _failures(rows: list[Row]) -> list[str]:
    lines = []
    for row in rows:
        for outcome in row.failures:
            where = f"{row.file}:{outcome.vector.line}"
            lines.append(f"{where}: {outcome.vector.name}, {row.engine}: {outcome.text}")
        more = row.counts[Status.FAILED] - len(row.failures)
        if more:
            lines.append(f"{row.file}: {more:,} more failures by {row.engine}")
    return lines


def _status(rows: list[Row], broken: list[str]) -> int:
    if any(row.counts[Status.FAILED] for row in rows):
        return FAILED
    ran = any(row.counts[Status.PASSED] for row in rows)
    return PASSED if ran and not broken else MISUSED


def _report(
    rows: list[Row], missing: dict[str, str], notes: list[str], broken: list[str], status: int
) -> dict[str, Any]:
    return {
        "aeskit_vectors_check": VERSION,
        "status": status,
        "rows": [
            {
                "file": row.file,
                "implementation": row.engine,
                **{status.value: row.counts[status] for status in Status},
                "reasons": dict(row.reasons),
                "failures": [
                    {"vector": item.vector.name, "line": item.vector.line, "text": item.text}
                    for item in row.failures
                ],
            }
            for row in rows
        ],
        "skipped": missing,
        "notes": notes,
        "broken": broken,
    }


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:8])
    return f"{shown} and {len(names) - 8:,} more" if len(names) > 8 else shown
