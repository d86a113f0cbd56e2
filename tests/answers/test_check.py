"""What must be refused, and is answered instead, fails."""

from dataclasses import replace

import pytest
from vector_samples import KERNEL, B, K

from aeskit.answers.check import Checker, Status
from aeskit.answers.engines import Model
from aeskit.vectors import read_text

GOOD_KEY = KERNEL.replace(".iv_out	= ", ".setkey_error = -22, .iv_out = ")
EVP = f"""Cipher = AES-128-CBC
Key = {K}
IV = {B}
Plaintext = {B}
Ciphertext = {B}
Result = KEY_SET_ERROR
"""


def outcome(vector):
    return Checker(Model()).check(vector)


@pytest.mark.parametrize(("text", "error"), [(GOOD_KEY, "setkey_error -22"), (EVP, "KEY_SET_ERROR")])
def test_a_named_error_that_does_not_come_fails(text, error):
    found = outcome(read_text(text)[0])
    assert (found.status, found.text) == (
        Status.FAILED,
        f"encrypt: was answered, must be refused ({error})",
    )


def test_a_named_error_that_comes_passes():
    assert outcome(read_text(KERNEL)[1]).status is Status.PASSED
    short = EVP.replace(f"Key = {K}", f"Key = {K[2:]}")
    assert outcome(read_text(short)[0]).status is Status.PASSED


def test_a_mismatch_is_an_answer():
    vector = read_text(EVP.replace("KEY_SET_ERROR", "VALUE_MISMATCH"))[0]
    assert outcome(vector).status is Status.PASSED
    unnamed = replace(vector, expects="")
    assert outcome(unnamed).status is Status.PASSED
    right = Model().crypt  # what the vector says must not come
    from aeskit.answers.engine import call_of

    same = replace(vector, ciphertext=right(call_of(vector, "encrypt")))
    assert outcome(same).text == "encrypt: gives the text of a vector that is not valid (VALUE_MISMATCH)"


def test_a_direction_without_a_text_is_not_asked_for():
    text = EVP.replace(f"Plaintext = {B}\nCiphertext = {B}\n", f"Plaintext = {B[2:]}\n")
    vector = read_text(text.replace("KEY_SET_ERROR", "CIPHERFINAL_ERROR"))[0]
    assert outcome(vector).status is Status.PASSED
