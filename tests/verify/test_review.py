"""A review finds each deliberate fault of the samples, and nothing in the correct ones."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from aeskit.machine.loader import load
from aeskit.machine.silicon import unavailable
from aeskit.verify.review import code, guess, hardware, runs
from aeskit.verify.review.model import FAILS, HOLDS, OPEN, TOLD, Cell, Line, spans
from aeskit.verify.review.review import Wanted, review

pytest.importorskip("iced_x86", reason="decoding needs iced-x86")

SAMPLES = Path(__file__).parent / "samples"
KERNEL = [f"xts_encrypt_{flags}" for flags in ("piece", "first", "update", "first_update")]


def reviewed(name, lengths=(16, 33, 48), contracts=(), on_hardware=(), **options):
    wanted = Wanted(
        str(SAMPLES / f"{name}.S"),
        functions=(f"{name}_xts_encrypt",),
        contracts=contracts,
        lengths=lengths,
        key_sizes=(16, 32),
        recorded=(16, 33, 47, 64),
        on_hardware=on_hardware,
        workers=1,
        cached=False,
        **options,
    )
    made = review(wanted)
    assert len(made.functions) == 1
    return made.functions[0]


def test_the_legacy_function_is_proved_and_nothing_is_wrong():
    found = reviewed("library_sse", lengths=(*range(16, 34), 47, 48, 64))
    assert found.guessed
    assert [promise.name for promise in found.promises] == ["xts_encrypt_library"]
    assert found.failed == []
    assert all(cell.proved for cell in found.matrix)
    assert len(found.matrix) == 21 * 2 * 2
    for topic in ("proof", "memory", "secrets", "ABI", "uninitialised", "alignment", "landing pad"):
        assert found.line(topic).verdict == HOLDS, topic
    for line in found.lines:
        assert line.evidence, line.topic


def test_the_kernel_shape_is_guessed_with_all_its_flags_and_proved():
    found = reviewed("kernel_vaes_avx2")
    assert sorted(promise.name for promise in found.promises) == sorted(KERNEL)
    assert found.failed == []
    assert {cell.contract for cell in found.matrix} == set(KERNEL)
    for topic in ("proof", "secrets", "32-bit arguments", "vzeroupper"):
        assert found.line(topic).verdict == HOLDS, topic
    features = found.line("CPU features")  # what its name says is no declaration
    assert (features.verdict, "not needed" in features.text) == (TOLD, False)


@pytest.mark.parametrize(
    ("name", "topic", "words"),
    [
        ("past_tail", "memory", "past the end of source"),
        ("clobbers_rbx", "ABI", "rbx"),
        ("branches_on_key", "secrets", "K1[0]"),
        ("wrong_at_33", "proof", "33 bytes: destination: block 1 byte 0"),
    ],
)
def test_a_fault_of_the_library_shape_is_found(name, topic, words):
    found = reviewed(name)
    line = found.line(topic)
    assert line.verdict == FAILS
    assert any(words in detail for detail in line.details), line.details
    assert [other.topic for other in found.failed if other.topic != "hardware"] == [topic]


@pytest.mark.parametrize(
    ("name", "topic", "words"),
    [
        ("no_vzeroupper", "vzeroupper", "ymm0, ymm1"),
        ("wide_flags", "32-bit arguments", "the upper half of argument 6"),
    ],
)
def test_a_fault_of_the_kernel_shape_is_found(name, topic, words):
    found = reviewed(name, contracts=("xts_encrypt_first_update",))
    line = found.line(topic)
    assert not found.guessed
    assert line.verdict == FAILS
    assert any(words in detail for detail in line.details), line.details


def test_a_proof_that_ends_with_a_clobbered_register_still_proves_the_result():
    found = reviewed("clobbers_rbx", lengths=(16,))
    assert found.line("proof").verdict == HOLDS
    assert found.line("proof").text.startswith("the result is the model's")


@pytest.mark.skipif(bool(unavailable()), reason=f"needs single-stepping: {unavailable()}")
def test_a_guard_page_stops_what_reads_too_far():
    found = reviewed("past_tail", lengths=(16,), on_hardware=(31,))
    line = found.line("hardware")
    assert line.verdict == FAILS
    assert any(
        "a fault at byte 1 past the end of source" in detail and "guard page" in detail
        for detail in line.details
    )


OUTSIDE = """
.globl copy
.type copy, @function
copy: cmp $16, %edx
 jne 1f
 movdqu (%rdi), %xmm0
 movdqu %xmm0, (%rsi)
 ret
