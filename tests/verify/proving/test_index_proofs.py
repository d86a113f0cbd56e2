"""Functions that read a constant table by bits of the counter: proved with these unknown, each entry read."""

import pytest

from aeskit import contracts, implementations
from aeskit.machine.loader import load
from aeskit.verify.proving import proofs
from aeskit.verify.proving.proof import Prover

CTR = [i for i in implementations.ALL if i.mode == "ctr" and i.built]
BLOCKS = {16: 8, 32: 16, 64: 32}
"""Entries of one half of a function's table, by VL."""


def table(count):
    """Low part of the counter, and all ones above where it has wrapped, as ctr.S says."""
    return b"".join(
        (n % count - count * (n >= count)).to_bytes(16, "big", signed=True) for n in range(2 * count)
    )


@pytest.fixture(scope="module")
def image():
    return load(proofs.own()[0].path)


def section_of(image, content):
    section = next(s for s in image.sections if content in s.data)
    return section, section.data.index(content)


@pytest.mark.parametrize("implementation", CTR, ids=lambda i: i.name)
def test_counters_are_not_taken_value_by_value(image, implementation):
    prover, contract = Prover(image), contracts.ALL["ctr"]
    for length in (17, 16 * implementation.vl + 5):
        proof = prover.prove(implementation.name, contract, length, 16)
        assert proof.findings == ()
        assert proof.cases < BLOCKS[implementation.vl]


@pytest.mark.parametrize("entry", [0, 1, 7, 12, 15, 16, 17, 22])
@pytest.mark.parametrize("byte", [0, 7, 15])
def test_a_wrong_bit_in_an_entry_that_is_read_is_found(image, entry, byte):
    """8 registers of ymm read the entries 0 to 15 + 15, each for some counter."""
    content = table(16)
    section, at = section_of(image, content)
    changed = bytearray(section.data)
    changed[at + 16 * entry + byte] ^= 0x10
    before, section.data = section.data, bytes(changed)
    try:
        proof = Prover(image).prove("ctr_crypt_vaes_avx2", contracts.ALL["ctr"], 256, 16)
    finally:
        section.data = before
    assert not proof.proved
    assert "not what the model says" in proof.findings[0]
