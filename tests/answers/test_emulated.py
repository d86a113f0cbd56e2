"""Every instruction set in the emulator, AVX-512 too, over our vectors and the files of others."""

import pytest
from engines import NO_EMULATOR

from aeskit import data
from aeskit.answers.check import Status, check
from aeskit.answers.emulated import Emulated
from aeskit.answers.engine import call_of
from aeskit.answers.engines import emulated
from aeskit.answers.minimise import killed
from aeskit.vectors import read

pytestmark = pytest.mark.skipif(bool(NO_EMULATOR), reason=NO_EMULATOR or "")

OURS = data.folder("vectors") / "ours"


def failures(rows):
    return [
        f"{row.engine}: {outcome.vector.name}: {outcome.text}" for row in rows for outcome in row.failures
    ]


@pytest.mark.parametrize("mode", ["xts", "ctr", "cbc", "cts", "ecb"])
def test_our_edges_by_avx512(mode):
    engines = emulated(("vaes_avx512_256", "vaes_avx512_512"))
    rows = check(read(OURS / f"{mode}.json").vectors[::5], engines)
    assert failures(rows) == []
    assert all(row.counts[Status.PASSED] > 10 for row in rows)


def test_key_schedules():
    (row,) = check(read(OURS / "keys.json").vectors[::6], emulated(("aesni_avx",)))
    assert row.counts == {Status.PASSED: 4}


def test_a_file_of_others(shared):
    engines = emulated(("vaes_avx512_512",))
    (row,) = check(read(str(shared / "wycheproof_aes_xts_test.json")).vectors[::3], engines)
    assert row.counts == {Status.PASSED: 41}


def test_an_unknown_name():
    with pytest.raises(ValueError, match=r'the emulator runs one of aesni_avx, .*, not "model"'):
        emulated(("model",))


def test_changed_machine_code_is_killed_by_vectors():
    """Of changes that the proof of every length would find, most are found by a few of our vectors."""
    from aeskit.answers.mutants.machine import of_function

    killers = of_function("ctr_crypt_vaes_avx512_512", 12, seed=1)
    vectors = read(OURS / "ctr.json").vectors
    found = [killer for killer in killers if killed(vectors, killer)]
    assert len(found) >= 9
    standards = read(data.folder("vectors") / "rfc_3686_ctr.json").vectors
    fewer = [killer for killer in killers if killed(standards, killer)]
    assert {killer.name for killer in fewer} <= {killer.name for killer in found}
    assert (
        Emulated("vaes_avx512_512", killers[0].runner).crypt(call_of(vectors[0], "encrypt"))
        == vectors[0].ciphertext
    )
