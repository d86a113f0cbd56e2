"""Code in the styles of others: compilers' idioms and hand-written ones that once were refused."""

import pytest

from aeskit.contracts import ALL
from aeskit.machine.loader import load
from aeskit.verify.proof import Prover


def prove(folder, text, contract, lengths, key_size=16):
    path = folder / "foreign.S"
    path.write_text(f"#include <linux/linkage.h>\n{text}\n")
    prover = Prover(load(path))
    layouts = (False, True) if ALL[contract].has_length else (False,)
    return [prover.prove("f", ALL[contract], n, key_size, layout) for n in lengths for layout in layouts]


def findings(proofs):
    return [finding for proof in proofs for finding in proof.findings]


# ---- A counter's carry, found by comparing the sum with what was added to (mask registers)

COUNTER = """
.section .rodata
swap: .byte 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
one: .quad 1, 0
.text
SYM_FUNC_START(f)
 vmovdqu swap(%rip), %xmm5
 vmovdqu (%r8), %xmm0
 vpshufb %xmm5, %xmm0, %xmm0
 mov 480(%rdi), %eax
 shr $2, %eax
 add $5, %eax
1: test %rcx, %rcx
 je 3f
 vpshufb %xmm5, %xmm0, %xmm1
 vpxor (%rdi), %xmm1, %xmm1
 lea 16(%rdi), %r9
 mov %eax, %r10d
2: vaesenc (%r9), %xmm1, %xmm1
 add $16, %r9
 dec %r10d
 jne 2b
 vaesenclast (%r9), %xmm1, %xmm1
 mov $-1, %r10
 mov $16, %r9d
 cmp %rcx, %r9
 cmova %rcx, %r9
 bzhi %r9, %r10, %r10
 kmovq %r10, %k1
 vmovdqu8 (%rsi), %xmm2{%k1}{z}
 vpxord %xmm2, %xmm1, %xmm1
 vmovdqu8 %xmm1, (%rdx){%k1}
 sub %r9, %rcx
 add %r9, %rsi
 add %r9, %rdx
 CARRY
 jmp 1b
3: vpshufb %xmm5, %xmm0, %xmm0
 vmovdqu %xmm0, (%r8)
 ret
SYM_FUNC_END(f)
"""
BELOW = """
 vpaddq one(%rip), %xmm0, %xmm3
 vpcmpuq $1, %xmm0, %xmm3, %k1
 kaddb %k1, %k1, %k1
 vpternlogd $0xff, %xmm4, %xmm4, %xmm4
 vpsubq %xmm4, %xmm3, %xmm3{%k1}
 vmovdqa %xmm3, %xmm0
"""
NOT_ABOVE = BELOW.replace("vpcmpuq $1", "vpcmpuq $2")
"""True of the upper quadword too, to which nothing is added; kaddb moves that answer out."""
WRONG_CARRIES = {
    "not below": BELOW.replace("vpcmpuq $1", "vpcmpuq $5"),
    "signed": BELOW.replace("vpcmpuq", "vpcmpq"),
    "unmoved": BELOW.replace("kaddb %k1, %k1, %k1", ""),
    "equal": BELOW.replace("vpcmpuq $1", "vpcmpuq $0"),
    "none": "vpaddq one(%rip), %xmm0, %xmm0",
}


@pytest.mark.parametrize("carry", [BELOW, NOT_ABOVE])
def test_a_carry_found_by_comparing_sum_and_summand_is_proved(tmp_path, carry):
    proofs = prove(tmp_path, COUNTER.replace("CARRY", carry), "ctr", (0, 1, 16, 40))
    assert not findings(proofs)
    assert max(proof.cases for proof in proofs) > 1


@pytest.mark.parametrize("carry", WRONG_CARRIES)
def test_a_carry_found_otherwise_is_not(tmp_path, carry):
    assert findings(prove(tmp_path, COUNTER.replace("CARRY", WRONG_CARRIES[carry]), "ctr", (16,)))
