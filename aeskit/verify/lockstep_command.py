"""The command `aeskit lockstep`: a progress bar, a table, the differences, the exit status."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from aeskit.machine import silicon
from aeskit.machine.memory import Memory
from aeskit.printed import fitted, printable, progress, say
from aeskit.verify import beside
from aeskit.verify.beside import Beside
from aeskit.verify.proving.proofs import Target

AGREE, DIFFER = 0, 1
"""Exit status."""


def functions(asked: list[Target], count: int, engine: str, workers: int | None) -> int:
    """Run each function at `count` lengths beside the engine; ValueError where that cannot be had."""
    why = silicon.unavailable() if engine == "auto" else ""
    if why:
        engine = "emulator"
        Console(stderr=True).print(f"{why}; so this is the emulator", highlight=False, soft_wrap=True)
    jobs = [(target, beside.spread(target.promise(), count)) for target in asked]
    columns = (TextColumn("lockstep"), BarColumn(), MofNCompleteColumn(), TextColumn("left"))
    found: list[Beside] = []
    with progress(*columns, TimeRemainingColumn()) as bar:
        task = bar.add_task("lockstep", total=len(jobs))
        for one in beside.every(jobs, engine, workers):
            found.append(one)
            bar.advance(task)
    places = {target: number for number, target in enumerate(asked)}
    return _show(sorted(found, key=lambda one: places[one.target]))


def _show(found: list[Beside]) -> int:
    console, table = Console(), Table(pad_edge=False)
    table.add_column("function")
    table.add_column("contract")
    table.add_column("engine")
    for name in ("lengths", "steps"):
        table.add_column(name, justify="right")
    table.add_column("result")
    for one in found:
        told, style = ("DIFFERS", "red") if one.difference else ("agrees", "")
        told, style = ("NO END", "red") if one.stopped else (told, style)
        told, style = ("skipped", "yellow") if one.skipped else (told, style)
        function, contract = one.target.function, one.target.contract
        short = contract.removeprefix("_".join(function.split("_")[:2]) + "_")
        names, counts = (
            (escape(printable(function)), escape(printable(short)), one.engine),
            (f"{len(one.lengths)}", f"{one.steps:,}"),
        )
        table.add_row(*names, *counts, told, style=style)
    console.print(fitted(table, console))
    for line in dict.fromkeys(f"skipped, this CPU lacks {one.skipped}" for one in found if one.skipped):
        say(console, line, "yellow", wrap=False)
    wrong = [one for one in found if one.difference or one.stopped]
    for one in wrong:
        say(console, printable(f"{one.target.function}, {one.difference or one.stopped}"), "red", wrap=False)
    steps, stopped = sum(one.steps for one in found), sum(bool(one.stopped) for one in found)
    text = f"{len(found)} function{'s' * (len(found) != 1)}, {steps:,} steps, {len(wrong) - stopped} differ"
    console.print(text + (f", {stopped} came to no end" if stopped else ""), highlight=False)
    return DIFFER if wrong else AGREE


def instructions(samples: int, seed: int, engine: str) -> int:
    """Compare every form of the semantics table with hardware, and print what was compared and what not."""
    from aeskit.machine import table
    from aeskit.machine.bochs.steps import Bochs
    from aeskit.machine.silicon import Silicon

    engines: dict[str, Callable[[Memory], Any]] = {"silicon": Silicon, "emulator": Bochs}
    chosen = {name: make for name, make in engines.items() if engine in ("auto", name)}
    found = table.compare(chosen, samples, seed)
    Console().print(str(found), markup=False, highlight=False, soft_wrap=True)
    return DIFFER if found.differences else AGREE
