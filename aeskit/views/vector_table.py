"""A set of vectors as a table: filter by flag and by text, open a row for its bytes.

`text` and `table` need this package alone; `vector_table` needs anywidget: ``pip install 'aeskit[lab]'``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from aeskit.vectors import TestVector, VectorSet

MAX_ROWS = 2000
"""Vectors that are sent to the browser; a longer set is cut, and says so."""

MAX_BYTES = 4096
"""Of one field that a row shows; the rest is counted."""

FALLBACK_ROWS = 40
"""Of the table and the text that stand in for the widget."""

COLUMNS = ("name", "mode", "key", "length", "flags", "what it catches")
_BYTES = ("key", "iv", "plaintext", "ciphertext", "iv_after", "schedule")


def cells(vector: TestVector) -> tuple[str, ...]:
    """One row's texts, as `COLUMNS` names them."""
    mode = f"{vector.mode} {vector.stealing}".strip()
    length = f"{vector.length} B" if vector.bits is None else f"{vector.bits} bits"
    comment = vector.comment or vector.clause
    if not vector.valid:
        comment = f"must fail: {vector.expects or comment}"
    return vector.name, mode, f"AES-{vector.key_bits}", length, ", ".join(vector.flags), comment


def text(vectors: Sequence[TestVector], rows: int = FALLBACK_ROWS) -> str:
    """The first rows as plain text, columns side by side."""
    lines = [COLUMNS, *(cells(vector) for vector in vectors[:rows])]
    widths = [max(len(line[column]) for line in lines) for column in range(len(COLUMNS))]
    shown = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]
    return "\n".join([*shown, *_more(vectors, rows)])


def table(vectors: Sequence[TestVector], rows: int = FALLBACK_ROWS) -> str:
    """The first rows as an HTML table; everything is escaped."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in COLUMNS)
    body = "".join(f"<tr>{_row(cells(vector))}</tr>" for vector in vectors[:rows])
    more = "".join(f"<p>{escape(line)}</p>" for line in _more(vectors, rows))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _row(texts: tuple[str, ...]) -> str:
    name, *rest = (escape(cell) for cell in texts)
    return f'<th scope="row">{name}</th>' + "".join(f"<td>{cell}</td>" for cell in rest)


def _more(vectors: Sequence[TestVector], rows: int) -> list[str]:
    return [f"and {len(vectors) - rows:,} more"] if len(vectors) > rows else []


def data(vectors: Iterable[TestVector]) -> list[dict[str, Any]]:
    """What the browser is sent: a row's cells, its flags and its bytes in hexadecimal."""
    return [
        {"cells": cells(vector), "flags": list(vector.flags), "bytes": list(_hexadecimal(vector))}
        for vector in vectors
    ]


def _hexadecimal(vector: TestVector) -> Iterable[tuple[str, int, str]]:
    for name in _BYTES:
        value = getattr(vector, name)
        if value:
            yield name, len(value), value[:MAX_BYTES].hex()


def flags_of(vectors: Iterable[TestVector], meanings: Mapping[str, str]) -> list[dict[str, Any]]:
    """Flag, how many vectors have it, and what it means."""
    counts = Counter(flag for vector in vectors for flag in vector.flags)
    return [
        {"name": flag, "count": count, "meaning": meanings.get(flag, "")} for flag, count in counts.items()
    ]


def vector_table(vectors: VectorSet | Sequence[TestVector]) -> Any:
    """The widget; its `vector` is the one whose row is open, None if there is none.

    ImportError, with what to install, where widgets are missing.
    """
    from aeskit.views.vector_widget import VectorTable

    return VectorTable(vectors)
