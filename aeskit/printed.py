"""Text as it is printed: nothing of a file's is a command to the terminal, nothing in a table is cut off."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.table import Table


def printable(told: str) -> str:
    """A line without what a terminal would take for a command: names come from the file."""
    return "".join(letter if letter.isprintable() else "�" for letter in told)


def uncut(table: Table) -> Table:
    """The same table: on a narrow terminal its names take several lines, and its numbers stay whole."""
    for column in table.columns:
        column.overflow = "fold"
        column.no_wrap = column.justify == "right"
    return table
