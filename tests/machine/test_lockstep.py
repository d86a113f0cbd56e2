"""The machine beside silicon, and beside the emulator for what this CPU lacks, on our own functions."""

import re

import numpy as np
import pytest
from engines import NO_EMULATOR, NO_SILICON
from machine_calls import prepare

from aeskit import implementations
from aeskit.cpu import detect
from aeskit.machine import semantics
from aeskit.machine.bochs.steps import Bochs
from aeskit.machine.lockstep import lockstep
from aeskit.machine.memory import Memory, Region
from aeskit.machine.run import Machine
from aeskit.machine.silicon import Silicon

FILES = {"cts": "cbc"}
LENGTHS = {
    "xts": (17, 47, 300),
    "xts_sectors": (1536, 3072, 4608),
    "cbc_streams": (48, 144, 288),
    "ctr": (1, 130, 300),
    "cts": (16, 31, 290),
    "keys": (16, 24, 32),
}


def engine(row):
    """What can run the row here: this CPU, else the emulator; otherwise a skip that says what is missing."""
    if not row.can(detect()):
        if NO_SILICON:
            pytest.skip(NO_SILICON)
        return Silicon
    if NO_EMULATOR:
        pytest.skip(f"{row.name} needs {', '.join(row.can(detect()))}; {NO_EMULATOR}")
    return Bochs


@pytest.mark.parametrize("row", [row for row in implementations.ALL if row.built], ids=lambda row: row.name)
def test_machine_and_cpu_agree_after_every_instruction(native, row):
    image = native(FILES.get(row.mode, row.mode))
    for number, length in enumerate(LENGTHS.get(row.mode, (16, 112, 288))):
        bits = 8 * length if row.mode == "keys" else (128, 192, 256)[number]
        machine = prepare(image, row, length, bits, seed=number, in_place=number == 1 and row.mode != "keys")
        found = lockstep(machine, row.name, engine(row))
        assert str(found) == f"{found.steps} steps agree; returned"
        assert found.steps > 10


@pytest.fixture
def beside(assembled):
    """Run a snippet in lock-step on silicon; rdi points to a buffer of 64 bytes."""
    if NO_SILICON:
        pytest.skip(NO_SILICON)

    def run(source, prepare=lambda machine: None):
        buffer = Region("buffer", 0x9000_0000, np.arange(64, dtype=np.uint8))
        machine = Machine(assembled(source), Memory([buffer]))
        machine.state.gpr[7] = buffer.address
        prepare(machine)
        return lockstep(machine, "f")

    return run


@pytest.mark.parametrize(
    ("name", "source", "told"),
    [
        (
            "paddq",
            "nop; paddq %xmm0, %xmm1; nop",
            r"step 1, paddq .* in f.*: zmm1\[0\] is 0{32}, the machine has 01",
        ),
        ("paddq", "paddq %xmm0, %xmm1; nop", r"step 0, paddq"),
    ],
)
def test_the_first_register_that_differs_is_named(beside, monkeypatch, name, source, told):
    wrong = semantics.TABLE[name]
    faulty = semantics.Entry(name, lambda a, b: np.ones_like(a), wrong.kind, wrong.arity, wrong.element)
    monkeypatch.setitem(semantics.TABLE, name, faulty)
    found = beside(source)
    assert re.match(told, str(found))


def test_memory_that_differs_is_named(beside):
    def forget(machine):
        write = machine.memory.write
        machine.memory.write = lambda at, data: write(at, data * 0 if at == 0x9000_0008 else data)

    found = beside("mov %rdi, 8(%rdi)", forget)
    assert found.difference.name == "buffer+0xb"
    assert "buffer+0xb is 90, the machine has 00" in str(found)


def test_flags_that_are_undefined_are_not_compared_until_defined(beside):
    assert beside("mov $5, %eax; imul %eax, %eax; shl $9, %eax; bt $3, %eax; add $1, %eax").difference is None


def test_a_fault_that_both_meet_is_agreement(beside):
    assert beside("nop; mov 0x10000(%rdi), %eax").stop.startswith("an access to 0x90010000")
    assert beside("movdqa 1(%rdi), %xmm0").stop.startswith("a general protection fault")


def test_one_that_goes_on_where_the_other_stops_is_a_difference(beside):
    inside_the_page = beside("mov 64(%rdi), %eax")
    assert inside_the_page.difference.name == "run"
    assert "past the end of buffer" in str(inside_the_page)
