"""`aeskit bench`: from the command line's words to a run, its tables and its file."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from aeskit.bench import peers as other_libraries
from aeskit.bench.cells import Cell
from aeskit.bench.goals import judge
from aeskit.bench.report import render, render_goals
from aeskit.bench.table import SIZES, Run, cells, runnable
from aeskit.bench.table import run as measure_run
from aeskit.cpu import CPU, detect
from aeskit.implementations import ALL

MAX_SIZE = 1 << 24
DEFAULT_MODES = ("xts", "ctr", "cbc", "ecb")


def run(
    modes: Sequence[str],
    sizes: str,
    key_bits: Sequence[str],
    implementations: str,
    peers: bool,
    passes: int,
    json_file: str | None,
    goals: bool,
) -> None:
    """Measure and print; ValueError for a size or a name that cannot be."""
    cpu, console = detect(), Console()
    table = _table(cpu, modes or DEFAULT_MODES, sizes, key_bits, _names(implementations))
    found = other_libraries.found() if peers else []
    with _progress(console, passes) as step:
        result = measure_run(cpu, table, passes, found, step)
    render(result, console)
    if goals:
        render_goals(result, judge(result), console)
    if json_file:
        _write(Path(json_file), cpu.name, result)


def _table(
    cpu: CPU, modes: Sequence[str], sizes: str, key_bits: Sequence[str], names: list[str]
) -> list[Cell]:
    chosen = runnable(cpu, modes, names)
    if not chosen:
        raise ValueError(f"none of the implementations asked for can run on this CPU ({cpu.name})")
    return cells(chosen, [int(bits) for bits in key_bits] or [256], parse_sizes(sizes) or SIZES)


def parse_sizes(text: str) -> list[int]:
    """Message sizes from ``16,4096``; ValueError for anything that is no size."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        if not (re.fullmatch(r"[0-9]{1,9}", word) and 1 <= int(word) <= MAX_SIZE):
            raise ValueError(f"a size must be a whole number of bytes from 1 to {MAX_SIZE}, not {word!r}")
    return sorted({int(word) for word in words})


def _names(text: str) -> list[str]:
    names = [word.strip() for word in text.split(",") if word.strip()]
    known = {row.name for row in ALL} | {row.instruction_set for row in ALL}
    for name in names:
        if name not in known:
            raise ValueError(f"there is no implementation {name!r}: `aeskit info` lists them")
    return names


@contextmanager
def _progress(console: Console, passes: int) -> Iterator[Callable[[], None]]:
    columns = (TextColumn("measuring"), BarColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=passes)
        yield lambda: progress.advance(task)


def _write(path: Path, cpu: str, result: Run) -> None:
    text = json.dumps({"aeskit_bench": 1, "cpu": cpu} | result.as_json(), indent=1)
    path.write_text(text + "\n", encoding="utf-8")
