"""AES against FIPS 197's appendices and `cryptography`; the forms against each other over whole domains."""

import random

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from aeskit import data
from aeskit.models import aes
from aeskit.models.arithmetic import FORMS, choose
from aeskit.trace import Recorder
from aeskit.vectors import read

VECTORS = read(data.folder("vectors") / "fips_197.json")
KEYS = [vector for vector in VECTORS if vector.mode == "keys"]
CIPHERS = [vector for vector in VECTORS if vector.mode == "ecb"]

# Byte i, bit j: the basis of the states as a linear space, 128 states.
BASIS = np.packbits(np.eye(128, dtype=np.uint8), axis=1, bitorder="little")

# FIPS 197, appendix B, rounds 1 and 10 of the table (start, after SubBytes, ShiftRows and MixColumns).
APPENDIX_B = {
    "round[1].start": "193de3bea0f4e22b9ac68d2ae9f84808",
    "round[1].s_box": "d42711aee0bf98f1b8b45de51e415230",
    "round[1].s_row": "d4bf5d30e0b452aeb84111f11e2798e5",
    "round[1].m_col": "046681e5e0cb199a48f8d37a2806264c",
    "round[2].start": "a49c7ff2689f352b6b5bea43026a5049",
    "round[10].start": "eb40f21e592e38848ba113e71bc342d2",
    "round[10].s_box": "e9098972cb31075f3d327d94af2e2cb5",
    "round[10].s_row": "e9317db5cb322c723d2e895faf090794",
    "round[10].output": "3925841d02dc09fbdc118597196a0b32",
}
# FIPS 197 (2001), appendix C.1, inverse cipher and equivalent inverse cipher.
INVERSE_C1 = {
    "round[1].istart": "7ad5fda789ef4e272bca100b3d9ff59f",
    "round[1].is_row": "7a9f102789d5f50b2beffd9f3dca4ea7",
    "round[1].is_box": "bd6e7c3df2b5779e0b61216e8b10b689",
    "round[1].ik_add": "e9f74eec023020f61bf2ccf2353c21c7",
    "round[2].istart": "54d990a16ba09ab596bbf40ea111702f",
    "round[10].ioutput": "00112233445566778899aabbccddeeff",
}
EQUIVALENT_C1 = {
    "round[1].istart": "7ad5fda789ef4e272bca100b3d9ff59f",
    "round[1].is_box": "bdb52189f261b63d0b107c9e8b6e776e",
    "round[1].is_row": "bd6e7c3df2b5779e0b61216e8b10b689",
    "round[1].im_col": "4773b91ff72f354361cb018ea1e6cf2c",
    "round[2].istart": "54d990a16ba09ab596bbf40ea111702f",
    "round[10].ioutput": "00112233445566778899aabbccddeeff",
}


def schedule(form, key, note=None):
    a = choose(form)
    return a, aes.key_expansion(a, a.string(key), note)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("vector", KEYS, ids=lambda vector: vector.name)
def test_key_expansion_is_appendix_a(form, vector):
    a, w = schedule(form, vector.key)
    assert b"".join(map(a.value, w)) == vector.schedule


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("vector", CIPHERS, ids=lambda vector: vector.name)
def test_ciphers_are_appendices_b_and_c(form, vector):
    a, w = schedule(form, vector.key)
    plaintext, ciphertext = a.string(vector.plaintext), a.string(vector.ciphertext)
    assert a.value(aes.cipher(a, plaintext, w)) == vector.ciphertext
    assert a.value(aes.inv_cipher(a, ciphertext, w)) == vector.plaintext
    assert a.value(aes.eq_inv_cipher(a, ciphertext, aes.key_expansion_eic(a, w))) == vector.plaintext


@pytest.mark.parametrize("form", FORMS)
def test_states_of_the_rounds_are_appendix_b(form):
    vector = next(vector for vector in CIPHERS if vector.name == "appendix B")
    recorder = Recorder()
    a, w = schedule(form, vector.key)
    aes.cipher(a, a.string(vector.plaintext), w, recorder.note)
    found = recorder.trace("AES-128", "model").values()
    assert {name: found[name].hex() for name in APPENDIX_B} == APPENDIX_B
    assert len(found) == 40


@pytest.mark.parametrize("form", FORMS)
def test_states_of_the_inverse_rounds_are_appendix_c(form):
    vector = next(vector for vector in CIPHERS if vector.name == "C.1")
    inverse, equivalent = Recorder(), Recorder()
    a, w = schedule(form, vector.key)
    aes.inv_cipher(a, a.string(vector.ciphertext), w, inverse.note)
    aes.eq_inv_cipher(a, a.string(vector.ciphertext), aes.key_expansion_eic(a, w), equivalent.note)
    found = inverse.trace("", "model").values()
    assert {name: found[name].hex() for name in INVERSE_C1} == INVERSE_C1
    found = equivalent.trace("", "model").values()
    assert {name: found[name].hex() for name in EQUIVALENT_C1} == EQUIVALENT_C1


