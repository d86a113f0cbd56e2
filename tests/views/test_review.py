"""The report as text and as a page: widths, escapes, nothing fetched."""

import re
from dataclasses import replace
from html import escape

import pytest

from aeskit.verify.review.counterexample import Counterexample, value
from aeskit.verify.review.model import FAILS, HOLDS, OPEN, TOLD, Cell, FunctionReview, Line, Promise, Review
from aeskit.views.review import page, text

HOSTILE = "<script>alert(1)</script>&\"'"


CALL = Counterexample(
    "f",
    "xts_first, AES-128, 40 bytes",
    "destination: block 1 byte 0 is ff, must be 00",
    "so it is on this CPU",
    "aeskit step 'two words.S:<f>' --data " + "00" * 40,
    (value("tweak", bytes(15) + b"\x80"), value("data", bytes(40))),
    "destination",
    "00" * 40,
    "00" * 16 + "ff" + "00" * 23,
    1,
)


def made(name="xts_encrypt", detail="movups (%rdi),%xmm4", functions=1):
    lines = [
        Line("proof", HOLDS, "the result is the model's " * 6, "912 proofs " * 9, "a caveat " * 12),
        Line("memory", FAILS, "touched", "runs", "", (detail, "and 2 more")),
        Line("secrets", OPEN, "not known", "nothing"),
        Line("size", TOLD, "12 bytes", "read"),
    ]
    matrix = [
        Cell("xts_first", bits, place, n, ("wrong",) if n == 33 else ())
        for bits in (128, 256)
        for place in (False, True)
        for n in range(16, 49)
    ]
    function = FunctionReview(name, (Promise("xts_first", "XTS"),), "a guess", True, lines, matrix, CALL)
    return Review(
        f"{name}.S", "0" * 64, "1" * 64, "1.0", "a CPU", [function] * functions, options=(f"-D {name}",)
    )


@pytest.mark.parametrize("width", [40, 63, 64, 80, 100, 120])
def test_text_keeps_to_its_columns(width):
    told = text(made(), width)
    lines = [line for line in told.splitlines() if not line.startswith("again: ")]  # a command is one line
    assert max(map(len, lines)) <= width
    assert not any(line.endswith(" ") for line in told.splitlines())


def test_text_says_every_line_with_its_mark_evidence_and_caveat():
    told = text(made(), 100)
    for expected in ("✓ proof", "✗ memory", "? secrets", "· size", "evidence", "caveat", "▸ movups"):
        assert expected in told
    assert "guessed   a guess" in told
    assert "128/256 out of place and in place  proved at 16–32, 34–48 bytes; not at 33" in told
    assert "1 thing wrong: memory; not checked: secrets" in told


def test_a_narrow_width_is_refused():
    with pytest.raises(ValueError, match="width must be at least 40 columns, not 39"):
        text(made(), 39)


def test_a_page_holds_hostile_names_as_text():
    told = page(made(HOSTILE, HOSTILE))
    assert "<script" not in told
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&amp;&quot;&#x27;" in told
    assert told.count("<section") == 1


def test_a_terminal_is_sent_no_commands():
    told = text(made("evil\x1b[2J\x07", "\x1b]0;title\x07"))
    assert "\x1b" not in told
    assert "\x07" not in told
    assert "evil�[2J�" in told


def test_a_page_asks_for_nothing():
    told = page(made())
    assert re.search(r"(src|href)=.?(http|//|file)|url\(|@import", told) is None
    assert "default-src 'none'" in told


def test_a_page_of_several_functions_begins_with_an_overview():
    told = page(made(functions=2))
    assert told.count('href="#f0"') == told.count('<section id="f0">') == 1
    assert told.count('href="#f1"') == told.count('<section id="f1">') == 1


def test_a_bar_is_as_wide_as_there_are_lengths():
    told = page(made())
    widths = [int(n) for n in re.findall(r"flex-grow:(\d+)", told)]
    assert widths == [17, 1, 15]
    assert 'title="33 bytes: wrong"' in told


def test_a_clean_function_has_nothing_wrong():
    found = FunctionReview("f", (Promise("c", "t"),), lines=[Line("a", HOLDS, "b", "c")])
    assert found.verdict == "nothing wrong"


def test_the_call_that_shows_a_fault_can_be_copied():
    shown, html = text(made(), 80), page(made())
    rows = [line.split() for line in shown.splitlines()]
    hexed = "00000000"
    assert ["tweak", hexed, hexed, hexed, "00000080", "only", "bit", "7", "of", "byte", "15"] in rows
    assert ["data", "40", "bytes,", "all", "zeros"] in rows
    assert [row for row in rows if row[:1] == ["→"]] == [
        ["→", "block", "1", first, hexed, hexed, hexed] for first in (hexed, "ff000000")
    ]
    assert f"again: {CALL.command}" in shown.splitlines()
    assert f"again: {escape(CALL.command)}</pre>" in html
    assert html.count("<mark>") == 2
    assert made().to_json()["functions"][0]["counterexample"]["inputs"][1]["data"] == "00" * 40


def test_of_a_long_buffer_the_rows_about_the_first_difference_are_told():
    long = replace(CALL, expected="00" * 640, got="00" * 330 + "01" + "00" * 309, block=20)
    rows = [line for _, line in long.rows()]
    assert sum("block 20 " in line and line[0] == "→" for line in rows) == 2
    assert len(rows) == 2 + 2 * (1 + 8 + 1)
    assert "(blocks 0 to 18 left out)" in rows[2]
    assert "(and 13 blocks more)" in rows[11]


def test_functions_that_are_left_out_for_one_reason_are_told_together():
    review = made()
    review.skipped = ("a: no reason", "b::c: no reason", "d: is no code")
    told = text(review, 80).splitlines()
    assert "left out  a, b::c: no reason" in told
    assert "          d: is no code" in told
