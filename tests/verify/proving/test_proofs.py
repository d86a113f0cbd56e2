"""Many proofs: what is asked, remembered and shown."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from aeskit import contracts
from aeskit.cli import main
from aeskit.verify import prove_command
from aeskit.verify.proving import cache as proof_cache
from aeskit.verify.proving import proofs
from aeskit.verify.proving.proof import Proof
from aeskit.verify.proving.proofs import Target
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
    cache.store({proof_cache.key("code", proof): proof})
    assert cache.known("code") == {proof_cache.key("code", proof): proof}
    assert cache.known("other") == {}


def test_a_refuted_function_is_shown_by_a_call_and_its_first_wrong_step(tmp_path):
    native = Path(__file__).parents[3] / "native"
    for path in native.glob("*"):
        if path.suffix in (".S", ".inc"):
            wrong = path.read_text().replace("\\sign, \\sign, 31", "\\sign, \\sign, 30")
            (tmp_path / path.name).write_text(wrong)
    target = Target(str(tmp_path / "xts.S"), "xts_encrypt_aesni_avx", "xts_encrypt_piece")
    found = proofs.prove([target], [16, 17], (16,), workers=1)
    assert [p.length for p in found if not p.proved] == [17]
    told = explain(target, [p for p in found if not p.proved])
    head, step = told.lines()[:2]
    assert head.startswith("counterexample: xts_encrypt_piece, AES-128, 17 bytes: destination: block 0 byte")
    assert step.startswith("first wrong step: lane 0 of xmm")
    assert "vpsrad $0x1e," in step
    assert f"aeskit step {target.path}:xts_encrypt_aesni_avx --contract xts_encrypt_piece" in told.lines()[-1]


def test_a_call_of_what_the_file_does_not_define_is_no_counterexample(folder):
    (folder / "f.S").write_text(".globl f\n.type f, @function\nf: jmp copy_block\n.size f, .-f\n")
    done = prove(folder, "right.py", "--key-bits", "128", "--workers", "1")
    told = " ".join(done.output.split())
    assert done.exit_code == 1
    assert "f: no call that shows it was found: copy_block is called, but f.S does not define it" in told
    assert "counterexample: " not in told
    assert "hardware" not in told


ECB = """
.globl f
.type f, @function
f: test %rcx, %rcx
jz 2f
1: movdqu (%rsi), %xmm0
pxor (%rdi), %xmm0
.irp at, 16, 32, 48, 64, 80, 96, 112, 128, 144
aesenc \\at(%rdi), %xmm0
.endr
aesenclast {last}(%rdi), %xmm0
movdqu %xmm0, (%rdx)
add $16, %rsi
add $16, %rdx
sub $16, %rcx
jnz 1b
2: ret
.size f, .-f
"""


def test_the_readme_s_contract_proves_what_is_right_and_nothing_else(folder):
    readme = Path(__file__).parents[3] / "README.md"
    code = re.search(r"```python\n(from aeskit\.contracts .*?)```", readme.read_text(), re.DOTALL)[1]
    (folder / "mine.py").write_text(code)
    for last, status in ((160, 0), (144, 1)):
        (folder / "e.S").write_text(ECB.format(last=last))
        asked = f"{folder}/e.S:f", "--contract", "MINE", "--contract-file", folder / "mine.py"
        assert run_prove(*asked, "--lengths", "0-48")[0] == status
    assert "promises: " + ", ".join(contracts.ALL) in run_prove(f"{folder}/e.S:f")[1].replace("│ ", "")


def run_prove(*arguments):
    done = CliRunner().invoke(main, ["prove", *map(str, arguments), "--key-bits", "128", "--workers", "1"])
    return done.exit_code, " ".join(done.output.split())


def test_symbols_that_change_places_are_proved_anew(folder):
    for name, first, second in (("1", "f", "g"), ("2", "g", "f")):
        text = f".globl f\n.globl g\n{first}:{SOURCE.partition('f:')[2]}{second}: ret\n"
        (folder / f"swap{name}.S").write_text(text)
    more = ("--contract", "SUM", "--contract-file", folder / "right.py")
    assert run_prove(f"{folder}/swap1.S:f", *more)[0] == 0
    assert run_prove(f"{folder}/swap2.S:f", *more)[0] == 1


def test_a_user_s_contracts_are_not_remembered(folder):
    first = f"import sys\nsys.path.insert(0, {str(folder)!r})\nsys.modules.pop('helper', 0)\n"
    weak = (
        "def weak(call):\n    call.unknown('a', 1)\n\n\nWEAK = Contract('sum', 'x', weak, has_length=False)\n"
    )
    text = f"{first}from helper import AT\n{CONTRACT.format('AT')}{weak}"
    (folder / "two.py").write_text(text)
    (folder / "helper.py").write_text("AT = -1\n")
    asked = (f"{folder}/f.S:f", "--contract-file", folder / "two.py", "--contract")
    assert run_prove(*asked, "SUM")[0] == 0
    assert run_prove(*asked, "WEAK")[0] == 1
    (folder / "helper.py").write_text("AT = 1  # changed\n")
    assert run_prove(*asked, "SUM")[0] == 1


def test_a_loop_that_is_not_closed_in_one_layout_fails_every_time(tmp_path, monkeypatch):
    closing = proofs.close_job
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def half(job):
        return [replace(c, findings=("not closed",)) if c.in_place else c for c in closing(job)]

    monkeypatch.setattr(proofs, "close_job", half)
    asked = ("ecb_encrypt_aesni_avx", "--every-length", "--lengths", "16-32")
    first, second = run_prove(*asked), run_prove(*asked)
    assert (first[0], second[0]) == (1, 1)
    assert "not closed" in second[1]
    target = proofs.own(["ecb_encrypt_aesni_avx"])
    monkeypatch.setattr(proofs, "close_job", lambda job: [])
    cache = proof_cache.Cache(tmp_path / "other.sqlite")
    assert all(c.findings for c in proofs.close(target, (16,), 1, cache))


def test_a_contract_of_lengths_far_apart_is_asked_at_its_own(folder):
    """Nobody who asks for 0 to 160 bytes meets a multiple of 512."""
    contract = folder / "far.py"
    contract.write_text(
        "from dataclasses import replace\nfrom aeskit import contracts\n"
        "FAR = replace(contracts.ALL['ecb_encrypt'], minimum=512, multiple=512, also=(512, 1024))\n"
    )
    source, file = Path(__file__).parents[3] / "native" / "ecb.S", folder / "far.json"
    arguments = [
        "--contract",
        "FAR",
        "--contract-file",
        str(contract),
        "--key-bits",
        "128",
        "--json",
        str(file),
    ]
    run = CliRunner().invoke(main, ["prove", f"{source}:ecb_encrypt_vaes_avx2", *arguments])
    assert run.exit_code == 0, run.output
    found = json.loads(file.read_text())["proofs"]
    assert sorted({proof["length"] for proof in found}) == [512, 1024]


def test_lengths_that_no_contract_takes_and_reversed_ranges_are_told():
    status, said = run_prove("ecb_encrypt_aesni_avx", "--lengths", "5", "--no-cache")
    assert status == 1
    assert "nothing was proved; ecb_encrypt takes multiples of 16, in bytes, not 5" in said
    status, said = run_prove("ecb_encrypt_aesni_avx", "--lengths", "100-16")
    assert status == 2
    assert "goes from the least to the greatest: not '100-16'" in said


def test_what_was_proved_names_key_sizes_and_layouts():
    found = [Proof("f", "ctr", 16, size, place) for size in (16, 24, 32) for place in (False, True)]
    said = prove_command.sentence(found)
    assert "every key of 128, 192 and 256 bits" in said
    assert "out of place and in place" in said
    assert "out of place and in place (buffers apart or equal)" in said
    assert "of these lengths" in said
    assert "in place" not in prove_command.sentence([Proof("f", "keys", 0, 16, False)])
    every, asked = prove_command.EVERY, prove_command.ASKED
    said = prove_command.sentence(found, {("f", "ctr"): every})
    assert "all data of every length below 2^40 bytes, out of place" in said
    said = prove_command.sentence(found, {("f", "ctr"): every, ("g", "ctr"): asked})
    assert "but of asked lengths only for 1 of 2 promises" in said


def test_what_has_no_induction_is_told_wherever_every_length_was_asked(tmp_path, monkeypatch):
    name, out = "cbc_streams_encrypt_aesni_avx", tmp_path / "out.json"
    more = ("--every-length", "--lengths", "0-32", "--no-cache", "--json", out)
    both = (*proofs.own(["cbc_encrypt_aesni_avx"]), *proofs.own([name]))
    status, said = run_prove(name, *more)
    assert status == 1
    assert f"NOT every length, asked lengths only: {name} (cbc_streams_1, cbc_streams_2" in said
    assert "0 to 32 only" in said
    assert {row["lengths"] for row in json.loads(out.read_text())["scope"]} == {"asked lengths only"}
    monkeypatch.setattr(proofs, "own", lambda names=(): list(both))
    status, said = run_prove("--all", *more)
    assert status == 0
    assert "NOT every length" in said
    assert "asked lengths only for 3 of 4 promises" in said
    words = [row["lengths"] for row in json.loads(out.read_text())["scope"]]
    assert sorted(words) == ["asked lengths only"] * 3 + ["every length"]
    assert run_prove("--all", "--lengths", "0-16", "--no-cache")[0] == 0


HEAD = "from aeskit.contracts import Contract\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("raise RuntimeError('boom')", "c.py:1: RuntimeError: boom"),
        ("x = 1\n\nraise SystemExit(0)", "c.py:3: SystemExit: 0"),
        ("f(", "c.py:1: SyntaxError: '(' was never closed"),
        (
            "from aeskit.contracts import Contract\ndef s(c):\n    1/0\nC = Contract('c', 't', s)",
            "c.py:3: ZeroDivisionError: division by zero",
        ),
        ("", "c.py must define C as a Contract; it defines none"),
        (HEAD + "def s(call):\n    raise SystemExit(0)\nC = Contract('c', 't', s)", "c.py:3: SystemExit: 0"),
        (HEAD + "D = C2 = Contract('C', 't', print)", "must define C as a Contract; it defines D, C2"),
        (None, "c.py cannot be read: No such file or directory"),
    ],
)
def test_a_contract_file_that_raises_is_one_line(folder, text, words):
    if text is not None:
        (folder / "c.py").write_text(text)
    status, said = run_prove(f"{folder}/f.S:f", "--contract", "C", "--contract-file", folder / "c.py")
    assert status == 2
    assert words in said


def test_symbols_are_not_read_as_markup(folder):
    name = "[bold]x[/nope]"
    (folder / "names.S").write_text(SOURCE.replace("globl f", f'globl "{name}"').replace("f:", f'"{name}":'))
    more = ("--contract", "SUM", "--contract-file", folder / "right.py", "--no-cache")
    status, said = run_prove(f"{folder}/names.S:{name}", *more)
    assert (status, name in said) == (0, True)


def test_no_call_is_looked_for_behind_the_step_limit(tmp_path):
    (tmp_path / "loop.S").write_text(".globl f\nf: jmp f\n")
    target = Target(str(tmp_path / "loop.S"), "f", "ecb_encrypt")
    limit = Proof("f", "ecb_encrypt", 16, 16, False, findings=("more than 9 steps; the run stands at f",))
    assert proofs.endless(limit.findings)
    assert explain(target, [limit]).lines() == []


RARE = """
.globl f
f:
cmp %rsi, %rdx
jne 1f
mov %rcx, %rax
shr $20, %rax
jz 1f
ret
1: test %rcx, %rcx
jz 3f
2: movups (%rsi), %xmm0
pxor (%rdi), %xmm0
movups %xmm0, (%rdx)
add $16, %rsi
add $16, %rdx
sub $16, %rcx
jnz 2b
3: ret
"""
XOR = """
from aeskit.contracts import Contract


