"""What the lines of a review say: kinds of findings, places, contracts in words, endless code."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from aeskit.contracts import ALL
from aeskit.machine.loader import load
from aeskit.machine.silicon import unavailable
from aeskit.verify.review import code, guess, proved, signature
from aeskit.verify.review.addresses import place
from aeskit.verify.review.known import grouped
from aeskit.verify.review.model import FAILS, OPEN
from aeskit.verify.review.review import Wanted, review

pytest.importorskip("iced_x86", reason="decoding needs iced-x86")


@pytest.mark.parametrize(
    ("finding", "kind"),
    [
        ("read of 16 bytes at 0x20: 1 bytes past the end of source", "memory"),
        ("rbx is not what it was at entry, as the ABI asks", "abi"),
        ("a branch depends on K1[0]: je 0x40", "secret"),
        ("a branch depends on whether a value of the upper half of argument 6 is zero", "upper"),
        ("destination: block 1 byte 0 is not what the model says (17 bytes in all)", "result"),
        ("key: block 0 byte 0 is changed (1 bytes in all)", "result"),
        ("pmullw has an operand that is not constant", "open"),
        ("a branch depends on a flag that shl leaves undefined: je 0x40", "unset"),
        ("a branch depends on r9 at entry: je 0x40", "unset"),
        ("a branch depends on whether a value of r9 at entry is zero: je 0x40", "unset"),
        ("a branch depends on whether a value of data, r9 at entry is zero: je 0x40", "secret"),
        ("an address depends on free bytes 1 of K1: mov (%rax),%eax", "unset"),
        ("a branch depends on K1[0], r9 at entry: je 0x40", "secret"),
        ("a branch depends on bits of an address: je 0x40", "open"),
        ("a branch depends on the flags of a counter's upper half: js 0x40", "open"),
    ],
)
def test_a_finding_is_of_one_kind(finding, kind):
    assert proved.kind(finding) == kind


def written(tmp_path, text, contracts, **options):
    """The review of one function that is given as text."""
    path = tmp_path / "code.S"
    path.write_text(f".globl f\n.type f, @function\nf: {text}\n.size f, .-f\n")
    chosen = {"lengths": (16,), "recorded": (16,), "on_hardware": (16,), "key_sizes": (16,)} | options
    return review(Wanted(str(path), contracts=contracts, workers=1, cached=False, **chosen)).functions[0]


def test_a_function_that_does_not_return_is_told_after_one_call_of_each_kind(tmp_path):
    found = written(tmp_path, "jmp f", ("ecb_encrypt",), lengths=(16, 32, 48), recorded=(16, 32))
    line = found.line("proof")
    assert (line.verdict, line.text) == (
        FAILS,
        "it has not returned within the instructions of a call at 16 bytes",
    )
    assert (
        "16 bytes: it has not returned within 200,000 instructions; jmp +0x0 at +0x0 [eb fe]"
        in (line.details[0])
    )
    assert len(found.matrix) == 1
    if not unavailable():
        assert found.line("hardware").text == "1 of 1 call goes wrong"


def test_the_nearest_contract_is_told_as_such(monkeypatch, tmp_path):
    parts = {"ctr": 0.5, "ecb_encrypt": 0.25}
    monkeypatch.setattr(guess, "score", lambda image, symbol, contract, key: parts.get(contract.name, 0.0))
    found = written(tmp_path, "ret", (), key_sizes=(16,))
    assert [promise.name for promise in found.promises] == ["ctr"]
    assert (found.guessed, found.fits) == (True, False)
    assert "no contract fits" in found.chosen
    assert "nearest to this one, with 50 % of the bytes" in found.chosen
    assert found.verdict.startswith("by the nearest contract, which may not be its own: ")


CARRY = """mov 8(%r8), %rax
 bswap %rax
 cmp $0xffffffff, %eax
 jne 1f
 nop
