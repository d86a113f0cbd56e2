"""The table that stands in for the widget."""

from xml.etree import ElementTree

import pytest

from aeskit.views.cells import SIZES, Lanes, register
from aeskit.views.html import table


@pytest.mark.parametrize("cells", [*SIZES])
def test_a_table_has_a_head_and_a_row_a_lane(cells):
    root = ElementTree.fromstring(table(register("zmm0", bytes(range(64))), cells=cells))
    rows = root.findall("tbody/tr")
    assert len(rows) == 4
    assert {len(row) for row in rows} == {len(root.find("thead/tr"))}


def test_names_are_escaped():
    lanes = Lanes("<img src=x onerror=alert(1)>", b"\0")
    text = table(lanes, caption="<script>")
    assert "<img" not in text
    assert "<script" not in text
    assert "&lt;img src=x" in text


def test_differences_do_not_rest_on_colour():
    root = ElementTree.fromstring(table(register("xmm0", bytes(16)).against(b"\1" + bytes(15))))
    assert [cell.text for cell in root.iter("b")] == ["[00]"]


def test_a_short_last_lane_keeps_its_columns():
    for high_first in (False, True):
        root = ElementTree.fromstring(table(Lanes("C", bytes(range(3))), high_first=high_first))
        cells = [cell.text or "" for cell in root.findall("tbody/tr/td")]
        blank = [""] * 13
        assert cells == ([*blank, "02", "01", "00"] if high_first else ["00", "01", "02", *blank])