def setup(call):
    K = call.round_keys()
    source, target = call.data()
    call.arguments(call.readable("key", call.schedule(K)), source, target, call.length)
    a, data = call.a, call.source_data
    blocks = [a.xor(data[n : n + 16], K[0]) for n in range(0, call.length, 16)]
    call.must(target, a.join(*blocks) if blocks else data)


C = Contract("whitened", "each block XOR the first round key", setup, multiple=16)
"""


def test_a_case_without_a_loop_names_layout_and_lengths_and_the_asked_ones_are_proved(folder):
    (folder / "rare.S").write_text(RARE)
    (folder / "xor.py").write_text(XOR)
    asked = (f"{folder}/rare.S:f", "--contract", "C", "--contract-file", folder / "xor.py", "--every-length")
    out = folder / "out.json"
    status, said = run_prove(*asked, "--lengths", "0-48", "--json", out)
    assert status == 1
    assert "from 1048576 to" in said or "at 1048576 bytes and more the function returns" in said
    assert "(whitened; 128 bits; in place)" in said
    assert "Not proved for every length: 1 of 2 loops are not closed." in said
    rows = json.loads(out.read_text())["proofs"]
    assert [r["length"] for r in rows if r["in_place"]] == [0, 16, 32, 48]
    assert all(r["proved"] for r in rows)


COUNTS = """
from aeskit.contracts import Contract
def setup(call):
    given = call.unknown("counter", 16, public=True)
    fixed, low = call.a.part(given, 0, 12), call.a.part(given, 12, 16)[::-1]
    counter = call.writable("counter", given)
    call.arguments(counter)
    call.must(counter, call.a.join(fixed, call.add(low, 1)[::-1]))
