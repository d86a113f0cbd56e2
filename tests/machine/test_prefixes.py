"""What the manuals reserve, or leave undefined, is refused; what they define of prefixes is done."""

import numpy as np
import pytest
from engines import NO_SILICON

from aeskit.machine.errors import MachineError, UnknownInstruction
from aeskit.machine.lockstep import lockstep
from aeskit.machine.memory import Memory, Region
from aeskit.machine.run import Machine
from aeskit.machine.silicon import Silicon

BUFFER = 0x9000_0000


@pytest.fixture
def machine(assembled):
    """Stands before a function that begins with these bytes: 3 in rcx, rsi and rdi in a buffer of a ramp."""

    def make(code):
        buffer = Region("buffer", BUFFER, np.arange(64, dtype=np.uint8))
        bytes_ = ", ".join(f"0x{byte:02x}" for byte in bytes.fromhex(code))
        made = Machine(assembled(f".byte {bytes_}"), Memory([buffer]))
        made.state.gpr[1], made.state.gpr[6], made.state.gpr[7] = 3, BUFFER, BUFFER + 32
        made.state.gpr[0] = 0x77
        return made

    return make


RESERVED = [
    ("f2 a4", "repne is reserved before movsb"),
    ("f2 48 a5", "repne is reserved before movsq"),
    ("f2 aa", "repne is reserved before stosb"),
    ("f2 f3 a4", "rep and repne are reserved before movsb"),
    ("f3 f2 aa", "rep and repne are reserved before stosb"),
    ("f3 f2 0f 10 c1", "rep and repne are reserved before movsd"),
    ("f3 01 c8", "rep is reserved before add"),
    ("f2 48 89 c8", "repne is reserved before mov"),
    ("f3 eb 00", "rep is reserved before jmp"),
]


@pytest.mark.parametrize(("code", "told"), RESERVED)
def test_a_reserved_prefix_is_refused(machine, code, told):
    with pytest.raises(UnknownInstruction, match=rf"{told} \(SDM volume 2, 2\.1\.1\): .* at 0x2c5b"):
        machine(code).call("f")


@pytest.mark.parametrize(
    "code", ["66 50", "65 40 66 41 56", "66 48 2e 50", "2e 42 66 68 e3 ea", "66 40 2e c3"]
)
def test_an_operand_size_before_the_stack_is_refused_wherever_it_stands(machine, code):
    """A REX prefix that no opcode follows counts for nothing, and does not end the prefixes."""
    with pytest.raises(UnknownInstruction, match="the semantics table has no"):
        machine(code).call("f")


UNDEFINED = ["66 0f c8", "66 41 0f c8", "66 0f a4 c2 11", "66 0f ac c2 1f"]
"""bswap of 16 bits (the AMD CPU that was seen gives 0), double shifts of 16 bits by more."""


@pytest.mark.parametrize("code", UNDEFINED)
def test_a_result_that_the_manual_leaves_undefined_is_none(machine, code):
    with pytest.raises(MachineError, match=r"of a result that the SDM leaves undefined: .* at 0x2c5b"):
        machine(code).call("f")


def test_a_double_shift_of_16_bits_by_as_many_is_defined(machine):
    made = machine("66 0f a4 c2 10")  # shld $16, %ax, %dx
    made.call("f")
    assert made.state.gpr[2] == 0x77


MEANT = [
    "f3 a4",
    "3e f3 a4",
    "26 66 f3 a5",
    "36 f3 48 ab",
    "66 2e 43 f3 48 a5",
    "f3 c3",
    "f2 c3",
    "f2 eb 00",
    "f3 90",
]


@pytest.mark.skipif(bool(NO_SILICON), reason=NO_SILICON or "-")
@pytest.mark.parametrize("code", MEANT)
def test_what_is_defined_is_one_step_with_the_state_that_the_cpu_has(machine, code):
    found = lockstep(machine(code), "f")
    assert str(found) in ("1 steps agree; returned", "2 steps agree; returned")


@pytest.mark.skipif(bool(NO_SILICON), reason=NO_SILICON or "-")
@pytest.mark.parametrize(("code", "meant"), [("f2 a4", "f3 a4"), ("f2 48 ab", "f3 48 ab")])
def test_the_cpus_seen_take_repne_before_movs_and_stos_for_rep(machine, code, meant):
    """No manual says so: why the machine, which could do the same, refuses."""
    ends = []
    for one in (code, meant):
        made = machine(one)
        made.start("f")
        with Silicon(made.memory) as silicon:
            silicon.load(made.registers())
            (step, _) = silicon.steps()
            ends.append((step.registers.gpr, silicon.read(BUFFER, 64)))
    assert ends[0] == ends[1]
    assert ends[0][0][1] == 0