1: sub $8, %rsp
 call copy_block
 add $8, %rsp
 ret
.size copy, .-copy
"""
COPY = """
from aeskit.contracts import Contract

def setup(call):
    source, destination = call.data()
    call.arguments(source, destination, call.length)
    call.must(destination, call.source_data)

COPY = Contract("copy", "source to destination", setup, key_sizes=(16,), minimum=16, multiple=16)
"""


def test_a_function_of_another_file_is_no_fault_but_a_limit_of_the_review(tmp_path):
    (tmp_path / "copy.S").write_text(OUTSIDE)
    (tmp_path / "contract.py").write_text(COPY)
    wanted = Wanted(
        str(tmp_path / "copy.S"),
        contracts=("COPY",),
        contract_file=str(tmp_path / "contract.py"),
        lengths=(16, 32),
        recorded=(16, 32),
        on_hardware=(16, 32),
        workers=1,
        cached=False,
    )
    found = review(wanted).functions[0]
    assert found.failed == []
    line = found.line("proof")
    assert (line.verdict, line.text[-30:]) == (OPEN, "the result is proved at 16 bytes"[-30:])
    assert "copy_block is called, but copy.S does not define it" in line.details[0]
    assert found.line("memory").verdict == OPEN
    if not unavailable():
        assert found.line("hardware").verdict == OPEN
        assert "copy_block is called" in found.line("hardware").details[0]


def test_a_symbol_that_no_file_calls_a_function_is_reviewed_where_it_is_chosen(tmp_path):
    (tmp_path / "copy.S").write_text(OUTSIDE.replace(".type", "# "))
    (tmp_path / "contract.py").write_text(COPY)
    asked = {"contracts": ("COPY",), "contract_file": str(tmp_path / "contract.py"), "workers": 1}
    wanted = Wanted(
        str(tmp_path / "copy.S"), lengths=(16,), recorded=(16,), on_hardware=(), cached=False, **asked
    )
    told = (
        r"copy.S has no function with code that it calls one \(.type NAME, @function\); choose one of its "
        "symbols with --function: copy"
    )
    with pytest.raises(ValueError, match=told):
        review(wanted)
    assert [f.name for f in review(replace(wanted, functions=("copy",))).functions] == ["copy"]


def test_what_no_caller_checks_is_told():
    found = reviewed("library_sse", lengths=(16,), declared=("SSSE3",))
    line = found.line("CPU features")
    assert line.verdict == FAILS
    assert "not declared: AES" in line.text
    assert "aesenc" in line.details[0]


def test_a_wrong_result_comes_with_a_call_that_shows_it():
    found = reviewed("wrong_at_33")
    told = [text for text in found.line("proof").details if text.startswith("counterexample")]
    assert len(told) == 1
    assert "33 bytes: destination: block 1 byte " in told[0]
    assert unavailable() or told[0].endswith("; so it is on this CPU")
    call = found.counterexample
    values = {value.name: value.data for value in call.inputs}
    assert values == {"K1": "00" * 16, "K2": "01" + "00" * 15, "iv": "00" * 16, "data": "00" * 33}
    assert (call.buffer, call.block, len(call.expected)) == ("destination", 1, 66)
    assert call.expected[:32] == call.got[:32]
    assert call.expected[32:64] != call.got[32:64]
    assert call.command.startswith("aeskit step wrong_at_33.S:wrong_at_33_xts_encrypt --contract")


def test_a_read_too_far_comes_with_a_call_that_shows_it():
    call = reviewed("past_tail", lengths=(16, 17)).counterexample
    assert "a read of 16 bytes at source+16, 15 past its end" in call.text
    assert (call.inputs[-1].data, call.expected) == ("00" * 17, "")


def test_runs_with_other_keys_see_the_branch_as_well():
    found = reviewed("branches_on_key", lengths=(16,))
    assert any("a branch depends on the key" in detail for detail in found.line("secrets").details)


def test_every_length_of_code_in_another_style_is_proved():
    found = reviewed("library_sse", lengths=(16,), every_length=True)
    line = found.line("every length")
    assert line.verdict == HOLDS
    assert "16 bytes a step, from 48 bytes on by induction" in line.details[0]


def test_a_length_that_is_wrong_is_wrong_among_every_length():
    line = reviewed("wrong_at_33", lengths=(16,), every_length=True).line("every length")
    assert line.verdict == FAILS
    assert line.text == "not at every length: not at 33 bytes"


REVIEW_FIELDS = {"aeskit_review", "good", "file", "sha256", "code", "version", "cpu", "functions"}
REVIEW_FIELDS |= {"skipped", "options"}
FUNCTION_FIELDS = {"name", "place", "promises", "chosen", "guessed", "good", "verdict", "lines", "matrix"}
FUNCTION_FIELDS |= {"counterexample", "fits"}


def test_the_json_is_plain():
    wanted = Wanted(
        str(SAMPLES / "library_sse.S"), lengths=(16,), key_sizes=(16,), recorded=(16,), on_hardware=()
    )
    made = review(wanted)
    raw = json.loads(json.dumps(made.to_json()))
    assert raw["aeskit_review"] == 1
    assert raw["file"] == "library_sse.S"
    assert str(SAMPLES) not in json.dumps(raw)
    assert raw["functions"][0]["lines"][0]["topic"] == "proof"
    function = raw["functions"][0]
    assert set(raw) == REVIEW_FIELDS
    assert set(function) == FUNCTION_FIELDS
    assert set(function["lines"][0]) == {"topic", "verdict", "text", "evidence", "caveat", "details"}
    cell = {"contract", "key_bits", "in_place", "length", "findings", "proved"}
    assert set(function["matrix"][0]) == cell
    assert set(function["promises"][0]) == {"name", "title", "arguments"}
    assert (function["good"], function["verdict"][:13]) == (True, "nothing wrong")
    assert raw["skipped"] == ["library_sse_block: with no contract that is known it gives a right block"]


def test_bad_input_is_refused_in_words(tmp_path):
    with pytest.raises(ValueError, match="has no symbol nothing; it has"):
        review(Wanted(str(SAMPLES / "library_sse.S"), functions=("nothing",)))
    with pytest.raises(ValueError, match="contract must be one of"):
        review(Wanted(str(SAMPLES / "library_sse.S"), contracts=("none",)))
    os.mkfifo(tmp_path / "pipe.o")
    with pytest.raises(ValueError, match="must be a regular file: it is read more than once"):
        review(Wanted(str(tmp_path / "pipe.o")))
    broken = tmp_path / "broken.o"
    broken.write_bytes(b"no object")
    with pytest.raises(ValueError, match="must be an ELF file or assembler source"):
        review(Wanted(str(broken)))


def assembled(tmp_path, text):
    path = tmp_path / "code.S"
    path.write_text(f"#include <linux/linkage.h>\nSYM_FUNC_START(code)\n{text}\nSYM_FUNC_END(code)\n")
    return load(path)


def test_aligned_and_unaligned_accesses_are_told_apart(tmp_path):
    image = assembled(
        tmp_path,
        "movaps (%rdi), %xmm0; movups (%rdi), %xmm0; pxor (%rdi), %xmm0; movq (%rdi), %xmm0\n"
        "vpxor (%rdi), %xmm0, %xmm0; vmovdqa (%rdi), %ymm0; vmovdqu (%rdi), %ymm0\n"
        "vmovntdq %ymm0, (%rdi); ret",
    )
    needing = [i.mnemonic for i in code.read(image, "code").aligned]
    assert needing == ["movaps", "pxor", "vmovdqa", "vmovntdq"]


def test_features_are_those_of_the_bytes_beyond_x86_64(tmp_path):
    image = assembled(tmp_path, "endbr64; movups (%rdi), %xmm0; cmovc %rax, %rbx; pxor %xmm0, %xmm0; ret")
    assert code.read(image, "code").features == ()
    image = assembled(tmp_path, "vaesenc %ymm0, %ymm0, %ymm0; pshufb %xmm0, %xmm0; ret")
    assert set(code.read(image, "code").features) >= {"VAES", "SSSE3"}


def test_code_behind_a_jump_through_a_register_is_read():
    image = load(SAMPLES / "library_sse.S")
    found = code.read(image, "library_sse_xts_encrypt")
    assert len(found.indirect) == 1
    assert (
        sum(i.text.endswith("-0x10(%rsi)") and i.mnemonic == "mov" for i in found.instructions.values()) >= 1
    )
    assert found.problems == ()


def test_our_own_functions_need_no_guess():
    native = Path(__file__).parents[2] / "native" / "ecb.S"
    found = guess.guess(load(native), "ecb_encrypt_aesni_avx")
    assert found.certain
    assert [contract.name for contract in found.contracts] == ["ecb_encrypt"]


def test_forms_of_one_function_are_guessed_together(tmp_path):
    source = Path(__file__).parents[2] / "native" / "cbc.S"
    path = tmp_path / "cbc.S"
    path.write_text(source.read_text().replace("cts_", "theirs_cts_"))
    found = guess.guess(load(path, include=[source.parent]), "theirs_cts_encrypt_aesni_avx")
    assert not found.certain
    assert sorted(contract.name for contract in found.contracts) == [f"cts_encrypt_cs{n}" for n in (1, 2, 3)]


def test_a_function_that_keeps_no_contract_is_said_to(tmp_path):
    found = guess.guess(assembled(tmp_path, "xorl %eax, %eax; ret"), "code")
    assert found.contracts == ()


def test_lengths_are_told_as_stretches():
    assert spans([16, 17, 18, 33, 40, 41]) == "16–18, 33, 40–41"
    assert spans([0, 16, 32, 48, 64, 256, 512]) == "0–64 by 16, 256, 512"
    assert spans([*range(17, 32), *range(33, 48), 111, 113, 127]) == "17–31, 33–47, 111, 113, 127"
    assert spans([16, 32, 48]) == "16, 32, 48"
    assert (spans([5]), spans([])) == ("5", "")


def test_layouts_place_buffers_at_the_guard_pages():
    class Buffer:
        name, data, aligned = "source", bytes(33), False

    start, end = 0x2000_0000_0000, 0x2000_0000_1000
    first, second = hardware.LAYOUTS[:2]
    assert first.place(Buffer, start) + 33 == end
    assert second.place(Buffer, start) == start
    offsets = {layout.place(Buffer, start) % 16 for layout in hardware.LAYOUTS[2:17]}
    assert offsets == set(range(1, 16))


def test_a_finding_is_told_without_addresses_of_buffers():
    text = "read of 16 bytes at 0x200200000065: 15 bytes past the end of data; data is 0x20 to 0x30; movups"
    assert runs.tidy(text) == "read of 16 bytes: 15 bytes past the end of data; movups"


def test_verdicts_are_words():
    assert Line("a", TOLD, "b", "c").verdict in (HOLDS, FAILS, OPEN, TOLD)
    assert Cell("c", 128, False, 16).proved


def test_a_result_that_clean_upper_halves_put_right_is_told_so():
    line = reviewed("wide_flags").line("proof")
    assert line.verdict == FAILS
    assert line.text.endswith("; it is with clean upper halves of 32-bit arguments")
    assert "clean" not in reviewed("wrong_at_33").line("proof").text
