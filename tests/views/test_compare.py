"""The comparison form: fields in, verdicts and lanes out, errors in place."""

import pytest

pytest.importorskip("anywidget", reason="widgets need the extra lab")

from aeskit.views.compare import Comparison, hexadecimal, in_blocks, integer, verdict


def ways(text, count="2"):
    data = text.encode()
    if len(data) < 16:
        raise ValueError(f"data must have at least 16 bytes, not {len(data)}")
    for number in range(integer("count", count)):
        yield f"way <{number}>", data


def test_equal_results_say_so():
    form = Comparison(ways, text="sixteen letters! and more", count="3")
    assert form.table.value.count("✓") == 3
    assert "25 bytes, the judge" in form.table.value
    assert "way &lt;1&gt;" in form.table.value
    assert [lanes.heading for lanes in form.lanes.shown] == ["block 0", "", "", "block 1", "", ""]
    assert len(form.lanes.shown[-1].data) == 9


def test_the_flipped_byte_is_found_and_marked():
    form = Comparison(ways, text="sixteen letters!")
    form.flip.value = True
    assert "differs: block 0 byte 5 is 64, must be 65" in form.table.value
    assert form.table.value.count("✗") == 1
    assert [any(lanes.mark) for lanes in form.lanes.shown] == [False, True]


def test_bad_input_is_said_in_place_and_mends():
    form = Comparison(ways, text="sixteen letters!", count="2")
    widget = form.lanes
    form.fields["text"].value = "<short>"
    assert 'role="alert"' in form.table.value
    assert "data must have at least 16 bytes, not 7" in form.table.value
    assert widget not in form.children
    form.fields["text"].value = "long enough again"
    assert form.lanes is widget
    assert form.children[-1] is widget
    form.fields["count"].value = "two<b>"
    assert "count must be a number, decimal or 0x…, not &#x27;two&lt;b&gt;&#x27;" in form.table.value


@pytest.mark.parametrize(
    ("first", "other", "said"),
    [
        (b"abc", b"abc", "equal"),
        (b"abc", b"abd", "differs: block 0 byte 2 is 64, must be 63"),
        (bytes(40), bytes(17) + b"\1" + bytes(21) + b"\1", "block 1 byte 1 is 01, must be 00 and 1 more"),
        (b"abc", b"ab", "differs: block 0 byte 2 is missing, must be 63"),
        (b"ab", b"abc", "differs: block 0 byte 2 is 63, must be missing"),
    ],
)
def test_verdicts(first, other, said):
    assert verdict(first, other).endswith(said)


def test_blocks_of_results_of_different_lengths():
    shown = in_blocks({"a": bytes(17), "b": bytes(16)})
    assert [(lanes.titles[0], len(lanes.data)) for lanes in shown] == [("a", 16), ("b", 16), ("a", 1)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: hexadecimal("key", "00 0g"), "key must be hexadecimal, not 'g' at digit 4"),
        (lambda: hexadecimal("key", "000"), "key must have two digits a byte: 3 digits are odd"),
        (lambda: integer("sector", "seven"), "sector must be a number, decimal or 0x…, not 'seven'"),
    ],
)
def test_fields_that_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_fields_that_are_read():
    assert hexadecimal("key", " 0aFF 10 ") == b"\x0a\xff\x10"
    assert (integer("sector", " 12 "), integer("sector", "0x1F")) == (12, 31)
