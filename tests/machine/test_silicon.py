"""Stepping on this CPU: state, memory, faults, ends. Skipped, loudly, where ptrace is not allowed."""

import os
import time
from pathlib import Path

import numpy as np
import pytest
from engines import NO_SILICON

from aeskit.cpu import detect
from aeskit.machine import child, silicon
from aeskit.machine.errors import MachineError
from aeskit.machine.memory import Memory, Region
from aeskit.machine.run import RETURN
from aeskit.machine.silicon import Silicon, SiliconError
from aeskit.machine.state import Registers

pytestmark = pytest.mark.skipif(bool(NO_SILICON), reason=NO_SILICON or "-")

BUFFER, STACK = 0x9000_0010, 0x7FF0_0000


@pytest.fixture
def start(assembled):
    """A child that stands at the first instruction of a snippet: rdi points to 64 bytes of a ramp."""

    def make(source, **more):
        image = assembled(source)
        regions = [
            Region(s.name, s.address, np.frombuffer(s.data, np.uint8), s.permissions) for s in image.sections
        ]
        regions.append(Region("buffer", BUFFER, np.arange(64, dtype=np.uint8)))
        regions.append(Region("stack", STACK, np.zeros(8192, np.uint8)))
        made = Silicon(Memory(regions))
        registers = Registers(rip=image.symbols["f"], **more)
        registers.gpr[4], registers.gpr[7] = STACK + 8184, BUFFER
        made.write(STACK + 8184, RETURN.to_bytes(8, "little"))
        made.load(registers)
        return made

    return make


def test_every_instruction_with_the_state_after_it(start):
    with start("mov $7, %eax; add %rax, %rax; cmp $14, %eax; mov %rax, %r15") as child:
        steps = list(child.steps())
    assert [step.registers.gpr[0] for step in steps] == [7, 14, 14, 14, 14]
    assert [step.registers.flags >> 6 & 1 for step in steps] == [0, 0, 1, 1, 1]
    assert steps[0].registers.rip == steps[1].address
    assert steps[-1].registers.rip == RETURN
    assert steps[-1].registers.gpr[15] == 14
    assert child.stop.reason == "returned"


def test_vector_registers_are_loaded_and_read(start):
    features, v = detect().features, np.zeros((32, 64), np.uint8)
    v[:16, :16] = np.arange(256).reshape(16, 16)
    if "AVX" in features:
        v[:16, 16:32] = v[:16, :16][::-1]
    if "AVX512F" in features:
        v[:16, 32:] = 3
        v[16:] = 5
    with start("nop", v=v.copy()) as child:
        assert np.array_equal(child.registers().v, v)
        assert np.array_equal(next(child.steps()).registers.v, v)


def test_a_component_that_is_not_in_use_reads_as_zero(start):
    if "AVX" not in detect().features:
        pytest.skip("needs AVX")
    ones = np.full((32, 64), 255, np.uint8)
    with start("vzeroupper; vzeroall", v=ones) as child:
        first, second, _ = child.steps()
    assert first.registers.v[:16, :16].all()
    assert not first.registers.v[:16, 16:].any()
    assert not second.registers.v[:16].any()


def test_changed_memory_is_told_in_lines(start):
    with start("movb $9, 3(%rdi); mov (%rdi), %rax; movdqu %xmm0, 40(%rdi); push %rax; pop %rdx") as child:
        steps = list(child.steps())
        assert bytes(child.read(BUFFER, 4)) == bytes([0, 1, 2, 9])
    line = BUFFER & -64
    assert [[address for address, _ in step.changes] for step in steps] == [
        [line],
        [],
        [line, line + 64],
        [STACK + 8192 - 64],
        [],
        [],
    ]
    assert steps[0].changes[0][1][16:20] == bytes([0, 1, 2, 9])


def test_a_repeated_instruction_is_one_step(start):
    with start("mov $40, %ecx; mov $7, %eax; rep stosb; mov $3, %edx") as child:
        steps = list(child.steps())
        assert child.read(BUFFER, 42) == bytes([7] * 40 + [40, 41])
    assert [step.registers.gpr[1] for step in steps] == [40, 40, 0, 0, 0]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("mov 4096(%rdi), %eax", "an access to 0x90001010, which is not mapped or not permitted, at 0x2c5b"),
        ("mov %eax, f(%rip)", "an access to 0x2c5b"),
        ("mov 0, %eax", "an access to 0x0"),
        ("mov $0x8000000000000000, %rax; mov (%rax), %eax", "a general protection fault"),
        ("ud2", "an instruction that is undefined or that this CPU lacks at 0x2c5b"),
        ("xor %ecx, %ecx; div %ecx", "a divide error"),
        ("int3", "a breakpoint"),
        ("hlt", "a general protection fault"),
        ("mov $34, %eax; syscall", "a system call"),
        ("mov $0x12345678, %eax; jmp *%rax", "an access to 0x12345678"),
        ("movdqa 1(%rdi), %xmm0", "a general protection fault"),
    ],
)
def test_a_fault_is_told_and_the_child_lives_on(start, source, told):
    with start(source) as child:
        list(child.steps(limit=100))
        assert child.stop.fault
        assert child.stop.reason.startswith(told)
        assert child.registers().gpr[7] == BUFFER


def test_an_endless_loop_ends_at_the_limit(start):
    with start("1: jmp 1b") as child:
        assert sum(1 for _ in child.steps(limit=1000)) == 1000
        assert child.stop.reason == "limit"


def test_the_child_ends_with_its_object(start):
    with start("nop") as child:
        process = child._child.process
        os.kill(process, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    with pytest.raises(SiliconError, match="the child has ended"):
        child.registers()


def test_nothing_but_the_regions_is_mapped(start):
    with start("nop") as child:
        lines = Path(f"/proc/{child._child.process}/maps").read_text().splitlines()
        with pytest.raises(MachineError, match="no memory is mapped at 0x12345000"):
            child.read(0x12345000, 1)
    places = [line.split()[0] for line in lines if "vsyscall" not in line]
    assert len(places) == 4  # the stub, the code, the buffer, the stack


def test_where_ptrace_is_refused_it_says_so(monkeypatch):
    class Refusing:
        def __getattr__(self, name):
            return (lambda *_: -1) if name == "silicon_start" else getattr(silicon.lib, name)

    monkeypatch.setattr(child, "lib", Refusing())
    assert silicon.unavailable() == "single-stepping is not possible here: Operation not permitted (ptrace)"


def test_speed_is_told(start, record_property, capsys):
    source = "mov $5000, %ecx; 1: pxor %xmm0, %xmm1; movdqu %xmm1, (%rdi); dec %ecx; jnz 1b"
    with start(source) as child:
        began, made, reason = time.perf_counter(), 0, 0
        while not reason:
            steps, reason = child.run(silicon.BATCH)
            made += steps
        rate = made / (time.perf_counter() - began)
    with capsys.disabled():
        print(f"\nsilicon: {rate:,.0f} steps a second")
    assert made == 5000 * 4 + 2


def test_any_number_of_open_files_is_fine(start):
    """The child is given the shared memory under whatever number it has here."""
    opened = []
    try:
        for _ in range(12):
            with start("nop") as child:
                assert len(list(child.steps())) == 2
            opened.append(os.open(os.devnull, os.O_RDONLY))
    finally:
        for file in opened:
            os.close(file)
