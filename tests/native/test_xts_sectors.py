"""Every native function of XTS sectors in a row as it is called: ready tweaks, IVs behind them, sizes."""

import machines
import peer
import pytest

from aeskit import _native, keys
from aeskit import implementations as registry

KEYS = {size: bytes(range(1, size + 1)) for size in (32, 64)}
DATA = bytes(i * 7 + i // 256 & 255 for i in range(9 * 1024))
IVS = [bytes([i + 1]) * 16 for i in range(18)]

ROWS = [row for row in registry.ALL if row.mode == "xts_sectors"]
RUNNABLE = [row for row in ROWS if row.instruction_set in machines.runnable("xts_sectors")]
functions = pytest.mark.parametrize("row", RUNNABLE, ids=lambda row: row.name)


def call(row, key, size, count, in_place=False, data=DATA):
    """The output, the tweaks afterwards and before: of the first `count` IVs, then as many IVs."""
    ready = [peer.ecb(key[len(key) // 2 :], iv) for iv in IVS[:count]]
    tweaks = b"".join([*ready, *IVS[count : 2 * count]])
    source = _native.ffi.new(f"uint8_t[{len(data)}]", data)
    destination = source if in_place else _native.ffi.new("uint8_t[]", len(data))
    argument = _native.ffi.new(f"uint8_t[{len(tweaks) or 1}]", tweaks)
    cipher = keys.xts_cipher(key)
    row.function(_native.ffi.addressof(cipher, "key"), source, destination, size, argument, count)
    return bytes(destination), bytes(argument)[: len(tweaks)], tweaks


@functions
@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("size", [512, 1024])
def test_each_sector_has_its_own_tweak_and_the_next_ivs_are_encrypted(row, key, size):
    for count in range(1, 10):
        data = DATA[: count * size]
        parts = [data[i * size : (i + 1) * size] for i in range(count)]
        expected = b"".join(
            peer.xts(key, iv, part, row.direction) for iv, part in zip(IVS, parts, strict=False)
        )
        after = b"".join(peer.ecb(key[len(key) // 2 :], iv) for iv in IVS[: 2 * count])
        for in_place in (False, True):
            output, tweaks, _ = call(row, key, size, count, in_place, data)
            assert output == expected
            assert tweaks == after


@functions
@pytest.mark.parametrize(("size", "count"), [(0, 3), (512, 0)])
def test_nothing_to_do_changes_nothing(row, size, count):
    output, tweaks, before = call(row, KEYS[64], size, count, True)
    assert (output, tweaks) == (DATA, before)


@functions
def test_a_size_is_cut_down_to_whole_passes(row):
    """A caller's mistake must not write beyond what it said."""
    output, _, _ = call(row, KEYS[64], 512 + 16, 1, data=DATA[:544])
    assert output[:512] == peer.xts(KEYS[64], IVS[0], DATA[:512], row.direction)
    assert output[512:] == bytes(32)
