"""What is a tweak's 16 bytes and what is a number, in native XTS."""

from array import array

import numpy as np
import peer
import pytest

from aeskit import xts

KEY = bytes(range(64))
TWEAK = bytes(range(100, 116))
DATA = bytes(i * 7 & 255 for i in range(100))


@pytest.fixture(scope="module")
def cipher():
    return xts.Cipher(KEY)


@pytest.mark.parametrize(
    "made",
    [
        bytearray,
        memoryview,
        lambda tweak: array("I", tweak),
        lambda tweak: np.frombuffer(tweak, np.uint8),
        lambda tweak: np.frombuffer(tweak, "<u8"),
        lambda tweak: np.frombuffer(tweak, "V16")[0],
    ],
)
def test_anything_of_16_bytes_is_a_tweak(cipher, made):
    assert cipher.encrypt(DATA, made(TWEAK)) == peer.xts(KEY, TWEAK, DATA)
    assert cipher.encrypt_unit(made(TWEAK)).finish(DATA) == peer.xts(KEY, TWEAK, DATA)


@pytest.mark.parametrize("number", [5, np.int64(5), np.uint8(5)])
def test_any_integer_is_a_number(cipher, number):
    assert cipher.encrypt(DATA, number) == peer.xts(KEY, bytes([5]) + bytes(15), DATA)
    assert cipher.encrypt_sectors(DATA, number, np.int16(100)) == cipher.encrypt(DATA, 5)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda c: c.encrypt(DATA, True), TypeError, "tweak must be an int, not bool"),
        (lambda c: c.encrypt(DATA, np.array(5)), ValueError, "tweak must be 16 bytes, not 8"),
        (lambda c: c.encrypt(DATA, [0] * 16), TypeError, "tweak must be a bytes-like object, not list"),
        (lambda c: c.encrypt_unit(True), TypeError, "tweak must be an int, not bool"),
        (
            lambda c: c.encrypt_sectors(DATA, np.array(5), 100),
            TypeError,
            "first_sector must be an int, not ndarray",
        ),
        (lambda c: c.encrypt_sectors(DATA, 0, True), TypeError, "sector_size must be an int, not bool"),
        (
            lambda c: c.encrypt_sectors(DATA, 0, 100, threads=True),
            TypeError,
            "threads must be an int, not bool",
        ),
    ],
)
def test_what_is_neither_is_refused(cipher, call, error, message):
    with pytest.raises(error, match=message):
        call(cipher)
