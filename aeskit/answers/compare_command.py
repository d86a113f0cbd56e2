"""The command `aeskit vectors compare`: a row a family of faults, a column a set of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from string import ascii_uppercase

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from aeskit.answers import compare as comparing
from aeskit.answers.command import PASSED, changed, escape, misused
from aeskit.answers.mutants import Killer, every
from aeskit.machine.bochs import EmulatorError
from aeskit.vectors import TestVector, VectorError, files, registry
from aeskit.vectors.registry import Format
from aeskit.vectors.source import Source

_BAR = (TextColumn("faults"), BarColumn(), MofNCompleteColumn(), TextColumn("left"), TimeRemainingColumn())


def compare(
    paths: Sequence[str], modes: Sequence[str], functions: Sequence[str], count: int, listed: bool
) -> int:
    """The table of sets by families of faults."""
    console = Console(stderr=True)
    try:
        sets = _sets(paths, console)
        of_code = changed(functions, count)
    except (ValueError, EmulatorError) as error:
        return misused(error)
    held = {vector.mode for vectors in sets.values() for vector in vectors}
    killers: list[Killer] = [killer for killer in every() if killer.mode in held]
    killers = [killer for killer in [*killers, *of_code] if killer.mode in (modes or held)]
    if not killers:
        return misused(f"mode must be one that the files hold and that has faults, {', '.join(sorted(held))}")
    found = comparing.Comparison(tuple(sets))
    with Progress(*_BAR, console=console, transient=True) as bar:
        task = bar.add_task("faults", total=len(killers))
        for number in comparing.compare(found, sets, killers):
            bar.update(task, completed=number)
    print_comparison(found, listed)
    return PASSED


def _sets(paths: Sequence[str], console: Console) -> dict[str, list[TestVector]]:
    """Name to vectors: a file is a set, and so is a folder with all the files of vectors that are in it."""
    folders = [Path(path) for path in paths if Path(path).is_dir()]
    given = files.group([path for path in paths if not Path(path).is_dir()])
    parts = [[pair] for pair in given] + [_folder(folder, console) for folder in folders]
    names = files.labels([source.name for _, source in given] + [str(folder) for folder in folders])
    return {
        name: [vector for entry, source in part for vector in files.stream(entry, source)]
        for name, part in zip(names, parts, strict=True)
    }


def _folder(folder: Path, console: Console) -> list[tuple[Format, Source]]:
    known = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        try:
            registry.recognise(Source(path))
            known.append(path)
        except VectorError as error:
            console.print(escape(f"passed over, {error}"), highlight=False, soft_wrap=True)
    return files.group(known)


def print_comparison(found: comparing.Comparison, listed: bool) -> None:
    """A row a family, a column a set; columns that are too many for their names have letters."""
    console = Console()
    wide = 60 + sum(max(len(name), 6) + 3 for name in found.sets) > console.width
    letters = ascii_uppercase if wide and len(found.sets) <= len(ascii_uppercase) else ""
    heads = list(letters[: len(found.sets)]) or list(found.sets)
    table = Table(title="faults found, by family", title_justify="left")
    table.add_column("mode")
    table.add_column("family", no_wrap=True)
    table.add_column("faults", justify="right")
    for head in heads:
        table.add_column(escape(head), justify="right", overflow="fold")
    total, sums = 0, dict.fromkeys(found.sets, 0)
    for mode, family, count, by in found.families():
        table.add_row(mode, family, str(count), *(str(by[name]) for name in found.sets))
        total += count
        sums = {name: sums[name] + by[name] for name in found.sets}
    table.add_section()
    table.add_row("all", "", str(total), *(str(sums[name]) for name in found.sets))
    console.print(table)
    for head, name in zip(heads, found.sets, strict=True):
        only, missed = found.only(name), found.missed(name)
        named = name if head == name else f"{head}, {name}"
        console.print(
            escape(f"{named}: {len(only)} that no other set finds, {len(missed)} missed that another finds"),
            highlight=False,
        )
        for fault in only if listed else []:
            console.print(escape(f"  only here: {fault}"), highlight=False)
