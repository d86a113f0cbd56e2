"""Many proofs: what is asked, remembered and shown."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from aeskit.cli import main
from aeskit.verify import proof_cache, proofs, prove_command
from aeskit.verify.proof import Proof
from aeskit.verify.proofs import Target
from aeskit.verify.refuted import explain

SOURCE = ".globl f\nf:\nmovdqu (%rdi), %xmm0\npxor 240(%rdi), %xmm0\nmovdqu %xmm0, (%rsi)\nret\n"
CONTRACT = """
from aeskit.contracts import Contract


def setup(call):
    K = call.round_keys()
    target = call.writable("target", call.unknown("old", 16))
    call.arguments(call.readable("key", call.schedule(K)), target)
    call.must(target, call.a.xor(K[0], K[{}]))


SUM = Contract("sum", "the first round key XOR the last", setup, has_length=False)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "f.S").write_text(SOURCE)
    (tmp_path / "right.py").write_text(CONTRACT.format(-1))
    (tmp_path / "wrong.py").write_text(CONTRACT.format(1))
    return tmp_path


def prove(folder, contract, *more):
    arguments = ["prove", f"{folder}/f.S:f", "--contract", "SUM", "--contract-file", f"{folder}/{contract}"]
    return CliRunner().invoke(main, [*arguments, *more])


def test_a_user_s_contract_is_proved_refuted_and_remembered(folder):
    done = prove(folder, "right.py", "--json", f"{folder}/out.json")
    assert done.exit_code == 0
    assert "Proved: for every key" in " ".join(done.output.split())
    rows = json.loads((folder / "out.json").read_text())["proofs"]
    assert [(r["key_size"], r["proved"]) for r in rows] == [(16, True), (24, True), (32, True)]
    assert len(list((folder / "cache").rglob("*.sqlite"))) == 1
    assert "Proved" in prove(folder, "right.py").output
    wrong = prove(folder, "wrong.py", "--key-bits", "128")
    assert wrong.exit_code == 1
    assert "target: block 0 byte 0 is not what the model says" in " ".join(wrong.output.split())


def test_what_is_asked_wrongly_is_told(folder):
    run = CliRunner().invoke
    for arguments, message in (
        (["prove"], "name a function of ours or FILE:SYMBOL"),
        (["prove", "nothing"], "function must be one of"),
        (["prove", f"{folder}/f.S:g", "--contract", "ctr"], "has no symbol g"),
        (["prove", f"{folder}/f.S:f"], "--contract must say what f promises"),
        (["prove", f"{folder}/f.S:f", "--contract", "c"], "contract must be one of"),
        (["prove", "xts_encrypt_aesni_avx", "--lengths", "a"], "lengths must be numbers and ranges"),
    ):
        done = run(main, arguments)
        assert done.exit_code == 2
        assert message in " ".join(done.output.split())


def test_lengths_are_numbers_and_ranges():
    assert prove_command.lengths("16-18,33") == [16, 17, 18, 33]


def test_a_proof_comes_back_from_the_cache_as_it_was(tmp_path):
    cache = proof_cache.Cache(tmp_path / "proofs.sqlite")
    proof = Proof("f", "ctr", 17, 32, True, 4, 400, ("a finding",))
    cache.store("code", [proof])
    assert cache.known("code") == {proof_cache.key("code", proof): proof}
    assert cache.known("other") == {}


def test_a_refuted_function_is_shown_by_a_call_and_its_first_wrong_step(tmp_path):
    native = Path(__file__).parents[2] / "native"
    for path in native.glob("*"):
        if path.suffix in (".S", ".inc"):
            wrong = path.read_text().replace("\\sign, \\sign, 31", "\\sign, \\sign, 30")
            (tmp_path / path.name).write_text(wrong)
    target = Target(str(tmp_path / "xts.S"), "xts_encrypt_aesni_avx", "xts_encrypt_piece")
    found = proofs.prove([target], [16, 17], (16,), workers=1)
    assert [p.length for p in found if not p.proved] == [17]
    step, call, again = explain(target, [p for p in found if not p.proved])
    assert "first wrong step: lane 0 of vaesenc" in step
    assert "counterexample: xts_encrypt_piece, AES-128, 17 bytes, tweak" in call
    assert "destination: block 0 byte" in call
    assert again.startswith("again: aeskit step")
