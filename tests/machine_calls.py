"""Our own functions set up in the lane machine, with keys and data drawn from a seed."""

import random

import numpy as np

from aeskit.machine.memory import Memory, Region
from aeskit.machine.run import Machine
from aeskit.verify import cases, oracle

KEY, SOURCE, DESTINATION, IV = 0x1000_0000, 0x2000_0000, 0x3000_0000, 0x4000_0000


def prepare(image, row, length, key_bits, seed=1, in_place=False):
    """A machine at rest, the arguments of the implementation `row` in its registers."""
    draw = random.Random(seed).randbytes
    key = draw(key_bits // 8 * (2 if cases.has_two_keys(row.mode) else 1))
    keys, last = row.mode == "keys", 3
    messages = last if row.mode in ("cbc_streams", "xts_sectors") else 1
    regions = [
        _region("key", KEY, bytes(496) if keys else oracle.context(row.mode, key), "rw" if keys else "r"),
        _region("source", SOURCE, key if keys else draw(length), "rw" if in_place else "r"),
        _region("destination", DESTINATION, bytes(length)),
        _region("iv", IV, draw(16 * messages * (2 if row.mode == "xts_sectors" else 1))),
    ]
    machine = Machine(image, Memory(regions))
    destination = SOURCE if in_place else DESTINATION
    values = (KEY, SOURCE, len(key) if keys else destination, length // messages, IV, last)
    for number, value in zip((7, 6, 2, 1, 8, 9), values, strict=True):
        machine.state.gpr[number] = value
    return machine


def _region(name, address, data, permissions="rw"):
    return Region(name, address, np.frombuffer(data, np.uint8).copy(), permissions)
