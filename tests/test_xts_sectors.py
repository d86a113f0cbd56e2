"""Many sectors in one call: in batches of IVs, and shared by threads."""

import machines
import peer
import pytest

from aeskit import xts

KEY = bytes(range(64))
DATA = bytes(i * 7 + i // 256 & 255 for i in range(8000))


@pytest.mark.parametrize("count", [63, 64, 65, 131])
@pytest.mark.parametrize("instruction_set", machines.every("xts"))
def test_many_sectors(instruction_set, count):
    """More than one batch of IVs: the tweak of every sector is its own number."""
    cipher, first, size = xts.Cipher(KEY, implementation=instruction_set), 2**64 - 200, 33
    data = DATA[: count * size]
    numbered = ((first + i).to_bytes(16, "little") for i in range(count))
    parts = [data[i * size : (i + 1) * size] for i in range(count)]
    expected = b"".join(peer.xts(KEY, iv, part) for iv, part in zip(numbered, parts, strict=True))
    assert cipher.encrypt_sectors(data, first, size) == expected
    assert cipher.decrypt_sectors(expected, first, size) == data


@pytest.mark.parametrize("count", [0, 1, 2, 7, 200])
@pytest.mark.parametrize("threads", [2, 3, 16])
def test_threads_share_the_sectors(threads, count):
    cipher, data = xts.Cipher(KEY), DATA[: count * 33]
    expected = cipher.encrypt_sectors(data, 5, 33)
    assert cipher.encrypt_sectors(data, 5, 33, threads=threads) == expected
    buffer = bytearray(expected)
    cipher.decrypt_sectors_into(buffer, buffer, 5, 33, threads=threads)
    assert buffer == data
    with pytest.raises(ValueError, match="must be a multiple of the sector size"):
        cipher.encrypt_sectors(b"x", 5, 33, threads=threads)


@pytest.mark.parametrize(("threads", "error"), [(0, ValueError), (1025, ValueError), (1.0, TypeError)])
def test_a_number_of_threads_that_cannot_be(threads, error):
    with pytest.raises(error, match="threads must be"):
        xts.Cipher(KEY).encrypt_sectors(DATA[:64], 0, 32, threads=threads)
