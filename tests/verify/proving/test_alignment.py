"""Code that asks how a buffer is aligned, or how far apart two are, is proved for every answer."""

import re

import pytest
from click.testing import CliRunner

from aeskit.cli import main
from aeskit.contracts import Contract
from aeskit.machine.loader import load
from aeskit.verify.proving.proof import Prover


def copied(call):
    old, block = call.unknown("old", 40), call.unknown("block", 40)
    target = call.writable("target", old)
    source = call.readable("source", block, aligned=False)
    key = call.readable("key", call.unknown("K", 16))
    call.arguments(target, source, 40, key)
    call.must(target, block)


COPIED = Contract("copied", "40 bytes copied", copied, key_sizes=(16,), has_length=False)


def prove(folder, body):
    path = folder / "snippet.S"
    path.write_text(f".text\n.globl f\n.type f, @function\nf:\n{body}\nret\n".replace("; ", "\n"))
    return Prover(load(path), limit=1000).prove("f", COPIED, 0, 16)


PLAIN = "mov $40, %ecx; rep movsb"
# As gcc copies: the first and the last quadword, and between them aligned ones
BY_QUADWORDS = (
    "mov (%rsi), %rax; mov %rax, (%rdi); mov -8(%rsi,%rdx), %rax; mov %rax, -8(%rdi,%rdx); "
    "lea 8(%rdi), %r8; and $-8, %r8; sub %r8, %rdi; sub %rdi, %rsi; add %edx, %edi; shr $3, %edi; "
    "mov %edi, %ecx; mov %r8, %rdi; rep movsq"
)


@pytest.mark.parametrize(
    ("body", "cases"),
    [
        (BY_QUADWORDS, 8),
        ("test $15, %sil; jne 1f; movdqa (%rsi), %xmm0; 1: " + PLAIN, 16),
        ("mov %esi, %eax; and $15, %eax; sub %rax, %rsi; movdqa (%rsi), %xmm0; add %rax, %rsi; " + PLAIN, 1),
        ("test $15, %cl; jne 1f; " + PLAIN + "; 1:", 1),  # a key is at a multiple of 16
        ("test $7, %dil; je 1f; test $1, %dil; je 1f; nop; 1: " + PLAIN, 8),
        ("mov %rsp, %rax; and $-16, %rax; sub %rsp, %rax; add $8, %rax; jne 1f; " + PLAIN + "; 1:", 1),
        # of 40 bytes each: no less than that apart
        ("mov %rdi, %rax; sub %rsi, %rax; cmp $14, %rax; ja 1f; ud2; 1: " + PLAIN, 1),
        ("mov %rdi, %rax; sub %rsi, %rax; lea 8(%rax), %r8; cmp $15, %r8; ja 1f; ud2; 1: " + PLAIN, 1),
        ("mov %rdi, %rax; sub %rsi, %rax; cmp $80, %rax; ja 1f; nop; 1: " + PLAIN, 3),
        ("mov %rdi, %rax; sub %rsi, %rax; lea 8(%rax), %r8; cmp $80, %r8; jbe 1f; nop; 1: " + PLAIN, 3),
    ],
)
def test_each_answer_is_a_case(tmp_path, body, cases):
    proof = prove(tmp_path, body)
    if "sub %rax, %rsi" in body:  # what lies before the source may not be read
        assert re.search("bytes before source", proof.findings[0])
        return
    assert proof.proved, proof.findings
    assert proof.cases == cases


@pytest.mark.parametrize(
    ("body", "finding"),
    [
        # wrong where the target is at 5 modulo 8 alone
        ("mov %edi, %eax; and $7, %eax; " + PLAIN + "; cmp $5, %eax; jne 1f; movb $0, -1(%rdi); 1:",
         "target: block 2 byte 7 .* with target at 5 modulo 8"),
        (BY_QUADWORDS.replace("shr $3, %edi", "shr $3, %edi; dec %edi"), "target: block .* modulo 8"),
        ("test $7, %sil; jne 1f; movdqa (%rsi), %xmm0; 1: " + PLAIN, "must be a multiple of 16"),
        ("test $15, %sil; jne 1f; vmovdqa (%rsi), %ymm0; 1: " + PLAIN, "must be a multiple of 32"),
        ("test $31, %cl; jne 1f; " + PLAIN + "; 1:", "target: block 0 byte 0 .* key at 16 modulo 32"),
        ("mov %rdi, %rax; sub %rsi, %rax; cmp $80, %rax; jbe 1f; " + PLAIN + "; 1:", "target: block 0"),
        ("mov %rdi, %rax; sub %rsi, %rax; cmp $80, %rax; ja 1f; " + PLAIN + "; 1:", "target: block 0"),
        ("mov %rdi, %rax; sub %rsi, %rax; cmp $14, %rax; ja 1f; " + PLAIN + "; 1:", "target: block 0"),
        (PLAIN + "; mov %edi, %eax; and $7, %eax; mov %al, -1(%rdi)", "target: block 2 byte 7"),
        ("test $64, %dil; jne 1f; 1: " + PLAIN, "depends on"),
        ("lea 8(%rsp), %rax; and $31, %eax; jne 1f; 1: " + PLAIN, "depends on"),
    ],
)  # fmt: skip
def test_code_that_is_wrong_for_one_answer_is_not_proved(tmp_path, body, finding):
    proof = prove(tmp_path, body)
    assert proof.findings
    assert re.search(finding, proof.findings[0]), proof.findings