C = Contract("counts", "one more", setup, has_length=False, key_sizes=(16,))
"""


@pytest.mark.parametrize("add", ["inc %ax", "inc %al", "lea 1(%rax), %eax; and $0xffff, %eax"])
def test_a_carry_that_is_lost_once_in_many_counters_is_shown(tmp_path, add):
    top = "mov %eax, %ecx; and $0xffff0000, %ecx;" if "and" in add else "xor %ecx, %ecx;"
    body = f"mov 12(%rdi), %eax; bswap %eax; {top} {add}; or %ecx, %eax; bswap %eax; mov %eax, 12(%rdi); ret"
    (tmp_path / "f.S").write_text(f".globl f\n.type f, @function\nf: {body}\n")
    (tmp_path / "c.py").write_text(COUNTS)
    file = tmp_path / "out.json"
    more = ("--contract-file", tmp_path / "c.py", "--json", file)
    status, said = run_prove(f"{tmp_path}/f.S:f", "--contract", "C", *more)
    (told,) = json.loads(file.read_text())["refuted"]
    assert (told["function"], told["shown"]["buffer"]) == ("f", "counter")
    counter = bytes.fromhex(told["shown"]["inputs"][0]["data"])
    after = (int.from_bytes(counter) + 1).to_bytes(16)
    assert told["shown"]["expected"] == after.hex() != told["shown"]["got"]
    assert status == 1
    assert "counterexample: counts, AES-128" in said
    assert re.search(r"counter 0{8} 0{8} 0{8} 0{4}(ffff|00ff) ", said), said


def test_an_instruction_that_is_not_known_has_no_counterexample(folder):
    (folder / "std.S").write_text(".globl f\nf: std\nret\n")
    more = ("--contract", "ecb_encrypt", "--lengths", "16", "--no-cache")
    said = run_prove(f"{folder}/std.S:f", *more)[1]
    assert "the lane machine does not run this instruction" in said
    assert "counterexample: ecb" not in said
