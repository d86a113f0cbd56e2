"""Each finding is found where it is, in words, and nowhere else."""

import numpy as np
import pytest

from aeskit.machine import findings
from aeskit.machine.events import lanes
from aeskit.machine.memory import Memory, Region
from aeskit.machine.run import Machine

SOURCE, TARGET, BEHIND = 0x2000_0000, 0x3000_0000, 0x2000_0040


def regions():
    zeros = np.zeros(32, np.uint8)
    return [Region("source", SOURCE, zeros.copy(), "r"), Region("destination", TARGET, zeros.copy())]


def found(image, extra=()):
    given = [*regions(), *extra]
    machine = Machine(image, Memory(given))
    machine.state.gpr[7], machine.state.gpr[6], machine.state.gpr[3] = SOURCE, TARGET, 0x1234
    run = lanes(machine, "f")
    old, arguments = ["destination"], ["rdi", "rsi"]
    return findings.all_findings(run, given, machine.stack, old=old, arguments=arguments)


CLEAN = [
    "vmovdqu (%rdi),%ymm0; vmovdqu %ymm0,(%rsi); vzeroupper",
    "push %rbx; mov $1,%ebx; pop %rbx",
    "mov %rdi,-8(%rsp); mov -8(%rsp),%rax",
    "vpxor %xmm9,%xmm9,%xmm9; xor %eax,%eax; vmovdqu %xmm9,(%rsi)",
    "vpxorq %zmm20,%zmm20,%zmm20; vmovdqu64 %zmm20,%zmm21",
    "vmovdqu (%rdi),%xmm0",
    "vmovdqa64 %xmm16,%xmm8; mov %rbx,%r11; mov $1,%ebx; mov %r11,%rbx",
    "sub $4096,%rsp; movq $0,-128(%rsp); add $4096,%rsp",
    "pinsrq $1,(%rdi),%xmm3; pinsrq $0,8(%rdi),%xmm3; paddq %xmm3,%xmm3",
    "movlps (%rdi),%xmm3; pinsrd $3,(%rdi),%xmm3; pinsrd $2,(%rdi),%xmm3; movups %xmm3,(%rsi)",
]


@pytest.mark.parametrize("source", CLEAN)
def test_nothing_is_found_in_clean_code(assembled, source):
    assert found(assembled(source)) == []


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("mov 25(%rdi),%rax", "step 0: read of 8 bytes at 0x20000019: 1 bytes past the end of source"),
        ("nop; mov -1(%rdi),%al", "step 1: read of 1 bytes at 0x1fffffff: 1 bytes before source"),
        ("movq $0,(%rdi)", "step 0: write of 8 bytes at 0x20000000: source permits r only"),
        ("mov 8(%rsp),%rax", "step 0: a read of 8 bytes in the caller's part of the stack"),
        ("movq $0,-144(%rsp)", "step 0: a write of 8 bytes of the stack, 16 bytes below the red zone"),
        ("mov -16(%rsp),%rax", "is read before it is written"),
        ("mov (%rsi),%rax", "step 0: byte 0 of destination is read before it is written"),
        ("movl $0,(%rsi); mov (%rsi),%rax", "step 1: byte 4 of destination is read before it is written"),
        ("mov $1,%ebx", "rbx must be kept and is changed at the return"),
        ("vmovdqu (%rdi),%ymm3", "no vzeroupper before the return: the upper halves of ymm3 stay dirty"),
        ("vzeroupper; vpxor %ymm0,%ymm0,%ymm0", "the upper halves of ymm0 stay dirty"),
        ("vpxor %xmm1,%xmm2,%xmm3", "step 0: xmm2 is read, which nothing has set"),
        ("vmovdqa64 %xmm16,%xmm8; vpaddq %xmm8,%xmm8,%xmm8", "step 1: xmm8 is read, which nothing has set"),
        ("xor %eax,%eax; mov %r10,%rax; inc %rax", "step 2: rax is read, which nothing has set"),
        ("pinsrq $1,(%rdi),%xmm3; paddq %xmm3,%xmm3", "step 1: xmm3 is read, which nothing has set"),
        ("movhps (%rdi),%xmm3; pinsrd $1,%edi,%xmm3; por %xmm3,%xmm3", "step 2: xmm3 is read, which nothing"),
        ("pinsrq $1,%r11,%xmm3", "step 0: r11 is read, which nothing has set"),
        ("movhlps %xmm3,%xmm1", "step 0: xmm3 is read, which nothing has set"),
        ("add %r11,%rdi", "step 0: r11 is read, which nothing has set"),
        ("vmovdqu8 (%rdi),%xmm0{%k1}{z}", "step 0: k1 is read, which nothing has set"),
        ("pop %rcx; sub $8,%rsp; jmp *%rcx", "rsp is -8 bytes off at the return"),
    ],
)
def test_each_fault_is_told(assembled, source, message):
    assert any(message in str(finding) for finding in found(assembled(source)))


def test_wrong_bytes_are_told_by_block():
    before, after = {"a": bytes(40), "b": bytes(4)}, {"a": bytes(17) + b"\x7f" + bytes(22), "b": b"\1\0\0\1"}
    texts = [str(f) for f in findings.wrong_bytes({"a": bytes(17) + b"\x3c" + bytes(22)}, before, after)]
    assert texts == [
        "a: block 1 byte 1 is 7f, must be 3c",
        "b: block 0 byte 0 is 01, must be 00 (2 bytes are wrong)",
    ]
