"""Layouts by name: what the quick and the full level have, where buffers lie, where messages are cut."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeskit.verify import layouts
from aeskit.verify.guard import PAGE, Arena


@pytest.mark.parametrize("level", ["brief", "quick", "full"])
@pytest.mark.parametrize("mode", ["xts", "ctr", "cbc", "cts", "ecb", "keys"])
def test_names_are_unique_and_read_back(mode, level):
    size = 24 if mode == "keys" else 96
    every = layouts.of(mode, size, level)
    assert len({layout.name for layout in every}) == len(every)
    assert all(layouts.named(layout.name, mode, size) == layout for layout in every)


def test_the_fixed_layouts():
    names = {layout.name for layout in layouts.of("ecb", 64, "full")}
    fixed = {"out_of_place", "ends_at_guard_page", "begins_at_guard_page"}
    wanted = fixed | {"in_place", "in_place_ends_at_guard_page", "in_place_begins_at_guard_page"}
    wanted |= {f"{kind}misaligned_{n}" for kind in ("", "in_place_") for n in range(1, 16)}
    assert names == wanted
    quick = [{layout.name for layout in layouts.of("ecb", 64, "quick", turn)} for turn in range(3)]
    assert set.union(*quick) == wanted
    assert {len(names) for names in quick} == {6 + 15 + 5}
    assert all({f"misaligned_{n}" for n in range(1, 16)} <= names for names in quick)


@pytest.mark.parametrize("mode", ["xts", "ctr", "cbc"])
def test_every_split_in_two_and_three(mode):
    for length in (16, 32, 33, 64, 100, 128, 600):
        if mode == "cbc" and length % 16:
            continue
        last = length - 16 if mode == "xts" else length - 1
        where = [cut for cut in range(16, length, 16) if cut <= last]
        made = {layout.cuts for layout in layouts.of(mode, length, "full")} - {()}
        assert made == {(cut,) for cut in where} | set(combinations(where, 2))


def test_splits_that_take_turns_are_all_made_in_the_end():
    made = {layout.cuts for turn in range(12) for layout in layouts.of("ctr", 600, "quick", turn)}
    assert made == {layout.cuts for layout in layouts.of("ctr", 600, "full")}


@pytest.mark.parametrize(
    ("name", "mode", "length"),
    [
        ("", "xts", 64),
        ("in_plac", "xts", 64),
        ("misaligned_0", "xts", 64),
        ("misaligned_16", "xts", 64),
        ("split_15", "ctr", 64),
        ("split_64", "ctr", 64),
        ("split_48", "xts", 63),
        ("split_32_16", "ctr", 64),
        ("split_16_16", "ctr", 64),
        ("split_016", "ctr", 64),
        ("split_16_32_48", "ctr", 64),
        ("split_16", "ecb", 64),
        ("in_place", "keys", 16),
    ],
)
def test_a_layout_that_there_is_not_is_refused(name, mode, length):
    with pytest.raises(ValueError, match=f'there is no layout "{name}" for {length} bytes of {mode}'):
        layouts.named(name, mode, length)


@settings(derandomize=True, max_examples=100)
@given(st.text(alphabet="split_in_place misaligned0123456789", max_size=30))
def test_any_other_text_is_refused_in_words(name):
    if name in {layout.name for layout in layouts.of("ctr", 600, "full")}:
        return
    with pytest.raises(ValueError, match="there is no layout"):
        layouts.named(name, "ctr", 600)


def test_places_in_an_arena():
    arena = Arena(100)
    assert arena.size == PAGE
    assert arena.place("end", 33, 5) == PAGE - 33
    assert arena.place("begin", 33, 5) == 0
    assert arena.place("", 33, 5) == 69
    arena.view[PAGE - 1 : PAGE] = b"x"
    assert arena.pointer[PAGE - 1] == ord("x")
