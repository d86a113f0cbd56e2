"""A review as text for a terminal, and as one self-contained page to attach to a mail."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from pathlib import Path
from textwrap import wrap

from aeskit.printed import printable
from aeskit.verify.review.counterexample import Counterexample
from aeskit.verify.review.model import FAILS, HOLDS, OPEN, TOLD, Cell, FunctionReview, Line, Review, spans

MARKS = {HOLDS: "✓", FAILS: "✗", OPEN: "?", TOLD: "·"}
NARROWEST, NARROW = 40, 64
"""Columns: the fewest, and those below which names stand above what they name, not beside it."""
STYLE = Path(__file__).with_name("review.css")
TITLES = {HOLDS: "holds", FAILS: "fails", OPEN: "not checked", TOLD: "for information"}
LEGEND = ", ".join(f"{mark} {TITLES[verdict]}" for verdict, mark in MARKS.items())

# ---- Text -------------------------------------------------------------------------------------------------


def text(review: Review, width: int = 80) -> str:
    """The report in at most `width` columns, long names excepted; ValueError for a width under 40."""
    if width < NARROWEST:
        raise ValueError(f"width must be at least {NARROWEST} columns, not {width}")
    return "\n".join(printable(line.rstrip()) for line in _text(review, width)) + "\n"


def _text(review: Review, width: int) -> Iterator[str]:
    for name, value in _head(review):
        yield from _filled(value, width, f"{name:10}", " " * 10)
    for function in review.functions:
        yield ""
        yield f"── {function.name} ".ljust(width, "─")
        yield from _function(function, width)
    yield ""
    yield from _filled(LEGEND, width, "", "")


def _head(review: Review) -> Iterator[tuple[str, str]]:
    yield "review", review.file
    yield "sha256", f"{review.sha256} of the file"
    yield "", f"{review.code} of its code and data, as loaded"
    yield "made by", f"aeskit {review.version} on {review.cpu}"
    if review.options:
        yield "options", ", ".join(review.options)
    left_out: dict[str, list[str]] = {}
    for skipped in review.skipped:
        name, _, why = skipped.rpartition(": ")
        left_out.setdefault(why, []).append(name)
    for number, (why, names) in enumerate(left_out.items()):
        yield "" if number else "left out", f"{', '.join(names)}: {why}"


def _function(function: FunctionReview, width: int) -> Iterator[str]:
    for name, value in facts(function):
        yield from _filled(value, width, f"{name:10}", " " * 10)
    yield ""
    for line in function.lines:
        yield from _line(line, width)
    if function.counterexample:
        yield ""
        yield f"── counterexample {'─' * (width - 18)}"
        if function.counterexample.step:
            yield from _filled(f"first wrong step: {function.counterexample.step}", width, "", "  ")
        for row in function.counterexample.table():
            yield from _filled(row, width, "", " " * 12) if width < 80 else (row,)
        yield function.counterexample.again()
    if function.matrix:
        yield ""
        yield f"── proofs {'─' * (width - 10)}"
        yield from _matrix(function.matrix, width)


def facts(function: FunctionReview) -> Iterator[tuple[str, str]]:
    """What stands above the lines: place, contracts, where they come from, the verdict."""
    if function.place:
        yield "at", function.place
    for number, promise in enumerate(function.promises):
        yield "" if number else "contract", f"{promise.name}: {promise.title}"
    if not function.promises:
        yield "contract", "none"
    given = dict.fromkeys(promise.arguments for promise in function.promises if promise.arguments)
    for number, arguments in enumerate(given):
        yield "" if number else "arguments", arguments
    yield ("guessed" if function.guessed else "chosen by"), function.chosen
    yield "verdict", function.verdict


def _line(line: Line, width: int) -> Iterator[str]:
    head, beside = f"{MARKS[line.verdict]} {line.topic}", width >= NARROW
    if not beside:
        yield head
    yield from _filled(line.text, width, *((f"{head:18} ", " " * 19) if beside else ("  ", "  ")))
    for name, value in (("evidence", line.evidence), ("caveat", line.caveat)):
        if value:
            yield from _filled(value, width, f"    {name:9} ", " " * (14 if beside else 6))
    for detail in line.details:
        yield from _filled(detail, width, "    ▸ ", " " * 6)


def _filled(value: str, width: int, first: str, rest: str) -> Iterator[str]:
    yield from wrap(
        value,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=width < 80,
        break_on_hyphens=False,
    ) or [first]


def _matrix(matrix: Sequence[Cell], width: int) -> Iterator[str]:
    groups = _rows(matrix)
    label = max(len(name) for _, rows in groups for name, _ in rows)
    for contracts, rows in groups:
        yield from _filled(", ".join(contracts), width, "", "")
        for name, cells in rows:
            if width < NARROW:
                yield from _filled(name, width, "  ", "  ")
            first = "    " if width < NARROW else f"  {name:{label}}  "
            yield from _filled(outcome(cells), width, first, " " * len(first))


def outcome(cells: Sequence[Cell]) -> str:
    """``proved at 16–160 bytes; not at 33``; of a contract without a length ``proved`` or ``not proved``."""
    good, bad = [c.length for c in cells if c.proved], [c.length for c in cells if not c.proved]
    if not any(good + bad):
        return "not proved" if bad else "proved"
    told = [f"proved at {spans(good)} bytes"] if good else []
    told += [f"not at {spans(bad)}{'' if good else ' bytes'}"] if bad else []
    return "; ".join(told)


def _rows(matrix: Sequence[Cell]) -> list[tuple[list[str], list[tuple[str, list[Cell]]]]]:
    """Contracts to (key bits and layout, cells by length): what has one outcome is one row, or one group."""
    cells_of: dict[str, dict[bool, dict[int, list[Cell]]]] = {}
    for cell in sorted(matrix, key=lambda cell: cell.length):
        layouts = cells_of.setdefault(cell.contract, {})
        layouts.setdefault(cell.in_place, {}).setdefault(cell.key_bits, []).append(cell)
    groups: dict[tuple[tuple[str, str], ...], tuple[list[str], list[tuple[str, list[Cell]]]]] = {}
    for contract, layouts in cells_of.items():
        rows = list(_merged(layouts))
        key = tuple((name, outcome(cells)) for name, cells in rows)
        groups.setdefault(key, ([], rows))[0].append(contract)
    return list(groups.values())


def _merged(layouts: dict[bool, dict[int, list[Cell]]]) -> Iterator[tuple[str, list[Cell]]]:
    """Key sizes of one outcome together, and layouts of the same key sizes and outcome."""
    rows: dict[tuple[str, str], tuple[list[str], list[Cell]]] = {}
    for in_place, keys in layouts.items():
        by_outcome: dict[str, tuple[list[str], list[Cell]]] = {}
        for bits, cells in keys.items():
            by_outcome.setdefault(outcome(cells), ([], cells))[0].append(str(bits))
        for told, (some, cells) in by_outcome.items():
            row = rows.setdefault(("/".join(some), told), ([], cells))
            row[0].append("in place" if in_place else "out of place")
    for (sizes, _), (places, cells) in rows.items():
        layout = f" {' and '.join(places)}" if any(cell.length for cell in cells) else ""
        yield f"{sizes}{layout}", cells


# ---- Page -------------------------------------------------------------------------------------------------

_CLASSES = {HOLDS: "holds", FAILS: "fails", OPEN: "open", TOLD: "told"}


def page(review: Review) -> str:
    """The report as HTML: no script, nothing fetched; names from the file are text, whatever they hold."""
    body = "\n".join(_section(function, number) for number, function in enumerate(review.functions))
    head = "".join(f"<dt>{escape(n)}</dt><dd>{escape(v)}</dd>" for n, v in list(_head(review))[1:])
    title = f"Review of {escape(review.file)}"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<style>
{STYLE.read_text(encoding="utf-8")}</style>
</head>
<body>
<main>
<h1>{title}</h1>
<dl>{head}</dl>
{_overview(review) if len(review.functions) > 1 else ""}
{body}
<footer>{escape(LEGEND)}</footer>
</main>
</body>
</html>
"""


