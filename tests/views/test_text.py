"""The pictures, character by character."""

import re
from textwrap import dedent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeskit.bits import BitOrder
from aeskit.trace import Step
from aeskit.views.cells import SIZES, Lanes, blocks, degree, register, step_lanes
from aeskit.views.text import picture

XMM = bytes.fromhex("80 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f")


def flipped(data: bytes, *bits: int) -> bytes:
    value = int.from_bytes(data, "little")
    for bit in bits:
        value ^= 1 << bit
    return value.to_bytes(len(data), "little")


def shown(text: str) -> str:
    return dedent(text).strip("\n")


def test_a_zmm_register_is_four_lanes_of_sixteen_bytes():
    data = bytes(range(64))
    assert picture(register("zmm6", data, ["T_0", "T_1", "T_2", "T_3"])) == shown("""
        bytes           0  1  2  3  4  5  6  7   8  9 10 11 12 13 14 15
        zmm6[0] = T_0  00 01 02 03 04 05 06 07  08 09 0a 0b 0c 0d 0e 0f
        zmm6[1] = T_1  10 11 12 13 14 15 16 17  18 19 1a 1b 1c 1d 1e 1f
        zmm6[2] = T_2  20 21 22 23 24 25 26 27  28 29 2a 2b 2c 2d 2e 2f
        zmm6[3] = T_3  30 31 32 33 34 35 36 37  38 39 3a 3b 3c 3d 3e 3f
    """)


def test_differences_stand_in_brackets_and_nothing_moves():
    other = flipped(XMM, 0, 41, 48, 71, 127)
    assert picture(register("xmm0", XMM), register("xmm1", other).against(XMM)) == shown("""
        bytes   0  1  2  3  4  5  6  7   8  9 10 11 12 13 14 15
        xmm0   80 01 02 03 04 05 06 07  08 09 0a 0b 0c 0d 0e 0f
        xmm1  [81]01 02 03 04[07 07]07 [88]09 0a 0b 0c 0d 0e[8f]
    """)


def test_a_difference_that_ends_at_the_middle():
    other = flipped(XMM, 56)
    assert picture(register("xmm1", other).against(XMM)).endswith("05 06[06] 08 09 0a 0b 0c 0d 0e 0f")


def test_words_are_little_endian_integers():
    assert picture(register("xmm0", XMM), cells="words") == shown("""
        words     0    1    2    3    4    5    6    7
        xmm0   0180 0302 0504 0706 0908 0b0a 0d0c 0f0e
    """)
    assert picture(register("xmm0", XMM), cells="dwords") == shown("""
        dwords         0        1        2        3
        xmm0    03020180 07060504 0b0a0908 0f0e0d0c
    """)
    assert picture(register("xmm0", XMM), cells="quadwords", high_first=True) == shown("""
        quadwords                 1                0
        xmm0       0f0e0d0c0b0a0908 0706050403020180
    """)


def test_bits_fold_to_the_width_and_mark_each_bit():
    lanes = register("xmm1", flipped(XMM, 3, 127)).against(XMM)
    assert picture(lanes, cells="bits", high_first=True) == shown("""
        bits           15       14       13       12       11       10        9        8
        xmm1     10001111 00001110 00001101 00001100 00001011 00001010 00001001 00001000
                 ^
         7 to 0  00000111 00000110 00000101 00000100 00000011 00000010 00000001 10001000
                                                                                    ^
    """)


def test_a_polynomial_in_each_order():
    data = bytes.fromhex("87" + 15 * "00")
    orders = {order: picture(Lanes("t", data, order=order), cells="polynomial") for order in BitOrder}
    assert orders == {
        BitOrder.XTS: "t          x^7 + x^2 + x + 1",
        BitOrder.GHASH: "t          x^7 + x^6 + x^5 + 1",
        BitOrder.LRW: "t          x^127 + x^122 + x^121 + x^120",
    }


def test_a_polynomial_wraps_between_terms_and_names_what_differs():
    lanes = Lanes("t", b"\xff" * 16).against(b"\xfe" + b"\xff" * 15)
    lines = picture(lanes, cells="polynomial", width=40).splitlines()
    assert max(map(len, lines)) <= 40
    assert lines[-1].split() == ["≠", "1"]
    assert " ".join(lines[:-1]).split()[1:] == " ".join(lines[:-1]).replace("t ", "", 1).split()
    assert sum(line.count("x") for line in lines) == 127


def test_a_buffer_may_end_within_a_block():
    data = bytes(range(21))
    assert picture(blocks("C", data), cells="dwords") == shown("""
        dwords         0        1        2        3
        C +0    03020100 07060504 0b0a0908 0f0e0d0c
        C +16   13121110       14
    """)


def test_a_shorter_other_differs_in_every_byte_that_it_lacks():
    assert picture(blocks("C", bytes(4)).against(bytes(2))).splitlines()[1] == "C +0   00 00[00 00]"


def test_a_step_is_a_heading_above_what_it_set():
    step = Step("T_1 = T_0 ⊗ α", "5.2", "tweak", {"T_1": XMM})
    assert picture(*step_lanes(step)) == shown("""
        bytes   0  1  2  3  4  5  6  7   8  9 10 11 12 13 14 15
        T_1 = T_0 ⊗ α    5.2
        T_1    80 01 02 03 04 05 06 07  08 09 0a 0b 0c 0d 0e 0f
    """)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: register("ymm1", bytes(24)), "register ymm1 must have 16, 32 or 64 bytes, not 24"),
        (lambda: register("ymm1", bytes(32), ["T_0"]), "register ymm1 has 2 lanes, not 1 to name"),
        (lambda: Lanes("C", b""), "C must have 1 to 65536 bytes, not 0"),
        (lambda: Lanes("C", b"ab", mark=b"a"), "mark of C must have 2 bytes, not 1"),
        (lambda: Lanes("C", b"ab", labels=("a", "b")), "C must have 1 labels, not 2"),
        (lambda: picture(Lanes("C", b"a"), cells="nibbles"), "cells must be one of bytes, words"),
        (lambda: picture(Lanes("C", b"a"), width=7), "width must leave 4 columns for bytes, not 1"),
    ],
)
def test_what_cannot_be_drawn_is_refused(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


@settings(max_examples=60, derandomize=True, deadline=None)
@given(
    st.binary(min_size=1, max_size=64),
    st.binary(min_size=1, max_size=64),
    st.sampled_from([*SIZES]),
    st.booleans(),
    st.sampled_from([80, 100]),
)
def test_every_picture_fits(data, other, cells, high_first, width):
    lanes = Lanes("zmm31[3] = T_15", data, tuple(f"zmm31[{i}] = T_{i}" for i in range(-(-len(data) // 16))))
    text = picture(lanes, lanes.against(other), cells=cells, high_first=high_first, width=width)
    assert max(map(len, text.splitlines())) <= width
    assert not any(line.endswith(" ") for line in text.splitlines())


@pytest.mark.parametrize(
    ("byte", "bit", "powers"), [(0, 0, (0, 7, 120)), (0, 7, (7, 0, 127)), (15, 0, (120, 127, 0))]
)
def test_the_power_of_x_of_a_bit_in_each_order(byte, bit, powers):
    assert tuple(degree(byte, bit, order) for order in BitOrder) == powers
