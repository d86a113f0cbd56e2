"""The lanes as an HTML table: what is seen where the widget cannot run, and what a screen reader reads."""

from __future__ import annotations

from html import escape

from aeskit.bits import BLOCK, format_polynomial
from aeskit.views.cells import SIZES, Cell, Lanes, check_type, lane_cells, lane_indices, lane_polynomial

_MONO = 'style="font-family:monospace"'


def table(*shown: Lanes, cells: str = "bytes", high_first: bool = False, caption: str = "") -> str:
    """A table with a row a lane; cells that differ are bold and in brackets. Everything is escaped."""
    check_type(cells)
    body = "".join(_row(lanes, index, cells, high_first) for lanes, index in lane_indices(shown))
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table {_MONO}>{title}<thead>{_head(cells, high_first)}</thead><tbody>{body}</tbody></table>"


def _head(cells: str, high_first: bool) -> str:
    names = [str(index) for index in range(BLOCK // SIZES[cells])]
    columns = ["terms"] if cells == "polynomial" else names[::-1] if high_first else names
    return "<tr>" + "".join(f'<th scope="col">{text}</th>' for text in [cells, *columns]) + "</tr>"


def _row(lanes: Lanes, index: int, cells: str, high_first: bool) -> str:
    head = f'<th scope="row">{escape(lanes.titles[index])}</th>'
    columns = 1 if cells == "polynomial" else BLOCK // SIZES[cells]
    title = f'<tr><th colspan="{columns + 1}">{escape(lanes.heading)}</th></tr>'
    above = title if lanes.heading and index == 0 else ""
    if cells == "polynomial":
        return f"{above}<tr>{head}<td>{_terms(lanes, index)}</td></tr>"
    row = lane_cells(lanes, index, cells, high_first)
    missing = "<td></td>" * (columns - len(row))
    body = "".join(_cell(cell) for cell in row)
    return f"{above}<tr>{head}{missing + body if high_first else body + missing}</tr>"


def _cell(cell: Cell) -> str:
    return f"<td><b>[{cell.text}]</b></td>" if cell.mark else f"<td>{cell.text}</td>"


def _terms(lanes: Lanes, index: int) -> str:
    text = format_polynomial(lane_polynomial(lanes, index))
    mark = lane_polynomial(lanes, index, mark=True)
    return f"{text} <b>[differs at {format_polynomial(mark)}]</b>" if mark else text
