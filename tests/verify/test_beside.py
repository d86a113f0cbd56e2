"""`aeskit lockstep`: which lengths, which engine, and what it says."""

import pytest
from engines import NO_EMULATOR, NO_SILICON

from aeskit import contracts
from aeskit.machine import semantics
from aeskit.verify import beside, lockstep_command
from aeskit.verify.proving.proofs import Target, own

SOURCE = """
.globl copy
.type copy, @function
copy: movdqu (%rdi), %xmm0
 movdqu %xmm0, (%rsi)
 ret
.size copy, .-copy
"""
CONTRACT = """
from aeskit.contracts import Contract

def setup(call):
    block = call.unknown("block", 16)
    target = call.writable("target", call.unknown("old", 16))
    call.arguments(call.readable("source", block), target)
    call.must(target, block)

copy = Contract("copy", "16 bytes from source to target", setup, key_sizes=(16,), has_length=False)
"""


def needs_silicon():
    if NO_SILICON:
        pytest.skip(NO_SILICON)


def needs_emulator():
    if NO_EMULATOR:
        pytest.skip(NO_EMULATOR)


@pytest.mark.parametrize("name", sorted(contracts.ALL))
def test_lengths_are_as_many_as_asked_and_allowed(name):
    contract = contracts.ALL[name]
    lengths = beside.spread(contract, 50)
    if not contract.has_length:
        assert lengths == (0,) * len(contract.key_sizes)
        return
    allowed = contract.lengths(0, 1 << 14)
    assert len(lengths) == min(50, len(allowed))
    assert lengths[:25] == tuple(allowed[:25])
    assert sorted(set(lengths)) == list(lengths)
    assert set(lengths) <= set(allowed)


def test_our_own_function_agrees_and_says_so(capsys):
    needs_silicon()
    assert lockstep_command.functions(own(["keys_expand_aesni"]), 3, "auto", 1) == 0
    out = capsys.readouterr().out
    assert "silicon" in out
    assert "1 function, " in out
    assert " steps, 0 differ" in out


def test_the_emulator_takes_over_for_what_this_cpu_lacks():
    needs_emulator()
    (target,) = own(["ecb_encrypt_vaes_avx512_512"])
    done = beside.run(target, (64, 80), "emulator" if NO_SILICON else "auto")
    assert done.difference == done.skipped == ""
    assert done.engine in ("emulator", "silicon")
    assert done.steps > 50


@pytest.fixture
def copy(tmp_path):
    (tmp_path / "copy.S").write_text(SOURCE)
    (tmp_path / "promise.py").write_text(CONTRACT)
    return Target(str(tmp_path / "copy.S"), "copy", "copy", contract_file=str(tmp_path / "promise.py"))


def test_a_function_of_a_file_with_its_own_contract(copy):
    needs_silicon()
    done = beside.run(copy, (0,), "silicon")
    assert (done.difference, done.steps) == ("", 3)


def test_a_difference_is_told_with_the_call(copy, monkeypatch, capsys):
    needs_silicon()
    right = semantics.TABLE["movdqu"]
    wrong = semantics.Entry("movdqu", lambda a: a ^ 1, right.kind, 1, 0, unaligned=True)
    monkeypatch.setitem(semantics.TABLE, "movdqu", wrong)
    done = beside.run(copy, (0,), "silicon")
    assert done.difference.startswith("128 bits, 0 bytes: step 0, movdqu (%rdi),%xmm0 at 0x2c5b")
    assert lockstep_command._show([done]) == 1
    assert "DIFFERS" in capsys.readouterr().out


def test_what_the_cpu_lacks_is_a_skip(capsys, monkeypatch, tmp_path):
    needs_silicon()
    (tmp_path / "odd.S").write_text(SOURCE.replace("movdqu (%rdi), %xmm0", "ud2"))
    target = Target(str(tmp_path / "odd.S"), "copy", "copy", contract_file=str(tmp_path / "promise.py"))
    (tmp_path / "promise.py").write_text(CONTRACT)
    from aeskit.machine import flow

    monkeypatch.setitem(flow.SPECIAL, "ud2", lambda binder: lambda: None)
    done = beside.run(target, (0,), "silicon")
    assert "ud2" in done.skipped
    assert lockstep_command._show([done]) == 0
    assert "skipped, this CPU lacks ud2" in capsys.readouterr().out


def test_without_single_stepping_the_emulator_takes_over(monkeypatch, capsys):
    asked = []

    def every(jobs, engine, workers):
        asked.append(engine)
        return [beside.Beside(jobs[0][0], (16,), engine, 1)]

    monkeypatch.setattr(lockstep_command.silicon, "unavailable", lambda: "ptrace is not allowed")
    monkeypatch.setattr(beside, "every", every)
    assert lockstep_command.functions(own(["keys_expand_aesni"]), 1, "auto", 1) == 0
    assert asked == ["emulator"]
    assert "ptrace is not allowed; so this is the emulator" in capsys.readouterr().err


def test_a_call_that_does_not_return_is_no_difference(tmp_path, capsys):
    (tmp_path / "f.S").write_text(".globl f\nf: jmp f\n")
    target = Target(str(tmp_path / "f.S"), "f", "xts_iv")
    done = beside.Beside(target, (0,), "silicon", 9, stopped="128 bits, 0 bytes: 9 steps agree; limit")
    assert lockstep_command._show([done]) == 1
    told = " ".join(capsys.readouterr().out.split())
    assert "DIFFERS" not in told
    assert "NO END" in told
    assert "1 function, 9 steps, 0 differ, 1 came to no end" in told


@pytest.mark.skipif(bool(NO_SILICON), reason=str(NO_SILICON))
def test_an_endless_call_ends(tmp_path):
    (tmp_path / "f.S").write_text(".globl f\nf: jmp f\n")
    done = beside.run(Target(str(tmp_path / "f.S"), "f", "xts_iv"), (0,), "silicon")
    assert (done.difference, done.skipped) == ("", "")
    assert "steps agree" in done.stopped
