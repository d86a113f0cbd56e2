"""ECB against SP 800-38A, appendix F, and `cryptography`."""

import random

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from model_support import Opaque, name, vectors

from aeskit.models import ecb
from aeskit.models.arithmetic import FORMS, choose
from aeskit.trace import Recorder


def peer(key, data):
    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    return encryptor.update(data) + encryptor.finalize()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("vector", vectors("sp800_38a.json", "ecb"), ids=name)
def test_it_is_appendix_f(form, vector):
    assert ecb.encrypt(vector.key, vector.plaintext, form=form) == vector.ciphertext
    assert ecb.decrypt(vector.key, vector.ciphertext, form=form) == vector.plaintext


@pytest.mark.parametrize("form", ["plain", "numpy"])
@pytest.mark.parametrize("size", [16, 24, 32])
def test_all_sizes_are_those_of_cryptography(form, size):
    key, run = random.randbytes(size), choose(form).run
    for blocks in (0, 1, 2, 3, 8, 9, 32, run, run + 3):
        data = random.randbytes(16 * blocks)
        ciphertext = peer(key, data)
        assert ecb.encrypt(key, data, form=form) == ciphertext
        assert ecb.decrypt(key, ciphertext, form=form) == data


def test_the_procedures_look_into_nothing():
    key, data = random.randbytes(16), random.randbytes(48)
    a = Opaque()
    K, P = a.expand(key), a.string(data)
    C = ecb.encrypt_message(a, K, P)
    assert a.value(C) == peer(key, data)
    assert ecb.decrypt_message(a, K, C) == P


def test_blocks_have_names():
    recorder = Recorder()
    ciphertext = ecb.encrypt(bytes(16), bytes(range(32)), note=recorder.note)
    found = recorder.trace("ECB", "model").values()
    assert found["C_1"] + found["C_2"] == ciphertext
    assert found["P_2.round[1].start"] == bytes(range(16, 32))  # the first round key is zero


@pytest.mark.parametrize("crypt", [ecb.encrypt, ecb.decrypt])
def test_wrong_lengths_are_refused(crypt):
    with pytest.raises(ValueError, match="key must be 16, 24 or 32 bytes, not 0"):
        crypt(b"", bytes(16))
    with pytest.raises(ValueError, match="data must be a multiple of 16 bytes, not 1"):
        crypt(bytes(32), bytes(1))
