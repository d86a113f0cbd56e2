"""Broken files: a clear error with the place, no crash, no more memory than the file is worth."""

import json
import os
import tracemalloc

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from vector_samples import ACVP, ACVP_ANSWERS, AESKIT, CAVP, EVPTEST, FILES, KERNEL, WYCHEPROOF, B, K

from aeskit.vectors import VectorError, read, read_text
from aeskit.vectors.source import MAX_LINE


def changed(text, old, new):
    assert old in text
    return text.replace(old, new, 1)


BROKEN = [
    # Wycheproof
    (
        changed(WYCHEPROOF, K + B, K + B[:-1]),
        ':30: "key" must be an even number of hexadecimal digits, not 63',
    ),
    (changed(WYCHEPROOF, K + B, K + "x" + B[1:]), "hexadecimal digits, not 'x' at digit 33"),
    (changed(WYCHEPROOF, K + B, K), ': test 0: "key" must be 256 bits as its group says, not 128'),
    (
        changed(WYCHEPROOF, '"numberOfTests": 1', '"numberOfTests": 1000000000'),
        '"numberOfTests" is 1000000000, the groups have 1',
    ),
    (
        changed(WYCHEPROOF, "AES-XTS", "AES-GCM"),
        ':2: file: "algorithm" must be one of AES-XTS, not "AES-GCM"',
    ),
    (changed(WYCHEPROOF, '"valid"', '"fine"'), 'must be one of valid, invalid, acceptable, not "fine"'),
    (changed(WYCHEPROOF, '"tcId": 1', '"tcId": "1"'), '"tcId" must be an integer from 0 to'),
    (changed(WYCHEPROOF, '"tcId": 1', '"tcId": 1e400'), "must be a string, an integer of at most 20 digits"),
    (changed(WYCHEPROOF, '"tcId": 1', '"tcId": 1, "tcId": 1'), '"tcId" stands twice in one object'),
    (
        changed(WYCHEPROOF, '"tcId": 1', '"tcId": 1, "more": 1'),
        'test 0: "more" is not a field of this format',
    ),
    (changed(WYCHEPROOF, '"msg"', '"message"'), 'test 0: "msg" is missing'),
    (WYCHEPROOF[:-20], "the file ends"),
    (
        changed(AESKIT, '"plaintext"', '"iterations": 2000000000, "plaintext"'),
        '"iterations" must be from 1 to 10000, not 2000000000',
    ),
    (WYCHEPROOF + "\n{}", ":40: nothing may follow the end of the JSON value"),
    # ACVP
    (
        changed(ACVP, '"payloadLen": 9', '"payloadLen": 8000000000'),
        "tcId 2: payloadLen is 8000000000, the text has 2 bytes",
    ),
    (changed(ACVP, "ACVP-AES-CTR", "ACVP-AES-GCM"), '"algorithm" must be one of ACVP-AES-ECB, '),
    (changed(ACVP, '"AFT"', '"XYZ"'), '"testType" must be one of AFT, MCT, CTR, not "XYZ"'),
    (
        changed(ACVP, '"keyLen": 128', '"keyLen": 256'),
        'tcId 2: "key" must be 256 bits as its group says, not 128',
    ),
    (changed(ACVP, '"testGroups"', '"groups"'), '"testGroups" is missing'),
    (
        changed(ACVP, '"direction": "encrypt"', '"direction": ["encrypt"]'),
        '"direction" must be a string, not a list',
    ),
    ("[" * 100000, "file:1: must be an object here, not '['"),
    ("[]", 'file:1: "testGroups" is missing'),
    ("[{},{}]", 'file:1: "testGroups" is missing'),
    (ACVP_ANSWERS, "file: has answers alone; give the file of their questions as well"),
    ("none", "file: must be of a known format (acvp-expected, acvp, aeskit, "),
    ("none", "; --from names it"),
    # CAVP
    (changed(CAVP, "KEY = ", "KEY = 0"), ':7: "key" must be an even number of hexadecimal digits, not 33'),
    (changed(CAVP, "IV = ", "IV = 00\nIV = "), ':9: "IV" stands twice in one COUNT'),
    (changed(CAVP, "COUNT = 0", "COUNT = zero"), ':6: "count" must be a number from 0 to '),
    (changed(CAVP, "COUNT = 0\n", ""), ':6: "KEY" must follow its COUNT'),
    (changed(CAVP, "[ENCRYPT]\n", ""), ":5: [ENCRYPT] or [DECRYPT] must stand before the first COUNT"),
    (changed(CAVP, "PLAINTEXT = ", "SALT = 1\nPLAINTEXT = "), ':9: "SALT" is not a field of this format'),
    (CAVP + "stray text\n", ":19: must be a comment, a section or a field, not 'stray text'"),
    (
        changed(CAVP, "IV = " + B, "DataUnitLen = 8000000000\ni = " + B),
        '"DataUnitLen" is 8000000000 bits, "plaintext" has 16 bytes',
    ),
    (CAVP.replace("KEY", "NOKEY", 1), ':7: "NOKEY" is not a field of this format'),
    (
        CAVP + "\n[ENCRYPT]\nCOUNT = 0\nKEY = " + K + "\nIV = " + B + "\nPT = " + B + "\nCT = " + B,
        ':21: two vectors are named "encrypt 0"',
    ),
    # evptest
    (
        changed(EVPTEST, "CTSMode = CS3", "CTSMode = CS9"),
        ":6: \"ctsmode\" must be CS1 or CS2 or CS3, not 'CS9'",
    ),
    (changed(EVPTEST, "Key = ", "Key = 00\nKey = "), ':8: "Key" stands twice in one stanza'),
    (changed(EVPTEST, "Key = ", "Kee = "), ':5: "Key" is missing in the stanza of aes-128-cbc-cts'),
    (changed(EVPTEST, "aes-128", "aes-256"), ':7: "Key" must have 256 bits for aes-256-cbc-cts, not 128'),
    (changed(EVPTEST, '\\x01"', '\\x"'), '"plaintext" must hold escapes that are whole'),
    (EVPTEST + "stray", ":20: must be a comment or Keyword = value, not 'stray'"),
    # kernel
    (
        changed(KERNEL, ".len	= 16", ".len	= 1073741824"),
        '".ptext" must be 1073741824 bytes as its length says, not 16',
    ),
    (changed(KERNEL, ".klen	= 16", ".klen	= 15"), '".key" must be 15 bytes as its length says, not 16'),
    (changed(KERNEL, ".klen	= 16", ".klen	= sizeof(x)"), "must stand here, not '('"),
    (changed(KERNEL, ".klen	= 16,", ".klen	= 16, .klen = 16,"), '".klen" stands twice in one element'),
    (
        changed(KERNEL, '"\\0"', "zeroed_string").replace(".klen	= 1,", ".klen = 99999999,"),
        "zeroed_string has at most 4096 bytes",
    ),
    (
        changed(KERNEL, ".iv_out", ".salt"),
        ':4: aes_cbc_tv_template[0]: ".salt" is not a field of struct cipher_testvec',
    ),
    (changed(KERNEL, '"Single', '"Sin\\qgle'), "\\q is no escape of a string"),
    (changed(KERNEL, 'msg"', "msg"), ":10: a string must end on its line"),
    (changed(KERNEL, "comment */", "comment"), ":4: a comment that begins here must end"),
    (KERNEL[: KERNEL.index(".len")], 'file:11: "." must stand here, the file ends'),
    (changed(KERNEL, ".ptext	=", "="), "\".\" must stand here, not '='"),
]


