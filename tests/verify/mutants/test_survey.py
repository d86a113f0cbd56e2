"""Mutants: how they are made, what kills them, and why the rest make no difference."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from aeskit import _native, contracts
from aeskit.cli import main
from aeskit.machine.bochs import EmulatorMissing
from aeskit.machine.bochs.library import library
from aeskit.machine.decode import decode
from aeskit.machine.loader import load
from aeskit.verify.known import files
from aeskit.verify.mutants import explain as mutants_explain
from aeskit.verify.mutants import levels as mutants_levels
from aeskit.verify.mutants import make as mutants_make
from aeskit.verify.mutants import proofs as mutants_proofs
from aeskit.verify.mutants import reach as mutants_reach
from aeskit.verify.mutants import survey as mutants
from aeskit.verify.mutants.beside import Given, Pair, Unproved
from aeskit.verify.proving import proofs
from aeskit.verify.proving.proof import Prover
from aeskit.verify.proving.proofs import Target

NAME = "xts_encrypt_vaes_avx512_256"
"""A real function; most of its mutants are for `aeskit mutants`."""

TINY = """
f:
    movdqu (%rsi), %xmm0
    movdqu (%rdi), %xmm1
    xor %eax, %eax
    test %esi, %esi
    cmp $5, %ecx
    je 1f
    pxor %xmm1, %xmm0
1:  movdqu %xmm0, (%rsi)
    ret
"""
"""What one_block asks, but for a fourth argument of 5, which nobody gives."""

CONTRACT = """
from aeskit.contracts import Contract

def one_block(call):
    K = call.round_keys()
    block = call.unknown("block", 16)
    target = call.writable("block", block)
    call.arguments(call.readable("key", call.schedule(K)), target, 0, 7)
    call.must(target, call.a.xor(block, K[0]))

