"""The table of vectors: what it says, what stands in for the widget, what the browser may send."""

from dataclasses import replace

import pytest

from aeskit import data
from aeskit.vectors import TestVector, read
from aeskit.views import vector_table

CTR = read(data.folder("vectors") / "ours" / "ctr.json")
ODD = TestVector(
    "<b>", "xts", bytes(32), bytes(16), bytes(17), bytes(17), bits=130, flags=("A&B",), comment="<i>"
)


def test_a_row():
    assert vector_table.cells(ODD) == ("<b>", "xts", "AES-128", "130 bits", "A&B", "<i>")
    refused = replace(ODD, bits=None, valid=False, expects="KEY_SET_ERROR")
    assert vector_table.cells(refused)[3:] == ("17 B", "A&B", "must fail: KEY_SET_ERROR")


def test_html_is_escaped_and_cut():
    html = vector_table.table([ODD] * 50, rows=2)
    assert "<b>" not in html
    assert "<i>" not in html
    assert html.count("<tr>") == 3
    assert "and 48 more" in html


def test_text_has_its_columns_aligned():
    lines = vector_table.text(CTR.vectors, rows=3).splitlines()
    assert lines[0].split() == ["name", "mode", "key", "length", "flags", "what", "it", "catches"]
    assert len({line.index("AES-") for line in lines[1:4]}) == 1
    assert lines[4] == f"and {len(CTR) - 3} more"


def test_what_the_browser_is_sent():
    flags = vector_table.flags_of(CTR, CTR.flags)
    assert sum(flag["count"] for flag in flags) == len(CTR)
    assert all(flag["meaning"] for flag in flags)
    (row,) = vector_table.data([ODD])
    assert [name for name, _, _ in row["bytes"]] == ["key", "iv", "plaintext", "ciphertext"]
    (long,) = vector_table.data([replace(ODD, plaintext=bytes(10000), ciphertext=bytes(10000), bits=None)])
    assert [(size, len(text)) for _, size, text in long["bytes"]][2:] == [(10000, 8192)] * 2


def test_the_widget():
    pytest.importorskip("anywidget", reason="widgets need the extra lab")
    import traitlets

    widget = vector_table.vector_table(CTR)
    assert (len(widget.rows), widget.total, widget.vector) == (len(CTR), len(CTR), None)
    widget.chosen = 3
    assert widget.vector == CTR[3]
    for number in (-2, len(CTR)):
        with pytest.raises(traitlets.TraitError, match="chosen must be from -1 to"):
            widget.chosen = number
    bundle, _ = widget._repr_mimebundle_()
    assert "Carry" in vector_table.text(CTR.vectors, 300)
    assert bundle["text/html"].startswith("<table>")
    assert len(vector_table.vector_table([ODD] * 3000).rows) == vector_table.MAX_ROWS
