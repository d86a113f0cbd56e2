"""A benchmark run as tables for a terminal: the limits, then a table an operation and key size."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table

from aeskit.bench.limit import Limit
from aeskit.bench.table import Row, Run

NOISY = "~"
"""Stands behind a figure whose passes disagreed."""

LEGEND = (
    "Core cycles (a chain of dependent additions is the clock), the minimum over all passes; below, percent\n"
    f"of the limit of the width used. {NOISY} marks a noisy figure: take it again."
)


def render(run: Run, console: Console) -> None:
    """Print the whole run."""
    console.print(limits_table(run.limits))
    for mode_rows in _grouped(run.rows):
        console.print(rows_table(mode_rows))
    console.print(LEGEND, style="dim")


def limits_table(limits: Iterable[Limit]) -> Table:
    """AES rounds in every width that the CPU has, and what follows for each key size."""
    table = Table(title="the limit of this CPU: AES rounds", title_justify="left")
    for column in ("width", "latency", "a cycle", "AES-128 B/cycle", "AES-192", "AES-256"):
        table.add_column(column, justify="right")
    for limit in limits:
        rates = (f"{limit.bytes_a_cycle(bits):.2f}" for bits in (128, 192, 256))
        table.add_row(limit.width, f"{limit.latency:.2f}", f"{limit.rounds_a_cycle:.2f}", *rates)
    return table


def rows_table(rows: list[Row]) -> Table:
    """One mode, direction and key size: a row an implementation, a column a message size."""
    first = rows[0]
    table = Table(title=f"{first.operation}, AES-{first.key_bits}", title_justify="left", show_lines=True)
    table.add_column("implementation", no_wrap=True)
    sizes = sorted({row.size for row in rows})
    for size in sizes:
        table.add_column(str(size), justify="right")
    for name in dict.fromkeys(row.name for row in rows):
        found = {row.size: row for row in rows if row.name == name}
        table.add_row(name, *(_cell(found.get(size)) for size in sizes))
    return table


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