@pytest.mark.parametrize(("text", "message"), BROKEN, ids=lambda value: value[-30:])
def test_a_broken_file_is_told_with_its_place(text, message):
    with pytest.raises(VectorError) as caught:
        read_text(text, "file")
    assert message in str(caught.value)
    assert str(caught.value).startswith("file:")


def read_or_refused(text, name):
    """The error if it is refused, which says where; anything else that is raised fails the test."""
    error = None
    try:
        read_text(text, form=name)
    except VectorError as caught:
        error = caught
    assert error is None or str(error).startswith("text:")


@pytest.mark.parametrize("name", FILES)
def test_every_truncation_is_read_or_refused(name):
    text = FILES[name]
    for end in range(0, len(text), 7):
        read_or_refused(text[:end], name)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff\xfe[\0", "must be UTF-8, not UTF-16"),
        (b"\xfe\xff\0[", "must be UTF-8, not UTF-16"),
        (b"\0\0\xfe\xff", "must be UTF-8, not UTF-32"),
        (b"\xff\xfe\0\0[\0\0\0", "must be UTF-8, not UTF-32"),
        (b"[ENCRYPT]\n\n# caf\xe9\n", ":3: must be UTF-8, not the byte e9"),
        (b"[ENCRYPT]\n# \xc3", ":2: ends within a character"),
        (b"[ENCRYPT]\n\0\0\0\n", ":2: must be a comment, a section or a field"),
    ],
)
def test_bytes_that_are_no_text(tmp_path, data, message):
    path = tmp_path / "file.rsp"
    path.write_bytes(data)
    for form in ("cavp", None) if "UTF-8, not UTF" in message else ("cavp",):
        with pytest.raises(VectorError) as caught:
            read(path, form=form)
        assert message in str(caught.value)


