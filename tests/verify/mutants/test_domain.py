"""Mutants that the proof cannot follow: explained only where any value in place of what it cannot will do."""

from dataclasses import replace
from functools import cache

import pytest

from aeskit.verify.mutants import make as mutants_make
from aeskit.verify.mutants import reach as mutants_reach
from aeskit.verify.mutants import survey as mutants
from aeskit.verify.mutants.domain import RESTS
from aeskit.verify.mutants.explain import ANYTHING, UNKNOWN
from aeskit.verify.proving.proofs import Target

CONTRACT = """
from aeskit.contracts import Contract

def setup(call):
    key, block = call.unknown("key", 16), call.unknown("block", 16)
    target = call.writable("block", block)
    call.arguments(call.readable("key", key), target, {number})
    call.must(target, {must})

MINE = Contract("mine", "what this test needs", setup, key_sizes=(16,), has_length=False)
"""

ADDRESS = """
    movdqu (%rdi), %xmm0
    or %rsi, %rdx
    {jump} 1f
    movdqu (%rsi), %xmm1
    pxor %xmm0, %xmm1
    movdqu %xmm1, (%rsi)
1:  ret
"""
"""rsi is the address of the block, rdx a number: their OR is never 0."""

HALF = """
    movdqu (%rsi), %xmm0
    movdqu (%rdi), %xmm1
    pxor %xmm1, %xmm0
    movdqa %xmm0, %xmm2
    pslldq $8, %xmm2
    pxor %xmm2, %xmm0
    movq %xmm0, (%rsi)
    ret
"""
"""The second pxor changes the upper half alone, which is not stored."""

CARRY = """
    movdqu (%rdi), %xmm0
    xor %eax, %eax
    movq (%rsi), %rcx
    add %rcx, %rcx
    add $0, %eax
    movdqu (%rsi), %xmm1
    pxor %xmm0, %xmm1
    movdqu %xmm1, (%rsi)
    ret
"""
"""rax is a number that nobody reads; with ADC it takes in a bit of the block."""


def outcomes(folder, body, number=7, must="call.a.xor(block, key)", changed=None):
    """What becomes of every mutant, or of one, by what it was and what it became."""
    (folder / "f.S").write_text(f".globl f\n.type f, @function\nf:{body}.size f, .-f\n")
    (folder / "mine.py").write_text(CONTRACT.format(number=number, must=must))
    target = Target(str(folder / "f.S"), "f", "MINE", contract_file=str(folder / "mine.py"))
    job = mutants.Job((target,), mutants_reach.measure((target,), [0]))
    made = mutants_make.every(target.image(), "f").mutants
    if changed:
        made = [replace(next(m for m in made if m.before == changed[0]), code=changed[2], after=changed[1])]
    return {(o.mutant.before, o.mutant.after): o for o in mutants.run(job, made, workers=1)}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Of code and a number what becomes of every mutant, run once."""
    return cache(lambda body, number: outcomes(tmp_path_factory.mktemp("address"), body, number))


@pytest.mark.parametrize("after", ["sub", "sbb", "xor"])
@pytest.mark.parametrize("number", [0, 15, 4095])
def test_a_number_below_every_address_is_not_equal_to_one(run, number, after):
    found = run(ADDRESS.format(jump="jz"), number)["or %rsi,%rdx", f"{after} %rsi,%rdx"]
    assert found.refused
    assert found.reason.kind == ANYTHING
    assert RESTS in found.reason.text
    assert found.reason.text.startswith("any value will do in place of its result")


@pytest.mark.parametrize("after", ["sub", "sbb"])
@pytest.mark.parametrize("number", [4096, 0x1234_5678])
def test_a_number_that_an_address_may_be_is_not_explained(run, number, after):
    """No single run shows it: the buffer would have to lie there."""
    found = run(ADDRESS.format(jump="jz"), number)["or %rsi,%rdx", f"{after} %rsi,%rdx"]
    assert found.refused
    assert found.reason.kind == UNKNOWN
    assert "is no linear map" in found.reason.text


COMPARED = """
    movdqu (%rdi), %xmm0
    cmp $5, %rdx
    {jump} 1f
    movdqu (%rsi), %xmm1
    pxor %xmm0, %xmm1
    movdqu %xmm1, (%rsi)