def _overview(review: Review) -> str:
    rows = "".join(
        f'<tr><th scope="row"><a href="#f{number}">{escape(f.name)}</a></th>'
        f"<td>{_badge(_sum(f))} {escape(f.verdict)}</td></tr>"
        for number, f in enumerate(review.functions)
    )
    return f'<table class="overview">{rows}</table>'


def _sum(function: FunctionReview) -> str:
    """The worst of its verdicts."""
    return FAILS if function.failed else OPEN if function.unknown or not function.promises else HOLDS


def _badge(verdict_of: str) -> str:
    return (
        f'<span class="mark {_CLASSES[verdict_of]}" title="{TITLES[verdict_of]}">{MARKS[verdict_of]}</span>'
    )


def _section(function: FunctionReview, number: int = 0) -> str:
    told = [*facts(function)][:-1]
    head = "".join(f"<dt>{escape(n)}</dt><dd>{escape(v)}</dd>" for n, v in told)
    mark = _sum(function)
    lines = "".join(map(_row, function.lines))
    return f"""<section id="f{number}">
<h2><code>{escape(function.name)}</code></h2>
<dl>{head}</dl>
<p class="verdict {_CLASSES[mark]}">{_badge(mark)} {escape(function.verdict)}</p>
<table class="lines">
<thead><tr><th scope="col"></th><th scope="col">question</th><th scope="col">answer</th>
<th scope="col">evidence and caveat</th></tr></thead>
<tbody>{lines}</tbody>
</table>
{_shown(function.counterexample)}
{_bars(function.matrix)}
</section>"""


