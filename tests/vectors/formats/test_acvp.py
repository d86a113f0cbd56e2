"""ACVP's own ways: answers beside questions, IVs made by the answerer, counter tests, several data units."""

import json

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from vector_samples import B, K

from aeskit.answers import show
from aeskit.answers.check import Status, check
from aeskit.answers.engines import Model, Peer, select
from aeskit.answers.respond import respond
from aeskit.vectors import VectorError, read
from aeskit.vectors.files import group, stream, text_pieces
from aeskit.vectors.registry import recognise
from aeskit.vectors.source import Source


def vector_set(algorithm, groups, revision="1.0", **more):
    body = {"vsId": 5, "algorithm": algorithm, "revision": revision, "testGroups": groups} | more
    return json.dumps([{"acvVersion": "1.0"}, body])


def grouped(**fields):
    return {"tgId": 1, "testType": "AFT", "direction": "encrypt", "keyLen": 128} | fields


def stored(text, *answers):
    source = Source(text=text)
    source.companions = [Source(text=answer) for answer in answers]
    return list(stream(recognise(source), source)), source.notes


def response(vectors):
    return "".join(text_pieces(vectors, "acvp-response", title="x")[0])


def test_an_iv_made_by_the_answerer_stands_in_the_answer():
    group_ = grouped(ivGen="internal", tests=[{"tcId": 1, "key": K, "pt": B * 2, "payloadLen": 256}])
    questions = vector_set("ACVP-AES-CTR", [group_])
    asked, _ = stored(questions)
    assert (asked[0].iv, asked[0].flags) == (b"", ("IvByAnswerer",))
    answered = list(respond(asked, Peer()))
    assert len(answered[0].iv) == 16
    assert list(respond(asked, Model())) == answered
    text = response(answered)
    assert json.loads(text)[1]["testGroups"][0]["tests"][0].keys() == {"tcId", "iv", "ct"}
    back, notes = stored(questions, text)
    assert back == answered
    assert notes == []
    again = "".join(text_pieces(back, "acvp", title="x")[0])
    assert "iv" not in json.loads(again)[1]["testGroups"][0]["tests"][0]


def test_counter_tests_keep_their_flags():
    tests = [{"tcId": 1, "key": K, "iv": "ff" * 16, "pt": B * 3}]
    group_ = grouped(testType="CTR", overflow=True, incremental=False, tests=tests)
    (vector,), _ = stored(vector_set("ACVP-AES-CTR", [group_]))
    assert vector.flags == ("CounterTest", "CounterOverflow", "CounterDecrements")
    made = json.loads("".join(text_pieces([vector], "acvp", title="x")[0]))[1]["testGroups"][0]
    assert (made["testType"], made["overflow"], made["incremental"]) == ("CTR", True, False)


