"""Files written by others: every vector is read, and every engine that runs here agrees with it."""

from collections import Counter
from itertools import islice

import pytest

from aeskit.answers import check
from aeskit.answers.check import Status
from aeskit.answers.engines import Model, Native, Peer, select
from aeskit.vectors import files, read

# Vectors of each mode's files in the package, and how many of them no whole number of bytes.
CAVP = {"ECB": (2138, 0), "CBC": (2138, 0), "CTR": (9, 0), "XTS": (4000, 1200)}


def natives():
    return [engine for engine in select(())[0] if isinstance(engine, Native)]


def passed(rows):
    assert [outcome for row in rows for outcome in row.failures] == []
    return {row.engine: row.counts[Status.PASSED] for row in rows}


def test_wycheproof_xts(shared):
    found = read(str(shared / "wycheproof_aes_xts_test.json"))
    assert {vector.key_bits for vector in found} == {128, 192, 256}
    assert found.notes == ("IVs shorter than 16 bytes are padded with zeros on the right",)
    assert set(passed(check.check(found, select(())[0])).values()) == {123}


@pytest.mark.parametrize(("mode", "count"), [("xts", 2), ("ctr", 48)])
def test_acvp(shared, mode, count):
    paths = [shared / f"acvp_aes_{mode}_{part}.json" for part in ("expected", "vectors")]
    ((entry, source),) = files.group(paths)
    rows = check.check(files.stream(entry, source), select(())[0])
    assert set(passed(rows).values()) == {count}
    assert source.notes == []


def test_acvp_questions_alone_are_unsupported(shared):
    (row,) = check.check(read(str(shared / "acvp_aes_xts_vectors.json")), [Model()])
    assert row.counts == {Status.UNSUPPORTED: 2}
    assert set(row.reasons) == {
        "the file asks for the ciphertext: nothing to compare with",
        "the file asks for the plaintext: nothing to compare with",
    }


@pytest.mark.parametrize("mode", CAVP)
def test_cavp(cavp, mode):
    total: Counter[str] = Counter()
    unsupported: Counter[str] = Counter()
    engines = [Peer(), *natives()]
    for path in sorted(path for path in (cavp / mode).rglob("*") if path.is_file()):
        rows = check.check(read(path), engines, path.name)
        total.update(passed(rows))
        unsupported.update({row.engine: row.counts[Status.UNSUPPORTED] for row in rows})
    count, bits = CAVP[mode]
    assert set(total.values()) == {count - bits}
    assert set(unsupported.values()) == {bits}


@pytest.mark.parametrize("mode", CAVP)
def test_cavp_by_the_model(cavp, mode):
    """Every twentieth vector, those of a length in bits among them."""
    vectors = [
        vector
        for path in sorted((cavp / mode).rglob("*"))
        if path.is_file()
        for vector in islice(read(path), 3, None, 20)
    ]
    (row,) = check.check(vectors, [Model()])
    assert passed([row]) == {"model": len(vectors)}
    assert any(vector.bits for vector in vectors) == (mode == "XTS")