1:  ret
"""
TO_ADDRESS = ("cmp $5,%rdx", "cmp $5,%rsi", b"\x48\x83\xfe\x05")


@pytest.mark.parametrize("jump", ["je", "jb", "jbe"])
def test_a_comparison_with_an_address_in_place_of_a_greater_number(tmp_path, jump):
    found = outcomes(tmp_path, COMPARED.format(jump=jump), changed=TO_ADDRESS)[TO_ADDRESS[:2]]
    assert found.refused
    assert found.reason.kind == ANYTHING
    assert RESTS in found.reason.text


def test_a_comparison_with_an_address_in_place_of_a_smaller_number_is_wrong(tmp_path):
    found = outcomes(tmp_path, COMPARED.format(jump="jae"), 3, changed=TO_ADDRESS)[TO_ADDRESS[:2]]
    assert found.killed_by_proof


BEFORE = """
    movdqu (%rdi), %xmm0
    lea -64(%rsi), %rcx
    test %rcx, %rcx
    jz 1f
    or %rcx, %rdx
    jz 1f
    movdqu (%rsi), %xmm1
    pxor %xmm0, %xmm1
    movdqu %xmm1, (%rsi)
1:  ret
"""
"""rcx points 64 bytes before the block: at 4,032 where the block lies at 4,096."""


@pytest.mark.parametrize("after", ["sub", "sbb"])
def test_an_address_before_a_buffer_may_be_any_number(run, after):
    found = run(BEFORE, 4032)["or %rcx,%rdx", f"{after} %rcx,%rdx"]
    assert found.refused
    assert found.reason.kind == UNKNOWN


@pytest.mark.parametrize("after", ["sub", "sbb"])
def test_a_borrow_that_an_address_makes_goes_the_other_way(run, after):
    """7 − address borrows for every address; OR never does."""
    found = run(ADDRESS.format(jump="jb"), 7)["or %rsi,%rdx", f"{after} %rsi,%rdx"]
    assert found.killed_by_proof
    assert "upper halves clear: block: byte 0" in found.proof.finding


def test_a_flag_that_hangs_on_where_the_buffer_lies_explains_nothing(run):
    found = run(ADDRESS.format(jump="jo"), 7)["or %rsi,%rdx", "sub %rsi,%rdx"]
    assert found.refused
    assert found.reason.kind == UNKNOWN


@pytest.fixture(scope="module")
def half(tmp_path_factory):
    must = "call.a.join(call.a.xor(block, key)[:8], block[8:])"
    return outcomes(tmp_path_factory.mktemp("half"), HALF, must=must)


def test_a_product_of_unknown_bits_that_nobody_reads_is_explained(half):
    found = half["pxor %xmm2,%xmm0", "por %xmm2,%xmm0"]
    assert found.refused
    assert (found.reason.kind, found.reason.text) == (ANYTHING, "any value will do in place of its result")


def test_one_that_is_stored_is_killed_by_a_call(half):
    found = half["pxor %xmm1,%xmm0", "por %xmm1,%xmm0"]
    assert found.killed_by_proof
    assert "block: byte 0" in found.proof.finding


def test_an_unknown_carry_in_what_nobody_reads_is_explained(tmp_path):
    found = outcomes(tmp_path, CARRY)["add $0,%eax", "adc $0,%eax"]
    assert found.survived
    assert found.reason.known


def test_what_the_proof_follows_is_judged_without_any_of_this(half):
    """No value is put in place of one that is known: what changes a result is killed."""
    assert half["pxor %xmm1,%xmm0", "pxor %xmm0,%xmm0"].killed_by_proof
    assert half["pslldq $8,%xmm2", "pslldq $0,%xmm2"].killed_by_proof
    assert not half["pxor %xmm1,%xmm0", "pxor %xmm0,%xmm0"].refused
