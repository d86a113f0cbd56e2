"""Monte Carlo tests, against AESAVS's loops written out once more, and a published answer."""

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
    with pytest.raises(Unsupported, match="AESAVS has no Monte Carlo test of ctr"):
        monte_carlo.run(Peer(), vector, "encrypt")
    with pytest.raises(ValueError, match="must be one block, not 32 bytes"):
        monte_carlo.run(Peer(), replace(question("ecb", "encrypt"), plaintext=bytes(32)), "encrypt")
