"""The commands of `aeskit vectors`: what they print, and their exit status."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from rich import markup
from rich.console import Console
from rich.progress import (
    Progress,
    SpinnerColumn,
    TextColumn,
)
from rich.table import Table

from aeskit.answers import check as checking
from aeskit.answers import make as making
from aeskit.answers import show as showing
from aeskit.answers.check import Row, Status
from aeskit.answers.engine import Unsupported
from aeskit.answers.engines import Model, emulated, select
from aeskit.answers.mutants import Killer, every
from aeskit.answers.respond import respond
from aeskit.machine.bochs import EmulatorError
from aeskit.printed import printable
from aeskit.trace import Trace
from aeskit.vectors import TestVector, VectorError, files, registry
from aeskit.vectors.registry import Format
from aeskit.vectors.source import Source

VERSION = 1
"""Of the JSON report."""

LONGEST = 2000
"""Characters of one message; a file may give a vector a name of any length."""

PASSED, FAILED, MISUSED = 0, 1, 2
"""Exit status: all that ran passed; a failure; a file that is broken, a wrong name, or nothing that ran."""


def escape(told: str) -> str:
    """Text for a console: what files say is neither markup nor a command to the terminal, nor endless."""
    cut = told if len(told) <= LONGEST else told[:LONGEST] + "…"
    return markup.escape(printable(cut))


def check(
    paths: Sequence[str],
    names: tuple[str, ...],
    form: str | None,
    report: str | None,
    engine: str = "native",
) -> int:
    """Check files against engines: a table, the reasons, the failures; the exit status."""
    console = Console(stderr=True)
    try:
        engines, missing = select(names) if engine == "native" else (emulated(names), {})
        found = _files(paths, form)
    except (ValueError, EmulatorError) as error:
        return misused(error)
    rows: list[Row] = []
    broken: list[str] = []
    notes: list[str] = []
    with Progress(SpinnerColumn(), TextColumn("{task.description}"), console=console, transient=True) as bar:
        names_of = files.labels([source.name for _, source in found])
        for (entry, source), label in zip(found, names_of, strict=True):
            task = bar.add_task(escape(label))
            mine = [Row(label, engine.name) for engine in engines]
            try:
                for number in checking.run(files.stream(entry, source), engines, mine):
                    bar.update(task, description=escape(f"{label}: {number} vectors"))
            except VectorError as error:
                broken.append(str(error))
            rows += mine
            notes += [f"{label}: {note}" for note in source.notes]
    _print(rows, missing, notes, broken)
    status = _status(rows, broken)
    if report:
        files.put(report, [json.dumps(_report(rows, missing, notes, broken, status), indent=1)])
    return status


def convert(path: str, out: str, to: str, form: str | None, answers: Sequence[str]) -> int:
    """Read one format, write another; what cannot be held is told."""
    console = Console(stderr=True)
    try:
        read = files.read(path, *answers, form=form)
        refused = files.write(out, read, to, title=_title(read), flags=read.flags)
    except ValueError as error:
        return misused(error)
    left = sum(map(len, refused.values()))
    console.print(escape(f"{out}: {len(read) - left} of {len(read)} vectors as {registry.named(to).title}"))
    _tell(refused, console)
    return PASSED


def formats() -> int:
    """A table of the formats."""
    table = Table("format", "title", "read", "written")
    for entry in registry.formats().values():
        table.add_row(entry.name, entry.title, "yes" if entry.read else "", "yes" if entry.write else "")
    Console().print(table)
    return PASSED


def as_json(trace: Trace) -> str:
    """A trace as `show` writes it."""
    return trace.to_json()


def show(
    path: str,
    number: str,
    direction: str,
    rounds: bool,
    reports: Sequence[tuple[str, Callable[[Trace], str]]],
    answers: Sequence[str],
) -> int:
    """Print one vector and the model's steps, write the trace to files; fails if the model ends elsewhere."""
    try:
        vector = _find(files.read(path, *answers), number)
        for line in showing.text(vector, direction, rounds):
            print(printable(line))
        if vector.asks or not vector.valid:
            print("\nthe file has no answer to compare with" if vector.asks else "\nthis vector is not valid")
            return PASSED
        verdict = showing.verdict(vector, direction)
        for report, form in reports:
            files.put(report, [form(showing.trace(vector, direction))])
    except (ValueError, Unsupported) as error:
        return misused(error)
    print(f"\nmodel and vector: {verdict}")
    return PASSED if verdict == "equal" else FAILED