def test_a_section_at_the_beginning_is_no_list_of_json(tmp_path):
    path = tmp_path / "ECBnothing.rsp"
    path.write_text("[ENCRYPT]\n" + "x" * 70_000)
    with pytest.raises(VectorError, match=r"ECBnothing.rsp:2: must be a comment, a section or a field"):
        read(path)


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="needs a file that gives an error")
def test_what_cannot_be_read_is_told():
    with pytest.raises(VectorError, match="/proc/self/mem: cannot be read: Input/output error"):
        read("/proc/self/mem")


def test_what_is_no_file(tmp_path):
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(VectorError, match="must be a file that can be read"):
            read(path)


@settings(derandomize=True, max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.data())
@pytest.mark.parametrize("name", FILES)
def test_a_changed_file_is_read_or_refused(name, data):
    text = FILES[name]
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.sampled_from([0, 1, 2, 40])))
        pieces = [
            st.text(max_size=3),
            st.sampled_from([text[start:end] * 2, "}", "]", '"', "{", "\\", "-", "=", "0"]),
        ]
        text = text[:start] + data.draw(st.one_of(pieces)) + text[end:]
    read_or_refused(text, name)


@settings(derandomize=True, max_examples=60, deadline=None)
@given(st.text(max_size=60))
@pytest.mark.parametrize("name", FILES)
def test_any_text_is_read_or_refused(name, text):
    read_or_refused(text, name)


DEEP = {
    "aeskit": AESKIT.replace('"here"', "[" * 5000),
    "wycheproof": WYCHEPROOF.replace('"a header"', "[" * 5000),
}
DEEP["acvp"] = ACVP.replace('"encrypt"', "[" * 5000)


@pytest.mark.parametrize("name", DEEP)
def test_deep_nesting_is_refused(name):
    with pytest.raises(VectorError, match="must not be nested deeper than 16"):
        read_text(DEEP[name], form=name)


def peak(path, form):
    tracemalloc.start()
    try:
        count = sum(1 for _ in read(path, form=form))
    except VectorError:
        count = 0
    size = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return count, size


def test_claims_take_no_memory(tmp_path):
    for number, (text, message) in enumerate(BROKEN):
        if "000000" in message or "1073741824" in message or "4096" in message:
            path = tmp_path / f"{number}"
            path.write_text(text)
            assert peak(path, None) < (1, 4 << 20)


def test_a_long_line_takes_what_it_is_worth(tmp_path):
    path = tmp_path / "long.json"
    path.write_text('{"aeskit_vectors": 1, "source": "' + "a" * (1 << 20))
    assert peak(path, "aeskit") < (1, 12 << 20)
    path.write_text("[ENCRYPT]\n" + "A" * (1 << 20))
    assert peak(path, "cavp") < (1, 12 << 20)


def test_a_line_has_its_limit(tmp_path):
    path = tmp_path / "long.rsp"
    with path.open("wb") as file:
        file.truncate(MAX_LINE + (1 << 20))  # a hole: no disk is taken
    for form in ("cavp", "evptest", "kernel"):
        with pytest.raises(VectorError, match=f":1: a line must have at most {MAX_LINE} characters"):
            read(path, form=form)


def test_streaming_keeps_one_vector(tmp_path):
    """Thousands of vectors pass through in the memory of their names."""
    path = tmp_path / "many.rsp"
    record = f"KEY = {K}\nIV = {B}\nPLAINTEXT = {B * 20}\nCIPHERTEXT = {K * 20}\n\n"
    count = 1500
    with path.open("w") as file:
        file.write("# for CBC\n[ENCRYPT]\n\n")
        file.writelines(f"COUNT = {number}\n{record}" for number in range(count))
    from aeskit.vectors.files import stream
    from aeskit.vectors.registry import named
    from aeskit.vectors.source import Source

    tracemalloc.start()
    assert sum(1 for _ in stream(named("cavp"), Source(path))) == count
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert used < path.stat().st_size / 2


def test_json_numbers_that_are_none():
    for number in ("NaN", "Infinity", "1.5", "01", "1" * 21, "-", "+1", "0x10"):
        with pytest.raises(VectorError, match="must be a string, an integer of at most 20 digits"):
            read_text(json.dumps({"aeskit_vectors": "?"}).replace('"?"', number), form="aeskit")