1: ret"""


def test_runs_go_on_to_where_none_has_been(tmp_path):
    """A path for counters about to carry, and one for a length that nobody asked for."""
    found = written(tmp_path, CARRY, ("ctr",), recorded=(16,))
    assert not any("never ran" in detail for detail in found.line("size").details)
    found = written(tmp_path, "cmp $1024, %rcx; jne 1f; nop; 1: ret", ("ecb_encrypt",), recorded=(16,))
    assert not any("never ran" in detail for detail in found.line("size").details)
    found = written(tmp_path, "cmp $1023, %rcx; jne 1f; nop; 1: ret", ("ecb_encrypt",), recorded=(16,))
    assert any("1 instruction never ran" in detail for detail in found.line("size").details)


AES128 = """movdqu (%rsi), %xmm0
 pxor (%rdi), %xmm0
 {rounds}
 aesenclast 160(%rdi), %xmm0
 movdqu %xmm0, (%rsi)
 ret"""


def test_code_for_aes_128_alone_is_held_against_nothing_else(tmp_path):
    rounds = "\n ".join(f"aesenc {16 * n}(%rdi), %xmm0" for n in range(1, 10))
    found = written(tmp_path, AES128.format(rounds=rounds), (), key_sizes=(16, 24, 32), on_hardware=())
    assert [promise.name for promise in found.promises] == ["xts_iv"]
    assert "with a 128-bit key, not with 256 bits: other key sizes are not asked" in found.chosen
    assert [(cell.key_bits, cell.proved) for cell in found.matrix] == [(128, True)]
    assert found.failed == []


def test_features_are_known_by_their_common_names():
    words = ["sse4_1", "AES-NI", "pclmul", "avx512vl", "FMA", "aes", "SSE4.1"]
    assert code.features_named(words) == ("SSE4.1", "AES", "PCLMULQDQ", "AVX512VL", "FMA")
    with pytest.raises(ValueError, match=r"declared feature must be one of 18, not AVX513; nearest: AVX512"):
        code.features_named(["AES", "AVX513"])


def test_of_many_functions_some_that_are_likely_are_named(tmp_path):
    names = [*(f"other_{n}" for n in range(50)), "my_aes_xts", "my_ctr"]
    text = "".join(f".globl {n}\n.type {n}, @function\n{n}: ret\n.size {n}, 1\n" for n in names)
    (tmp_path / "many.S").write_text(text)
    with pytest.raises(ValueError, match=r"many.S has 52 functions: .* such as my_aes_xts, my_ctr$"):
        review(Wanted(str(tmp_path / "many.S")))


DATA = ".globl f, g\n.type f, @function\n.type g, @function\n{}\nf: ret\n.text\ng: ret\n"


def test_a_function_that_is_no_code_is_left_out(tmp_path):
    path = tmp_path / "f.S"
    path.write_text(DATA.format(".data"))
    asked = Wanted(str(path), contracts=("xts_iv",), lengths=(0,), recorded=(0,), on_hardware=(), workers=1)
    found = review(asked)
    assert [f.name for f in found.functions] == ["g"]
    assert found.skipped == ("f: does not lie in code",)
    with pytest.raises(ValueError, match=r"f\.S: f does not lie in code"):
        review(replace(asked, functions=("f",)))


def test_a_function_of_more_instructions_than_any_has_is_read_in_part(tmp_path):
    (tmp_path / "f.S").write_text(f".globl f\nf: .fill {code.MOST + 9}, 1, 0x90\nret\n")
    found = code.read(load(tmp_path / "f.S"), "f")
    assert len(found.instructions) == code.MOST
    assert found.problems == ("more than 40,000 instructions: the rest is not read",)


def test_what_a_branch_depends_on_without_a_meaning_is_no_secret(tmp_path):
    found = written(tmp_path, "test %r9, %r9; jz 1f; nop; 1: ret", ("xts_iv",))
    assert found.line("secrets").verdict == OPEN
    line = found.line("uninitialised")
    assert line.verdict == FAILS
    assert "depends on whether a value of r9 at entry is zero: je +0x6 at +0x3" in line.details[0]


def test_places_are_told_from_the_functions_start(tmp_path):
    found = written(tmp_path, "nop; movb $0x90, 1f(%rip); 1: ret", ("xts_iv",))
    assert found.place == ".text+0x0"
    details = found.line("memory").details
    assert "write of 1 byte at +0x8: .text permits rx only; movb $0x90,+0x8 at +0x1" in details[0]


@pytest.mark.parametrize("option", ["-shared", "-no-pie"])
def test_places_in_a_linked_file_are_those_that_its_own_tools_show(tmp_path, option):
    source, linked = tmp_path / "f.S", tmp_path / "f"
    guard = "mov %fs:0x28, %rax"  # for which the loader has a section of its own
    source.write_text(f".globl _start\n_start: {guard}\n.globl f\n.type f, @function\nf: ret\n.size f, 1\n")
    subprocess.run(["cc", option, "-nostdlib", source, "-o", linked], check=True)
    shown = subprocess.run(["nm", linked], check=True, capture_output=True, text=True).stdout
    wanted = next(int(line.split()[0], 16) for line in shown.splitlines() if line.split()[2] == "f")
    image = load(linked)
    assert place(image, image.symbols["f"]) == f"{wanted:#x}"


def test_a_contract_of_few_lengths_is_met_at_its_own(tmp_path):
    found = written(tmp_path, "ret", ("cbc_streams_17",))
    assert {cell.length for cell in found.matrix} == {272, 544, 816}
    assert "272 bytes" in found.line("proof").details[0]
    if not unavailable():
        assert found.line("hardware").verdict == FAILS


def test_a_contract_without_a_length_is_not_told_of_bytes(tmp_path):
    native = Path(__file__).parents[2] / "native" / "keys.S"
    wanted = Wanted(str(native), ("keys_expand_aesni",), on_hardware=(16,), workers=1, cached=False)
    found = review(wanted).functions[0]
    assert found.line("proof").text == "the result is the model's, for every key"
    assert found.line("proof").evidence == "3 proofs over GF(2): AES-128/192/256"
    assert found.line("uninitialised").evidence.startswith("3 recorded runs")
    assert not any("0 bytes" in text for line in found.lines for text in (line.evidence, *line.details))
    assert not any("never ran" in detail for detail in found.line("size").details)
    assert "in place" not in found.line("hardware").text


def test_findings_of_one_kind_are_told_once():
    calls = [f"c, AES-128, {n} bytes: source: block 0 byte {n} is 0f, must be f0" for n in range(16, 19)]
    other = "c, AES-128, 33 bytes: a fault"
    assert grouped([*calls, other]) == (f"{calls[0]}; and 2 more like it", other)


@pytest.mark.parametrize(
    ("name", "said", "given"),
    [
        ("keys", "schedule[496], const key[32], 32 bits", ["key"]),
        (
            "xts_encrypt_first",
            "const context[992], const source[], destination[], length, tweak[16], 32 bits",
            ["key", "tweak"],
        ),
        (
            "ctr32",
            "const source[], destination[], length / 16, const key[244], const iv[16]",
            ["key", "counter"],
        ),
        ("cbc_streams_2", "const key[496], const source[], destination[], 64 bits, ivs[32], 32 bits", None),
    ],
)
def test_a_contract_is_told_by_its_arguments_and_inputs(name, said, given):
    assert signature.arguments(ALL[name]) == said
    if given:
        assert signature.inputs(ALL[name]) == given
