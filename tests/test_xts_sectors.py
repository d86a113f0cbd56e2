"""Many sectors in one call: in batches of IVs, and shared by threads."""

from threading import Thread

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


@pytest.mark.parametrize("size", [512, 1536, 528, 2048, 4096])
@pytest.mark.parametrize("instruction_set", machines.every("xts"))
def test_sectors_of_whole_passes_and_others(instruction_set, size):
    """Up to more than a row of sectors, whose tweaks are made beside the row before."""
    cipher, first = xts.Cipher(KEY, implementation=instruction_set), 2**64 - 100
    data = DATA * (34 * size // len(DATA) + 1)
    for count in (1, 2, 3, 4, 5, 15, 16, 17, 33, 34):
        numbered = ((first + i).to_bytes(16, "little") for i in range(count))
        parts = [data[i * size : (i + 1) * size] for i in range(count)]
        expected = b"".join(peer.xts(KEY, iv, part) for iv, part in zip(numbered, parts, strict=True))
        assert cipher.encrypt_sectors(data[: count * size], first, size) == expected
        buffer = bytearray(expected)
        cipher.decrypt_sectors_into(buffer, buffer, first, size)
        assert buffer == data[: count * size]


def visits():
    """Sector numbers in sequence, again, backwards, with a gap, from the last one to the first."""
    yield from (*range(5), 4, 4, 5, *range(9, 3, -1), 20, 22, 23, 24, 2**64 - 2, 2**64 - 1, 0, 1, 2)


@pytest.mark.parametrize("instruction_set", machines.every("xts"))
def test_sectors_in_any_order(instruction_set):
    """Whether a tweak was made ahead or not shows nowhere; keys, directions and sizes are mixed."""
    ciphers = {key: xts.Cipher(key, implementation=instruction_set) for key in (KEY, KEY[::-1])}
    for number, sector in enumerate(visits()):
        for key, cipher in ciphers.items():
            for size in (512, 1024, 4096, 520) if number % 3 else (512,):
                expected = peer.xts(key, sector.to_bytes(16, "little"), DATA[:size])
                assert cipher.encrypt(DATA[:size], sector) == expected
                if number % 5 == 0:
                    assert cipher.decrypt(expected, sector) == DATA[:size]


def test_a_tweak_of_16_bytes_goes_on_in_its_low_half():
    cipher, high = xts.Cipher(KEY), bytes(range(8))
    for low in (*range(2**64 - 3, 2**64), 0, 1):
        tweak = low.to_bytes(8, "little") + high
        assert cipher.encrypt(DATA[:512], tweak) == peer.xts(KEY, tweak, DATA[:512])


def test_threads_that_share_a_cipher_do_not_share_its_sequence():
    cipher, wrong = xts.Cipher(KEY), []
    cipher.encrypt(DATA[:512], 0)

    def work(first):
        for sector in range(first, first + 300):
            if cipher.encrypt(DATA[:512], sector) != peer.xts(KEY, sector.to_bytes(16, "little"), DATA[:512]):
                wrong.append(sector)

    threads = [Thread(target=work, args=(first,)) for first in (1, 1, 150, 1000)]
    for thread in threads:
        thread.start()
    work(1)
    for thread in threads:
        thread.join()
    assert wrong == []


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
