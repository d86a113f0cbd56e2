"""Vectors made for the edges: deterministic, confirmed by `cryptography`, and each finds what it says."""

import pytest

from aeskit import bits, data, vectors
from aeskit.answers import make as making
from aeskit.answers.check import Checker, Status
from aeskit.answers.edges import EDGES, FLAGS
from aeskit.answers.engine import Engine
from aeskit.answers.mutants import Mutant, every
from aeskit.vectors import TestVector, read
from aeskit.verify import peer

OURS = data.folder("vectors") / "ours"


@pytest.mark.parametrize("mode", EDGES)
def test_the_published_set_is_what_is_made(mode):
    made, published = making.make(mode), read(OURS / f"{mode}.json")
    assert published.vectors == made.vectors
    assert published.flags == made.flags


def test_published_sets_are_described_and_small():
    readme = (OURS / "README.md").read_text(encoding="utf-8")
    files = [path for path in OURS.iterdir() if path.name.endswith(".json")]
    assert {path.name for path in files} == {f"{mode}.json" for mode in EDGES}
    for path in files:
        assert f"| {path.name} | {len(read(path))} |" in readme
    assert sum(len(path.read_bytes()) for path in files) < 1_000_000
    flags = {flag for path in files for flag in read(path).flags}
    assert all(flag in readme for flag in flags)


@pytest.mark.parametrize("mode", [mode for mode in EDGES if mode not in ("keys", "lrw", "pcbc")])
def test_published_sets_by_cryptography(mode):
    for vector in read(OURS / f"{mode}.json"):
        if vector.bits is None and vector.unit_bits is None:
            answer = peer.answer(mode, "encrypt", vector.key, vector.iv, vector.plaintext, vector.stealing)
            assert answer[0] == vector.ciphertext
            assert vector.iv_after in (None, answer[1])


def test_every_vector_has_one_flag_and_one_sentence():
    for mode in EDGES:
        for vector in read(OURS / f"{mode}.json"):
            assert len(vector.flags) == 1
            assert vector.flags[0] in FLAGS
            assert vector.comment


def test_a_seed_gives_other_bytes_and_the_same_edges():
    first, again, other = (vectors.make("cbc", edges=["chain"], seed=seed) for seed in (1, 1, 2))
    assert first.vectors == again.vectors
    assert [vector.comment for vector in first] == [vector.comment for vector in other]
    assert all(a.key != b.key for a, b in zip(first, other, strict=True))


def test_a_vector_is_the_same_whatever_else_is_made():
    alone = {vector.name: vector for vector in making.make("ecb", edges=["text"])}
    among = {vector.name: vector for vector in making.make("ecb")}
    assert alone.items() <= among.items()


def test_selections():
    made = making.make("cts", edges=["order"], key_bits=[192], stealing=["CS2"])
    assert {(vector.key_bits, vector.stealing) for vector in made} == {(192, "CS2")}
    for options, message in (
        ({"edges": ["carry"]}, r'edge must be one of tail, order, .*, not "carry"'),
        ({"key_bits": [64]}, 'key size must be one of 128, 192, 256, not "64"'),
        ({"stealing": ["CS4"]}, 'stealing must be one of CS1, CS2, CS3, not "CS4"'),
    ):
        with pytest.raises(ValueError, match=message):
            making.make("cts", **options)
    with pytest.raises(ValueError, match=r'mode must be one of xts, .*, not "gcm"'):
        making.make("gcm")


def test_tweaks_are_set_where_the_sentence_says():
    for vector in read(OURS / "xts.json"):
        if vector.comment.startswith("bit 127 of T_"):
            step = int(vector.comment.split("T_")[1].split(" ")[0])
            first = peer.block(vector.key[len(vector.key) // 2 :], vector.iv)
            tweaks = peer.tweak_sequence(first, step + 2)
            assert [bits.from_le(T) >> 127 for T in tweaks[:-1]] == [0] * step + [1]
            assert vector.length == 16 * (step + 2)


def test_carries_fall_where_the_sentence_says():
    for vector in read(OURS / "ctr.json"):
        if vector.comment.startswith("the step from block "):
            step = int(vector.comment.split(" ")[4])
            width = int(vector.flags[0].removeprefix("Carry"))
            low = [(bits.from_be(vector.iv) + j) % (1 << width) for j in range(step + 2)]
            assert low[step:] == [(1 << width) - 1, 0]
            assert vector.length > 16 * (step + 1)


def test_a_model_and_a_peer_that_disagree_stop_the_making(monkeypatch):
    class Wrong(Engine):
        name = "model"

        def crypt(self, call):
            return bytes(len(call.data))

    monkeypatch.setattr(making, "Model", Wrong)
    monkeypatch.setattr(Wrong, "after", lambda self, call: bytes(16), raising=False)
    with pytest.raises(RuntimeError, match="remainder 0: cryptography: encrypt: block 0 byte 0 is "):
        making.make("ecb")


def test_minimised_sets_kill_as_much():
    made = making.make("cbc")
    small, result = making.smallest(made)
    assert result.survivors == ()
    assert len(result.killed) == len(every("cbc"))
    assert result.smallest
    assert len(small) < 0.6 * len(made)
    assert set(small.vectors) <= set(made.vectors)


def test_any_killers_can_be_given():
    class Deaf(Engine):
        """Stands for changed machine code: wrong for one length alone."""

        name = "deaf"

        def crypt(self, call):
            return peer.answer(call.mode, call.direction, call.key, call.iv, call.data)[0]

        def layouts(self, call, pieces):
            if len(call.data) == 48:
                yield "in place", bytes(48)

    killer = Mutant("deaf at 48 bytes", "cbc", "changed code", Deaf())
    small, result = making.smallest(making.make("cbc", edges=["remainder"]), [killer])
    assert [vector.length for vector in small] == [48]
    assert result.killed == ("deaf at 48 bytes",)


def test_vectors_that_must_fail():
    equal = TestVector("equal", "xts", bytes(32), bytes(16), bytes(16), valid=False, expects="KEY_SET_ERROR")
    from aeskit.answers.engines import select

    outcomes = {engine.name: Checker(engine).check(equal) for engine in select(())[0]}
    assert outcomes["model"].status is Status.UNSUPPORTED
    natives = [outcome for name, outcome in outcomes.items() if name not in ("model", "cryptography")]
    assert all(outcome.status is Status.PASSED for outcome in natives)
