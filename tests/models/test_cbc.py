"""CBC against SP 800-38A, appendix F, and `cryptography`."""

import random

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from model_support import Opaque, name, vectors

from aeskit.bits import xor
from aeskit.models import cbc
from aeskit.models.arithmetic import FORMS, choose
from aeskit.trace import Recorder


def peer(key, mode, data):
    encryptor = Cipher(algorithms.AES(key), mode).encryptor()
    return encryptor.update(data) + encryptor.finalize()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("vector", vectors("sp800_38a.json", "cbc"), ids=name)
def test_cbc_is_appendix_f(form, vector):
    assert cbc.encrypt(vector.key, vector.iv, vector.plaintext, form=form) == vector.ciphertext
    assert cbc.decrypt(vector.key, vector.iv, vector.ciphertext, form=form) == vector.plaintext


@pytest.mark.parametrize("size", [16, 24, 32])
@pytest.mark.parametrize("form", ["plain", "numpy"])
def test_all_sizes_are_those_of_cryptography(form, size):
    key, iv = random.randbytes(size), random.randbytes(16)
    for length in (0, 16, 32, 48, 128, 144, 512):
        data = random.randbytes(length)
        ciphertext = peer(key, modes.CBC(iv), data)
        assert cbc.encrypt(key, iv, data, form=form) == ciphertext
        assert cbc.decrypt(key, iv, ciphertext, form=form) == data


@pytest.mark.parametrize("form", ["plain", "numpy"])
def test_runs_meet_at_their_seams(form):
    key, iv, data = random.randbytes(16), random.randbytes(16), random.randbytes(16 * (choose(form).run + 3))
    assert cbc.decrypt(key, iv, peer(key, modes.CBC(iv), data), form=form) == data


def test_the_procedures_look_into_nothing():
    key, iv, data = random.randbytes(16), random.randbytes(16), random.randbytes(48)
    a = Opaque()
    K, IV, P = a.expand(key), a.string(iv), a.string(data)
    C = cbc.encrypt_message(a, K, IV, P)
    assert a.value(C) == peer(key, modes.CBC(iv), data)
    assert cbc.decrypt_message(a, K, IV, C) == P


def test_the_next_iv_continues_the_message():
    key, iv, data = random.randbytes(16), random.randbytes(16), random.randbytes(96)
    head = cbc.encrypt(key, iv, data[:48])
    tail = cbc.encrypt(key, cbc.next_iv(iv, head), data[48:])
    assert head + tail == peer(key, modes.CBC(iv), data)
    assert cbc.next_iv(iv, b"") == iv


@pytest.mark.parametrize("form", FORMS)
def test_values_have_the_standards_names(form):
    # SP 800-38A, F.2.1: input and output block 2
    vector = vectors("sp800_38a.json", "cbc")[0]
    recorder = Recorder()
    cbc.encrypt(vector.key, vector.iv, vector.plaintext, form=form, note=recorder.note)
    found = recorder.trace("CBC", "model").values()
    assert found["I_2"].hex() == "d86421fb9f1a1eda505ee1375746972c"
    assert found["C_2"].hex() == "5086cb9b507219ee95db113a917678b2"
    assert found["C_0"] == vector.iv
    assert found["I_2.round[10].output"] == found["C_2"]
    recorder = Recorder()
    cbc.decrypt(vector.key, vector.iv, vector.ciphertext, form=form, note=recorder.note)
    found = recorder.trace("CBC", "model").values()
    assert found["dK[0]"] == found["K[0]"] == vector.key
    assert xor(found["O_2"], vector.ciphertext[:16]) == found["P_2"] == vector.plaintext[16:32]


@pytest.mark.parametrize("crypt", [cbc.encrypt, cbc.decrypt])
def test_wrong_lengths_are_refused(crypt):
    with pytest.raises(ValueError, match="key must be 16, 24 or 32 bytes, not 33"):
        crypt(bytes(33), bytes(16), bytes(16))
    with pytest.raises(ValueError, match="iv must be 16 bytes, not 17"):
        crypt(bytes(32), bytes(17), bytes(16))
    with pytest.raises(ValueError, match="data must be a multiple of 16 bytes, not 17"):
        crypt(bytes(32), bytes(16), bytes(17))
