"""What is composed of cryptography's modes equals what it does itself, or what the standards say of it."""

import pytest

from aeskit.verify import peer

KEY = bytes(range(1, 65))
IV = bytes(range(100, 116))
DATA = bytes(range(256)) * 2


@pytest.mark.parametrize("size", [16, 32])
@pytest.mark.parametrize("length", [16, 17, 31, 32, 33, 47, 48, 100, 512])
@pytest.mark.parametrize("forward", [True, False])
def test_composed_xts_is_cryptographys(size, length, forward):
    key, data = KEY[: 2 * size], DATA[:length]
    tweaks = peer.tweak_sequence(peer.block(key[size:], IV), length // 16 + 1)
    composed = peer._xts_composed(key[:size], tweaks, data, forward)
    assert composed == peer.answer("xts", "encrypt" if forward else "decrypt", key, IV, data)[0]


@pytest.mark.parametrize("mode", ["ecb", "cbc", "ctr", "xts", "cts"])
@pytest.mark.parametrize("size", [16, 24, 32])
def test_decryption_undoes_encryption(mode, size):
    key = KEY[: 2 * size if mode == "xts" else size]
    for stealing in ("CS1", "CS2", "CS3") if mode == "cts" else ("",):
        for length in (16, 32, 48, 96, 17, 33, 95) if mode in ("xts", "cts", "ctr") else (16, 32, 96):
            text, after = peer.answer(mode, "encrypt", key, IV, DATA[:length], stealing)
            back, again = peer.answer(mode, "decrypt", key, IV, text, stealing)
            assert back == DATA[:length]
            assert after == again


def test_the_orders_of_stealing_differ_as_the_addendum_says():
    for length in (33, 47, 100):
        cs1, cs2, cs3 = (
            peer.answer("cts", "encrypt", KEY[:16], IV, DATA[:length], o)[0] for o in ("CS1", "CS2", "CS3")
        )
        tail = length % 16
        assert cs2 == cs3
        assert cs1[: -16 - tail] == cs3[: -16 - tail]
        assert (cs1[-16:], cs1[-16 - tail : -16]) == (cs3[-16 - tail : -tail], cs3[-tail:])
    whole = [
        peer.answer("cts", "encrypt", KEY[:16], IV, DATA[:64], order)[0] for order in ("CS1", "CS2", "CS3")
    ]
    plain = peer.answer("cbc", "encrypt", KEY[:16], IV, DATA[:64])[0]
    assert whole == [plain, plain, plain[:32] + plain[48:] + plain[32:48]]
    assert {peer.answer("cts", "encrypt", KEY[:16], IV, DATA[:16], o)[0] for o in ("CS1", "CS2", "CS3")} == {
        peer.answer("cbc", "encrypt", KEY[:16], IV, DATA[:16])[0]
    }


@pytest.mark.parametrize("mode", ["cbc", "ctr"])
@pytest.mark.parametrize("direction", ["encrypt", "decrypt"])
def test_what_is_left_continues_the_message(mode, direction):
    iv = b"\xff" * 16
    whole, end = peer.answer(mode, direction, KEY[:32], iv, DATA)
    first, middle = peer.answer(mode, direction, KEY[:32], iv, DATA[:48])
    rest, after = peer.answer(mode, direction, KEY[:32], middle, DATA[48:])
    assert (first + rest, after) == (whole, end)
