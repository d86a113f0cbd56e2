"""PCBC against its definition with ECB of `cryptography`, and the property that it is named for."""

import random

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from model_support import Opaque

from aeskit.bits import xor
from aeskit.models import pcbc
from aeskit.models.arithmetic import FORMS
from aeskit.trace import Recorder


def peer(key, iv, data):
    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    forward, blocks = iv, []
    for j in range(0, len(data), 16):
        blocks.append(encryptor.update(xor(data[j : j + 16], forward)))
        forward = xor(data[j : j + 16], blocks[-1])
    return b"".join(blocks)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [16, 24, 32])
def test_it_is_its_definition(form, size):
    key, iv = random.randbytes(size), random.randbytes(16)
    for length in (0, 16, 32, 80):
        data = random.randbytes(length)
        ciphertext = peer(key, iv, data)
        assert pcbc.encrypt(key, iv, data, form=form) == ciphertext
        assert pcbc.decrypt(key, iv, ciphertext, form=form) == data


def test_an_error_spreads_to_the_end():
    key, iv, data = random.randbytes(16), random.randbytes(16), random.randbytes(80)
    damaged = bytearray(pcbc.encrypt(key, iv, data))
    damaged[16] ^= 1
    opened = pcbc.decrypt(key, iv, damaged)
    assert opened[:16] == data[:16]
    assert all(opened[j : j + 16] != data[j : j + 16] for j in range(16, 80, 16))


def test_the_procedures_look_into_nothing():
    key, iv, data = random.randbytes(16), random.randbytes(16), random.randbytes(48)
    a = Opaque()
    K, IV, P = a.expand(key), a.string(iv), a.string(data)
    C = pcbc.encrypt_message(a, K, IV, P)
    assert a.value(C) == peer(key, iv, data)
    assert pcbc.decrypt_message(a, K, IV, C) == P


def test_values_have_names():
    recorder = Recorder()
    key, iv, data = random.randbytes(16), random.randbytes(16), random.randbytes(32)
    ciphertext = pcbc.encrypt(key, iv, data, note=recorder.note)
    found = recorder.trace("PCBC", "model").values()
    assert found["F_2"] == xor(data[:16], ciphertext[:16])
    assert found["C_1"] + found["C_2"] == ciphertext


def test_wrong_lengths_are_refused():
    with pytest.raises(ValueError, match="data must be a multiple of 16 bytes, not 17"):
        pcbc.encrypt(bytes(16), bytes(16), bytes(17))
    with pytest.raises(ValueError, match="iv must be 16 bytes, not 15"):
        pcbc.decrypt(bytes(16), bytes(15), bytes(16))
