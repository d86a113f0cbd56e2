"""Whole AES code: against `cryptography`, and against this CPU where it can run it."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from aeskit.machine.bochs import Emulator, map_image
from aeskit.machine.loader import load

# ecb(keys: 15 round keys, in, out, bytes: a multiple of 16)
ZMM = (
    ".globl ecb\necb:\n"
    + "".join(f" vbroadcasti64x2 {16 * i}(%rdi), %zmm{16 + i}\n" for i in range(15))
    + """
1: mov $-1, %rax
 cmp $64, %rcx
 jae 2f
 bzhi %rcx, %rax, %rax
2: kmovq %rax, %k1
 vmovdqu8 (%rsi), %zmm0{%k1}{z}
 vpxorq %zmm16, %zmm0, %zmm0
"""
    + "".join(f" vaesenc %zmm{16 + i}, %zmm0, %zmm0\n" for i in range(1, 14))
    + """
 vaesenclast %zmm30, %zmm0, %zmm0
 vmovdqu8 %zmm0, (%rdx){%k1}
 add $64, %rsi
 add $64, %rdx
 sub $64, %rcx
 ja 1b
 vzeroupper
 ret
"""
)
# mix(state: 32 bytes in and out, keys: 32 bytes, rounds); every step in ymm
YMM = """
.globl mix
mix: vmovdqu (%rdi), %ymm0
 vmovdqu (%rsi), %ymm1
 vmovdqu order(%rip), %ymm3
1: vaesenc %ymm1, %ymm0, %ymm0
 vpclmulqdq $0x10, %ymm0, %ymm1, %ymm2
 vpshufb %ymm3, %ymm2, %ymm2
 vpaddq %ymm2, %ymm1, %ymm1
 vaesdec %ymm1, %ymm0, %ymm4
 vpermq $0x39, %ymm4, %ymm4
 vpxor %ymm4, %ymm0, %ymm0
 vpalignr $5, %ymm0, %ymm1, %ymm5
 vpsrlvq %ymm3, %ymm5, %ymm5
 vpblendd $0x5a, %ymm5, %ymm0, %ymm0
 vaesdeclast %ymm0, %ymm1, %ymm1
 dec %rdx
 jnz 1b
 vmovdqu %ymm0, (%rdi)
 vpmovmskb %ymm1, %eax
 vzeroupper
 ret
.data
order: .byte 3,2,1,0, 7,6,5,4, 11,10,9,8, 15,14,13,12, 9,0,0,0,0,0,0,0, 128,1,0,0,0,0,0,0
"""
CPU_FLAGS = Path("/proc/cpuinfo").read_text().split()


def round_keys(key: bytes) -> bytes:
    """AES-256 key expansion: 15 round keys of 16 bytes."""
    words = [key[i : i + 4] for i in range(0, 32, 4)]
    for i in range(8, 60):
        word = words[-1]
        if i % 8 == 0:
            word = substitute(word[1:] + word[:1])
            word = bytes([word[0] ^ 1 << i // 8 - 1]) + word[1:]
        elif i % 8 == 4:
            word = substitute(word)
        words.append(bytes(a ^ b for a, b in zip(words[i - 8], word, strict=True)))
    return b"".join(words)


def substitute(word: bytes) -> bytes:
    return bytes(SBOX[x] for x in word)


def make_sbox() -> list[int]:
    """The AES S-box, from the powers of 3 in its field."""
    powers, value = [], 1
    for _ in range(255):
        powers.append(value)
        value ^= (value << 1) ^ (0x11B if value & 128 else 0)
    boxes = [0x63] + [0] * 255
    for i, power in enumerate(powers):
        inverse = powers[-i % 255]
        spread = inverse ^ inverse << 1 ^ inverse << 2 ^ inverse << 3 ^ inverse << 4
        boxes[power] = (spread ^ spread >> 8) & 255 ^ 0x63
    return boxes


SBOX = make_sbox()


@pytest.mark.parametrize("blocks", [1, 2, 3, 4, 5, 8, 31])
def test_aes_256_ecb_in_zmm(program, blocks: int) -> None:
    emulator, image = program(ZMM)
    key, text = os.urandom(32), os.urandom(16 * blocks)
    source, target = 0x10_1000 - len(text), 0x20_1000 - len(text)  # ends at the end of a page
    emulator.map(0x5000, round_keys(key), writable=False)
    emulator.map(source, text, writable=False)
    emulator.map(target, bytes(len(text)))
    emulator.call(image.symbols["ecb"], [0x5000, source, target, len(text)])
    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()
    assert emulator.read(target, len(text)) == encryptor.update(text)


@pytest.mark.skipif(not {"vaes", "vpclmulqdq"} <= set(CPU_FLAGS), reason="this CPU has no VAES")
@pytest.mark.parametrize("kind", [["-c"], ["-shared", "-nostdlib"]])
def test_ymm_against_this_cpu(assemble, kind: list[str]) -> None:
    native = ctypes.CDLL(str(assemble(YMM, "-shared", "-nostdlib")))
    native.mix.restype = ctypes.c_uint64
    image = load(assemble(YMM, *kind))
    emulator = Emulator()
    map_image(emulator, image)
    for rounds in [*range(1, 20), 1000]:
        state, keys = os.urandom(32), os.urandom(32)
        emulator.map(0x10_0000, state)
        emulator.map(0x20_0000, keys)
        buffer = ctypes.create_string_buffer(state, 32)
        expected = native.mix(buffer, keys, ctypes.c_uint64(rounds))
        result = emulator.call(image.symbols["mix"], [0x10_0000, 0x20_0000, rounds])
        assert (result, emulator.read(0x10_0000, 32)) == (expected, buffer.raw)
