"""Contracts: what a setup or a contract says that can hold of no call is refused where it is said."""

import pytest

from aeskit.contracts import ANY, Contract, UInt32
from aeskit.contracts.call import Buffer, Call
from aeskit.models.arithmetic import choose


def call(form="plain"):
    a = choose(form)
    return Call(a, lambda name, size: a.string(bytes(size)), lambda word, number: word, 32, 16)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"setup": None}, "setup must be a function of a call, not None"),
        ({"key_sizes": ()}, r"key_sizes must have a size in bytes; a function without a key has \(0,\)"),
        ({"minimum": -1}, "minimum must be 0 or more bytes, not -1"),
        ({"multiple": 0}, "multiple must be 1 or more bytes, not 0"),
    ],
)
def test_a_contract_must_be_one_that_a_call_can_have(wrong, words):
    with pytest.raises((TypeError, ValueError), match=words):
        Contract(**{"name": "c", "title": "t", "setup": print} | wrong)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (None, "argument 2 must be a buffer, a UInt32 or a whole number, not None"),
        (2.5, "not 2.5"),
        ("x", "not 'x'"),
        (-1, r"argument 2 must be from 0 to 2\^64 - 1, not -1"),
        (1 << 64, "not 18446744073709551616"),
        (UInt32(1 << 32), r"argument 2 must be from 0 to 2\^32 - 1, not 4294967296"),
    ],
)
def test_an_argument_is_a_buffer_or_a_number_of_its_size(value, words):
    with pytest.raises((TypeError, ValueError), match=words):
        call().arguments(0, value)


@pytest.mark.parametrize("form", ["plain", "numpy"])
@pytest.mark.parametrize(
    ("expected", "words"),
    [
        (None, "what destination must hold must be a string of call.a, not None"),
        (3, "not 3"),
        (1, "not 1"),
        ([0] * 32, "must be a string"),
    ],
)
def test_what_a_buffer_must_hold_is_a_string(form, expected, words):
    made = call(form)
    _, destination = made.data()
    with pytest.raises(TypeError, match=words):
        made.must(destination, expected)


@pytest.mark.parametrize("size", [0, 1, 31, 33])
def test_what_a_buffer_must_hold_has_its_size(size):
    made = call("numpy")
    _, destination = made.data()
    with pytest.raises(ValueError, match=f"must be 32 bytes long, not {size}"):
        made.must(destination, made.a.string(bytes(size)))
    made.must(destination, ANY)


def test_bytes_are_no_string_of_another_arithmetic():
    made = call("numpy")
    for make in (made.readable, made.writable):
        with pytest.raises(TypeError, match=r"not bytes \(call.a.string makes one of them\)"):
            make("table", b"abcd")


def test_only_a_buffer_of_the_call_can_be_asked_to_hold_something():
    made = call()
    for other in ("destination", Buffer("destination", bytes(4), True)):
        with pytest.raises(TypeError, match="is a buffer of this call, not"):
            made.must(other, bytes(4))


def test_an_input_has_no_negative_size():
    with pytest.raises(ValueError, match="tweak must have 0 bytes or more, not -4"):
        call().unknown("tweak", -4)
