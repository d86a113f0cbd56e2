"""CBC with ciphertext stealing against RFC 3962, appendix B, and CBC of `cryptography`."""

import random

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from model_support import Opaque, name, vectors

from aeskit.models import cts
from aeskit.models.arithmetic import FORMS
from aeskit.trace import Recorder

VECTORS = vectors("rfc_3962_cts.json", "cts")


def peer(key, iv, data, stealing):
    """CBC of the zero-padded data by `cryptography`, its last two blocks put in order."""
    encryptor = Cipher(algorithms.AES(key), modes.CBC(iv)).encryptor()
    padded = encryptor.update(data + bytes(-len(data) % 16)) + encryptor.finalize()
    if len(data) == 16:
        return padded
    d = len(data) % 16 or 16
    head, shortened, last = padded[:-32], padded[-32:][:d], padded[-16:]
    if stealing == "CS3" or (stealing == "CS2" and d < 16):
        return head + last + shortened
    return head + shortened + last


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("vector", VECTORS, ids=name)
def test_cs3_is_rfc_3962(form, vector):
    assert cts.encrypt(vector.key, vector.iv, vector.plaintext, "CS3", form=form) == vector.ciphertext
    assert cts.decrypt(vector.key, vector.iv, vector.ciphertext, "CS3", form=form) == vector.plaintext
    assert cts.next_iv(vector.ciphertext, "CS3") == vector.iv_after


@pytest.mark.parametrize("form", ["plain", "numpy"])
@pytest.mark.parametrize("size", [16, 24, 32])
@pytest.mark.parametrize("stealing", cts.STEALING)
def test_every_length_is_cbc_of_cryptography_in_order(form, size, stealing):
    key, iv = random.randbytes(size), random.randbytes(16)
    for length in (*range(16, 66), 127, 128, 129):
        data = random.randbytes(length)
        ciphertext = peer(key, iv, data, stealing)
        assert cts.encrypt(key, iv, data, stealing, form=form) == ciphertext, length
        assert cts.decrypt(key, iv, ciphertext, stealing, form=form) == data, length


def test_the_three_orders_differ_only_at_the_end():
    key, iv = random.randbytes(16), random.randbytes(16)
    for length in (33, 48):
        data = random.randbytes(length)
        cs1, cs2, cs3 = (cts.encrypt(key, iv, data, stealing) for stealing in cts.STEALING)
        assert cs1[:16] == cs2[:16] == cs3[:16]
        assert cs2 == (cs1 if length % 16 == 0 else cs3)
        assert cs1 != cs3
        d = cts.tail(length)
        assert cs3[16:] == cs1[16 + d :] + cs1[16 : 16 + d]
        assert len({cts.next_iv(c, s) for c, s in zip((cs1, cs2, cs3), cts.STEALING, strict=True)}) == 1


@pytest.mark.parametrize("stealing", cts.STEALING)
def test_one_block_is_plain_cbc(stealing):
    key, iv, data = random.randbytes(16), random.randbytes(16), random.randbytes(16)
    ciphertext = peer(key, iv, data, stealing)
    assert cts.encrypt(key, iv, data, stealing) == ciphertext
    assert cts.decrypt(key, iv, ciphertext, stealing) == data
    assert cts.next_iv(ciphertext, stealing) == ciphertext


@pytest.mark.parametrize("stealing", cts.STEALING)
@pytest.mark.parametrize("length", [16, 17, 32, 45, 48])
def test_the_procedures_look_into_nothing(stealing, length):
    key, iv, data = random.randbytes(16), random.randbytes(16), random.randbytes(length)
    a = Opaque()
    K, IV, P = a.expand(key), a.string(iv), a.string(data)
    C = cts.encrypt_message(a, K, IV, P, stealing)
    assert a.value(C) == peer(key, iv, data, stealing)
    assert cts.decrypt_message(a, K, IV, C, stealing) == P


@pytest.mark.parametrize("form", FORMS)
def test_values_have_the_standards_names(form):
    key, iv, data = random.randbytes(16), random.randbytes(16), random.randbytes(37)
    recorder = Recorder()
    ciphertext = cts.encrypt(key, iv, data, "CS3", form=form, note=recorder.note)
    found = recorder.trace("CTS", "model").values()
    assert found["C_1"] + found["C_3"] + found["C*_2"] == ciphertext
    assert found["C_2"][:5] == found["C*_2"]
    recorder = Recorder()
    cts.decrypt(key, iv, ciphertext, "CS3", form=form, note=recorder.note)
    found = recorder.trace("CTS", "model").values()
    assert found["P_1"] + found["P_2"] + found["P*_3"] == data
    assert found["C_2"][5:] == found["Z"][5:]


@pytest.mark.parametrize("crypt", [cts.encrypt, cts.decrypt])
def test_wrong_arguments_are_refused(crypt):
    with pytest.raises(ValueError, match="data must be at least 16 bytes, not 15"):
        crypt(bytes(16), bytes(16), bytes(15), "CS3")
    with pytest.raises(ValueError, match="stealing must be one of CS1, CS2, CS3, not 'CS4'"):
        crypt(bytes(16), bytes(16), bytes(16), "CS4")
    with pytest.raises(ValueError, match="iv must be 16 bytes, not 0"):
        crypt(bytes(16), b"", bytes(16), "CS1")
