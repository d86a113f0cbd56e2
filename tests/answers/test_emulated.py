"""Every instruction set in the emulator, AVX-512 too, over our vectors and the files of others."""

import pytest
from engines import NO_EMULATOR

from aeskit import data
from aeskit.answers.check import Status, check
from aeskit.answers.engines import emulated
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
