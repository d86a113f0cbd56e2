"""What counts as an address in a proof, and what may be asked of one."""

import pytest

from aeskit.machine.addresses import IMAGE, UNDEFINED, WORD
from aeskit.verify.proving.proof import BUFFER_STEP, BUFFERS, FIRST_BUFFER, STACK_SIZE, STACK_TOP, Addresses

CODE, ELSEWHERE = 0x2C5B_0040, 0x1A5C_3B10
OTHERS = ((IMAGE, 0x2C5B_0000, 0x2C5B_2000), (UNDEFINED, 0x1A5C_3B00, 0x1A5C_3B20))
ADDRESSES = Addresses(FIRST_BUFFER, BUFFER_STEP, BUFFERS, STACK_TOP - STACK_SIZE, STACK_TOP, OTHERS)
A, B, RSP = FIRST_BUFFER + 0x35, FIRST_BUFFER + 3 * BUFFER_STEP + 0x45, STACK_TOP - 4104


def test_no_mask_is_taken_for_an_address():
    runs = [(1 << high) - (1 << low) for high in range(65) for low in range(high)]
    assert not any(ADDRESSES.is_address(run) for run in runs if run < FIRST_BUFFER or run > STACK_TOP)
    assert not any(ADDRESSES.is_address(run) for run in runs if run % (1 << 45) == (1 << 45) - 1)


@pytest.mark.parametrize("value", [A, B, RSP, B - A, (A - B) % WORD, A + (1 << 40)])
def test_addresses_and_their_distances_are_known(value):
    assert ADDRESSES.is_address(value)


@pytest.mark.parametrize(
    ("name", "values", "spoiled"),
    [
        ("add", (A, 16), False),
        ("add", (A, A), True),
        ("sub", (A, B), False),
        ("cmp", (A, B), False),
        ("cmp", (A, 0), False),
        ("cmp", (A, 0x10000), True),
        ("cmp", (A, RSP), False),
        ("cmp", (A, CODE), True),
        ("cmp", (B - A, 0), True),
        ("test", (B - A, B - A), True),
        ("sub", (RSP, A), True),
        ("sub", (RSP, RSP + 8), False),
        ("sub", (CODE, CODE + 8), False),
        ("test", (CODE, 1), True),
        ("test", (CODE, CODE), False),
        ("test", (ELSEWHERE, ELSEWHERE), True),
        ("cmp", (ELSEWHERE, 0), True),
        ("inc", (A,), False),
        ("test", (A, A), False),
        ("test", (A, 15), True),
        ("and", (A, -16 % WORD), True),
        ("and", (RSP, -64 % WORD), False),
        ("and", (RSP, 31), True),
        ("shr", (A, 4), True),
        ("and", (64, 15), False),
    ],
)
def test_more_than_every_address_tells_is_spoiled(name, values, spoiled):
    assert ADDRESSES.spoiled(name, 64, values) is spoiled


def test_fewer_bits_of_an_address_are_spoiled():
    assert ADDRESSES.spoiled("add", 32, (A, 1))