@pytest.mark.parametrize("length", [384, 333])
def test_a_counter_that_goes_down(length):
    """From 1 past 0 to the greatest, against ECB of each counter block written out."""
    size = -(-length // 8)
    text = (bytes(range(47)) + b"\x80")[:size]
    text = text[:-1] + bytes([text[-1] & 0xFF << -length % 8])
    tests = [{"tcId": 1, "key": K, "iv": "00" * 15 + "01", "pt": text.hex(), "payloadLen": length}]
    group_ = grouped(testType="CTR", overflow=True, incremental=False, tests=tests)
    asked, _ = stored(vector_set("ACVP-AES-CTR", [group_]))
    cipher = Cipher(algorithms.AES(bytes.fromhex(K)), modes.ECB()).encryptor()
    stream_ = cipher.update(bytes(15) + b"\x01" + bytes(16) + b"\xff" * 16)
    wanted = bytes(x ^ y for x, y in zip(text, stream_, strict=False))
    wanted = wanted[:-1] + bytes([wanted[-1] & 0xFF << -length % 8])
    (answered,) = respond(asked, Model())
    assert answered.ciphertext == wanted
    model, peer, *native = check([answered], select(())[0])
    assert model.counts == {Status.PASSED: 1}
    assert peer.counts == {Status.UNSUPPORTED if length % 8 else Status.PASSED: 1}
    reason = "a length that is no whole number of bytes: native code takes whole bytes"
    reason = reason if length % 8 else "a counter that goes down: native code counts up"
    assert [row.reasons for row in native] == [{reason: 1}] * len(native)
    (back,), _ = stored(vector_set("ACVP-AES-CTR", [group_]), response([answered]))
    assert back == answered
    with pytest.raises(ValueError, match="a counter that goes down has no place"):
        text_pieces([answered], "python", title="x")
    if length % 8 == 0:
        with pytest.raises(ValueError, match="a counter that goes down is not shown"):
            show.trace(answered)


ZEROS = "00" * 16
CS3 = [
    # Of NIST's sample of ACVP-AES-CBC-CS3 1.0 (usnistgov/ACVP-Server, vsId 42): tcId 1, 8 and 32.
    (
        878,
        ZEROS,
        "F34481EC3CC627BACD5DC3FB08F273E6",
        "0336763E966D92595A567CC9CE537F5ED9492AAFC53406FCD852F32A99EE0AC0D2AD6EF1A3F88079814A8E7083AB12EB"
        "32B87718A3F8DC0839AEC546C15F2B9AAA4878DB99D51BA3C51F53CFF960F8F7BCF6A2A813543D0655E4ABBD44F7724A"
        "86A8C7D4AD2BEDFFDBB170D5526C",
    ),
    (
        241,
        "B6364AC4E1DE1E285EAF144A2415F7A0",
        "",
        "D95555079C6DF19816276E450DE14A225D9B05578FC944B3CF1CCF0E746C80",
    ),
    (213, ZEROS, "E0", "76DD34AA2FFEF2FE8AAD60774D273944F031D4D74F5DCBF39DAAF8"),
]


def test_stealing_at_lengths_in_bits_by_nist():
    tests = [
        {"tcId": n, "iv": ZEROS, "key": key, "pt": text.ljust(len(answer), "0"), "payloadLen": bits}
        for n, (bits, key, text, answer) in enumerate(CS3)
    ]
    answers = [{"tcId": n, "ct": answer} for n, (*_, answer) in enumerate(CS3)]
    expected = {"vsId": 5, "testGroups": [{"tgId": 1, "tests": answers}]}
    found, notes = stored(vector_set("ACVP-AES-CBC-CS3", [grouped(tests=tests)]), json.dumps(expected))
    assert (len(found), notes) == (3, [])
    (row,) = check(found, [Model()])
    assert row.counts == {Status.PASSED: 3}


def test_several_data_units():
    tests = [
        {
            "tcId": 1,
            "key": K + B,
            "tweakValue": "ff" * 8 + "00" * 8,
            "pt": "ab" * 96,
            "payloadLen": 768,
            "dataUnitLen": 256,
        }
    ]
    asked, _ = stored(vector_set("ACVP-AES-XTS", [grouped(tweakMode="hex", tests=tests)], "2.0"))
    assert (asked[0].unit_bits, asked[0].source) == (256, "ACVP-AES-XTS 2.0, vsId 5")
    (answered,) = respond(asked, Model())
    from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

    wanted = b""
    for number in range(3):
        tweak = (0xFFFFFFFFFFFFFFFF + number).to_bytes(16, "little")
        context = Cipher(algorithms.AES(bytes.fromhex(K + B)), modes.XTS(tweak)).encryptor()
        wanted += context.update(b"\xab" * 32)
    assert answered.ciphertext == wanted
    uneven = [tests[0] | {"dataUnitLen": 250}]
    with pytest.raises(VectorError, match="unit_bits must be at least 128 and divide 768, not 250"):
        stored(vector_set("ACVP-AES-XTS", [grouped(tweakMode="hex", tests=uneven)], "2.0"))


def test_answers_may_stand_in_the_questions_file():
    tests = [{"tcId": 1, "key": K, "iv": B, "pt": B, "ct": K}]
    (vector,), _ = stored(vector_set("ACVP-AES-CBC", [grouped(tests=tests)]))
    assert (vector.asks, vector.ciphertext) == ("", bytes(16))


def test_answers_that_do_not_fit():
    questions = vector_set("ACVP-AES-ECB", [grouped(tests=[{"tcId": 1, "key": K, "pt": B}])])
    answer = {"tcId": 1, "ct": B}
    twice = vector_set("ACVP-AES-ECB", [{"tgId": 1, "tests": [answer, answer]}])
    with pytest.raises(VectorError, match='"tcId" 1 is answered twice'):
        stored(questions, twice)
    _, notes = stored(
        questions, vector_set("ACVP-AES-ECB", [{"tgId": 1, "tests": [answer, answer | {"tcId": 2}]}])
    )
    assert notes == ["1 answers to questions that were not asked, tcId 2 among them"]
    other = vector_set("ACVP-AES-ECB", [{"tgId": 1, "tests": [answer]}]).replace('"vsId": 5', '"vsId": 6')
    (vector,), notes = stored(questions, other)
    assert (vector.asks, notes) == ("ciphertext", ["none of the answers are to vsId 5"])


def test_unknown_fields_are_noted():
    tests = [{"tcId": 1, "key": K, "pt": B, "salt": 1}]
    _, notes = stored(vector_set("ACVP-AES-ECB", [grouped(tests=tests, colour="red")], mood="good"))
    assert notes == [
        'vector set: "mood" is not known and was not read',
        'group 0: "colour" is not known and was not read',
        'tcId 1: "salt" is not known and was not read',
    ]


def test_answers_without_their_questions_are_refused_beside_other_files(tmp_path):
    answers, other = tmp_path / "answers.json", tmp_path / "other.rsp"
    answers.write_text(vector_set("ACVP-AES-ECB", [{"tgId": 1, "tests": [{"tcId": 1, "ct": B}]}]))
    other.write_text(f"# ECB\n[ENCRYPT]\nCOUNT = 0\nKEY = {K}\nPLAINTEXT = {B}\nCIPHERTEXT = {K}\n")
    found = group([answers, other])
    assert [entry.name for entry, _ in found] == ["acvp-expected", "cavp"]
    with pytest.raises(VectorError, match="has answers alone; give the file of their questions as well"):
        list(stream(*found[0]))


def test_a_sample_of_a_server_answered_anew(shared):
    paths = [str(shared / f"acvp_aes_ctr_{part}.json") for part in ("vectors", "expected")]
    questions, known = read(paths[0]), read(*paths)
    assert list(respond(questions, Peer())) == list(known)
    theirs = json.loads((shared / "acvp_aes_ctr_expected.json").read_text())[1]["testGroups"]
    assert json.loads(response(known))[1]["testGroups"] == theirs


def test_one_file_has_one_algorithm():
    vectors, _ = stored(
        vector_set("ACVP-AES-ECB", [grouped(tests=[{"tcId": 1, "key": K, "pt": B, "ct": K}])])
    )
    more, _ = stored(
        vector_set("ACVP-AES-CBC", [grouped(tests=[{"tcId": 2, "key": K, "iv": B, "pt": B, "ct": K}])])
    )
    _, refused = text_pieces([*vectors, *more], "acvp", title="x")
    assert refused == {"a file has one of ACVP-AES-ECB, ACVP-AES-CBC": ["tcId 2"]}
    (row,) = check([*vectors], [Peer()])
    assert row.counts == {Status.FAILED: 1}