def message(call):
    source, target = call.data()
    call.arguments(source, target, call.length)
    call.must(target, call.source_data)


MESSAGE = Contract("message", "a message copied", message, key_sizes=(16,), minimum=16)
# Wrong where the target lies less than 64 bytes above the source
FAR_APART = """.text
.globl f
.type f, @function
f: mov %rsi, %rax
sub %rdi, %rax
mov %rsi, %r8
cmp $64, %rax
mov $0, %eax
setb %al
1: mov (%rdi), %cl
xor %al, %cl
mov %cl, (%rsi)
inc %rdi
inc %rsi
dec %rdx
jne 1b
ret
"""


def test_how_far_apart_long_buffers_lie_says_nothing_of_short_ones(tmp_path):
    """What a prover remembers of the longer message: the code is the same up to the loop."""
    path = tmp_path / "far.S"
    path.write_text(FAR_APART)
    prover = Prover(load(path), limit=2000)
    assert prover.prove("f", MESSAGE, 128, 16).findings == ()
    (found,) = prover.prove("f", MESSAGE, 16, 16).findings
    assert found.endswith(", for one answer to how far apart two buffers lie, which the code asks")


def at_three(folder):
    """ECB with a round too few where the destination lies at 3 modulo 8; the contract's keys of 128 bits."""
    path = folder / "three.S"
    rounds = "".join(f"movups {16 * n}(%rdi), %xmm1\naesenc %xmm1, %xmm0\n" for n in range(1, 9))
    path.write_text(
        ".globl f\n.type f, @function\nf: movups (%rsi), %xmm0\nmovups (%rdi), %xmm1\npxor %xmm1, %xmm0\n"
        f"{rounds}mov %edx, %eax\nand $7, %eax\ncmp $3, %eax\nje 1f\nmovups 144(%rdi), %xmm1\n"
        "aesenc %xmm1, %xmm0\n1: movups 160(%rdi), %xmm1\naesenclast %xmm1, %xmm0\nmovups %xmm0, (%rdx)\n"
        "ret\n.size f, .-f\n"
    )
    return path


def test_the_counterexample_lies_where_the_code_is_wrong(tmp_path):
    target, layout = f"{at_three(tmp_path)}:f", "with destination at 3 modulo 8"
    asked = ["--contract", "ecb_encrypt", "--key-bits", "128"]
    told = CliRunner().invoke(
        main, ["prove", target, *asked, "--lengths", "16", "--workers", "1", "--no-cache"]
    )
    said = " ".join(told.output.split())
    assert told.exit_code == 1
    assert f"ecb_encrypt, AES-128, 16 bytes, {layout}: destination: block 0 byte 0 is" in said
    assert "--at destination=3/8" in said
    for place, status in (("3/8", 1), ("11/16", 1), ("4/8", 0), ("0/16", 0)):
        done = CliRunner().invoke(
            main, ["step", target, *asked, "--bytes", "16", "--at", f"destination={place}"]
        )
        assert done.exit_code == status, (place, done.output)


@pytest.mark.parametrize(
    ("place", "must"),
    [
        ("destination=8/8", "at must be NAME=VALUE/MODULUS"),
        ("destination=1/3", "at must be NAME=VALUE/MODULUS"),
        ("target=1/8", "ecb_encrypt has no buffer 'target'; it has source, destination, key"),
        ("key=8/16", "key must lie at a multiple of 16, not at 8 modulo 16"),
    ],
)
def test_a_place_that_no_buffer_can_have_is_refused(tmp_path, place, must):
    asked = ["step", f"{at_three(tmp_path)}:f", "--contract", "ecb_encrypt", "--bytes", "16", "--at", place]
    done = CliRunner().invoke(main, asked)
    assert done.exit_code == 2
    assert must in " ".join(done.output.split())
