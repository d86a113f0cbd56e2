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
