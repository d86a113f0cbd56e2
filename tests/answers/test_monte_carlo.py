"""Monte Carlo tests, against AESAVS's loops written out once more, and published answers."""

from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from aeskit.answers import monte_carlo
from aeskit.answers.check import Checker, Status, check
from aeskit.answers.engine import Unsupported
from aeskit.answers.engines import Model, Peer, select
from aeskit.answers.respond import respond
from aeskit.vectors import TestVector, read_text
from aeskit.vectors.files import stream, text_pieces
from aeskit.vectors.registry import recognise
from aeskit.vectors.source import Source


def xor(a, b):
    return bytes(x ^ y for x, y in zip(a, b, strict=True))


def written_out(mode, key, iv, text, forward, count):
    """AESAVS, 6.4: the list of all results."""
    results, inputs = [], [text]
    for j in range(count):
        if mode == "ecb":
            cipher = Cipher(algorithms.AES(key), modes.ECB())
        else:
            before = iv if j == 0 else (results[j - 1] if forward else inputs[j - 1])
            cipher = Cipher(algorithms.AES(key), modes.CBC(before))
        context = cipher.encryptor() if forward else cipher.decryptor()
        results.append(context.update(inputs[j]))
        inputs.append(results[j] if mode == "ecb" else iv if j == 0 else results[j - 1])
    return results


def question(mode, direction, size=16, count=1000):
    key, block = bytes(range(size)), bytes(range(200, 216))
    asks = "ciphertext" if direction == "encrypt" else "plaintext"
    text = {"plaintext" if direction == "encrypt" else "ciphertext": bytes(range(50, 66))}
    iv = b"" if mode == "ecb" else block
    return TestVector("tcId 1", mode, key, iv, **text, direction=direction, asks=asks, iterations=count)


@pytest.mark.parametrize("mode", ["ecb", "cbc"])
@pytest.mark.parametrize("direction", ["encrypt", "decrypt"])
@pytest.mark.parametrize("size", [16, 24, 32])
def test_against_the_loops_written_out(mode, direction, size):
    vector = question(mode, direction, size, 50)
    given = bytes(range(50, 66))
    results = written_out(mode, vector.key, vector.iv, given, direction == "encrypt", 50)
    for engine in select(())[0]:
        answer, following = monte_carlo.run(engine, vector, direction)
        assert answer == results[-1]
        assert following.key == xor(vector.key, (results[-2] + results[-1])[-size:])
        assert following.iv == (b"" if mode == "ecb" else results[-1])
        assert (following.plaintext or following.ciphertext) == (
            results[-1] if mode == "ecb" else results[-2]
        )


def test_the_first_answer_of_cavp_ecb_128():
    """CAVP's ECBMCT128.rsp, COUNT 0 and the key of COUNT 1."""
    key, text = (
        bytes.fromhex(digits)
        for digits in ("139a35422f1d61de3c91787fe0507afd", "b9145a768b7dc489a096b546f43b231f")
    )
    vector = TestVector("0", "ecb", key, plaintext=text, asks="ciphertext", iterations=1000)
    answer, following = monte_carlo.run(Peer(), vector, "encrypt")
    assert answer.hex() == "d7c3ffac9031238650901e157364c386"
    assert following.key.hex() == "c459caeebf2c42586c01666a9334b97b"


TRACES = [
    # NIST's server, its inner loop told with key, IV and text of zeros: usnistgov/ACVP, issues 690 and 694.
    (
        "CS3",
        "encrypt",
        16,
        "F795BD4A52E29ED713D313FA20E98DBC66E94BD4EF8A2C3B",
        "7187BFD1F3F23F0A34559761B6027FEBA10CF66D0FDDF340",
        "618788F0FCBC7454263DC66DDAEF0F00F27F5A7A1FF55C0E",
        "EF6A61CB9950A60FE3F49D3E84B1E18C53CFB6FAD1ACD7AF",
    ),
    (
        "CS3",
        "encrypt",
        24,
        "52F674B7B9030FDAB13D18DC214EB331AAE06992ACBF52A3",
        "CD1B9B5FE22272B5D248EE59C6770490184E27FC9889994F",
        "46D478A77E60ABD00017DA5F58AA9583B8583D243DBF0173",
        "761EEDC4AEC33F870486F14ABF138DB6415DE011BEF59985",
        "AE7E4DD3A499814EBB22DAC97784F9CF3AE641EA573E60AA",
    ),
    (
        "CS3",
        "decrypt",
        16,
        "713F95B5533DB9A16C410B44E82EE36F140F0F1011B5223D",
        "3B42E5290EAB9E537B60C809A8B4142265309AA542889B9C",
        "FF07CC77B0500259E2D15B8A80F52E23ECCA88672491CA74",
        "11106CBA7F89576BA266AEE367BC47AB0C92FF5042047CD6",
        "2501B26F32B3EEB439DDC5EB169D07CE66B1D578481105C7",
        "2DC4811A51852FC7A057857EB04E0FCE6BC218CA7AEFCA58",
    ),
    (
        "CS1",
        "encrypt",
        16,
        "66E94BD4EF8A2C3BF795BD4A52E29ED713D313FA20E98DBC",
        "A10CF66D0FDDF340F800D5A85882F8029F6B44A40D9BF012",
    ),
]


