"""Code in the styles of others: compilers' idioms and hand-written ones that once were refused."""

import subprocess
from pathlib import Path

import pytest

from aeskit.contracts import ALL
from aeskit.machine.loader import load
from aeskit.verify.proving.proof import Prover


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


# ---- Counts of which the low byte alone is set, as LLVM does

ONE_BLOCK = """
.text
SYM_FUNC_START(f)
 COUNT
 movups (%rsi,%rax), %xmm0
 movups (%rdi), %xmm1
 pxor %xmm1, %xmm0
 .irp n, 1, 2, 3, 4, 5, 6, 7, 8, 9
 movups 16*\\n(%rdi), %xmm1
 aesenc %xmm1, %xmm0
 .endr
 movups 160(%rdi), %xmm1
 aesenclast %xmm1, %xmm0
 movups %xmm0, (%rdx)
 ret
SYM_FUNC_END(f)
"""


@pytest.mark.parametrize(
    ("count", "proved"),
    [
        ("mov $4, %r10b; mov $16, %eax; bzhi %r10, %rax, %rax", True),
        ("mov $5, %r10b; mov $16, %eax; shrx %r10, %rax, %rax", True),
        ("mov $0x0104, %r10w; mov $32, %eax; bextr %r10, %rax, %rax", True),
        ("mov $4, %r10b; mov $32, %eax; bextr %r10, %rax, %rax", False),
        ("mov $4, %r10b; xor %eax, %eax; bt %r10, %rax; adc %eax, %eax", True),
        ("mov $4, %r10b; mov $16, %eax; pext %r10, %rax, %rax; xor %eax, %eax", False),
        ("mov $4, %ah; mov $16, %r10d; bzhi %rax, %r10, %rax", False),
    ],
)
def test_what_stands_above_a_count_is_not_read(tmp_path, count, proved):
    text = ONE_BLOCK.replace("COUNT", count.replace("; ", "\n "))
    found = findings(prove(tmp_path, text, "ecb_encrypt", (16,)))
    assert (found == []) == proved, found


# ---- The tweak times x^8 by an affine map of bytes (GFNI)


def matrix(shift):
    """Rows of the map b -> bits of b times 0x87 from `shift` on, row 0 in the last byte (SDM volume 2)."""
    rows = [0] * 8
    for bit in range(8):
        product = 0
        for power in (0, 1, 2, 7):
            product ^= 1 << bit + power
        for row in range(8):
            rows[row] |= (product >> row + shift & 1) << bit
    return "0x" + bytes(rows).hex()


UPDATE = """
.section .rodata
.balign 8
low: .quad {low}
high: .quad {high}
.text
SYM_FUNC_START(f)
 mov 480(%rdi), %eax
 shr $2, %eax
 add $5, %eax
 movups (%r8), %xmm2
 mov $8, %r11d
1: movups (%rsi), %xmm0
 pxor %xmm2, %xmm0
 movups (%rdi), %xmm1
 pxor %xmm1, %xmm0
 lea 16(%rdi), %r9
 mov %eax, %r10d
2: movups (%r9), %xmm1
 aesenc %xmm1, %xmm0
 add $16, %r9
 dec %r10d
 jne 2b
 movups (%r9), %xmm1
 aesenclast %xmm1, %xmm0
 pxor %xmm2, %xmm0
 movups %xmm0, (%rdx)
 pshufd $0x13, %xmm2, %xmm3
 psrad $31, %xmm3
 paddq %xmm2, %xmm2
 mov $0x87, %ecx
 movq %rcx, %xmm4
 mov $1, %ecx
 pinsrd $2, %ecx, %xmm4
 pand %xmm4, %xmm3
 pxor %xmm3, %xmm2
 add $16, %rsi
 add $16, %rdx
 dec %r11d
 jne 1b
 movups (%r8), %xmm2
 movddup low(%rip), %xmm3
 movddup high(%rip), %xmm4
 movdqa %xmm2, %xmm1
 psrldq $15, %xmm1
 movdqa %xmm1, %xmm5
 gf2p8affineqb ${constant}, %xmm3, %xmm1
 gf2p8affineqb $0, %xmm4, %xmm5
 pslldq $1, %xmm5
 pslldq $1, %xmm2
 pxor %xmm1, %xmm2
 pxor %xmm5, %xmm2
 movups %xmm2, (%r8)
 ret
SYM_FUNC_END(f)
"""


@pytest.mark.parametrize(
    ("low", "high", "constant", "proved"),
    [
        (matrix(0), matrix(8), 0, True),
        (matrix(8), matrix(0), 0, False),
        (matrix(0), matrix(8), 1, False),
        ("0x" + bytes.fromhex(matrix(0)[2:])[::-1].hex(), matrix(8), 0, False),
    ],
)
def test_a_tweak_times_x_8_by_affine_maps(tmp_path, low, high, constant, proved):
    text = UPDATE.replace("{low}", low).replace("{high}", high).replace("{constant}", str(constant))
    found = findings(prove(tmp_path, text, "xts_encrypt_tweak", (128,), 32))
    assert (found == []) == proved, found


# ---- Counters in C, compiled here

COUNTERS = Path(__file__).parent / "samples" / "counters.c"


def compiled(folder, source, *options):
    out = folder / "compiled.o"
    subprocess.run(["gcc", "-maes", "-c", *options, str(source), "-o", str(out)], check=True)
    return Prover(load(out))


@pytest.mark.parametrize(
    ("step", "wrong"), [("by_bytes", 1), ("by_carries", 1), ("by_words", 4), ("by_bytes", 8), ("by_words", 8)]
)
def test_a_counter_stepped_in_parts(tmp_path, step, wrong):
    """Right to the first byte; wrong where the last carry is lost, which no small counter shows."""
    for last in (0, wrong):
        prover = compiled(tmp_path, COUNTERS, "-O1", f"-DSTEP={step}", f"-DLAST={last}")
        proof = prover.prove("ctr", ALL["ctr"], 16, 16)
        assert proof.proved == (last == 0), proof
        assert last == 0 or "is not what the model says" in proof.findings[0]
