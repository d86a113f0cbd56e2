"""Our own vector format: what is written is read back, and nothing else is read."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeskit.vectors import TestVector, VectorError, read_text
from aeskit.vectors.files import text_pieces
from aeskit.vectors.test_vector import MODES, STEALING, key_sizes

GOOD = {"name": "one", "mode": "ctr", "clause": "1", "key": "00" * 16, "iv": "00" * 16}


@st.composite
def vectors(draw):
    mode = draw(st.sampled_from(MODES))
    key = draw(st.sampled_from(key_sizes(mode)).flatmap(lambda size: st.binary(min_size=size, max_size=size)))
    size = 0 if mode == "keys" else draw(st.integers(16 if mode in ("xts", "cts") else 0, 70))
    size -= 0 if mode in ("xts", "cts", "ctr") else size % 16
    block = st.binary(min_size=16, max_size=16)
    return TestVector(
        name=draw(st.text(max_size=9)),
        mode=mode,
        key=key,
        iv=b"" if mode in ("keys", "ecb") else draw(block),
        plaintext=draw(st.binary(min_size=size, max_size=size)),
        ciphertext=draw(st.binary(min_size=size, max_size=size)),
        stealing=draw(st.sampled_from(STEALING)) if mode == "cts" else "",
        iv_after=draw(st.none() | block),
        schedule=bytes(16 * (len(key) // 4 + 7)) if mode == "keys" else b"",
        source=draw(st.text(min_size=1, max_size=9)),
        clause=draw(st.text(max_size=9)),
        valid=draw(st.booleans()),
    )


@settings(derandomize=True, max_examples=60)
@given(
    st.lists(vectors(), min_size=1, max_size=4, unique_by=lambda vector: vector.name),
    st.text(min_size=1, max_size=9),
)
def test_what_is_written_is_read_back(items, source):
    text = "".join(text_pieces(items, "aeskit", title=source)[0])
    assert read_text(text, form="aeskit").vectors == tuple(items)


def file(*items, **fields):
    return json.dumps({"aeskit_vectors": 1, "source": "here", "vectors": list(items)} | fields)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'v.json:1: a vector file must be an object with "aeskit_vectors"'),
        ("[" * 100_000, 'v.json:1: a vector file must be an object with "aeskit_vectors"'),
        ('{"a":' * 100_000, "v.json:1: must not be nested deeper than 16"),
        (file(aeskit_vectors=True), 'v.json:1: file: "aeskit_vectors" must be an integer from 0 to '),
        (file(aeskit_vectors=2), 'v.json:1: file: "aeskit_vectors" must be 1, not 2'),
        (file(source=""), 'v.json:1: file: "source" must not be empty'),
        (file(vectors={}), "v.json:1: must be a list here, not '{'"),
        (file(note="x"), 'v.json:1: file: "note" is not a field of this format'),
        (file(GOOD, GOOD), 'v.json:1: two vectors are named "one"'),
        (file([]), "v.json:1: vector 0 must be an object, not a list"),
        (file(GOOD | {"salt": ""}), 'v.json:1: vector 0: "salt" is not a field of this format'),
        (file({"name": "one"}), 'v.json:1: vector 0: "mode" is missing'),
        (file(GOOD | {"key": 5}), 'v.json:1: vector 0: "key" must be a string, not an integer'),
        (file(GOOD | {"valid": "no"}), 'vector 0: "valid" must be true or false, not a string'),
        (file(GOOD | {"key": "0"}), '"key" must be an even number of hexadecimal digits, not 1'),
        (file(GOOD | {"key": "00 11"}), "an even number of hexadecimal digits, not ' ' at digit 3"),
        (file(GOOD | {"key": "00"}), 'v.json:1: vector "one": key must be 16, 24 or 32 bytes, not 1'),
        (file(GOOD | {"iv": ""}), 'vector "one": iv must be 16 bytes, not 0'),
        (file(GOOD | {"mode": "gcm"}), "v.json:1: mode must be one of keys, ecb, cbc, "),
        (file(GOOD | {"plaintext": "00"}), "plaintext and ciphertext must have one length, not 1 and 0"),
        (file(GOOD | {"stealing": "CS1"}), 'stealing must be CS1, CS2 or CS3 for cts alone, not "CS1"'),
        (file(GOOD | {"schedule": "00"}), "schedule must be 0 bytes, not 1"),
        (file(GOOD | {"iv_after": "00"}), "iv_after must be 16 bytes, not 1"),
        (file(GOOD | {"bits": 8}), "8 bits are 1 bytes, not 0"),
        (file(GOOD | {"bits": 0}), '"bits" must be from 1 to '),
        (file(GOOD | {"pieces": [True]}), '"pieces" must be a list of integers'),
        (file(GOOD | {"pieces": [1]}), "pieces must make up 0 bytes, not 1"),
        (file(GOOD | {"direction": "up"}), 'direction must be encrypt, decrypt or empty, not "up"'),
        (file(GOOD | {"flags": [1]}), '"flags" must be a list of strings'),
        ('{"aeskit_vectors": 1, "aeskit_vectors": 1}', '"aeskit_vectors" stands twice in one object'),
        (file() + "x", "v.json:1: nothing may follow the end of the JSON value"),
        (file()[:-1], 'v.json:1: "," or "}" must stand here: the file ends'),
    ],
)
def test_anything_else_is_refused(text, message):
    with pytest.raises(VectorError) as caught:
        read_text(text, "v.json", form="aeskit")
    assert message in str(caught.value)


def test_key_bits_are_those_of_one_aes_key():
    bits = {mode: TestVector("v", mode, bytes(key_sizes(mode)[1]), valid=False).key_bits for mode in MODES}
    assert set(bits.values()) == {192}