ONE = Contract("one", "a block XOR the first round key", one_block, has_length=False)
"""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    (folder / "tiny.S").write_text(f".globl f\n.type f, @function{TINY}.size f, .-f\n")
    (folder / "one.py").write_text(CONTRACT)
    return Target(str(folder / "tiny.S"), "f", "ONE", contract_file=str(folder / "one.py"))


@pytest.fixture(scope="module")
def outcomes(tiny):
    job = mutants.Job((tiny,), mutants_reach.measure((tiny,), [0]))
    made = mutants_make.every(tiny.image(), "f").mutants
    return {(o.mutant.before, o.mutant.after): o for o in mutants.run(job, made, workers=1)}


@pytest.fixture(scope="module")
def emulated():
    try:
        library()
    except EmulatorMissing as missing:
        pytest.skip(str(missing))
    return mutants_levels.Emulated(load(_native.__file__), NAME)


def test_every_kind_of_change_is_made(tiny):
    made = mutants_make.every(load(_native.__file__), NAME)
    assert {m.kind for m in made.mutants} == set(mutants_make.KINDS)
    assert made.skipped > 0
    assert len({(m.address, m.code) for m in made.mutants}) == len(made.mutants)


def test_a_mutant_changes_one_instruction_and_no_length(tiny):
    image = tiny.image()
    for mutant in mutants_make.every(image, "f").mutants:
        changed = mutants_make.patched(image, mutant)
        before, after = (i.code_at(i.symbols["f"], i.functions["f"]) for i in (image, changed))
        different = [
            image.symbols["f"] + n for n, (a, b) in enumerate(zip(before, after, strict=True)) if a != b
        ]
        assert different
        assert mutant.address <= different[0] <= different[-1] < mutant.address + len(mutant.code)


def test_a_function_without_a_size_is_refused(tmp_path):
    (tmp_path / "open.S").write_text(".globl f\nf: ret\n")
    with pytest.raises(ValueError, match="does not say where f ends"):
        mutants_make.every(load(tmp_path / "open.S"), "f")


def one(outcomes, before, after):
    """The outcome of a change, both sides by how they begin."""
    return next(o for (b, a), o in outcomes.items() if b.startswith(before) and a.startswith(after))


@pytest.mark.parametrize(
    ("before", "after", "kind"),
    [
        ("xor %eax,%eax", "sub %eax,%eax", mutants_explain.FLAGS),
        ("xor %eax,%eax", "nothing", mutants_explain.UNREAD),
        ("movdqu (%rdi),%xmm1", "movdqa (%rdi),%xmm1", mutants_explain.SAME),
        ("cmp $5,%ecx", "cmp $1,%ecx", mutants_explain.ABSORBED),
        ("test %esi,%esi", "nothing", mutants_explain.FLAGS),
        ("je", "nothing", mutants_explain.SAME),
    ],
)
def test_what_the_proof_passes_is_explained(outcomes, before, after, kind):
    found = one(outcomes, before, after)
    assert found.survived
    assert found.reason.kind == kind
    assert found.reason.text


def test_what_the_proof_cannot_follow_is_killed_by_a_call_that_is_wrong(outcomes):
    found = one(outcomes, "pxor %xmm1,%xmm0", "por")
    assert found.killed_by_proof
    assert "f (one), AES-128, 0 bytes, upper halves clear: block: byte 0 is" in found.proof.finding


def test_what_the_proof_follows_is_killed_or_explained(outcomes):
    followed = [o for o in outcomes.values() if not o.refused]
    assert all(o.killed_by_proof or o.reason.known for o in followed)
    assert sum(o.killed_by_proof for o in followed) > 15


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("pxor %xmm1,%xmm0", "pxor %xmm0,%xmm0"),
        ("pxor %xmm1,%xmm0", "nothing"),
        ("movdqu %xmm0,(%rsi)", "movdqu %xmm1,(%rsi)"),
        ("movdqu %xmm0,(%rsi)", "movdqa %xmm0,(%rsi)"),
        ("je", "jne"),
    ],
)
def test_what_changes_a_result_is_killed_by_the_proof(outcomes, before, after):
    assert one(outcomes, before, after).killed_by_proof


def test_a_wrong_function_has_no_mutants(tiny, tmp_path):
    wrong = tmp_path / "wrong.S"
    wrong.write_text(Path(tiny.path).read_text().replace("pxor", "por"))
    other = Target(str(wrong), "f", "ONE", contract_file=tiny.contract_file)
    job = mutants.Job((other,), mutants_reach.measure((other,), [0]))
    made = mutants_make.every(other.image(), "f").mutants
    with pytest.raises(Unproved, match="only a function that is right"):
        list(mutants.run(job, made, workers=1))


@pytest.fixture(scope="module")
def real():
    targets = tuple(proofs.own([NAME]))[:1]
    reach = mutants_reach.measure(targets, [16, 17, 32, 47, 64, 65, 127, 128, 144])
    return targets, reach


def test_classes_part_lengths_by_what_they_reach(real):
    reach = real[1]
    assert sorted(length for group in reach.classes for length in group) == [
        16,
        17,
        32,
        47,
        64,
        65,
        127,
        128,
        144,
    ]
    assert len(reach.classes) > 3
    start = load(_native.__file__).symbols[NAME]
    assert reach.lengths(start) == {length for group in reach.classes for length in group}
    assert reach.of(start - 1) == []


def test_each_length_is_run_with_contracts_that_take_it():
    """One message, two, and seventeen of them: 16 bytes are a call of the first alone."""
    targets = tuple(proofs.own(["cbc_streams_encrypt_aesni_avx"]))
    reach = mutants_reach.measure(targets, [16, 32, 272, 544])
    assert sorted(length for group in reach.classes for length in group) == [16, 32, 272, 544]
    taken = {number: set() for number in range(len(reach.classes))}
    for number, kind in reach.visits:
        promise = targets[kind.target].promise()
        assert reach.classes[number][0] % promise.multiple == 0
        taken[number].add(promise.multiple)
    assert all(len(path) > 20 for path in reach.visits.values())
    assert {16} in taken.values()


def verdict(real, *asked):
    """What the proofs say of each mutant."""
    return {one.mutant: one.verdict for one in mutants_proofs.prove(*real, asked, workers=1)}


def test_the_proof_kills_what_known_answers_leave_alive(emulated, real):
    """Rounds dropped in code that no known answer reaches."""
    targets, reach = real
    known_lengths = {len(v.plaintext) for vs in files().values() for v in vs if v.mode == "xts"}
    image = targets[0].image()
    rounds = [m for m in mutants_make.every(image, NAME).mutants if m.kind == "dropped"]
    far = [m for m in rounds if "vaesenc" in m.before and not reach.lengths(m.address) & known_lengths]
    unseen = next(m for m in far if reach.lengths(m.address) and not emulated.known(m).killed)
    same = replace(unseen, code=image.code_at(unseen.address, len(unseen.code)))
    found = verdict(real, unseen, same)
    assert found[unseen].killed
    assert not found[same].finding
    assert found[same].checks > 1
    assert emulated.verified(unseen, reach).killed


def test_a_mutant_that_meets_the_function_again_is_judged_as_one_that_runs_to_its_end(real):
    """`Pair.run` stops where both states are the same: whole runs, by themselves, must say no other thing."""
    targets, reach = real
    pair, given = Pair(targets), Given(47, reach.kinds[-1], False)
    made = mutants_make.every(targets[0].image(), NAME).mutants
    drawn = mutants.sample([m for m in made if 47 in reach.lengths(m.address)], 30, seed=5)
    found = dict(pair.run(given, drawn))
    contract = targets[0].promise()
    assert len(found) > 20
    for mutant, told in found.items():
        changed = mutants_make.patched(targets[0].image(), mutant)
        alone = Prover(changed, limit=20_000).prove(NAME, contract, 47, given.kind.key_size, False)
        assert (bool(told.finding), told.refused) == (not alone.proved, alone.refused), mutant.title
    assert 0 < sum(bool(told.finding) for told in found.values()) < len(found)


def test_every_instruction_that_is_reached_is_proved_with_every_kind_of_call(real):
    _, reach = real
    addresses = frozenset().union(*reach.visits.values())
    asked = mutants_proofs.rest(reach, addresses)
    for address in addresses:
        for lengths, kinds in reach.of(address):
            shortest = {given.kind for given in asked if given.length == lengths[0]}
            assert set(kinds) <= shortest
            for length in lengths[1:]:
                assert any(given.kind in kinds for given in asked if given.length == length)


def test_the_emulator_is_as_it_was_after_a_mutant(emulated):
    made = mutants_make.every(emulated.image, NAME).mutants
    drawn = mutants.sample(made, 12, seed=3)
    verdicts = [emulated.known(m).killed for m in drawn]
    assert any(verdicts)
    assert verdicts == [emulated.known(m).killed for m in drawn]


def test_a_mutant_that_loops_comes_back(emulated):
    start = emulated.image.symbols[NAME]
    loop = mutants_make.Mutant(start, b"\xeb\xfe", "opcode", "", "jmp itself", "")
    assert "no return" in emulated.known(loop).finding
    assert not emulated.known(
        mutants_make.Mutant(start, emulated.image.code_at(start, 2), "", "", "", "")
    ).killed


def test_the_command_tells_and_writes(tiny, tmp_path):
    out = tmp_path / "mutants.json"
    arguments = [
        f"{tiny.path}:f",
        "--contract",
        "ONE",
        "--contract-file",
        tiny.contract_file,
        "--workers",
        "1",
    ]
    result = CliRunner().invoke(main, ["mutants", *arguments, "--sample", "6", "--json", str(out)])
    assert "6 of" in result.output
    written = json.loads(out.read_text())
    assert written["tested"] == 6
    assert all(row["proof"]["finding"] or row["reason"] for row in written["outcomes"])
    unknown = [row for row in written["outcomes"] if row["reason"] and row["reason"]["kind"] == "not known"]
    assert result.exit_code == (1 if unknown else 0)


def test_the_command_refuses_what_there_is_not():
    result = CliRunner().invoke(main, ["mutants", "nothing_of_ours"])
    assert result.exit_code == 2
    assert "function must be one of" in result.output
    assert contracts.of("nothing_of_ours") == []


def test_what_a_function_goes_to_is_changed_too():
    """CBC decryption is one routine that several functions share; its own symbol is a few instructions."""
    targets = tuple(proofs.own(["cbc_decrypt_aesni_avx"]))
    image, reach = targets[0].image(), mutants_reach.measure(targets, [16, 256])
    visited = frozenset().union(*reach.visits.values())
    alone = mutants_make.every(image, "cbc_decrypt_aesni_avx")
    whole = mutants_make.every(image, "cbc_decrypt_aesni_avx", visited)
    assert alone.others == ()
    assert whole.others == ("cbc_decrypt_blocks_aesni_avx",)
    assert visited <= {m.address for m in whole.mutants} | _unchanged(image, visited)
    assert set(alone.mutants) < set(whole.mutants)
    assert whole.instructions > 10 * alone.instructions


def _unchanged(image, visited):
    """What no mutant is made of: nops, returns and landing pads."""
    return {a for a in visited if decode(image, a).mnemonic.startswith(("endbr", "nop", "ret"))}


def test_what_stands_in_for_a_function_of_others_is_not_changed(tmp_path):
    (tmp_path / "f.S").write_text(
        ".globl f\n.type f, @function\nf: sub $8, %rsp\n mov $16, %edx\n call memcpy\n add $8, %rsp\n ret\n"
        ".size f, .-f\n"
    )
    image = load(tmp_path / "f.S")
    visited = [image.symbols["f"], image.symbols["memcpy"]]
    assert mutants_make.every(image, "f", visited) == mutants_make.every(image, "f")
