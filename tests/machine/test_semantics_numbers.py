"""Single instructions in numbers, against values worked out by hand or by Python's own integers."""

import numpy as np
import pytest

from aeskit.machine.errors import MemoryFault, UnknownInstruction
from aeskit.machine.memory import Memory, Region
from aeskit.machine.run import Machine

BUFFER = 0x9000_0000
RAMP = bytes(range(64))


def execute(assembled, source, v=None, gpr=None, buffer=bytes(64), k=None):
    memory = Memory([Region("buffer", BUFFER, np.frombuffer(buffer, np.uint8).copy())])
    machine = Machine(assembled(source), memory)
    for number, data in (v or {}).items():
        machine.state.v[number, : len(data)] = np.frombuffer(data, np.uint8)
    for number, value in (gpr or {}).items():
        machine.state.gpr[number] = value
    for number, value in (k or {}).items():
        machine.state.k[number] = value
    machine.call("f")
    return machine


def test_legacy_keeps_and_vex_clears_the_upper_bits(assembled):
    assert execute(assembled, "pxor %xmm0, %xmm0", {0: RAMP}).state.v[0].tobytes() == bytes(16) + RAMP[16:]
    assert execute(assembled, "vpxor %xmm0, %xmm0, %xmm0", {0: RAMP}).state.v[0].tobytes() == bytes(64)


def test_masking_merges_and_zeroes(assembled):
    source, ones = "vmovdqu8 %zmm1, %zmm0{%k1}", b"\xff" * 64
    merged = execute(assembled, source, {0: RAMP, 1: ones}, k={1: 0b101})
    assert merged.state.v[0].tobytes() == b"\xff\x01\xff" + RAMP[3:]
    zeroed = execute(assembled, source + "{z}", {0: RAMP, 1: ones}, k={1: 0b101})
    assert zeroed.state.v[0].tobytes() == b"\xff\x00\xff" + bytes(61)


def test_a_masked_load_touches_only_what_is_set(assembled):
    source = "vmovdqu8 48(%rdi), %zmm0{%k1}{z}"
    machine = execute(assembled, source, gpr={7: BUFFER}, buffer=RAMP, k={1: 0xFFFF})
    assert machine.state.v[0].tobytes() == RAMP[48:] + bytes(48)
    with pytest.raises(MemoryFault, match="past the end of buffer"):
        execute(assembled, source, gpr={7: BUFFER}, buffer=RAMP, k={1: 0x1FFFF})


def test_broadcast_repeats_the_element(assembled):
    machine = execute(assembled, "vpaddq 8(%rdi){1to8}, %zmm1, %zmm0", gpr={7: BUFFER}, buffer=RAMP)
    assert machine.state.v[0].tobytes() == RAMP[8:16] * 8


def test_unaligned_memory_faults_in_legacy_sse_alone(assembled):
    with pytest.raises(MemoryFault, match="multiple of 16"):
        execute(assembled, "pxor 1(%rdi), %xmm0", gpr={7: BUFFER})
    execute(assembled, "vpxor 1(%rdi), %xmm0, %xmm0", gpr={7: BUFFER})


def signed(x):
    return x - (x >> 63 << 64)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("add %rsi, %rdi", lambda a, b: a + b),
        ("sub %rsi, %rdi", lambda a, b: a - b),
        ("imul %rsi, %rdi", lambda a, b: a * b),
        ("shld $7, %rsi, %rdi", lambda a, b: a << 7 | b >> 57),
        ("ror $9, %rdi", lambda a, b: a >> 9 | a << 55),
        ("bswap %rdi", lambda a, b: int.from_bytes(a.to_bytes(8, "little"), "big")),
        ("lea 5(%rdi,%rsi,4), %rdi", lambda a, b: a + 4 * b + 5),
        ("mov %esi, %edi", lambda a, b: b & 0xFFFFFFFF),
        ("movb %sil, %dil", lambda a, b: a & ~0xFF | b & 0xFF),
        ("cmp %rsi, %rdi; cmovb %rsi, %rdi", max),
        ("cmp %rsi, %rdi; setg %dil; movzx %dil, %edi", lambda a, b: int(signed(a) > signed(b))),
        ("add %rsi, %rdi; sbb %rdi, %rdi", lambda a, b: -(a + b >> 64)),
        ("push %rsi; pop %rdi", lambda a, b: b),
        ("call 1f; jmp 2f; 1: mov $3, %edi; ret; 2:", lambda a, b: 3),
    ],
)
@pytest.mark.parametrize(
    "values", [(3, 5), (1 << 63, 1), ((1 << 64) - 1, 2), (0x0123456789ABCDEF, 0xFEDC << 48)]
)
def test_scalar_results(assembled, source, expected, values):
    machine = execute(assembled, source, gpr={7: values[0], 6: values[1]})
    assert machine.state.gpr[7] == expected(*values) % (1 << 64)


def test_an_unknown_instruction_says_where(assembled):
    with pytest.raises(UnknownInstruction, match=r"no fsin: fsin at 0x2c5b.*\[d9 fe\].*:\d+\)"):
        execute(assembled, "fsin")
