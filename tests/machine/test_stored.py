"""Addresses in constants: known as a whole, their bytes unknown."""

import pytest

from aeskit.machine.addresses import Addresses
from aeskit.machine.gf2 import CONSTANTS
from aeskit.machine.loader import Image, Section
from aeskit.machine.memory import Memory, Region
from aeskit.machine.pointers import Pointers
from aeskit.machine.stored import hide
from aeskit.machine.symbolic import Symbolic

HELD = 0x2C5B_1234
PLACES = (0x1008, 0x1018, 0x1020)


@pytest.fixture
def memory():
    """Three addresses, and numbers before, between and behind them."""
    data = bytearray(range(64))
    for place in PLACES:
        data[place - 0x1000 : place - 0x1000 + 8] = HELD.to_bytes(8, "little")
    image = Image("f", sections=[Section(".rodata", 0x1000, data, "r")])
    image.addresses = [(place, 8) for place in reversed(PLACES)]
    domain = Symbolic()
    pointers = Pointers(domain, Addresses(1 << 46, 1 << 40, 4, 1 << 45, 1 << 45, (("f", HELD, HELD),)))
    domain.pointers = pointers
    region = Region(".rodata", 0x1000, domain.array(data), "r", constant=True)
    hide(image, [region], pointers)
    return Memory([region]), domain


def test_an_address_that_is_read_whole_is_known(memory):
    held, domain = memory
    assert [domain.from_bytes(held.read(place, 8)) for place in PLACES] == [HELD] * 3
    assert domain.from_bytes(held.read(0x1000, 8)) == int.from_bytes(bytes(range(8)), "little")


@pytest.mark.parametrize(
    ("begin", "size", "unknown"),
    [
        (0x1004, 8, range(4, 8)),
        (0x100F, 2, range(1)),
        (0x1009, 1, range(1)),
        (0x1010, 8, range(0)),
        (0x1000, 64, [*range(8, 16), *range(24, 40)]),
        (0x1017, 2, range(1, 2)),
    ],
)
def test_of_its_bytes_none_is(memory, begin, size, unknown):
    read = memory[0].read(begin, size)
    assert [at for at, byte in enumerate(read.tolist()) if byte >= CONSTANTS] == list(unknown)
