"""The browser cuts and writes cells as `views.cells` does: every cell type, both directions."""

import base64
from pathlib import Path

import pytest

from aeskit.bits import BitOrder
from aeskit.views.cells import SIZES, Lanes, degree, lane_cells, lane_polynomial

pytestmark = pytest.mark.xdist_group("browser")

SOURCE = Path(__file__).parents[2] / "aeskit/views/lanes.js"
DATA = bytes((37 * i + 11) % 256 for i in range(16))

DRAW = """async ([source, data, type, highFirst, order]) => {
  const lanes = await import("data:text/javascript;base64," + source);
  const bytes = Uint8Array.from(data);
  return lanes.layout(type, bytes.length, highFirst, order)
    .map((row) => row.map((cell) => cell && lanes.text(bytes, cell, type, order)));
}"""


@pytest.fixture(scope="module")
def draw(browser):
    page = browser.new_page()
    source = base64.b64encode(SOURCE.read_bytes()).decode()
    yield lambda *arguments: page.evaluate(DRAW, [source, *arguments])
    page.close()


@pytest.mark.parametrize("high_first", [False, True])
@pytest.mark.parametrize("cells", ["bytes", "words", "dwords", "quadwords", "bits"])
def test_the_same_cells(draw, cells, high_first):
    expected = [cell.text for cell in lane_cells(Lanes("t", DATA), 0, cells, high_first)]
    rows = draw([*DATA], cells, high_first, "xts")
    got = [text for row in rows for text in row]
    assert ("".join(got) == "".join(expected)) if cells == "bits" else got == expected


@pytest.mark.parametrize("cells", [*SIZES])
def test_a_short_lane_has_blank_cells(draw, cells):
    rows = draw([*DATA[:5]], cells, True, "xts")
    shown = [text for row in rows for text in row if text is not None]
    assert len(shown) == {"words": 3, "dwords": 2, "quadwords": 1, "bits": 40, "polynomial": 40}.get(cells, 5)


@pytest.mark.parametrize("order", [*BitOrder])
def test_the_same_powers(draw, order):
    rows = draw([*DATA], "polynomial", False, order.value)
    polynomial = lane_polynomial(Lanes("t", DATA, order=order), 0)
    shown = {text for row in rows for text in row} - {"·"}
    plain = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
    powers = {0 if t == "1" else 1 if t == "x" else int(t[1:].translate(plain)) for t in shown}
    assert powers == {i for i in range(128) if polynomial >> i & 1}


@pytest.mark.parametrize("high_first", [False, True])
@pytest.mark.parametrize("order", [*BitOrder])
def test_powers_run_without_a_jump(draw, order, high_first):
    """Down a column and on to the next, they rise or fall by one."""
    rows = draw([255] * 16, "polynomial", high_first, order.value)
    column = [row[0] for row in rows]
    byte = 15 if high_first else 0
    ends = {degree(byte, 0, order), degree(byte, 7, order)}
    assert {column[0], column[-1]} == {{0: "1", 7: "x⁷", 120: "x¹²⁰", 127: "x¹²⁷"}[power] for power in ends}
    rising = (order is BitOrder.LRW) == high_first
    assert column[0] == ("1" if rising else "x¹²⁷")