@pytest.mark.parametrize("trace", TRACES, ids=lambda trace: " ".join(map(str, trace[:3])))
def test_stealing_against_the_server_s_own_trace(trace):
    stealing, direction, size, *results = trace
    given = "plaintext" if direction == "encrypt" else "ciphertext"
    asks = "ciphertext" if direction == "encrypt" else "plaintext"
    texts = {given: bytes(24)}
    vector = TestVector("0", "cts", bytes(size), bytes(16), **texts, stealing=stealing, asks=asks)
    for engine in select(())[0]:
        for count in range(2, len(results) + 1):
            answer, following = monte_carlo.run(engine, replace(vector, iterations=count), direction)
            assert answer.hex().upper() == results[count - 1]
            assert following.iv == answer[:16]
            assert getattr(following, given).hex().upper() == results[count - 2]


def test_the_key_that_stealing_changes():
    """AES_KEY_SHUFFLE of the specification, its cases written out."""
    for size in (16, 24, 32):
        key = bytes(range(size))
        vector = TestVector("0", "cts", key, bytes(16), bytes(24), stealing="CS2", asks="ciphertext")
        (before, _), (last, following) = (
            monte_carlo.run(Peer(), replace(vector, iterations=count), "encrypt") for count in (2, 3)
        )
        mask = {16: last[:16], 24: before[16:] + last[:16], 32: before[:16] + last[:16]}[size]
        assert following.key == xor(key, mask)


def test_a_stealing_question_becomes_answers_that_check():
    vector = TestVector(
        "tcId 1",
        "cts",
        bytes(24),
        bytes(16),
        bytes(40),
        stealing="CS1",
        direction="encrypt",
        asks="ciphertext",
        iterations=1000,
    )
    answered = list(respond([vector], Peer(), outer=3))
    source = Source(text="".join(text_pieces([vector], "acvp", title="x")[0]))
    source.companions = [Source(text="".join(text_pieces(answered, "acvp-response", title="x")[0]))]
    back = list(stream(recognise(source), source))
    assert [item.ciphertext for item in back] == [item.ciphertext for item in answered]
    assert [row.counts for row in check(back, select(("aesni_avx", "cryptography"))[0])] == [
        {Status.PASSED: 3},
        {Status.PASSED: 3},
    ]
    broken = [answered[0], replace(answered[1], iv=bytes(16))]
    (row,) = check(broken, [Peer()])
    assert row.counts == {Status.PASSED: 1, Status.FAILED: 1}


@pytest.mark.parametrize("form", ["acvp", "cavp"])
def test_questions_become_a_file_that_checks(form):
    questions = [
        question("cbc", "encrypt", 32, 1000),
        replace(question("cbc", "decrypt", 16, 1000), name="tcId 2"),
    ]
    answered = list(respond(questions, Peer(), outer=3))
    assert len(answered) == 6
    if form == "acvp":
        source = Source(text="".join(text_pieces(questions, "acvp", title="x")[0]))
        text = "".join(text_pieces(answered, "acvp-response", title="x")[0])
        source.companions = [Source(text=text)]
        back = list(stream(recognise(source), source))
    else:
        back = list(read_text("".join(text_pieces(answered, "cavp", title="x")[0])))
    (row,) = check(back, [Peer()])
    assert row.counts == {Status.PASSED: 6}
    assert [vector.ciphertext for vector in back[:3]] == [vector.ciphertext for vector in answered[:3]]


def test_a_key_that_does_not_follow_is_found():
    first, second, third = respond([question("ecb", "encrypt", count=20)], Peer(), outer=3)
    broken = replace(second, key=bytes(16), ciphertext=bytes(16))
    checker = Checker(Model())
    assert checker.check(first).status is Status.PASSED
    outcome = checker.check(broken)
    assert outcome.status is Status.FAILED
    assert outcome.text.startswith(
        "encrypt: key does not follow from the answer before: block 0 byte 0 is 00"
    )
    assert Checker(Model()).check(third).status is Status.PASSED


def test_other_modes_have_none():
    vector = replace(question("ecb", "encrypt"), mode="ctr", iv=bytes(16))
    with pytest.raises(Unsupported, match="there is no Monte Carlo test of ctr"):
        monte_carlo.run(Peer(), vector, "encrypt")
    with pytest.raises(ValueError, match="must be one block, not 32 bytes"):
        monte_carlo.run(Peer(), replace(question("ecb", "encrypt"), plaintext=bytes(32)), "encrypt")
    zeros = bytes(16), bytes(16), bytes(17)
    bits = TestVector("0", "cts", *zeros, stealing="CS1", bits=130, asks="ciphertext")
    with pytest.raises(Unsupported, match="Monte Carlo test of a length that is no whole number of bytes"):
        monte_carlo.run(Model(), bits, "encrypt")
