"""A valid vector can be one of its mode; one that is not valid may be anything."""

import pytest

from aeskit.vectors import TestVector

KEY_BYTES = {"xts": 32, "lrw": 32}


def vector(mode, length, **more):
    iv = b"" if mode in ("ecb", "keys") else bytes(16)
    stealing, schedule = "CS3" if mode == "cts" else "", bytes(176) if mode == "keys" else b""
    text = {"plaintext": bytes(length), "ciphertext": bytes(length)}
    given = {"iv": iv, "stealing": stealing, "schedule": schedule, **text, **more}
    return TestVector("v", mode, bytes(KEY_BYTES.get(mode, 16)), **given)


@pytest.mark.parametrize("mode", ["ecb", "cbc", "pcbc", "lrw"])
def test_modes_of_whole_blocks(mode):
    for length in (0, 16, 160):
        vector(mode, length)
    for length in (1, 15, 17):
        with pytest.raises(ValueError, match=f"text of {mode} must be whole blocks, not {8 * length} bits"):
            vector(mode, length)
        vector(mode, length, valid=False)
    with pytest.raises(ValueError, match="must be whole blocks, not 127 bits"):
        vector(mode, 16, bits=127)


@pytest.mark.parametrize("mode", ["xts", "cts"])
def test_modes_that_steal_need_a_block(mode):
    for length in (16, 17, 33):
        vector(mode, length)
    vector(mode, 17, bits=129)
    for length in (0, 1, 15):
        with pytest.raises(ValueError, match=f"text of {mode} must be 128 bits or more, not {8 * length}"):
            vector(mode, length)
        vector(mode, length, valid=False)
    with pytest.raises(ValueError, match="must be 128 bits or more, not 127"):
        vector(mode, 16, bits=127)


def test_ctr_takes_any_length_and_a_key_schedule_no_text():
    for length in (0, 1, 17):
        vector("ctr", length)
    vector("keys", 0)
    with pytest.raises(ValueError, match="a key schedule has no text, not 16 bytes"):
        vector("keys", 16)
