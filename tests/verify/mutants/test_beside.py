"""A function and its mutants side by side must say what whole proofs say, of each case and of the stack."""

import pytest

from aeskit.verify.mutants import make as mutants_make
from aeskit.verify.mutants import reach as mutants_reach
from aeskit.verify.mutants import survey as mutants
from aeskit.verify.mutants.beside import Given, Pair, Told
from aeskit.verify.proving import proofs
from aeskit.verify.proving.proof import Prover
from aeskit.verify.proving.proofs import Target

CONTRACT = """
from aeskit.contracts import Contract

def setup(call):
    key, block = call.unknown("key", 16), call.unknown("block", 16)
    target = call.writable("block", block)
    call.arguments(call.readable("key", key), target)
    call.must(target, call.a.xor(block, key))

MINE = Contract("mine", "a block XOR a key", setup, key_sizes=(16,), has_length=False)
"""

ALIGNED = """
    mov %rsp, %rax
    sub $56, %rsp
    and $-32, %rsp
    vmovdqu (%rdi), %xmm0
    vmovdqa %ymm0, (%rsp)
    vpxor (%rsi), %xmm0, %xmm1
    vmovdqu %xmm1, (%rsi)
    mov %rax, %rsp
    vzeroupper
    ret
"""
"""Where the tool puts the stack, 56 bytes below are a multiple of 64: aligning it moves nothing."""


@pytest.fixture(scope="module")
def aligned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("aligned")
    (folder / "f.S").write_text(f".globl f\n.type f, @function\nf:{ALIGNED}.size f, .-f\n")
    (folder / "mine.py").write_text(CONTRACT)
    return Target(str(folder / "f.S"), "f", "MINE", contract_file=str(folder / "mine.py"))


def test_a_stack_that_is_aligned_by_luck_is_not_the_same(aligned):
    """An aligned store of 32 bytes faults with every other caller: whole proofs say so too."""
    reach = mutants_reach.measure((aligned,), [0])
    made = mutants_make.every(aligned.image(), "f").mutants
    asked = [m for m in made if m.before == "and $0xffffffffffffffe0,%rsp"]
    found = dict(Pair((aligned,)).run(Given(0, reach.kinds[0], False), asked))
    less = [m for m in asked if m.after in ("and $0xfffffffffffffff0,%rsp", "nothing")]
    assert len(less) == 2
    assert all("nothing has aligned the stack" in found[m].finding for m in less)
    for mutant, told in found.items():
        alone = Prover(mutants_make.patched(aligned.image(), mutant)).prove("f", aligned.promise(), 0, 16)
        assert told.wrong == (not alone.proved), mutant.title


def test_what_one_mutant_aligns_is_not_aligned_for_the_next(aligned):
    """`and $-64` comes before the store of 64 bytes that must not profit from it."""
    reach = mutants_reach.measure((aligned,), [0])
    made = mutants_make.every(aligned.image(), "f").mutants
    more = next(m for m in made if m.after == "and $0xffffffffffffffc0,%rsp" or "ffffffffffffffa0" in m.after)
    pair, given = Pair((aligned,)), Given(0, reach.kinds[0], False)
    assert not dict(pair.run(given, [more]))[more].finding
    same = [m for m in made if m.kind == "dropped" and m.before == "vzeroupper"]
    assert dict(pair.run(given, same))
    assert pair.one.aligned == pair.other.aligned
    assert all(frame.left and frame.alignment == 32 for frame in pair.one.aligned)


NAME = "ctr_crypt_aesni_avx"


@pytest.mark.parametrize("length", [16, 33])
def test_each_case_of_a_counter_is_judged_as_whole_proofs_judge(length):
    targets = tuple(proofs.own([NAME]))
    reach = mutants_reach.measure(targets, [length])
    made = mutants_make.every(targets[0].image(), NAME).mutants
    drawn = mutants.sample([m for m in made if length in reach.lengths(m.address)], 25, seed=7)
    pair, given = Pair(targets), Given(length, reach.kinds[-1], False)
    found = dict(pair.run(given, drawn, frozenset(drawn)))
    assert len(found) == len(drawn)
    contract = targets[0].promise()
    for mutant, told in found.items():
        changed = mutants_make.patched(targets[0].image(), mutant)
        alone = Prover(changed, limit=20_000).prove(NAME, contract, length, given.kind.key_size, False)
        assert bool(told.finding) == (not alone.proved), mutant.title
        assert told.wrong or not told.finding or alone.refused, mutant.title
    right = [told for told in found.values() if not told.finding]
    assert right
    assert all(len(told.seen) > 1 for told in right)
    assert all(seen.whole or seen.parted for told in right for seen in told.seen)


def test_of_several_cases_the_worst_counts():
    right, wrong = Told("", False, ()), Told("wrong", False, ())
    refused, covered = Told("no", True, ()), Told("yet right", True, (), covered=True)
    ascending = (right, covered, refused, wrong)
    for place, one in enumerate(ascending):
        for other in ascending[place:]:
            assert one.also(other) == other.also(one) == other
