"""A benchmark run as tables for a terminal: the limits, then a table an operation and key size."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.table import Table

from aeskit.bench.goals import Verdict, compared
from aeskit.bench.limit import Limit
from aeskit.bench.table import Row, Run

NOISY = "~"
"""Stands behind a figure whose passes disagreed."""

LEGEND = (
    "Core cycles (a chain of dependent additions is the clock), of the fastest pass; below, percent of the "
    f"limit of the width used. {NOISY} marks a figure with which too few passes agree: take it again. "
    "Code: bytes of the function."
)
BUSY = (
    "This machine was not quiet: its limit was not steady, or not a whole number of rounds a cycle. "
    "The figures may be too high: take them again."
)


def render(run: Run, console: Console) -> None:
    """Print the whole run."""
    console.print(limits_table(run.limits))
    for mode_rows in _grouped(run.rows):
        console.print(rows_table(mode_rows))
    console.print(LEGEND, style="dim")
    if not all(limit.quiet for limit in run.limits):
        console.print(BUSY, style="bold red")


def limits_table(limits: Iterable[Limit]) -> Table:
    """AES rounds in every width that the CPU has, and what follows for each key size."""
    table = Table(title="the limit of this CPU: AES rounds", title_justify="left")
    for column in ("width", "latency, cycles", "a cycle", "AES-128 B/cycle", "AES-192", "AES-256"):
        table.add_column(column, justify="right")
    for limit in limits:
        rates = (f"{limit.bytes_a_cycle(bits):.2f}" for bits in (128, 192, 256))
        mark = "" if limit.quiet else NOISY
        table.add_row(limit.width, f"{limit.latency:.2f}", f"{limit.rounds_a_cycle:.2f}{mark}", *rates)
    return table


def rows_table(rows: list[Row]) -> Table:
    """One mode, direction and key size: a row an implementation, a column a message size."""
    first = rows[0]
    table = Table(title=f"{first.operation}, AES-{first.key_bits}", title_justify="left", show_lines=True)
    table.add_column("implementation", no_wrap=True)
    table.add_column("code", justify="right", no_wrap=True)
    sizes = sorted({row.size for row in rows})
    for size in sizes:
        table.add_column(str(size), justify="right", no_wrap=True)
    for name in dict.fromkeys(row.name for row in rows):
        found = {row.size: row for row in rows if row.name == name}
        code = next((str(row.code_bytes) for row in found.values() if row.code_bytes), "")
        table.add_row(name, code, *(_cell(found.get(size)) for size in sizes))
    return table


def goals_table(verdicts: Iterable[Verdict]) -> Table:
    """A row a goal: what was to be reached, what was, and by whom."""
    table = Table(title="goals, AES-256", title_justify="left", box=box.SIMPLE, padding=0)
    for column in ("operation", "bytes", "goal", "cycles", "%", "result", "implementation"):
        text = column in ("operation", "implementation")
        table.add_column(column, justify="left" if text else "right", no_wrap=True)
    for verdict in verdicts:
        table.add_row(verdict.goal.operation, str(verdict.goal.size), verdict.goal.text(), *_verdict(verdict))
    return table


def render_goals(run: Run, verdicts: list[Verdict], console: Console) -> None:
    """Print the limits, the goals, and what was held against what."""
    console.print(limits_table(run.limits))
    console.print(goals_table(verdicts))
    met = sum(verdict.met for verdict in verdicts)
    console.print(f"{met} of {len(verdicts)} goals met. {compared(run.limits)}", style="bold")
    if not all(limit.quiet for limit in run.limits):
        console.print(BUSY, style="bold red")


def _verdict(verdict: Verdict) -> tuple[str, str, str, str]:
    row = verdict.row
    if row is None:
        return "", "", "not measured", ""
    result = "[green]met[/]" if verdict.met else f"[red]× {verdict.factor:.2f}[/]"
    mark = NOISY if row.noisy else ""
    return f"{row.cycles:.0f}{mark}", f"{row.percent or 0:.1f}", result, row.name


def _cell(row: Row | None) -> str:
    if row is None:
        return ""
    mark = NOISY if row.noisy else ""
    percent = "" if row.percent is None else f"\n{row.percent:.0f} %"
    return f"{row.cycles:.0f}{mark}{percent}"


def _grouped(rows: Iterable[Row]) -> list[list[Row]]:
    groups: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.operation, row.key_bits), []).append(row)
    return list(groups.values())
