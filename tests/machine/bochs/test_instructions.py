"""Every instruction family the project needs, against arithmetic done in Python."""

from __future__ import annotations

import random

import pytest

IN, OUT = 0x10_0000, 0x20_0000
DATA = random.Random(1).randbytes(512)  # rdi: A, B, C, D of 64 bytes each, and more
A, B, C, D = (DATA[i : i + 64] for i in range(0, 256, 64))
MASK = 0x9_1234_5678_9ABC_DEF1 & (1 << 64) - 1  # rdx
LOAD = """
f: vmovdqu64 (%rdi), %zmm0
 vmovdqu64 64(%rdi), %zmm1
 vmovdqu64 128(%rdi), %zmm2
 kmovq %rdx, %k1
"""
STORE = "\n vmovdqu64 %zmm2, (%rsi)\n ret\n"


def lanes(data: bytes, size: int) -> list[int]:
    return [int.from_bytes(data[i : i + size], "little") for i in range(0, len(data), size)]


def pack(values: list[int], size: int) -> bytes:
    return b"".join((v % (1 << 8 * size)).to_bytes(size, "little") for v in values)


def where(size: int, new: bytes, old: bytes, mask: int = MASK) -> bytes:
    pairs = zip(lanes(new, size), lanes(old, size), strict=True)
    return pack([n if mask >> i & 1 else o for i, (n, o) in enumerate(pairs)], size)


def add(x: bytes, y: bytes, size: int) -> bytes:
    return pack([a + b for a, b in zip(lanes(x, size), lanes(y, size), strict=True)], size)


def xor(x: bytes, y: bytes) -> bytes:
    return bytes(a ^ b for a, b in zip(x, y, strict=True))


def product(x: int, y: int) -> int:
    """Carry-less product."""
    total = 0
    while y:
        total ^= x * (y & 1)
        x, y = x << 1, y >> 1
    return total


def clmul(x: bytes, y: bytes, high: tuple[int, int]) -> bytes:
    xs, ys = lanes(x, 8), lanes(y, 8)
    return pack([product(xs[i + high[0]], ys[i + high[1]]) for i in range(0, len(xs), 2)], 16)


def field(x: int, y: int) -> int:
    """Product in the AES field."""
    value = product(x, y)
    for bit in range(14, 7, -1):
        value ^= (value >> bit & 1) * (0x11B << bit - 8)
    return value


def sbox(x: int) -> int:
    inverse = next((y for y in range(256) if field(x, y) == 1), 0)
    bits = [inverse >> i & 1 for i in range(8)]
    new = [bits[i] ^ bits[i - 1] ^ bits[i - 2] ^ bits[i - 3] ^ bits[i - 4] for i in range(8)]
    return sum(bit << i for i, bit in enumerate(new)) ^ 0x63


