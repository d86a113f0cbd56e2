"""`aeskit bench`: from the command line's words to a run, its tables and its files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from aeskit.bench import page, plot, python_calls, python_goals
from aeskit.bench import peers as other_libraries
from aeskit.bench.cells import Cell
from aeskit.bench.goals import KEY_BITS, Verdict, judge
from aeskit.bench.report import python_table, render, render_goals, render_python_goals
from aeskit.bench.table import SIZES, Run, cells, runnable
from aeskit.bench.table import run as measure_run
from aeskit.cpu import CPU, detect
from aeskit.implementations import ALL
from aeskit.printed import write_whole

MAX_SIZE = 1 << 24
DEFAULT_MODES = ("xts", "ctr", "cbc", "ecb")


@dataclass(frozen=True)
class Wanted:
    """What the command line asks for."""

    modes: Sequence[str]
    sizes: str
    key_bits: Sequence[str]
    implementations: str
    peers: bool
    python: bool
    goals: bool
    passes: int
    json_file: str | None
    plot_file: str | None
    page_file: str | None


def run(wanted: Wanted) -> None:
    """Measure, print and write; ValueError for a size, a name or a file that cannot be."""
    cpu, console = detect(), Console()
    table = _table(cpu, wanted)
    found = other_libraries.found() if wanted.peers else []
    if wanted.peers and not found:
        console.print("--peers: neither libcrypto nor libgcrypt is on this machine")
    if wanted.plot_file:
        plot.check(Path(wanted.plot_file))
    with _progress(console, wanted.passes) as step:
        result = measure_run(cpu, table, wanted.passes, found, step)
    python = python_calls.run(wanted.passes) if wanted.python else []
    verdicts = _verdicts(result, wanted)
    render(result, console)
    if python:
        console.print(python_table(python))
    if verdicts:
        render_goals(result, verdicts, console)
    elif wanted.goals:
        console.print(f"--goals: nothing measured has one; they are for AES-{KEY_BITS}")
    if python and wanted.goals:
        render_python_goals(python_goals.judge(python), console)
    if wanted.json_file:
        figures = result.as_json() | {"python": [asdict(row) for row in python]}
        _write(Path(wanted.json_file), {"aeskit_bench": 1, "cpu": cpu.name} | figures)
    if wanted.plot_file:
        plot.write(result, f"aeskit bench: {cpu.name}", Path(wanted.plot_file))
    if wanted.page_file:
        page.write(Path(wanted.page_file), cpu, result, verdicts, python, [peer.name for peer in found])
        console.print(f"wrote {wanted.page_file}")


def _verdicts(result: Run, wanted: Wanted) -> list[Verdict]:
    """All goals; where the command line asks for a part of the table, those of that part."""
    part = wanted.modes or wanted.sizes or wanted.implementations or wanted.key_bits
    found = judge(result) if wanted.goals else []
    return [verdict for verdict in found if verdict.row or not part]


def parse_sizes(text: str) -> list[int]:
    """Message sizes from ``16,4096``; ValueError for anything that is no size."""
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        if not (re.fullmatch(r"[0-9]{1,9}", word) and 1 <= int(word) <= MAX_SIZE):
            raise ValueError(f"a size must be a whole number of bytes from 1 to {MAX_SIZE}, not {word!r}")
    return sorted({int(word) for word in words})


def _table(cpu: CPU, wanted: Wanted) -> list[Cell]:
    modes, names = wanted.modes or DEFAULT_MODES, _names(wanted.implementations)
    chosen = runnable(cpu, modes, names)
    if not chosen:
        asked = f"{wanted.implementations or 'none'} of {', '.join(modes)}"
        raise ValueError(f"no implementation asked for ({asked}) can run on this CPU ({cpu.name})")
    key_bits, sizes = [int(bits) for bits in wanted.key_bits] or [256], parse_sizes(wanted.sizes)
    found = cells(chosen, key_bits, sizes or SIZES)
    if not found:
        given = ", ".join(map(str, sizes))
        raise ValueError(
            f"a size must be one that {' or '.join(modes)} takes, not {given}: CTR any, XTS and CTS 16 and "
            "more, CBC and ECB multiples of 16"
        )
    return found


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


def _write(path: Path, figures: dict[str, object]) -> None:
    write_whole(path, json.dumps(figures, indent=1) + "\n")
