"""A report of mutants in a terminal: a table, every survivor with its reason, what the numbers stand for."""

from __future__ import annotations

import re
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby

from rich import box
from rich.console import Console
from rich.table import Table

from aeskit.machine.loader import Image
from aeskit.printed import printable
from aeskit.verify.mutants import make
from aeskit.verify.mutants.explain import REASONS, UNKNOWN
from aeskit.verify.mutants.make import Mutant
from aeskit.verify.mutants.report import Report, spans
from aeskit.verify.mutants.survey import Outcome

ADDRESS = re.compile(r"(?<![$\w])0x([0-9a-f]{6,16})\b")
LONG = 60
"""Letters of the lengths proved; where there are more their number is told."""
UNBROKEN = "\N{NO-BREAK SPACE}"


def show(report: Report, image: Image, console: Console) -> None:
    """A row a kind, then the survivors by reason, then what the numbers stand for."""
    for line in _wrapped(_title(report), console.width, "", ""):
        console.print(line, markup=False, highlight=False, style="italic")
    console.print(_table(report))
    for line in _survivors(report, image, console.width):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    for note in _notes(report):
        console.print(note, markup=False, highlight=False)
    console.print(report.row(), markup=False, highlight=False, soft_wrap=True)  # in one piece, to be copied


# ---- The table -------------------------------------------------------------------------------------------


def _title(report: Report) -> str:
    title = f"{report.function}: {report.mutants:,} mutants of {report.instructions:,} instructions"
    if report.others:
        title += f", those of {', '.join(report.others)} among them"
    return printable(title)


def _table(report: Report) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)  # 80 columns
    table.add_column("change")
    names = ["mutants", *["answers", "verified"] * bool(report.engine), "proof", "refused"]
    names += ["proof only"] * (report.proof == "all" and bool(report.engine))
    for name in (*names, "alive"):
        table.add_column(name, justify="right")
    for kind in (*make.KINDS, ""):
        rows = [o for o in report.outcomes if not kind or o.mutant.kind == kind]
        if rows:
            counts = [f"{count:,}" for count in _counts(rows, report)]
            table.add_row(kind or "all", *counts, style="" if kind else "bold")
    return table


def _counts(rows: list[Outcome], report: Report) -> Iterator[int]:
    """Of each level what it kills of those that the ones before it leave alive; the proof perhaps of all."""
    known = sum(o.killed_by_known for o in rows)
    yield len(rows)
    if report.engine:
        yield known
        yield sum(o.killed_by_verification for o in rows) - known
    yield sum(o.killed_by_proof for o in rows)
    yield sum(o.refused for o in rows)
    if report.proof == "all" and report.engine:
        yield sum(o.killed_by_proof and not o.killed_by_verification for o in rows)
    yield sum(o.survived for o in rows)


# ---- Survivors -------------------------------------------------------------------------------------------


def _survivors(report: Report, image: Image, width: int) -> Iterator[str]:
    """By reason, then by what was seen, then by instruction, in the order of the code."""
    kinds: dict[str, dict[str, list[Mutant]]] = defaultdict(lambda: defaultdict(list))
    for outcome in report.alive:
        reason = outcome.reason
        kinds[reason.kind if reason else UNKNOWN][reason.text if reason else ""].append(outcome.mutant)
    for kind, said in ((kind, kinds[kind]) for kind in REASONS if kind in kinds):
        count = sum(map(len, said.values()))
        yield ""
        yield from _wrapped(f"{kind}: {count}. {REASONS[kind].capitalize()}.", width, "", "")
        for text, mutants in said.items():
            yield from _wrapped(f"{_labelled(text, image, report.function)}:", width, "  ", "  ")
            for change, places in _changes(mutants, image, report.function).items():
                yield from _wrapped(f"{change}, at {', '.join(places)}", width, "    ", "      ")


def _changes(mutants: list[Mutant], image: Image, function: str) -> dict[str, list[str]]:
    """``test $1,%r9d → test $0x11,%r9d; test $0x21,%r9d``: the changes of an instruction, and its places."""

    def told(instruction: str) -> str:
        return _labelled(instruction, image, function).replace(" ", UNBROKEN)

    found: dict[str, list[str]] = {}
    for (_, before, place), same in groupby(
        mutants, lambda mutant: (mutant.address, mutant.before, mutant.place)
    ):
        after = "; ".join(told(mutant.after) for mutant in same)
        found.setdefault(f"{told(before)} → {after}", []).append(printable(_short(place, function)))
    return found


def _short(label: str, function: str) -> str:
    """A place in the function itself without its name."""
    if label == function:
        return "+0x0"
    return label.removeprefix(function) if label.startswith(f"{function}+") else label


def _labelled(text: str, image: Image, function: str) -> str:
    """Addresses of code as labels, those of the function itself as ``+0x12``."""

    def label(match: re.Match[str]) -> str:
        address = int(match[1], 16)
        if not any(s.address <= address < s.end and "x" in s.permissions for s in image.sections):
            return match[0]
        return _short(image.label_at(address), function)

    return printable(ADDRESS.sub(label, text))


def _wrapped(text: str, width: int, first: str, rest: str) -> Iterable[str]:
    lines = textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return (line.replace(UNBROKEN, " ") for line in lines)


# ---- What the numbers stand for --------------------------------------------------------------------------

_ENGINES = {"silicon": "on this CPU", "emulator": "in the emulator"}


def _notes(report: Report) -> Iterator[str]:
    tested, died = len(report.outcomes), sum(bool(o.died) for o in report.outcomes)
    others = sum(o.killed_by_verification for o in report.alive)
    refused = sum(o.refused for o in report.outcomes)
    yield (
        f"\n{tested:,} of {report.mutants:,} mutants tested (seed {report.seed}) in {report.seconds:.0f} s, "
        f"{report.cpu_seconds / 60:.1f} CPU minutes; {report.skipped:,} other changes have no encoding in "
        "place."
    )
    yield (
        f"The proof leaves {len(report.alive)} alive, of which the verification kills {others}; "
        f"{len(report.unexplained)} unexplained."
    )
    if refused:
        yield f"Refused: {refused} that no proof can follow, so that they would not be called proved."
    if report.lengths != (0,):
        yield f"Proofs: {_lengths(report.lengths)}, where these reach the instruction."
    if report.engine:
        where, whom = _ENGINES[report.engine], "every mutant" if report.proof == "all" else "what is left"
        yield f"Known answers and the verification's {report.level} level {where}; proofs of {whom}."
    if tested < report.asked:
        yield f"Stopped early: {report.asked - tested:,} were not tested."
    if died:
        yield f"{died} ended the process that ran them."


def _lengths(lengths: tuple[int, ...]) -> str:
    """``16-160, 175-177 bytes``, or how many there are."""
    every = spans(lengths)
    if len(every) <= LONG:
        return f"{every} bytes"
    first = every.partition(",")[0]
    told = f"{len(lengths)} lengths from {lengths[0]} to {lengths[-1]:,} bytes"
    return f"{told}, all of {first} among them" if "-" in first else told
