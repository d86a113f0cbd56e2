"""Runs in numbers that kill what no proof can follow."""

from aeskit.verify.calls import Given, prepare
from aeskit.verify.mutants import make as mutants_make
from aeskit.verify.mutants import reach as mutants_reach
from aeskit.verify.mutants import runs as mutants_runs
from aeskit.verify.mutants import survey as mutants
from aeskit.verify.proving.proofs import Target

CONTRACT = """
from aeskit.contracts import Contract, UInt32

def setup(call):
    key, block = call.unknown("key", 16), call.unknown("block", 16)
    target = call.writable("block", block)
    call.arguments(call.readable("key", key), target, UInt32(2))
    call.must(target, call.a.xor(block, key))

MINE = Contract("mine", "a block XOR a key", setup, key_sizes=(16,), has_length=False)
"""
CODE = """
    movdqu (%rsi), %xmm0
    movdqu (%rdi), %xmm1
    test %rsi, %rsi
    jz 1f
    pxor %xmm1, %xmm0
    movdqu %xmm0, (%rsi)
1:  ret
"""
"""The third argument, of 32 bits, is not read: what its upper half holds is the caller's choice."""


def made(folder, code=CODE):
    (folder / "f.S").write_text(f".globl f\n.type f, @function\nf:{code}.size f, .-f\n")
    (folder / "mine.py").write_text(CONTRACT)
    return Target(str(folder / "f.S"), "f", "MINE", contract_file=str(folder / "mine.py"))


def test_what_is_wrong_with_clear_upper_halves_alone_is_killed(tmp_path):
    """rdx AND rsi is 0 without rubbish above: flags are 2, and the block lies at 1 modulo 4."""
    target = made(tmp_path)
    reach = mutants_reach.measure((target,), [0])
    every = mutants_make.every(target.image(), "f").mutants
    asked = [m for m in every if m.after in ("test %rdx,%rsi", "test %rsi,%rdx", "test %rdi,%rsi")]
    job = mutants.Job((target,), reach)
    found = {o.mutant.after: o for o in mutants.run(job, _with_rdx(target, asked), workers=1)}
    assert found["test %rdx,%rsi"].killed_by_proof
    assert "upper halves clear: block: byte 0" in found["test %rdx,%rsi"].proof.finding


def _with_rdx(target, asked):
    """`test %rdx,%rsi`, which no neighbouring register gives."""
    place = next(m for m in mutants_make.every(target.image(), "f").mutants if m.before == "test %rsi,%rsi")
    return [
        mutants_make.Mutant(place.address, b"\x48\x85\xd6", "register", place.before, "test %rdx,%rsi", "f+8")
    ]


def test_a_function_that_is_right_has_no_wrong_run(tmp_path):
    target = made(tmp_path)
    for poison in mutants_runs.UPPER.values():
        prepared = prepare(target.image(), "f", target.promise(), Given(0, 16))
        assert mutants_runs.wrong(prepared, poison) == ""


def test_what_is_wrong_is_named(tmp_path):
    faults = {
        "block: byte 0 is": CODE.replace("pxor %xmm1, %xmm0", "por %xmm1, %xmm0"),
        "block: byte 16 is": CODE.replace("1:", "movb $0, 16(%rsi); notb 16(%rsi); movb %al, 16(%rsi)\n1:"),
        "rbx is not what it was at entry": CODE.replace("1:", "1: inc %rbx\n"),
        "write of 16 bytes": CODE.replace("movdqu %xmm0, (%rsi)", "movdqu %xmm0, 4096(%rsi)"),
    }
    for number, (said, code) in enumerate(faults.items()):
        (folder := tmp_path / str(number)).mkdir()
        target = made(folder, code)
        prepared = prepare(target.image(), "f", target.promise(), Given(0, 16))
        assert said in mutants_runs.wrong(prepared, 0)
