"""What the emulator gets wrong: the machine gives the SDM's value, so does this CPU, the emulator another.

The values are worked out by hand from the SDM's operation; where a mask spares a fault, what an Intel CPU of
family 6, model 207 does.
"""

import numpy as np
import pytest
from engines import NO_SILICON

from aeskit.cpu import detect
from aeskit.machine.bochs import errata
from aeskit.machine.bochs.steps import Bochs
from aeskit.machine.errors import MachineError
from aeskit.machine.memory import Memory, Region
from aeskit.machine.run import Machine
from aeskit.machine.silicon import Silicon

PAGE = 0x9000_0000
END = PAGE + 4096
NEGATIVE = bytes([0, 0, 0, 0, 0, 0, 0, 0x80]) * 2
COUNT = (64).to_bytes(8, "little") * 2
RAMP = bytes(range(16))


def result(assembled, engine, source, v, k, at):
    """The state after one instruction with rdi = `at`; None where it faults or is refused."""
    memory = Memory([Region("page", PAGE, np.arange(4096, dtype=np.uint8))])
    machine = Machine(assembled(source), memory)
    for number, data in v.items():
        machine.state.v[number, : len(data)] = np.frombuffer(data, np.uint8)
    for number, value in k.items():
        machine.state.k[number] = value
    machine.state.gpr[7] = at
    machine.start("f")
    if engine is None:
        try:
            machine.step()
        except MachineError:
            return None
        return machine.registers()
    other = engine(machine.memory)
    other.load(machine.registers())
    return other.step()[0]


SHIFTED = [
    ("vpsrlq $64, %xmm1, %xmm0", {1: RAMP}, bytes(16)),
    ("psrlq %xmm1, %xmm0", {0: RAMP, 1: COUNT}, bytes(16)),
    ("vpsravq %xmm2, %xmm1, %xmm0", {1: NEGATIVE, 2: COUNT}, b"\xff" * 16),
    ("vpinsrb $0, 1(%rdi), %xmm16, %xmm0", {}, bytes([1]) + bytes(15)),
]
FAULTS = [
    ("vextracti32x4 $0, %zmm1, (%rdi){%k1}", 0b0011, END - 8, True),
    ("vextracti32x4 $0, %zmm1, (%rdi){%k1}", 0b0011, END - 16, False),
    ("vbroadcasti32x4 (%rdi), %zmm0{%k1}", 0x3333, END - 8, False),
    ("vbroadcasti32x4 (%rdi), %zmm0{%k1}", 0x4333, END - 8, True),
    ("vmovdqa64 (%rdi), %zmm0{%k1}", 0x100, PAGE + 8, False),
    ("vmovdqa64 (%rdi), %zmm0{%k1}", 0x101, PAGE + 8, True),
    ("vmovdqa32 %xmm0, (%rdi){%k1}", 0x10, PAGE + 4, False),
    ("vmovddup (%rdi), %xmm0{%k1}", 0b11, END - 8, False),
]


def engines(source):
    need = "AVX512VL" if any(word in source for word in ("%k", "avq", "%xmm16")) else "AVX"
    return [None] if NO_SILICON or need not in detect().features else [None, Silicon]


@pytest.mark.parametrize(("source", "v", "expected"), SHIFTED, ids=[row[0] for row in SHIFTED])
def test_values(assembled, source, v, expected):
    for engine in engines(source):
        assert result(assembled, engine, source, v, {}, PAGE).v[0, :16].tobytes() == expected
    assert result(assembled, Bochs, source, v, {}, PAGE).v[0, :16].tobytes() != expected


def test_a_shift_of_a_mask_by_15_keeps_the_top_bit(assembled):
    source = "kshiftrw $15, %k1, %k2"
    for engine in engines(source):
        assert result(assembled, engine, source, {}, {1: 0x8000}, PAGE).k[2] == 1
    assert result(assembled, Bochs, source, {}, {1: 0x8000}, PAGE).k[2] == 0


@pytest.mark.parametrize(
    ("source", "mask", "at", "faults"), FAULTS, ids=[f"{r[0]} {r[1]:#x}" for r in FAULTS]
)
def test_faults_that_a_mask_spares(assembled, source, mask, at, faults):
    for engine in engines(source):
        assert (result(assembled, engine, source, {}, {1: mask}, at) is None) == faults


def test_the_emulator_spares_others(assembled):
    told = [
        (source, mask)
        for source, mask, at, faults in FAULTS
        if (result(assembled, Bochs, source, {}, {1: mask}, at) is None) != faults
    ]
    assert told == [(FAULTS[n][0], FAULTS[n][1]) for n in (0, 2, 4, 6, 7)]


def test_what_may_fault_otherwise(assembled):
    machines = {source: Machine(assembled(source), Memory([])) for source, *_ in FAULTS}
    told = [s for s, m in machines.items() if errata.faults_otherwise(m.instruction(m.image.symbols["f"]))]
    assert told == list(dict.fromkeys(row[0] for row in FAULTS[:7]))


def test_extractps_ignores_w(assembled):
    source = ".byte 0x62, 0xf3, 0xfd, 0x08, 0x17, 0xc8, 2"  # vextractps $2, %xmm1, %rax with EVEX.W = 1
    for engine in engines("%k"):
        assert result(assembled, engine, source, {1: RAMP}, {}, PAGE).gpr[0] == 0x0B0A0908
    assert result(assembled, Bochs, source, {1: RAMP}, {}, PAGE) is None