def answer(path: str, out: str, to: str, name: str) -> int:
    """Answer a file's questions with one engine."""
    console = Console(stderr=True)
    try:
        (engine,), _ = select((name,)) if name != "all" else ([Model()], {})
        read = files.read(path)
        found = list(respond(read, engine))
        refused = files.write(out, found, to, title=_title(read), flags=read.flags)
    except ValueError as error:
        return misused(error)
    except Unsupported as reason:
        return misused(f"{path}: {name} {reason}")
    asked = sum(bool(vector.asks) for vector in read)
    console.print(escape(f"{out}: {asked:,} questions answered by {engine.name}"))
    _tell(refused, console)
    return PASSED


def make(
    mode: str,
    edges: Sequence[str],
    key_bits: Sequence[str],
    stealing: Sequence[str],
    seed: int,
    minimal: bool,
    functions: Sequence[str],
    count: int,
    to: str,
    out: str | None,
) -> int:
    """Make the vectors of a mode's edges, or the fewest of them, in any format."""
    console = Console(stderr=True)
    try:
        registry.named(to)
        with console.status(f"making {mode}"):
            made = making.make(mode, edges=edges, key_bits=key_bits, seed=seed, stealing=stealing)
            killers = [*every(mode), *changed(functions, count)]
            made, result = making.smallest(made, killers) if minimal else (made, None)
        if out:
            refused = files.write(out, made, to, title=made.name, flags=made.flags)
        else:
            pieces, refused = files.text_pieces(made, to, title=made.name, flags=made.flags)
            sys.stdout.writelines(pieces)
    except (ValueError, EmulatorError) as error:
        return misused(error)
    console.print(escape(f"{len(made)} vectors, {', '.join(made.flags)}"), highlight=False)
    if result:
        proved = "no set is smaller" if result.smallest else f"{result.least} vectors at least are needed"
        console.print(f"they kill {len(result.killed):,} mutants, {proved}", highlight=False)
        for name in result.survivors:
            console.print(escape(f"survives: {name}"), highlight=False)
    _tell(refused, console)
    return PASSED


def changed(functions: Sequence[str], count: int) -> list[Killer]:
    """Mutants of machine code; ValueError for a name that is none, EmulatorError without an emulator."""
    if not functions:
        return []
    from aeskit.answers.mutants.machine import of_function

    return [killer for name in functions for killer in of_function(name, count)]


def _find(found: files.VectorSet, number: str) -> TestVector:
    """By its name, else by its number from 0."""
    for vector in found:
        if vector.name == number:
            return vector
    if not number.isascii() or not number.isdigit() or int(number) >= len(found):
        raise ValueError(f"{found.name}: N must be a name or from 0 to {len(found) - 1}, not {number}")
    return found[int(number)]


def misused(error: object) -> int:
    """Tell what was asked for wrongly; the exit status."""
    Console(stderr=True).print(f"[red]{escape(str(error))}[/]", highlight=False, soft_wrap=True)
    return MISUSED


def _tell(refused: files.Refused, console: Console) -> None:
    for reason, names in refused.items():
        console.print(escape(f"not written, {reason}: {_some(names)}"), highlight=False)
    for name, count in refused.dropped.items():
        console.print(f"left out, no place for it: {name} of {count:,} vectors", highlight=False)


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
        table.add_column(name, justify="right", overflow="fold")
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
