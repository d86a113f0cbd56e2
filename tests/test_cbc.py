"""The face of native CBC, plain and with stealing, against `cryptography`."""

from itertools import product

import machines
import numpy as np
import peer
import pytest

from aeskit import cbc

SETS = machines.runnable("cbc")
KEYS = {size: bytes(range(size)) for size in (16, 24, 32)}
IV = bytes(range(50, 66))
DATA = bytes(i * 13 + i // 256 & 255 for i in range(1600))


@pytest.mark.parametrize("instruction_set", machines.every("cbc"))
@pytest.mark.parametrize("size", KEYS)
def test_plain(instruction_set, size):
    cipher = cbc.Cipher(KEYS[size], implementation=instruction_set)
    for length in range(0, 1600, 16):
        data = DATA[:length]
        assert cipher.encrypt(data, IV) == peer.cbc(KEYS[size], IV, data), length
        assert cipher.decrypt(data, IV) == peer.cbc(KEYS[size], IV, data, "decrypt"), length


@pytest.mark.parametrize("instruction_set", machines.every("cbc"))
@pytest.mark.parametrize("size", KEYS)
@pytest.mark.parametrize("stealing", cbc.STEALING)
def test_stealing(instruction_set, size, stealing):
    cipher = cbc.Cipher(KEYS[size], stealing=stealing, implementation=instruction_set)
    for length in (*range(16, 160), 511, 512, 513, 1599):
        expected = peer.cts(KEYS[size], IV, DATA[:length], stealing)
        assert cipher.encrypt(DATA[:length], IV) == expected, length
        assert cipher.decrypt(expected, IV) == DATA[:length], length


def test_rfc_3962_appendix_b():
    """CBC-CS3 with AES-128 and a zero IV, 17, 31 and 64 bytes."""
    key, text = b"chicken teriyaki", b"I would like the General Gau's Chicken, please, and wonton soup."
    cipher = cbc.Cipher(key, stealing="CS3")
    known = {
        17: "c6353568f2bf8cb4d8a580362da7ff7f97",
        31: "fc00783e0efdb2c1d445d4c8eff7ed2297687268d6ecccc0c07b25e25ecfe5",
        64: "97687268d6ecccc0c07b25e25ecfe58439312523a78662d5be7fcbcc98ebf5a8"
        "4807efe836ee89a526730dbc2f7bc8409dad8bbb96c4cdc03bc103e1a194bbd8",
    }
    for length, expected in known.items():
        assert cipher.encrypt(text[:length], bytes(16)).hex() == expected


@pytest.mark.parametrize("stealing", [None, *cbc.STEALING])
def test_in_place_and_the_iv_is_kept(stealing):
    cipher = cbc.Cipher(KEYS[32], stealing=stealing)
    for length in (16, 32, 160) if stealing is None else (16, 17, 32, 47, 100):
        buffer, iv = bytearray(DATA[:length]), bytearray(IV)
        cipher.encrypt_into(buffer, buffer, iv)
        assert buffer == cipher.encrypt(DATA[:length], IV)
        cipher.decrypt_into(buffer, buffer, iv)
        assert (buffer, iv) == (DATA[:length], IV)


def test_refused():
    plain, stealing = cbc.Cipher(KEYS[16]), cbc.Cipher(KEYS[16], stealing="CS3")
    buffer = bytearray(64)
    with pytest.raises(ValueError, match="data must be a multiple of 16 bytes, not 17"):
        plain.encrypt_into(memoryview(buffer)[:17], memoryview(buffer)[:17], IV)
    for method in (stealing.encrypt, stealing.decrypt):
        with pytest.raises(ValueError, match="data must have at least 16 bytes, not 15"):
            method(bytes(15), IV)
    for cipher in (plain, stealing):
        with pytest.raises(ValueError, match="not overlap in part"):
            cipher.decrypt_into(memoryview(buffer)[:32], memoryview(buffer)[16:48], IV)
        with pytest.raises(ValueError, match="iv must be 16 bytes, not 12"):
            cipher.encrypt_into(buffer, buffer, bytes(12))
    assert not any(buffer)
    with pytest.raises(ValueError, match="stealing must be None, 'CS1', 'CS2' or 'CS3', not 'CS4'"):
        cbc.Cipher(KEYS[16], stealing="CS4")
    for wrong in ([], np.arange(3), 1, b"CS1"):
        with pytest.raises(TypeError, match="stealing must be None or a str, not"):
            cbc.Cipher(KEYS[16], stealing=wrong)
        with pytest.raises(TypeError, match="implementation must be a name, not"):
            cbc.Cipher(KEYS[16], implementation=wrong)
    with pytest.raises(ValueError, match="key must be 16, 24 or 32 bytes, not 20"):
        cbc.Cipher(bytes(20))


@pytest.mark.skipif("vaes_avx2" not in SETS, reason="needs VAES, VPCLMULQDQ and AVX2")
@pytest.mark.parametrize("stealing", [None, "CS1"])
def test_a_name_of_cbc_is_one_for_stealing_and_the_other_way_round(stealing):
    for name in ("cbc_decrypt_vaes_avx2", "cts_decrypt_vaes_avx2"):
        cipher = cbc.Cipher(KEYS[16], stealing=stealing, implementation=name)
        assert [row.instruction_set for row in cipher.implementations] == ["aesni_avx", "vaes_avx2"]


@pytest.mark.skipif("vaes_avx2" not in SETS, reason="needs VAES, VPCLMULQDQ and AVX2")
@pytest.mark.parametrize("stealing", [None, "CS1"])
def test_an_instruction_set_chooses_for_decryption(stealing):
    cipher = cbc.Cipher(KEYS[16], stealing=stealing, implementation="vaes_avx2")
    assert [row.instruction_set for row in cipher.implementations] == ["aesni_avx", "vaes_avx2"]


@pytest.mark.parametrize("instruction_set", machines.every("cbc_streams"))
@pytest.mark.parametrize(
    ("size", "count"),
    [
        *product([16, 32, 208], [0, 1, 5, 16, 17, 63, 64, 65, 130]),
        *product([4096, 8192], [1, 15, 16, 17, 33]),
    ],
)
def test_many_messages_at_once(instruction_set, size, count):
    cipher = cbc.Cipher(bytes(range(32)), implementation=instruction_set)
    data = bytes(i * 7 + i // 256 & 255 for i in range(count * size))
    ivs = bytes(i * 5 + i // 256 & 255 for i in range(count * 16))
    one_by_one = (
        peer.cbc(bytes(range(32)), ivs[16 * i : 16 * i + 16], data[i * size : (i + 1) * size])
        for i in range(count)
    )
    expected = b"".join(one_by_one)
    assert cipher.encrypt_messages(data, ivs, size) == expected
    buffer = bytearray(data)
    cipher.encrypt_messages_into(buffer, buffer, ivs, size)
    assert buffer == expected


@pytest.mark.parametrize(
    ("data", "ivs", "size", "message"),
    [
        (64, 32, 24, "size must be a multiple of 16 bytes from 16 on, not 24"),
        (64, 32, 0, "size must be a multiple of 16 bytes from 16 on, not 0"),
        (64, 32, 32.0, "size must be a multiple of 16 bytes from 16 on, not 32.0"),
        (72, 32, 32, "data must be whole messages of 32 bytes, not 72 bytes"),
        (64, 33, 32, "ivs must be 32 bytes, 16 a message, not 33"),
        (64, 16, 32, "ivs must be 32 bytes, 16 a message, not 16"),
    ],
)
def test_many_messages_that_cannot_be(data, ivs, size, message):
    cipher, destination = cbc.Cipher(bytes(16)), bytearray(data)
    with pytest.raises(ValueError, match=message):
        cipher.encrypt_messages_into(b"\1" * data, destination, bytes(ivs), size)
    assert not any(destination)


def test_many_messages_have_no_stealing():
    with pytest.raises(ValueError, match="many messages at once must be plain CBC"):
        cbc.Cipher(bytes(16), stealing="CS3").encrypt_messages(bytes(32), bytes(16), 32)
