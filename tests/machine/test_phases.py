"""Phases by labels, loops and what is worked on."""

import pytest

from aeskit.machine.loader import Image
from aeskit.machine.phases import phases, summary

IMAGE = Image(
    "f.o",
    symbols={"f": 100, "helper": 300},
    functions={"f": 200, "helper": 50},
    labels={".Lf_tail": 160, ".La128_17": 120, ".Lmain_3": 130, ".L\x02": 140},
)
NOTHING: tuple[str, ...] = ()


def test_labels_of_the_function_are_phases_and_numbered_ones_are_not():
    assert phases(IMAGE, [100, 120, 140, 160], [NOTHING] * 4) == ["entry"] * 3 + ["tail"]


def test_passes_of_a_loop_are_counted_and_say_what_they_work_on():
    addresses = [100, 130, 135, 130, 135, 150]
    work = [{"tweak"}, {"block 0"}, {"block 1"}, {"block 2"}, {"block 3"}, ()]
    assert phases(IMAGE, addresses, work) == [
        "entry: tweak",
        *["main, pass 1: blocks 0–1"] * 2,
        *["main, pass 2: blocks 2–3"] * 2,
        "after main",
    ]


def test_a_loop_that_stays_with_its_blocks_is_one_phase():
    addresses = [130, 135] * 3 + [150]
    assert phases(IMAGE, addresses, [{"block 7"}] * 6 + [()]) == ["main: block 7"] * 6 + ["after main"]


def test_straight_code_is_cut_where_other_blocks_begin():
    work = [(), {"block 0"}, (), {"block 1"}, {"block 0"}, (), {"block 2"}]
    assert phases(IMAGE, list(range(100, 107)), work) == [
        *["entry: blocks 0–1"] * 5,
        *["entry: block 2"] * 2,
    ]


def test_other_functions_are_named():
    assert phases(IMAGE, [100, 300, 310, 104], [NOTHING] * 4) == ["entry", "helper", "helper", "entry"]


@pytest.mark.parametrize(
    ("work", "text"),
    [
        ((), ""),
        (["block 3"], "block 3"),
        (["block 0", "tweak", "block 1", "block 9", "block 2"], "tweak, blocks 0–2, 9"),
    ],
)
def test_what_is_worked_on_in_a_few_words(work, text):
    assert summary(work) == text
