"""Values by name: as told, reversed, and summed with the outer round keys."""

import os

from aeskit.bits import xor
from aeskit.machine.naming import Names

T, C, INNER, FIRST, LAST = (os.urandom(16) for _ in range(5))
NAMES = Names(
    [
        ("K[0]", FIRST),
        ("K[7]", INNER),
        ("K[14]", LAST),
        ("PP_0.round[14].output", C),
        ("T_2", T),
        ("CC_0", C),
        ("zero", bytes(16)),
        ("C_3", b"\1\2\3"),
    ]
)


def test_lanes_are_named_one_by_one():
    assert NAMES.lanes("zmm6", bytes(16) + C + T + os.urandom(16)) == {"zmm6[1]": "CC_0", "zmm6[2]": "T_2"}


def test_a_counter_is_known_by_its_byte_reverse():
    assert NAMES.name(T[::-1]) == "T_2 reversed"


def test_sums_with_the_outer_round_keys():
    assert NAMES.name(xor(T, LAST)) == "T_2 ⊕ K[14]"
    assert NAMES.name(xor(T, FIRST)) == "T_2 ⊕ K[0]"
    assert NAMES.name(xor(T, INNER)) == ""


def test_nothing_is_named_by_chance():
    assert NAMES.name(bytes(16)) == NAMES.name(b"\1\2\3") == NAMES.name(os.urandom(16)) == ""
    assert len(NAMES) == 5


def test_a_half_in_a_general_register_has_its_value_s_name():
    """In either order of bytes; of a tweak its double as well, which must still be reduced."""
    tweak = bytes.fromhex("01020304050607081112131415161788")
    names = Names([("T_0", tweak), ("P_1", bytes(range(100, 116)))])
    assert names.half(tweak[8:]) == "bytes 8 to 15 of T_0"
    assert names.half(tweak[:8][::-1]) == "bytes 0 to 7 of T_0 reversed"
    assert names.half(bytes(range(100, 108))) == "bytes 0 to 7 of P_1"
    double = (int.from_bytes(tweak, "little") * 2 % 2**128).to_bytes(16, "little")
    assert names.half(double[8:]) == "bytes 8 to 15 of 2·T_0 before the reduction"
    assert (names.double(double[:8]), names.double(tweak[:8])) == (True, False)
    assert names.half(bytes(8)) == ""


def test_a_round_key_of_few_bytes_has_no_name():
    """Any value that is not zero is near to one: its sums would name what they do not stand for."""
    names = Names([("K[0]", b"\x01" + bytes(15)), ("K[10]", bytes(range(16))), ("T_0", b"\x80" + bytes(15))])
    assert names.name(b"\x01" + bytes(15)) == ""
    assert names.name(b"\x81" + bytes(15)) == ""
    assert names.name(bytes(range(16))) == "K[10]"
    assert names.name(b"\x80" + bytes(15)) == "T_0"