def test_round_keys_are_named_values():
    recorder = Recorder()
    vector = KEYS[0]
    a, w = schedule("plain", vector.key, recorder.note)
    aes.key_expansion_eic(a, w, recorder.note)
    found = recorder.trace("", "model").values()
    assert found["K[10]"] == vector.schedule[160:]
    assert found["dK[0]"] == vector.key
    # FIPS 197 (2001), C.1: the equivalent inverse cipher's round[1].ik_sch.
    a, w = schedule("plain", bytes(range(16)), recorder.note)
    aes.key_expansion_eic(a, w, recorder.note)
    found = recorder.trace("", "model").values()
    assert found["dK[9]"].hex() == "13aa29be9c8faff6f770f58000f7bf03"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", [16, 24, 32])
def test_many_blocks_are_those_of_cryptography(form, size):
    key, text = random.randbytes(size), random.randbytes(16 * 70)
    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    a, w = schedule(form, key)
    expected = encryptor.update(text)
    assert a.value(a.encrypt(w, a.string(text))) == expected
    assert a.value(a.decrypt(w, a.string(expected))) == text


# ---- Whole domains: for a linear map the basis, for the S-box the 256 bytes


def test_s_box_is_galois_over_all_bytes():
    from aeskit.models import galois_form

    judge = choose("galois")
    every = np.arange(256, dtype=np.uint8)
    assert judge.sub_bytes(every).tobytes() == aes.SBOX
    assert judge.inv_sub_bytes(every).tobytes() == aes.INV_SBOX
    assert [aes.inverse(byte) for byte in range(256)] == [galois_form.inverse(byte) for byte in range(256)]
    assert aes._inverses() == [aes.inverse(byte) for byte in range(256)]


def test_s_box_is_the_standards():
    assert aes.SBOX[:8].hex() == "637c777bf26b6fc5"
    assert aes.SBOX[0x53] == 0xED  # FIPS 197, 5.1.1: the example {53}
    assert aes.INV_SBOX[:4].hex() == "52096ad5"


def test_xtimes_and_multiply_are_galois_over_all_bytes():
    from aeskit.models.galois_form import GF8

    every = np.arange(256)
    assert [aes.xtimes(byte) for byte in range(256)] == list(map(int, GF8(every) * GF8(2)))
    for power in range(8):
        products = GF8(every) * GF8(1 << power)
        assert [aes.multiply(byte, 1 << power) for byte in range(256)] == list(map(int, products))


def test_xtimes_is_the_standards_example():
    # FIPS 197, 4.2: {57} • {02}, {04}, {08}, {10}, and {57} • {13} = {fe}
    assert [aes.multiply(0x57, factor) for factor in (2, 4, 8, 16, 0x13)] == [0xAE, 0x47, 0x8E, 0x07, 0xFE]


@pytest.mark.parametrize("name", ["mix_columns", "inv_mix_columns", "shift_rows", "inv_shift_rows"])
@pytest.mark.parametrize("form", FORMS)
def test_linear_transformations_agree_over_the_basis(form, name):
    a = choose(form)
    images = getattr(a, name)(a.string(BASIS.tobytes()))
    assert a.value(images) == getattr(aes, name)(BASIS).tobytes()


@pytest.mark.parametrize("name", ["mix_columns", "inv_mix_columns", "shift_rows", "inv_shift_rows"])
@pytest.mark.parametrize("form", FORMS)
def test_transformations_are_linear(form, name):
    a = choose(form)
    left, right = a.string(random.randbytes(16 * 64)), a.string(random.randbytes(16 * 64))
    transform = getattr(a, name)
    assert a.value(transform(a.xor(left, right))) == a.value(a.xor(transform(left), transform(right)))
    assert a.value(transform(a.string(bytes(16)))) == bytes(16)


def test_inverses_undo_over_the_basis():
    assert (aes.inv_mix_columns(aes.mix_columns(BASIS)) == BASIS).all()
    assert (aes.inv_shift_rows(aes.shift_rows(BASIS)) == BASIS).all()


def test_transformations_take_any_shape_and_strides():
    states = np.frombuffer(random.randbytes(3 * 5 * 32), np.uint8).reshape(3, 5, 32)[..., 8:24]
    for transform in (aes.mix_columns, aes.inv_mix_columns, aes.shift_rows, aes.inv_shift_rows):
        one_by_one = [[transform(states[i, j].copy()) for j in range(5)] for i in range(3)]
        assert (transform(states) == np.array(one_by_one)).all()
        assert (transform(states[:0]) == states[:0]).all()
