"""Text as it is printed: nothing of a file's is a command to the terminal, nothing in a table is cut off."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress, ProgressColumn
    from rich.table import Table

FEW = 8
"""Names that are listed in a sentence; of more the nearest, and all below it."""
WIDTH = 78
"""Columns of what stands below a sentence."""
WIDEST = 10_000
"""Columns that no table has."""


def printable(told: str) -> str:
    """A line without what a terminal would take for a command: names come from the file."""
    return "".join(letter if letter.isprintable() else "�" for letter in told)


# ---- Names that were mistyped


def nearest(given: str, known: Sequence[str], most: int = 4) -> str:
    """``a, b``: the names that are most like the one given, if any is; of no more than FEW all."""
    if len(known) <= FEW:
        return ", ".join(known)
    words = set(given.lower().split("_"))
    alike = [name for name in known if given and name.startswith(given)]
    alike += get_close_matches(given, known, most, 0.6)
    alike += sorted((n for n in known if words & set(n.lower().split("_"))), key=len)
    return ", ".join(list(dict.fromkeys(alike))[:most])


def one_of(what: str, given: str, known: Sequence[str], other: str = "") -> str:
    """``what must be one of a, b, not c``; of many names the nearest, and all of them in lines below."""
    if len(known) <= FEW:
        return f"{what} must be one of {', '.join(known)}{other}, not {given}"
    near = nearest(given, known)
    told = f"; nearest: {near}" if near else ""
    return f"{what} must be one of {len(known)}{other}, not {given}{told}\n{listed(known)}"


def listed(known: Sequence[str]) -> str:
    """The names in lines of their own."""
    return fill(
        ", ".join(known),
        WIDTH,
        initial_indent="  ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


# ---- Files


def write_whole(path: str | Path, text: str) -> None:
    """Write a file whole or not at all: what was there stays until the last byte is written.

    An OSError names the file as it was given.
    """
    try:
        _write_whole(Path(path).resolve(), text)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None


def _write_whole(target: Path, text: str) -> None:
    if target.exists() and not target.is_file():  # a device or a pipe
        target.write_text(text, encoding="utf-8")
        return
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask()
    try:
        handle, name = tempfile.mkstemp(prefix=f".{target.name[:64]}.", dir=target.parent)
    except PermissionError:  # a file that may be written in a folder that may not
        target.write_text(text, encoding="utf-8")
        return
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
            os.fchmod(handle, mode)
        os.replace(name, target)
    except BaseException:  # Ctrl-C too
        with suppress(OSError):
            os.unlink(name)
        raise


def _umask() -> int:
    now = os.umask(0o077)
    os.umask(now)
    return now


# ---- The terminal


def progress(*columns: ProgressColumn) -> Progress:
    """A bar on the terminal that leaves nothing behind; none where errors go to a file."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def say(console: Console, line: str, style: str = "", wrap: bool = True) -> None:
    """A line with names from a file in it: neither markup nor a command to the terminal."""
    text = "\n".join(map(printable, line.split("\n")))
    console.print(text, style=style or None, markup=False, highlight=False, soft_wrap=not wrap)


def uncut(table: Table) -> Table:
    """The same table: on a narrow terminal its names take several lines, and its numbers stay whole."""
    for column in table.columns:
        column.overflow = "fold"
        column.no_wrap = column.justify == "right"
    return table


def fitted(table: Table, console: Console) -> RenderableType:
    """The table, uncut; where a name would take several lines its rows one below the other, a line a cell."""
    from rich.console import Group
    from rich.measure import Measurement
    from rich.padding import Padding
    from rich.text import Text

    anywhere = console.options.update(max_width=WIDEST)
    if Measurement.get(console, anywhere, uncut(table)).minimum <= console.width:
        return table
    lines: list[RenderableType] = []
    for number, row in enumerate(table.rows):
        for column in table.columns:
            cell = list(column.cells)[number]
            told = Text.from_markup(cell) if isinstance(cell, str) else Text(str(cell))
            head = Text() if column is table.columns[0] else Text(f"{column.header}: ")
            if told.plain:
                told = Text.assemble(head, told, style=row.style or "")
                told.overflow = "fold"
                lines.append(Padding(told, (0, 0, 0, 0 if column is table.columns[0] else 2)))
    return Group(*lines)
