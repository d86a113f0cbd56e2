"""The simplest value that shows a fault: each shape is found from a random value, in few questions."""

import random

import pytest

from aeskit.verify.simplest import counted, described, fewest, simplest

DRAWN = random.Random(1).randbytes(16)


def bit(value, byte, number):
    return value[byte] >> number & 1


def found(shows, value=DRAWN):
    asked = []

    def heard(data):
        asked.append(data)
        return shows(data)

    assert shows(value)
    out = simplest(value, heard)
    assert shows(out)
    assert len(out) == len(value)
    return out, len(asked)


ONE_BIT = [
    (lambda v: True, bytes(16), "all zeros"),
    (lambda v: v[15] >> 7, bytes(15) + b"\x80", "only bit 7 of byte 15"),
    (lambda v: v[0] & 1, b"\x01" + bytes(15), "only bit 0 of byte 0"),
    (lambda v: v != bytes(16), b"\x01" + bytes(15), "only bit 0 of byte 0"),
    (lambda v: bit(v, 9, 2), bytes(9) + b"\x04" + bytes(6), "only bit 2 of byte 9"),
    (lambda v: v[7] == 0x5A, bytes(7) + b"\x5a" + bytes(8), "only byte 7"),
    (lambda v: v[8:] == b"\xff" * 8, bytes(8) + b"\xff" * 8, "8 bytes, from 8 to 15"),
    (lambda v: len(set(v)) > 12, counted(16), "counting bytes"),
]


@pytest.mark.parametrize(("shows", "value", "words"), ONE_BIT, ids=[words for *_, words in ONE_BIT])
def test_each_shape_is_found_and_named(shows, value, words):
    start = bytearray(random.Random(2).randbytes(16))
    start[15], start[0], start[9] = start[15] | 0x80, start[0] | 1, start[9] | 4
    start[7] = 0x5A if "byte 7" in words else start[7]
    start[8:] = b"\xff" * 8 if "8 to 15" in words else start[8:]
    out, asked = found(lambda v: bool(shows(v)), bytes(start))
    assert (out, described(out)) == (value, words)
    assert asked < 600


def test_a_parity_of_bits_needs_one_of_them():
    """Three bits are set and each alone suffices, though any two do not."""
    places = [(3, 1), (8, 0), (12, 6)]
    start = bytearray(16)
    for byte, number in places:
        start[byte] |= 1 << number
    out, _ = found(lambda v: bool(sum(bit(v, *place) for place in places) % 2), bytes(start))
    assert [(byte, number) for byte in range(16) for number in range(8) if bit(out, byte, number)] in (
        [place] for place in places
    )


def test_what_cannot_be_made_simpler_stays():
    assert found(lambda v: v == DRAWN)[0] == DRAWN
    assert described(DRAWN) == ""
    assert simplest(b"", lambda data: False) == b""


def test_the_fewest_units_are_those_that_are_needed():
    needed = {3, 50, 77}
    assert fewest(range(100), lambda some: needed <= set(some)) == sorted(needed)
    assert fewest([1], lambda some: False) == [1]