def _shown(call: Counterexample | None) -> str:
    """The call that shows what is wrong, to be copied as it stands."""
    if call is None:
        return ""
    rows = "\n".join(
        f"<mark>{escape(printable(line))}</mark>" if marked else escape(printable(line))
        for marked, line in call.rows()
    )
    first = f"\nfirst wrong step: {call.step}" if call.step else ""
    head, again = escape(printable(call.headline())), escape(printable(call.again()))
    head += escape("\n".join(map(printable, first.splitlines())))
    return f"""<h3>One call that shows what is wrong</h3>
<pre class="call">{head}
<span>{rows}</span>{again}</pre>"""


def _row(line: Line) -> str:
    details = "".join(f"<li><code>{escape(detail)}</code></li>" for detail in line.details)
    more = f"<ul>{details}</ul>" if details else ""
    caveat = f'<div class="caveat">{escape(line.caveat)}</div>' if line.caveat else ""
    return (
        f'<tr class="{_CLASSES[line.verdict]}"><td>{_badge(line.verdict)}</td>'
        f'<th scope="row">{escape(line.topic)}</th>'
        f"<td>{escape(line.text)}{more}</td><td>{escape(line.evidence)}{caveat}</td></tr>\n"
    )


def _bars(matrix: Sequence[Cell]) -> str:
    """A bar a row of the matrix: a stretch for lengths of one outcome, as wide as there are lengths."""
    if not matrix:
        return ""
    rows = "".join(
        f'<tr><th scope="row">{escape(", ".join(contracts)) if not number else ""}</th>'
        f"<td>{escape(name)}</td>"
        f'<td class="bar">{_bar(cells)}<small>{escape(outcome(cells))}</small></td></tr>\n'
        for contracts, group in _rows(matrix)
        for number, (name, cells) in enumerate(group)
    )
    return f"""<h3>Proofs by length</h3>
<table class="matrix"><thead><tr><th scope="col">contract</th><th scope="col">key bits, layout</th>
<th scope="col">lengths in bytes</th></tr></thead>
<tbody>{rows}</tbody></table>"""


def _bar(cells: Sequence[Cell]) -> str:
    parts = []
    for wrong, group in groupby(cells, key=lambda cell: not cell.proved):
        run = list(group)
        at = f"{spans([cell.length for cell in run])} bytes: " if any(cell.length for cell in cells) else ""
        what = f"{at}{'; '.join(run[0].findings) or 'proved'}"
        kind = "fails" if wrong else "holds"
        parts.append(f'<span class="{kind}" style="flex-grow:{len(run)}" title="{escape(what)}"></span>')
    return f'<div aria-hidden="true">{"".join(parts)}</div>'
