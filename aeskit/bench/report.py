"""A benchmark run as tables for a terminal: the limits, a table an operation and key size, the goals."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.console import Console
from rich.table import Table

from aeskit.bench import python_goals
from aeskit.bench.goals import Verdict, compared
from aeskit.bench.limit import Limit
from aeskit.bench.python_calls import PythonRow
from aeskit.bench.python_goals import PythonVerdict
from aeskit.bench.reasons import reasons
from aeskit.bench.table import Row, Run

NOISY = "~"
"""Stands behind a figure whose passes disagreed."""

LEGEND = (
    "Core cycles (a chain of dependent additions is the clock), of the fastest pass, and percent of the "
    f"limit of the width used. {NOISY} marks a figure with which too few passes agree: take it again."
)
CODE = "Under a name: bytes of machine code, subroutines included."
SHORT = " avx512_256 and avx512_512 are vaes_avx512_256 and vaes_avx512_512."
GOALS_LEGEND = (
    "Goals: at most so many cycles, at least so many percent of the widest limit or of that of a width that "
    "is named, or at most so many latencies of an AES round (lat.) a block; × is the factor that is missing."
)
TRIED = (
    "What was tried, kept and lost stands at the heads of native/xts_evex.inc, xts_vex.inc, xts_sectors.S, "
    "ctr.S and cbc_streams.S; `--sizes`, `--implementations` and the modes measure a part again."
)
BUSY = (
    "This machine was not quiet: its limit was not steady, or not a whole number of rounds a cycle. "
    "The figures may be too high: take them again."
)


def render(run: Run, console: Console) -> None:
    """Print the limits and all rows."""
    console.print(limits_table(run.limits))
    for rows in grouped(run.rows):
        console.print(rows_table(rows))
    shortened = any(short(row.name) != row.name for row in run.rows)
    console.print(f"{LEGEND} {CODE}" + (SHORT if shortened else ""), style="dim")
    if not all(limit.quiet for limit in run.limits):
        console.print(BUSY, style="bold red")


def render_goals(run: Run, verdicts: list[Verdict], console: Console) -> None:
    """Print the goals, and what was held against what."""
    console.print(goals_table(verdicts))
    console.print(GOALS_LEGEND, style="dim")
    for reason in reasons(run, verdicts):
        console.print(f"· {reason}")
    met = sum(verdict.met for verdict in verdicts)
    if met < len(verdicts):
        console.print(TRIED, style="dim")
    console.print(f"{met} of {len(verdicts)} goals met. {compared(run.limits)}", style="bold")


def short(name: str) -> str:
    """An instruction set in ten letters: all sets of AVX-512 here have VAES."""
    return name.removeprefix("vaes_") if "avx512" in name else name


def render_python_goals(verdicts: list[PythonVerdict], console: Console) -> None:
    """Print the goals of calls from Python."""
    table = _table("goals of calls from Python, AES-256")
    for column in ("goal", "bytes", "found", "result"):
        table.add_column(column, justify="left" if column == "goal" else "right", no_wrap=True)
    for verdict in verdicts:
        result = "noisy" if verdict.noisy else _result(verdict.met, verdict.factor)
        table.add_row(verdict.goal, str(verdict.size), verdict.found, result)
    console.print(table)
    for reason in python_goals.reasons(verdicts):
        console.print(f"· {reason}")
    met = sum(verdict.met for verdict in verdicts)
    console.print(f"{met} of {len(verdicts)} goals of calls from Python met.", style="bold")


def limits_table(limits: Iterable[Limit]) -> Table:
    """AES rounds in every width that the CPU has, and what follows for each key size."""
    table = _table("the limit of this CPU: AES rounds")
    for column in ("width", "latency", "a cycle", "AES-128 B/cycle", "AES-192", "AES-256"):
        table.add_column(column, justify="right")
    for limit in limits:
        rates = (f"{limit.bytes_a_cycle(bits):.2f}" for bits in (128, 192, 256))
        mark = "" if limit.quiet else NOISY
        table.add_row(limit.width, f"{limit.latency:.2f}", f"{limit.rounds_a_cycle:.2f}{mark}", *rates)
    return table


def rows_table(rows: list[Row]) -> Table:
    """One mode, direction and key size: a row an implementation, a column a message size."""
    table = _table(f"{rows[0].operation}, AES-{rows[0].key_bits}")
    table.add_column("", no_wrap=True)
    sizes = sorted({row.size for row in rows})
    for size in sizes:
        table.add_column(str(size), justify="right", no_wrap=True)
    for name in dict.fromkeys(row.name for row in rows):
        found = {row.size: row for row in rows if row.name == name}
        code = next((f"\n[dim]{row.code_bytes:>7}[/]" for row in found.values() if row.code_bytes), "")
        table.add_row(short(name) + code, *(_cell(found.get(size)) for size in sizes))
    return table


def goals_table(verdicts: Iterable[Verdict]) -> Table:
    """A row a goal: what was to be reached, what was, and by whom."""
    table = _table("goals, AES-256")
    for column in ("operation", "bytes", "goal", "cycles", "%", "result", "by"):
        text = column in ("operation", "by")
        table.add_column(column, justify="left" if text else "right", no_wrap=True)
    for verdict in verdicts:
        table.add_row(verdict.goal.operation, str(verdict.goal.size), verdict.goal.text(), *_verdict(verdict))
    return table


def python_table(rows: Iterable[PythonRow]) -> Table:
    """A row a call from Python, in microseconds."""
    table = _table("calls from Python, AES-256")
    for column in ("operation", "by", "bytes", "µs", "MB/s"):
        table.add_column(column, justify="left" if column in ("operation", "by") else "right", no_wrap=True)
    for row in rows:
        mark = NOISY if row.noisy else ""
        figures = f"{row.time}{mark}", f"{row.megabytes_a_second:.0f}"
        table.add_row(row.operation, row.name, str(row.size), *figures)
    return table


def grouped(rows: Iterable[Row]) -> list[list[Row]]:
    """The rows of each operation and key size."""
    groups: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.operation, row.key_bits), []).append(row)
    return list(groups.values())


def _table(title: str) -> Table:
    """Narrow enough for ten message sizes in 80 columns."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE, padding=(0, 1, 0, 0), pad_edge=False)
    table.min_width = len(title)
    return table


def _verdict(verdict: Verdict) -> tuple[str, str, str, str]:
    row = verdict.row
    if row is None:
        return "", "", "none", ""
    mark = NOISY if row.noisy else ""
    result = _result(verdict.met, verdict.factor or 0)
    return f"{row.cycles:.0f}{mark}", f"{row.percent or 0:.0f}", result, short(row.name)


def _result(met: bool, factor: float) -> str:
    return "[green]met[/]" if met else f"[red]{missing(factor)}[/]"


def missing(factor: float) -> str:
    """The factor of a goal that is missed: with as many digits as show that it is."""
    return f"× {factor:.2f}" if factor >= 1.005 else f"× {max(factor, 1.001):.3f}"


def _cell(row: Row | None) -> str:
    if row is None:
        return ""
    mark = NOISY if row.noisy else ""
    percent = "" if row.percent is None else f"\n{row.percent:.0f} %"
    return f"{row.cycles:.0f}{mark}{percent}"
