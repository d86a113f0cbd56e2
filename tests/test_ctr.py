"""The face of native CTR against `cryptography`: any length, any split, the 128-bit carry."""

import threading

import machines
import peer
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeskit import ctr

SETS = machines.runnable("ctr")
KEYS = {size: bytes(range(size)) for size in (16, 24, 32)}
DATA = bytes(i * 11 + i // 256 & 255 for i in range(1500))
COUNTERS = {
    "plain": bytes(range(16)),
    "carry at 32 bits": bytes(8) + bytes.fromhex("00000001fffffffe"),
    "carry at 64 bits": bytes(7) + b"\1" + b"\xff" * 7 + b"\xfd",
    "carry at 128 bits": b"\xff" * 15 + b"\xfb",
}


@pytest.mark.parametrize("instruction_set", machines.every("ctr"))
@pytest.mark.parametrize("size", KEYS)
@pytest.mark.parametrize("counter", COUNTERS)
def test_every_length_is_what_cryptography_says(instruction_set, size, counter):
    cipher = ctr.Cipher(KEYS[size], implementation=instruction_set)
    block = COUNTERS[counter]
    expected = peer.ctr(KEYS[size], block, DATA)
    for length in (*range(160), 255, 512, 513, 1500):
        assert cipher.crypt(DATA[:length], block) == expected[:length], length


def test_neither_the_counter_nor_the_data_is_changed():
    counter, data = bytearray(COUNTERS["plain"]), bytearray(DATA)
    ctr.Cipher(KEYS[16]).crypt(data, counter)
    assert (counter, data) == (COUNTERS["plain"], DATA)


def test_one_byte_results_are_objects_of_their_own():
    cipher = ctr.Cipher(KEYS[16])
    results = [cipher.crypt(b"\0", bytes([i]) * 16) for i in range(8)]
    assert results == [peer.ctr(KEYS[16], bytes([i]) * 16, b"\0") for i in range(8)]
    assert bytes(1) == b"\x00"
    assert cipher.crypt(b"", bytes(16)) == b""


@given(
    st.lists(st.integers(0, 70), max_size=12), st.sampled_from(list(COUNTERS.values())), st.sampled_from(SETS)
)
@settings(max_examples=80, deadline=None, derandomize=True)
def test_any_split_of_a_stream(sizes, counter, instruction_set):
    stream = ctr.Cipher(KEYS[32], implementation=instruction_set).stream(counter)
    expected = peer.ctr(KEYS[32], counter, DATA)
    position = 0
    for size in sizes:
        assert stream.position == position
        assert stream.crypt(DATA[position : position + size]) == expected[position : position + size]
        position += size


def test_a_stream_in_place():
    expected = peer.ctr(KEYS[24], COUNTERS["carry at 64 bits"], DATA)
    stream = ctr.Cipher(KEYS[24]).stream(COUNTERS["carry at 64 bits"])
    buffer = bytearray(DATA)
    for start in range(0, len(DATA), 37):
        piece = memoryview(buffer)[start : start + 37]
        stream.crypt_into(piece, piece)
    assert buffer == expected


def test_a_refused_piece_uses_no_keystream():
    stream = ctr.Cipher(KEYS[16]).stream(bytes(16))
    stream.crypt(DATA[:5])
    buffer = bytearray(64)
    with pytest.raises(ValueError, match="not overlap in part"):
        stream.crypt_into(memoryview(buffer)[:32], memoryview(buffer)[1:33])
    with pytest.raises(ValueError, match="destination must have the 8 bytes of data, not 9"):
        stream.crypt_into(bytes(8), bytearray(9))
    assert not any(buffer)
    assert stream.position == 5
    assert stream.crypt(DATA[5:50]) == peer.ctr(KEYS[16], bytes(16), DATA)[5:50]


def test_threads_on_one_stream_use_no_keystream_twice():
    stream = ctr.Cipher(KEYS[16]).stream(bytes(16))
    pieces = []

    def work() -> None:
        for _ in range(100):
            pieces.append(stream.crypt(bytes(48)))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    keystream = peer.ctr(KEYS[16], bytes(16), bytes(400 * 48))
    assert sorted(pieces) == sorted(keystream[i : i + 48] for i in range(0, len(keystream), 48))


@pytest.mark.parametrize("direction_error", [(bytes(15), ValueError), ("0" * 16, TypeError), (5, TypeError)])
def test_refused_counters(direction_error):
    counter, error = direction_error
    cipher = ctr.Cipher(KEYS[16])
    with pytest.raises(error, match="counter must be"):
        cipher.crypt(DATA, counter)
    with pytest.raises(error, match="counter must be"):
        cipher.stream(counter)


@pytest.mark.parametrize("size", [0, 15, 17, 31, 33, 64])
def test_key_length(size):
    with pytest.raises(ValueError, match=f"key must be 16, 24 or 32 bytes, not {size}"):
        ctr.Cipher(bytes(size))


def test_an_implementation_of_another_mode_is_refused():
    with pytest.raises(ValueError, match="xts_encrypt_vaes_avx2 is an implementation of xts, not of ctr"):
        ctr.Cipher(KEYS[16], implementation="xts_encrypt_vaes_avx2")
