"""LRW against the P1619 draft and a formulation of its own: ECB of `cryptography`, galois, integers."""

import random

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from model_support import Opaque

from aeskit.bits import xor
from aeskit.models import lrw
from aeskit.models.arithmetic import FORMS, choose
from aeskit.trace import Recorder

PLAINTEXT = b"0123456789ABCDEF"
# Test vectors for LRW-AES of the IEEE P1619 draft: key and Key2, index, ciphertext of PLAINTEXT.
VECTORS = [
    (
        "4562ac25f828176d4c268414b5680185258e2a05e73e9d03ee5a830ccc094c87",
        "00000000000000000000000000000001",
        "f1b273cd65a3df5fe95d489254634eb8",
    ),
    (
        "59704714f557478cd779e80f548879440d48f0b7b15a53ea1caa6b29c2cafbaf",
        "00000000000000000000000000000002",
        "00c82bae95bbcde5274f0769b260e136",
    ),
    (
        "d82a9134b26a565030fe69e2377f9847cdf90b160c648fb6b00d0d1bae85871f",
        "00000000000000000000000200000000",
        "76322183ed8ff182f9596203690e5e01",
    ),
    (
        "0f6aeff8d3d2bb152583f73c1f012874cac6bc354d4a655490ae61cf7baebdccade494c54a29ae70",
        "00000000000000000000000000000001",
        "9c0f152f55a2d8f0d67b8f9e2822bc41",
    ),
    (
        "8ad4ee102fbd81fff886ceac93c5adc6a01907c09df7bbdd5213b2b7f0ff11d8d608d0cd2eb1176f",
        "00000000000000000000000200000000",
        "d4276a7f14913d65c860480287e33406",
    ),
    (
        "f8d476ffd646ee6c2384cb1c77d6195dfef1a9f37bbc8d21a79c21f8cb900289a845348ec8c5b5f126f50e76fefd1b1e",
        "00000000000000000000000000000001",
        "bd06b8e1db98899ec498e491cf1c702b",
    ),
]


def peer(key, index, data):
    from aeskit.models.galois_form import GF128

    encryptor = Cipher(algorithms.AES(key[:-16]), modes.ECB()).encryptor()
    K2, first = GF128(int.from_bytes(key[-16:], "big")), int.from_bytes(index, "big")
    blocks = []
    for j in range(len(data) // 16):
        T = int(K2 * GF128((first + j) % 2**128)).to_bytes(16, "big")
        blocks.append(xor(encryptor.update(xor(data[16 * j : 16 * j + 16], T)), T))
    return b"".join(blocks)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("key", "index", "ciphertext"), VECTORS)
def test_the_drafts_vectors(form, key, index, ciphertext):
    key, index, ciphertext = map(bytes.fromhex, (key, index, ciphertext))
    assert lrw.encrypt(key, index, PLAINTEXT, form=form) == ciphertext
    assert lrw.decrypt(key, index, ciphertext, form=form) == PLAINTEXT


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [32, 40, 48])
@pytest.mark.parametrize("index", [0, 1, 2**32 - 2, 2**64 - 3, 2**127, 2**128 - 3, 2**128 - 1])
def test_indices_wrap_modulo_2_to_the_128(form, size, index):
    key, data, index = random.randbytes(size), random.randbytes(16 * 6), index.to_bytes(16, "big")
    ciphertext = peer(key, index, data)
    assert lrw.encrypt(key, index, data, form=form) == ciphertext
    assert lrw.decrypt(key, index, ciphertext, form=form) == data


def test_runs_meet_at_their_seams():
    key, index = random.randbytes(32), random.randbytes(16)
    data = random.randbytes(16 * (choose("numpy").run + 5))
    ciphertext = lrw.encrypt(key, index, data)
    assert ciphertext == lrw.encrypt(key, index, data, form="plain")
    assert lrw.decrypt(key, index, ciphertext) == data


def test_the_procedures_look_into_nothing():
    key, data = random.randbytes(32), random.randbytes(48)
    a, index = Opaque(), 2**128 - 2
    K1, K2, P = a.expand(key[:16]), a.string(key[16:]), a.string(data)
    C = lrw.encrypt_message(a, K1, K2, index, P)
    assert a.value(C) == peer(key, index.to_bytes(16, "big"), data)
    assert lrw.decrypt_message(a, K1, K2, index, C) == P


@pytest.mark.parametrize("form", FORMS)
def test_values_have_names(form):
    recorder = Recorder()
    key, data = random.randbytes(32), random.randbytes(32)
    ciphertext = lrw.encrypt(key, b"\xff" * 16, data, form=form, note=recorder.note)
    found = recorder.trace("LRW", "model").values()
    assert found["T_1"] == bytes(16)  # index 2^128 wraps to 0
    assert found["PP_0"] == xor(data[:16], found["T_0"])
    assert found["C_0"] + found["C_1"] == ciphertext


def test_wrong_lengths_are_refused():
    with pytest.raises(ValueError, match="key must be 32, 40 or 48 bytes, not 16"):
        lrw.encrypt(bytes(16), bytes(16), bytes(16))
    with pytest.raises(ValueError, match="index must be 16 bytes, not 8"):
        lrw.encrypt(bytes(32), bytes(8), bytes(16))
    with pytest.raises(ValueError, match="data must be a multiple of 16 bytes, not 20"):
        lrw.decrypt(bytes(32), bytes(16), bytes(20))
