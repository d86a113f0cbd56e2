"""CTR against SP 800-38A, RFC 3686 and `cryptography`; carries through 128 bits; any length."""

import random

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from model_support import Opaque, name, vectors

from aeskit.models import ctr
from aeskit.models.arithmetic import FORMS, choose
from aeskit.trace import Recorder

VECTORS = vectors("sp800_38a.json", "ctr") + vectors("rfc_3686_ctr.json", "ctr")


def peer(key, counter, data):
    encryptor = Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor()
    return encryptor.update(data) + encryptor.finalize()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("vector", VECTORS, ids=name)
def test_the_standards_vectors(form, vector):
    assert ctr.crypt(vector.key, vector.iv, vector.plaintext, form=form) == vector.ciphertext
    assert ctr.crypt(vector.key, vector.iv, vector.ciphertext, form=form) == vector.plaintext


@pytest.mark.parametrize("form", ["plain", "numpy"])
@pytest.mark.parametrize("size", [16, 24, 32])
def test_every_length_is_that_of_cryptography(form, size):
    key, counter = random.randbytes(size), random.randbytes(16)
    for length in (*range(70), 127, 128, 129, 255, 600, 4097):
        data = random.randbytes(length)
        assert ctr.crypt(key, counter, data, form=form) == peer(key, counter, data), length


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bits", [32, 64, 96, 128])
def test_carries_land_on_every_block(form, bits):
    key = random.randbytes(16)
    for before in range(9):
        counter = ((1 << bits) - 1 - before).to_bytes(16, "big")
        data = random.randbytes(16 * 10 + 5)
        assert ctr.crypt(key, counter, data, form=form) == peer(key, counter, data), before


@pytest.mark.parametrize("form", ["plain", "numpy"])
def test_runs_meet_at_their_seams(form):
    run = choose(form).run
    key = random.randbytes(32)
    counter = (2**64 - run).to_bytes(16, "big")  # the carry falls on the seam
    for length in (16 * run - 1, 16 * run, 16 * run + 1, 32 * run + 40):
        data = random.randbytes(length)
        assert ctr.crypt(key, counter, data, form=form) == peer(key, counter, data)


def test_a_message_in_pieces_goes_on_with_the_next_counter():
    key, counter, data = random.randbytes(16), b"\xff" * 16, random.randbytes(100)
    rest = ctr.crypt(key, ctr.next_counter(counter, 48), data[48:])
    assert ctr.crypt(key, counter, data[:48]) + rest == peer(key, counter, data)
    assert ctr.next_counter(bytes(16), 0) == bytes(16)
    assert ctr.next_counter(bytes(16), 17) == bytes(15) + b"\2"
    assert ctr.next_counter(b"\xff" * 16, 1) == bytes(16)


def test_the_procedure_looks_into_nothing():
    key, counter, data = random.randbytes(16), random.randbytes(16), random.randbytes(50)
    a = Opaque()
    ciphertext = ctr.crypt_message(a, a.expand(key), a.string(counter), a.string(data))
    assert a.value(ciphertext) == peer(key, counter, data)


@pytest.mark.parametrize("form", FORMS)
def test_counter_blocks_have_names(form):
    recorder = Recorder()
    data = random.randbytes(16 * 9 + 3)
    ciphertext = ctr.crypt(bytes(16), b"\xff" * 16, data, form=form, note=recorder.note)
    found = recorder.trace("CTR", "model").values()
    assert found["T_1"] == b"\xff" * 16
    assert found["T_9"] == bytes(15) + b"\7"
    assert peer(bytes(16), found["T_9"], bytes(16)) == found["O_9"]
    assert b"".join(found[f"C_{j}"] for j in range(1, 11)) == ciphertext
    assert found["K[0]"] == bytes(16)


def test_wrong_lengths_are_refused():
    with pytest.raises(ValueError, match="key must be 16, 24 or 32 bytes, not 15"):
        ctr.crypt(bytes(15), bytes(16), b"")
    with pytest.raises(ValueError, match="counter must be 16 bytes, not 12"):
        ctr.crypt(bytes(16), bytes(12), b"")
    with pytest.raises(TypeError, match="counter must be bytes-like, not int"):
        ctr.crypt(bytes(16), 1, b"")
