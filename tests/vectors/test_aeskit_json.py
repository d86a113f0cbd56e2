"""Our own vector format: what is written is read back, and nothing else is read."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeskit.vectors import TestVector, aeskit_json
from aeskit.vectors.aeskit_json import VectorError
from aeskit.vectors.test_vector import MODES, STEALING, key_sizes

GOOD = {"name": "one", "mode": "ctr", "clause": "1", "key": "00" * 16, "iv": "00" * 16}


@st.composite
def vectors(draw):
    mode = draw(st.sampled_from(MODES))
    key = draw(st.sampled_from(key_sizes(mode)).flatmap(lambda size: st.binary(min_size=size, max_size=size)))
    size = 0 if mode == "keys" else draw(st.integers(0, 70))
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
@given(st.lists(vectors(), max_size=4, unique_by=lambda vector: vector.name), st.text(min_size=1, max_size=9))
def test_what_is_written_is_read_back(items, source):
    assert aeskit_json.read(aeskit_json.write(items, source)) == tuple(items)


def file(*items, **fields):
    return json.dumps({"aeskit_vectors": 1, "source": "here", "vectors": list(items)} | fields)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a vector file must be JSON: "),
        ("[" * 100_000, "a vector file must be JSON: "),
        ("[]", 'a vector file must be an object with "aeskit_vectors"'),
        (file(aeskit_vectors=True), 'a vector file must be an object with "aeskit_vectors"'),
        (file(aeskit_vectors=2), '"aeskit_vectors" must be 1, not 2'),
        (file(source=""), 'file: "source" must be a string and not empty'),
        (file(vectors={}), 'file: "vectors" must be a list of at most 1000000'),
        (file(note="x"), 'file: "note" is not a field of version 1'),
        (file(GOOD, GOOD), 'file: two vectors are named "one"'),
        (file([]), "vector 0 must be an object, not list"),
        (file(GOOD | {"salt": ""}), 'vector 0: "salt" is not a field of version 1'),
        (file({"name": "one"}), 'vector 0: "mode" is missing'),
        (file(GOOD | {"key": 5}), 'vector 0: "key" must be a string, not int'),
        (file(GOOD | {"valid": "no"}), 'vector 0: "valid" must be true or false'),
        (file(GOOD | {"key": "0"}), 'vector 0: "key" must be an even number of hexadecimal digits'),
        (file(GOOD | {"key": "00 11"}), 'vector 0: "key" must be an even number of hexadecimal digits'),
        (file(GOOD | {"key": "00"}), 'vector 0: vector "one": key must be 16, 24 or 32 bytes, not 1'),
        (file(GOOD | {"iv": ""}), 'vector 0: vector "one": iv must be 16 bytes, not 0'),
        (file(GOOD | {"mode": "gcm"}), "vector 0: mode must be one of keys, ecb, cbc, "),
        (file(GOOD | {"plaintext": "00"}), "plaintext and ciphertext must have one length, not 1 and 0"),
        (file(GOOD | {"stealing": "CS1"}), 'stealing must be CS1, CS2 or CS3 for cts alone, not "CS1"'),
        (file(GOOD | {"schedule": "00"}), "schedule must be 0 bytes, not 1"),
        (file(GOOD | {"iv_after": "00"}), "iv_after must be 16 bytes, not 1"),
        ('{"aeskit_vectors": 1, "aeskit_vectors": 1}', '"aeskit_vectors" stands twice in one object'),
    ],
)
def test_anything_else_is_refused(text, message):
    with pytest.raises(VectorError) as caught:
        aeskit_json.read(text)
    assert message in str(caught.value)


def test_key_bits_are_those_of_one_aes_key():
    bits = {mode: TestVector("v", mode, bytes(key_sizes(mode)[1]), valid=False).key_bits for mode in MODES}
    assert set(bits.values()) == {192}
