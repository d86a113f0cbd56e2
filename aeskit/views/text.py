"""Register lanes as text: the picture that tests, terminals and a notebook without widgets show.

Cells that differ stand in brackets, a run of them in one pair; differing bits have a ^ below them, and the
differing terms of a polynomial follow it after a ≠.
"""

from __future__ import annotations

from collections.abc import Sequence

from aeskit.bits import BLOCK, format_polynomial
from aeskit.views.cells import SIZES, Cell, Lanes, check_type, lane_cells, lane_indices, lane_polynomial

GAP = " "
FOLDED = "8 to 15"
"""The widest title of a lane's second line: bits are never shown in one."""


def picture(
    *shown: Lanes, cells: str = "bytes", high_first: bool = False, width: int = 80, header: bool = True
) -> str:
    """The lanes of `shown`, one below the other, in at most `width` columns.

    `cells` is one of `cells.SIZES`; `high_first` puts byte 15 to the left, as the vendors draw a register.
    Raises ValueError for another cell type or a width that no cell fits in.
    """
    check_type(cells)
    if not shown:
        return ""
    titles = [title for lanes in shown for title in lanes.titles]
    label = max(map(len, [*titles, cells, FOLDED if cells == "bits" else ""]))
    if cells == "polynomial":
        return "\n".join(_polynomials(shown, label, width))
    across = _cells_across(cells, width - label - len(GAP))
    lines = [_header(cells, high_first, label, across)] if header else []
    for lanes, index in lane_indices(shown):
        lines += _heading(lanes, index)
        row = _whole_row(lane_cells(lanes, index, cells, high_first), cells, high_first)
        for start in range(0, len(row), across):
            part = row[start : start + across]
            title = _folded_title(part, label) if start else lanes.titles[index].ljust(label)
            lines += _lines(title + GAP, part, cells == "bits")
    return "\n".join(line.rstrip() for line in lines)


def _heading(lanes: Lanes, index: int) -> list[str]:
    return [lanes.heading] if lanes.heading and index == 0 else []


def _whole_row(row: list[Cell], cells: str, high_first: bool) -> list[Cell]:
    """The cells at one width; with `high_first`, blanks where a short last lane has none."""
    padded = [Cell(cell.text.rjust(_digits(cells)), cell.first, cell.mark) for cell in row]
    missing = BLOCK // SIZES[cells] - len(row) if high_first else 0
    return [Cell(" " * _digits(cells), BLOCK - SIZES[cells] * (i + 1), 0) for i in range(missing)] + padded


def _folded_title(part: Sequence[Cell], label: int) -> str:
    """Of a lane's second line on: the bytes that its first and last cell begin with, if there is room."""
    title = f"{part[0].first} to {part[-1].first}"
    return (title if len(title) <= label else "").rjust(label)


def _digits(cells: str) -> int:
    return 8 if cells == "bits" else 2 * SIZES[cells]


def _cells_across(cells: str, room: int) -> int:
    """Cells of a line: all of a lane's, or a half, a quarter, … of them."""
    across = BLOCK // SIZES[cells]
    while across and across * (_digits(cells) + 1) + (cells != "bits") + (across > 8) > room:
        across //= 2
    if not across:
        raise ValueError(f"width must leave {_digits(cells) + 2} columns for {cells}, not {max(room, 0)}")
    return across


def _header(cells: str, high_first: bool, label: int, across: int) -> str:
    names = [str(index) for index in range(BLOCK // SIZES[cells])]
    names = names[::-1] if high_first else names
    return cells.ljust(label) + GAP + _join([_cell(name, _digits(cells)) for name in names[:across]])


def _cell(text: str, digits: int) -> Cell:
    return Cell(text.rjust(digits), 0, 0)


def _join(row: Sequence[Cell], brackets: bool = True) -> str:
    """The cells between separators; a bracket takes a separator's place, so nothing moves."""
    line, marked = "", False
    for index, cell in enumerate(row):
        now = brackets and bool(cell.mark)
        middle = " " if index == 8 else ""
        if marked and not now:
            line += "]" + middle
        elif now and not marked:
            line += middle + "["
        else:
            line += middle + " "
        line, marked = line + cell.text, now
    return line + ("]" if marked else " ")


def _lines(head: str, row: Sequence[Cell], bits: bool) -> list[str]:
    lines = [head + _join(row, brackets=not bits)]
    if bits and any(cell.mark for cell in row):
        carets = [Cell(f"{cell.mark:08b}".replace("0", " ").replace("1", "^"), 0, 0) for cell in row]
        lines.append(" " * len(head) + _join(carets))
    return lines


def _polynomials(shown: Sequence[Lanes], label: int, width: int) -> list[str]:
    lines = []
    for lanes, index in lane_indices(shown):
        lines += _heading(lanes, index)
        lines += _wrapped(lanes.titles[index].ljust(label) + GAP, lane_polynomial(lanes, index), width)
        if any(lanes.lane_mark(index)):
            head = "≠".rjust(label) + GAP
            lines += _wrapped(head, lane_polynomial(lanes, index, mark=True), width)
    return lines


def _wrapped(head: str, polynomial: int, width: int) -> list[str]:
    """Terms never break apart: a line ends after a plus."""
    terms = format_polynomial(polynomial).replace(" + ", " +\n").split("\n")
    lines, line = [], head
    for number, term in enumerate(terms):
        if number and len(line) + 1 + len(term) > width:
            lines.append(line.rstrip())
            line = " " * len(head) + term
        else:
            line += (" " if number else "") + term
    return [*lines, line.rstrip()]
