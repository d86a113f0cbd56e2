"""Stack pointers that a function aligns: right for every caller is proved, right for some alone is not."""

import pytest

from aeskit.contracts import Contract
from aeskit.machine.loader import load
from aeskit.verify.proving.proof import Prover


def setup(call):
    key, block = call.unknown("key", 16), call.unknown("block", 16)
    target = call.writable("block", block)
    call.arguments(call.readable("key", key), target)
    call.must(target, call.a.xor(block, key))


XOR = Contract("xor", "a block XOR a key", setup, has_length=False)
WORK = "vmovdqu (%rdi), %xmm0; vpxor (%rsi), %xmm0, %xmm0; {} vmovdqu %xmm0, (%rsi)"
THROUGH = "vmovdqa %ymm0, {0}; vpxor %xmm0, %xmm0, %xmm0; vmovdqa {0}, %ymm0;"


def finding(tmp_path, body):
    lines = body.replace("; ", "\n ").replace(";", "\n ")
    (tmp_path / "f.S").write_text(
        f".globl f\n.type f, @function\nf:\n {lines}\n vzeroupper\n ret\n.size f, .-f\n"
    )
    return "; ".join(Prover(load(tmp_path / "f.S")).prove("f", XOR, 0, 16).findings)


RIGHT = {
    "saved below": "mov %rsp, %r11; sub $96, %rsp; and $-32, %rsp; mov %r11, 64(%rsp); "
    + WORK.format(THROUGH.format("(%rsp)"))
    + "; mov 64(%rsp), %rsp",
    "as gcc aligns": "lea 8(%rsp), %r10; and $-32, %rsp; push -8(%r10); push %rbp; mov %rsp, %rbp; "
    "push %r10; sub $72, %rsp; "
    + WORK.format(THROUGH.format("-80(%rbp)"))
    + "; mov -8(%rbp), %r10; leave; lea -8(%r10), %rsp",
    "as clang aligns": "push %rbp; mov %rsp, %rbp; push %rbx; and $-64, %rsp; sub $128, %rsp; mov $1, %ebx; "
    "vpxor %xmm1, %xmm1, %xmm1; vmovdqa64 %zmm1, 64(%rsp); "
    + WORK.format(THROUGH.format("32(%rsp)"))
    + "; mov -8(%rbp), %rbx; lea -8(%rbp), %rsp; pop %rbx; pop %rbp",
    "aligned again and again": "mov %rsp, %r11; mov $9, %eax; 1: and $-32, %rsp; sub $64, %rsp; "
    + THROUGH.format("(%rsp)")
    + "mov %r11, %rsp; dec %eax; jnz 1b; "
    + WORK.format(""),
    "aligned twice, and the stack used again": "mov %rsp, %r11; sub $40, %rsp; and $-32, %rsp; "
    "mov %rsp, %r10; sub $64, %rsp; and $-64, %rsp; vpxor %xmm1, %xmm1, %xmm1; vmovdqa64 %zmm1, (%rsp); "
    "mov %r10, %rsp; "
    + WORK.format(THROUGH.format("(%rsp)"))
    + "; mov %r11, %rsp; push %rax; movq $3, -16(%r11); pop %rax",
}
ALIGN = "mov %rsp, %r11; sub $96, %rsp; and $-32, %rsp; "
BACK = "; mov %r11, %rsp"
DEEP = (
    "mov %rsp, %r11; and $-64, %rsp; sub $2048, %rsp; movdqu (%rsi), %xmm0; {}; movdqu 1248(%rsp), %xmm1; "
    "movdqu (%rdi), %xmm0; pxor %xmm1, %xmm0; movdqu %xmm0, (%rsi); mov %r11, %rsp"
)
"""As the frame is placed, 1248(%rsp) is -7000(%r11); for no caller it is."""
WRONG = {
    "aligned by the pointer before": (
        ALIGN + WORK.format(THROUGH.format("-56(%r11)")) + BACK,
        "nothing has aligned the stack",
    ),
    "to more than it was": (
        ALIGN + "vpxor %xmm1, %xmm1, %xmm1; vmovdqa64 %zmm1, (%rsp); " + WORK.format("") + BACK,
        "nothing has aligned the stack",
    ),
    "over what was saved": (
        "mov %rsp, %r11; mov %rdi, -8(%r11); "
        + ALIGN
        + "vpxor %xmm1, %xmm1, %xmm1; vmovdqa %ymm1, 64(%rsp); mov -8(%r11), %rdi; "
        + WORK.format("")
        + BACK,
        "over what was written before",
    ),
    "into the frame": (
        ALIGN
        + "vmovdqu (%rdi), %xmm2; vmovdqa %xmm2, 64(%rsp); movq $0, -32(%r11); vmovdqa 64(%rsp), %xmm2; "
        "vpxor (%rsi), %xmm2, %xmm2; vmovdqu %xmm2, (%rsi)" + BACK,
        "within the frame of the aligned",
    ),
    "into the frame from far above it": (DEEP.format("movdqu %xmm0, -7000(%r11)"), "lies another frame"),
    "into the frame by a sum": (
        DEEP.format("lea -3500(%r11), %rax; lea -3500(%rax), %rax; movdqu %xmm0, (%rax)"),
        "lies another frame",
    ),
    "into the frame by a subtraction": (
        DEEP.format("mov %r11, %rax; sub $7000, %rax; movdqu %xmm0, (%rax)"),
        "an address depends on the address",
    ),
    "into the frame by a pointer from before": (
        "sub $6000, %rsp; mov %rsp, %rax; add $6000, %rsp; " + DEEP.format("movdqu %xmm0, (%rax)"),
        "over what was written before",
    ),
    "by a pointer that was aligned elsewhere": (
        "mov %rsp, %r11; and $-64, %rsp; lea -64(%rsp), %r10; mov %r11, %rsp; sub $32, %rsp; and $-64, %rsp; "
        "sub $128, %rsp; movdqu (%rsi), %xmm0; movdqu %xmm0, (%r10); movdqu 128(%rsp), %xmm1; "
        "movdqu (%rdi), %xmm0; pxor %xmm1, %xmm0; movdqu %xmm0, (%rsi)" + BACK,
        "over what was written before",
    ),
    "aligned beside another": (
        ALIGN
        + "mov %r11, %rax; and $-64, %rax; vmovdqu (%rdi), %xmm2; vmovdqa %xmm2, 64(%rsp); movq $0, (%rax); "
        + "vmovdqa 64(%rsp), %xmm2; vpxor (%rsi), %xmm2, %xmm2; vmovdqu %xmm2, (%rsi)"
        + BACK,
        "older than one which is aligned already",
    ),
    "whether it moved": (
        "mov %rsp, %r11; and $-32, %rsp; cmp %rsp, %r11; je 1f; " + WORK.format("") + "; 1: mov %r11, %rsp",
        "hang on where the caller's memory lies",
    ),
    "by how much": (
        ALIGN + "mov %r11, %rax; sub %rsp, %rax; " + WORK.format("") + "; mov %rax, (%rsi)" + BACK,
        "hang on where the caller's memory lies",
    ),
}


@pytest.mark.parametrize("what", RIGHT)
def test_what_is_right_for_every_caller_is_proved(tmp_path, what):
    assert finding(tmp_path, RIGHT[what]) == ""


@pytest.mark.parametrize("what", WRONG)
def test_what_is_right_for_some_callers_is_not(tmp_path, what):
    body, text = WRONG[what]
    assert text in finding(tmp_path, body)
