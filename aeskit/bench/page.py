"""`aeskit bench --page`: facts, tables and plots in one HTML file that needs no network."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from html import escape
from operator import attrgetter
from pathlib import Path

import aeskit
from aeskit.bench import plot, python_goals
from aeskit.bench.code import sizes
from aeskit.bench.goals import Verdict, compared
from aeskit.bench.python_calls import PythonRow
from aeskit.bench.reasons import reasons
from aeskit.bench.report import BUSY, GOALS_LEGEND, LEGEND, NOISY, TRIED, grouped, missing
from aeskit.bench.table import Row, Run
from aeskit.cpu import CPU, FEATURES
from aeskit.implementations import ALL
from aeskit.printed import write_whole

STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 90rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums }
caption { text-align: left; font-weight: bold }
th, td { padding: .2rem .4rem; font-size: .9rem; border-bottom: 1px solid #8886 }
th, td { text-align: right; white-space: nowrap }
.facts td { text-align: left; white-space: normal }
th:first-child, td:first-child { text-align: left }
small { opacity: .7 }
.met { color: #087f5b } .missed { color: #c2410c }
svg { width: 100%; height: auto; background: white }
"""

Cells = Iterable[Iterable[str]]


def write(
    path: Path,
    cpu: CPU,
    run: Run,
    verdicts: Sequence[Verdict],
    python: Sequence[PythonRow],
    peers: Sequence[str],
) -> None:
    """Write the page; without matplotlib it says in place of the plots what to install."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, html(cpu, run, verdicts, python, peers))


def html(
    cpu: CPU, run: Run, verdicts: Sequence[Verdict], python: Sequence[PythonRow], peers: Sequence[str]
) -> str:
    """The whole page."""
    title = f"aeskit bench: {cpu.name}"
    busy = "" if all(limit.quiet for limit in run.limits) else f'<p class="missed">{BUSY}</p>'
    parts = [
        f"<h1>{escape(title)}</h1>{busy}",
        _table("the machine", (), _facts(cpu, run, peers), "facts"),
        _table("the limit of this CPU: AES rounds", _LIMIT_HEAD, _limits(run)),
        _plots(run, title),
        *(_rows_table(rows) for rows in grouped(run.rows)),
        f"<p><small>{escape(LEGEND)}</small></p>",
        _goals(verdicts, run) if verdicts else "",
        _python(python) if python else "",
        _python_goals(python_goals.judge(python)) if python and verdicts else "",
        _code(),
    ]
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>\n'


_LIMIT_HEAD = ("width", "latency, cycles", "rounds a cycle", "AES-128 B/cycle", "AES-192", "AES-256")


def _facts(cpu: CPU, run: Run, peers: Sequence[str]) -> Cells:
    yield (
        "CPU",
        f"{cpu.name}, {cpu.vendor} family {cpu.family:#x} model {cpu.model:#x} stepping {cpu.stepping}",
    )
    yield "clock, by the chain of additions", f"{run.gigahertz:.2f} GHz"
    yield "features", " ".join(name for name in FEATURES if name in cpu.features)
    yield "system", f"{platform.system()} {platform.release()}, Python {platform.python_version()}"
    yield "aeskit", aeskit.__version__
    yield "measured beside it", ", ".join(peers) or "nothing"
    yield "when", datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def _limits(run: Run) -> Cells:
    for one in run.limits:
        rates = [f"{one.bytes_a_cycle(bits):.2f}" for bits in (128, 192, 256)]
        mark = "" if one.quiet else NOISY
        yield one.width, f"{one.latency:.2f}", f"{one.rounds_a_cycle:.2f}{mark}", *rates


def _plots(run: Run, title: str) -> str:
    try:
        return f"<figure>{plot.svg(run, title)}</figure>"
    except plot.Missing as error:
        return f"<p>{escape(str(error))}</p>"


def _rows_table(rows: Sequence[Row]) -> str:
    columns = sorted({row.size for row in rows})
    body = []
    for name in dict.fromkeys(row.name for row in rows):
        found = {row.size: row for row in rows if row.name == name}
        code = next((f"{row.code_bytes:,}" for row in found.values() if row.code_bytes), "")
        body.append([name, code, *(_cycles(found[size]) if size in found else "" for size in columns)])
    caption = f"{rows[0].operation}, AES-{rows[0].key_bits}: cycles"
    return _table(caption, ("implementation", "code", *(f"{size:,}" for size in columns)), body)


def _cycles(row: Row) -> str:
    mark = NOISY if row.noisy else ""
    percent = "" if row.percent is None else f" ({row.percent:.0f} %)"
    return f"{row.cycles:,.0f}{mark}{percent}"


def _goals(verdicts: Sequence[Verdict], run: Run) -> str:
    body = []
    for verdict in verdicts:
        row, goal = verdict.row, verdict.goal
        result = "not measured" if row is None else "met" if verdict.met else missing(verdict.factor or 0)
        cells = (_cycles(row), row.name) if row else ("", "")
        body.append([goal.operation, f"{goal.size:,}", goal.text(), cells[0], result, cells[1]])
    met = sum(verdict.met for verdict in verdicts)
    text = f"<h2>Goals</h2><p>{escape(compared(run.limits))} {escape(GOALS_LEGEND)}</p>"
    text += _list([*reasons(run, verdicts), TRIED])
    head = ("operation", "bytes", "goal", "cycles", "result", "implementation")
    return text + _table(f"{met} of {len(verdicts)} goals met", head, body)


def _python(rows: Sequence[PythonRow]) -> str:
    body = [
        [
            row.operation,
            row.name,
            f"{row.size:,}",
            f"{row.time}{NOISY if row.noisy else ''}",
            f"{row.megabytes_a_second:,.0f}",
        ]
        for row in rows
    ]
    return _table("calls from Python, AES-256", ("operation", "by", "bytes", "µs", "MB/s"), body)


def _python_goals(verdicts: Sequence[python_goals.PythonVerdict]) -> str:
    body = []
    for one in verdicts:
        result = "noisy" if one.noisy else "met" if one.met else missing(one.factor)
        body.append([one.goal, f"{one.size:,}", one.found, result])
    met = sum(one.met for one in verdicts)
    caption = f"{met} of {len(verdicts)} goals of calls from Python met"
    table = _table(caption, ("goal", "bytes", "found", "result"), body)
    return table + _list(python_goals.reasons(verdicts))


def _list(sentences: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(one)}</li>" for one in sentences) + "</ul>"


def _code() -> str:
    body = [
        (row.name, f"{sizes()[row.name]:,}")
        for row in sorted(ALL, key=attrgetter("name"))
        if row.name in sizes()
    ]
    caption = "machine code, bytes a function, subroutines included"
    return _table(caption, ("function", "bytes"), body) if body else ""


def _table(caption: str, columns: Iterable[str], body: Cells, kind: str = "") -> str:
    names = "".join(f'<th scope="col">{escape(name)}</th>' for name in columns)
    rows = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in body)
    head = f"<caption>{escape(caption)}</caption><thead><tr>{names}</tr></thead>"
    return f'<table class="{kind}">{head}<tbody>{rows}</tbody></table>'
