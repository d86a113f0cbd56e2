"""The faulty implementations: each is wrong somewhere, right without its fault, and found by our sets."""

from collections import Counter
from itertools import combinations

import pytest

from aeskit import data
from aeskit.answers.compare import Comparison, compare
from aeskit.answers.engine import Call, Engine
from aeskit.answers.minimise import killed, minimise
from aeskit.answers.mutants import Mutant, ctr, every, keys, xts
from aeskit.answers.mutants.base import right
from aeskit.models import aes
from aeskit.models.plain_form import Plain
from aeskit.vectors import TestVector, read

FOLDER = data.folder("vectors")
MODES = ("xts", "ctr", "cbc", "cts", "ecb", "keys")
STANDARDS = [vector for path in FOLDER.iterdir() if path.name.endswith(".json") for vector in read(path)]


def test_names_are_unique():
    assert max(Counter(mutant.name for mutant in every()).values()) == 1


def test_without_a_fault_they_are_right():
    for length in (16, 17, 31, 32, 33, 64, 79, 300):
        for direction in ("encrypt", "decrypt"):
            text = bytes(range(256)) + bytes(range(44))
            call = Call("xts", direction, bytes(range(48)), bytes(range(16)), text[:length])
            assert xts.xts(call) == right(call)
    call = Call("ctr", "encrypt", bytes(16), b"\xff" * 15 + b"\xfe", text)
    assert ctr.ctr(call, ctr.plain) == right(call)
    for size in (16, 24, 32):
        assert keys.expand(bytes(range(size))) == aes.key_expansion(Plain(), bytes(range(size)))


@pytest.mark.parametrize("mode", MODES)
def test_our_set_finds_every_fault(mode):
    vectors = read(FOLDER / "ours" / f"{mode}.json").vectors
    assert [mutant.name for mutant in every(mode) if not killed(vectors, mutant)] == []


def test_the_table_of_ours_and_the_standards():
    """The numbers that the README of our sets tells of the standards' own vectors."""
    sets = {"standards": STANDARDS}
    found = Comparison(tuple(sets))
    assert max(compare(found, sets, every())) == len(every())
    readme = (FOLDER / "ours" / "README.md").read_text(encoding="utf-8")
    total = 0
    for mode, family, count, by in found.families():
        assert f"| {mode} | {family} | {count} | {count} | {by['standards']} |" in readme
        total += by["standards"]
    assert f"| all | | {len(every())} | {len(every())} | {total} |" in readme
    assert found.missed("standards") == []


def test_the_search_for_the_fewest_is_right_where_it_can_be_seen():
    """Vectors 0 to 3, and faults that are found by pairs of them."""
    rows = {"a": {0, 1}, "b": {0, 2}, "c": {1, 3}, "d": {2, 3}, "e": {1, 2}}

    class Found(Engine):
        def __init__(self, name):
            self.name = name

        def crypt(self, call):
            number = call.iv[0]
            wrong = number in rows[self.name]
            result = right(call)
            return bytes([result[0] ^ wrong]) + result[1:]

    vectors = []
    for number in range(4):
        call = Call("ctr", "encrypt", bytes(16), bytes([number]) + bytes(15), bytes(16))
        vectors.append(TestVector(str(number), "ctr", call.key, call.iv, call.data, right(call)))
    result = minimise(vectors, [Mutant(name, "ctr", "pairs", Found(name)) for name in rows])
    assert result.smallest
    fewest = next(
        size
        for size in range(5)
        for chosen in combinations(range(4), size)
        if all(set(chosen) & row for row in rows.values())
    )
    assert len(result.vectors) == fewest