def round_of_aes(state: bytes, key: bytes, last: bool = False) -> bytes:
    """One encryption round on each 16 bytes."""
    out = b""
    for at in range(0, len(state), 16):
        block = [sbox(state[at + (i + 4 * (i % 4)) % 16]) for i in range(16)]
        if not last:
            block = [
                field(2, block[i])
                ^ field(3, block[i // 4 * 4 + (i + 1) % 4])
                ^ block[i // 4 * 4 + (i + 2) % 4]
                ^ block[i // 4 * 4 + (i + 3) % 4]
                for i in range(16)
            ]
        out += xor(bytes(block), key[at : at + 16])
    return out


def shuffle(x: bytes, y: bytes) -> bytes:
    return bytes(0 if s & 128 else x[i & -16 | s & 15] for i, s in enumerate(y))


def ternary(table: int) -> bytes:
    def one(c: int, a: int, b: int) -> int:
        return sum((table >> ((c >> i & 1) * 4 + (a >> i & 1) * 2 + (b >> i & 1)) & 1) << i for i in range(8))

    return bytes(one(c, a, b) for c, a, b in zip(C, A, B, strict=True))


ZERO = bytes(64)
CASES = {
    "vpaddq %zmm0, %zmm1, %zmm2": add(A, B, 8),
    "vpaddq %zmm0, %zmm1, %zmm2{%k1}": where(8, add(A, B, 8), C),
    "vpaddq %zmm0, %zmm1, %zmm2{%k1}{z}": where(8, add(A, B, 8), ZERO),
    "vpaddd %zmm0, %zmm1, %zmm2{%k1}": where(4, add(A, B, 4), C),
    "vpaddb %zmm0, %zmm1, %zmm2{%k1}{z}": where(1, add(A, B, 1), ZERO),
    "vpaddq %ymm0, %ymm1, %ymm2{%k1}": where(8, add(A, B, 8)[:32], C[:32]) + bytes(32),
    "vpaddq (%rdi){1to8}, %zmm1, %zmm2": add(A[:8] * 8, B, 8),
    "vpxord %zmm0, %zmm1, %zmm2{%k1}": where(4, xor(A, B), C),
    "vpternlogq $0x96, %zmm0, %zmm1, %zmm2": xor(xor(A, B), C),
    "vpternlogd $0xca, %zmm1, %zmm0, %zmm2": ternary(0xCA),
    "vmovdqu8 %zmm0, %zmm2{%k1}": where(1, A, C),
    "vpblendmb %zmm0, %zmm1, %zmm2{%k1}": where(1, A, B),
    "valignq $3, %zmm0, %zmm1, %zmm2": (A + B)[24:88],
    "valignd $5, %zmm0, %zmm1, %zmm2": (A + B)[20:84],
    "vpalignr $5, %zmm0, %zmm1, %zmm2": b"".join(
        (A[i : i + 16] + B[i : i + 16])[5:21] for i in range(0, 64, 16)
    ),
    "vbroadcasti64x2 (%rdi), %zmm2": A[:16] * 4,
    "vbroadcasti32x4 16(%rdi), %zmm2": A[16:32] * 4,
    "vbroadcasti64x4 (%rdi), %zmm2": A[:32] * 2,
    "vpbroadcastq %rdx, %zmm2": (MASK.to_bytes(8, "little")) * 8,
    "vshufi64x2 $0x1b, %zmm0, %zmm0, %zmm2": b"".join(A[i : i + 16] for i in (48, 32, 16, 0)),
    "vinserti64x2 $2, %xmm1, %zmm0, %zmm2": A[:32] + B[:16] + A[48:],
    "vextracti64x2 $3, %zmm0, %xmm2": A[48:] + bytes(48),
    "vpermq %zmm0, %zmm1, %zmm2": pack([lanes(A, 8)[i & 7] for i in lanes(B, 8)], 8),
    "vpshufb %zmm1, %zmm0, %zmm2": shuffle(A, B),
    "vpshufb %zmm1, %zmm0, %zmm2{%k1}{z}": where(1, shuffle(A, B), ZERO),
    "vpslldq $3, %zmm0, %zmm2": b"".join(bytes(3) + A[i : i + 13] for i in range(0, 64, 16)),
    "vpsllq $7, %zmm0, %zmm2": pack([v << 7 for v in lanes(A, 8)], 8),
    "vpunpcklqdq %zmm0, %zmm1, %zmm2": b"".join(B[i : i + 8] + A[i : i + 8] for i in range(0, 64, 16)),
    "vaesenc %zmm0, %zmm1, %zmm2": round_of_aes(B, A),
    "vaesenclast %zmm0, %zmm1, %zmm2": round_of_aes(B, A, last=True),
    "vaesenc %ymm0, %ymm1, %ymm2": round_of_aes(B[:32], A[:32]) + bytes(32),
    "vaesenc 64(%rdi), %zmm1, %zmm2": round_of_aes(B, B),
    "vpclmulqdq $0x00, %zmm0, %zmm1, %zmm2": clmul(B, A, (0, 0)),
    "vpclmulqdq $0x11, %zmm0, %zmm1, %zmm2": clmul(B, A, (1, 1)),
    "vpclmulqdq $0x10, %zmm0, %zmm1, %zmm2": clmul(B, A, (0, 1)),
    "vpclmulqdq $0x01, %ymm0, %ymm1, %ymm2": clmul(B[:32], A[:32], (1, 0)) + bytes(32),
    "vgf2p8mulb %zmm0, %zmm1, %zmm2": bytes(map(field, A, B)),
    "vpaddq %zmm0, %zmm1, %zmm31\n vmovdqa64 %zmm31, %zmm2": add(A, B, 8),
    "vpaddq %ymm0, %ymm1, %ymm2": add(A, B, 8)[:32] + bytes(32),
    "vpermq $0x4e, %ymm0, %ymm2": A[16:32] + A[:16] + bytes(32),
    "kmovq %k1, %rax\n vpbroadcastq %rax, %zmm2": MASK.to_bytes(8, "little") * 8,
    "knotq %k1, %k2\n kshiftrq $8, %k2, %k2\n kmovq %k2, %rax\n vpbroadcastq %rax, %zmm2": pack(
        [(MASK ^ (1 << 64) - 1) >> 8] * 8, 8
    ),
    "vpcmpub $1, %zmm1, %zmm0, %k3\n kmovq %k3, %rax\n vpbroadcastq %rax, %zmm2": pack(
        [sum((a < b) << i for i, (a, b) in enumerate(zip(A, B, strict=True)))] * 8, 8
    ),
    "mov $21, %ecx\n bzhi %rcx, %rdx, %rax\n vpbroadcastq %rax, %zmm2": pack([MASK & (1 << 21) - 1] * 8, 8),
    "mov $13, %ecx\n shlx %rcx, %rdx, %rax\n vpbroadcastq %rax, %zmm2": pack([MASK << 13] * 8, 8),
    "rorx $9, %rdx, %rax\n vpbroadcastq %rax, %zmm2": pack([MASK >> 9 | MASK << 55] * 8, 8),
    "mov $0xff00ff00, %ecx\n pext %rcx, %rdx, %rax\n vpbroadcastq %rax, %zmm2": pack(
        [MASK >> 8 & 255 | (MASK >> 24 & 255) << 8] * 8, 8
    ),
    "movbe (%rdi), %rax\n vpbroadcastq %rax, %zmm2": A[:8][::-1] * 8,
}


@pytest.mark.parametrize("instruction", CASES)
def test_instruction(program, instruction: str) -> None:
    emulator, image = program(LOAD + instruction + STORE)
    emulator.map(IN, DATA, writable=False)
    emulator.map(OUT, bytes(64))
    emulator.call(image.symbols["f"], [IN, OUT, MASK])
    assert emulator.read(OUT, 64) == CASES[instruction]


@pytest.mark.parametrize("size", range(65))
def test_masked_load_and_store_stay_inside(program, size: int) -> None:
    """Masked-off bytes in an unmapped page neither fault nor change."""
    emulator, image = program("""
f: mov $-1, %rax
 bzhi %rdx, %rax, %rax
 kmovq %rax, %k1
 vmovdqu8 (%rdi), %zmm0{%k1}{z}
 vmovdqu8 %zmm0, (%rsi){%k1}
 ret
""")
    emulator.map(0x10_0000, bytes(4096 - size) + A[:size])
    emulator.map(0x20_0000, bytes([7]) * 4096)
    emulator.call(image.symbols["f"], [0x10_1000 - size, 0x20_1000 - size, size])
    assert emulator.read(0x20_0000, 4096) == bytes([7]) * (4096 - size) + A[:size]
    assert emulator.registers()["zmm0"] == int.from_bytes(A[:size], "little")
    assert emulator.registers()["k1"] == (1 << size) - 1


def test_cpuid(program) -> None:
    """The CPU says what it has: the features of Ice Lake, enabled in XCR0."""
    emulator, image = program(
        "f: mov %edi, %eax\n xor %ecx, %ecx\n cpuid\n ret\ng: xor %ecx, %ecx\n xgetbv\n ret"
    )
    emulator.call(image.symbols["f"], [7])
    seen = emulator.registers()
    assert all(seen["rbx"] >> bit & 1 for bit in (5, 8, 16, 17, 30, 31))  # AVX2 BMI2 F DQ BW VL
    assert all(seen["rcx"] >> bit & 1 for bit in (1, 8, 9, 10))  # VBMI GFNI VAES VPCLMULQDQ
    assert emulator.call(image.symbols["g"], []) == 0xE7
