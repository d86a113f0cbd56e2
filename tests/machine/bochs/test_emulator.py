"""Calls, faults, limits and hooks of the emulator."""

from __future__ import annotations

import subprocess
import sys

import pytest

from aeskit.machine.bochs import Emulator, EmulatorError, map_image
from aeskit.machine.bochs.emulator import RETURN, STACK

FAULTS = """
read: nop
 mov (%rdi), %rax
 ret
write: mov %rax, (%rdi)
 ret
wide: vmovdqu64 (%rdi), %zmm0
 ret
undefined: ud2
halt: hlt
system: syscall
breakpoint: int3
divide: xor %ecx, %ecx
 div %ecx
aligned: vmovdqa64 1(%rsp), %zmm0
noncanonical: mov $0x8000000000000000, %rax
 mov (%rax), %rax
wild: mov $0x1234, %eax
 jmp *%rax
forever: jmp forever
loop: dec %rax
 jnz loop
 ret
deep: call deep
amx: ldtilecfg (%rdi)
"""


@pytest.mark.parametrize(
    ("name", "offset", "vector", "address"),
    [
        ("read", 1, 14, 0x5000),
        ("write", 0, 14, 0x5000),
        ("undefined", 0, 6, None),
        ("halt", 0, 13, None),
        ("system", 0, None, None),
        ("breakpoint", 1, 3, None),
        ("divide", 2, 0, None),
        ("aligned", 0, 13, None),
        ("noncanonical", 10, 13, None),
        ("amx", 0, 6, None),
        ("deep", 0, 14, STACK - 8),
    ],
)
def test_fault(program, name: str, offset: int, vector: int | None, address: int | None) -> None:
    emulator, image = program(FAULTS)
    for _ in range(3):  # a fault leaves the machine usable
        with pytest.raises(EmulatorError) as caught:
            emulator.call(image.symbols[name], [0x5000])
        assert caught.value.vector == vector
        assert caught.value.address == address
        assert caught.value.rip == image.symbols[name] + offset
        assert emulator.registers()["rip"] in (caught.value.rip, 0)


def test_wild_jump(program) -> None:
    emulator, image = program(FAULTS)
    with pytest.raises(EmulatorError, match="fetch of unmapped 0x1234, at rip 0x1234"):
        emulator.call(image.symbols["wild"], [])


def test_write_to_read_only_page(program) -> None:
    emulator, image = program(FAULTS)
    emulator.map(0x5000, b"constant", writable=False)
    with pytest.raises(EmulatorError, match="write of protected 0x5000"):
        emulator.call(image.symbols["write"], [0x5000])
    with pytest.raises(EmulatorError, match="write of protected"):  # so is the code
        emulator.call(image.symbols["write"], [image.symbols["write"]])


@pytest.mark.parametrize("over", range(1, 64, 9))
def test_overread_by_a_few_bytes(program, over: int) -> None:
    emulator, image = program(FAULTS)
    emulator.map(0x5000, bytes(4096))
    emulator.call(image.symbols["wide"], [0x6000 - 64])
    with pytest.raises(EmulatorError) as caught:
        emulator.call(image.symbols["wide"], [0x6000 - 64 + over])
    assert caught.value.address == 0x6000


@pytest.mark.parametrize("on_step", [None, lambda _: None])
@pytest.mark.parametrize("name", ["forever", "loop"])
def test_endless_loop(program, name: str, on_step) -> None:
    emulator, image = program(FAULTS)
    with pytest.raises(EmulatorError, match="no return in 1000 steps"):
        emulator.call(image.symbols[name], [], max_steps=1000, on_step=on_step)


def test_step_limit_is_exact_with_on_step(program) -> None:
    emulator, image = program("f: nop\n nop\n ret")
    emulator.call(image.symbols["f"], [], max_steps=3, on_step=lambda _: None)
    with pytest.raises(EmulatorError):
        emulator.call(image.symbols["f"], [], max_steps=2, on_step=lambda _: None)


def test_on_step_sees_addresses_and_registers(program) -> None:
    emulator, image = program("""
f: mov $5, %eax
 kmovq %rax, %k3
1: vpbroadcastq %rax, %zmm9
 sub $4, %eax
 jns 1b
 ret
""")
    trace = []
    result = emulator.call(
        image.symbols["f"],
        [],
        on_step=lambda rip: trace.append((rip - image.symbols["f"], emulator.registers())),
    )
    assert result == 0xFFFF_FFFD
    assert [at for at, _ in trace] == [0, 5, 10, 16, 19, 10, 16, 19, 21]
    assert [r["rip"] for _, r in trace] == [image.symbols["f"] + at for at, _ in trace]
    assert trace[2][1]["k3"] == 5
    assert [trace[i][1]["zmm9"] & 0xFF for i in (2, 3, 6)] == [0, 5, 1]
    assert trace[-1][1]["rflags"] & 0x80  # sign flag, set by sub


def test_on_step_error_ends_the_call(program) -> None:
    emulator, image = program("f: nop\n nop\n ret")

    def stop(rip: int) -> None:
        if rip == image.symbols["f"] + 1:
            raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        emulator.call(image.symbols["f"], [], on_step=stop)
    assert emulator.registers()["rip"] == image.symbols["f"] + 1
    emulator.call(image.symbols["f"], [])


def test_call_inside_on_step_is_refused(program) -> None:
    emulator, image = program("f: nop\n ret")
    other = Emulator()
    with pytest.raises(EmulatorError, match="another call"):
        emulator.call(image.symbols["f"], [], on_step=lambda _: other.call(0x1000, []) and None)


def test_arguments_and_stack(program) -> None:
    emulator, image = program("""
f: lea (%rdi,%rsi,2), %rax
 lea (%rax,%rdx,4), %rax
 lea (%rax,%rcx,8), %rax
 shl $4, %r8
 shl $5, %r9
 add %r8, %rax
 add %r9, %rax
 mov 8(%rsp), %rdi
 shl $6, %rdi
 add %rdi, %rax
 mov 16(%rsp), %rdi
 shl $7, %rdi
 add %rdi, %rax
 ret
g: lea 8(%rsp), %rax
 ret
""")
    assert emulator.call(image.symbols["f"], [1] * 8) == 255
    assert emulator.call(image.symbols["f"], [-1] + [0] * 7) == 2**64 - 1
    for count in range(10):
        assert emulator.call(image.symbols["g"], [0] * count) % 16 == 0
    assert emulator.registers()["rip"] == RETURN


def test_registers_survive_between_calls_and_emulators(program) -> None:
    one, image = program("f: vpaddq %zmm31, %zmm31, %zmm31\n kaddq %k7, %k7, %k7\n inc %r15\n ret")
    two = Emulator()
    map_image(two, image)
    big = sum(3 << 64 * i for i in range(8))
    one.set_registers({"zmm31": big, "k7": 5, "r15": 1, "mxcsr": 0x9FC0})
    for _ in range(3):
        one.call(image.symbols["f"], [])
        two.call(image.symbols["f"], [])
    assert one.registers()["zmm31"] == big * 8
    assert [one.registers()[name] for name in ("k7", "r15", "mxcsr")] == [40, 4, 0x9FC0]
    assert [two.registers()[name] for name in ("zmm31", "k7", "r15")] == [0, 0, 3]


@pytest.mark.parametrize("values", [{"zmm32": 0}, {"rax": 1 << 64}, {"k1": -1}])
def test_bad_register(values: dict[str, int]) -> None:
    with pytest.raises(EmulatorError):
        Emulator().set_registers(values)


def test_memory() -> None:
    emulator = Emulator()
    emulator.map(0x5FFF, b"abc")
    assert emulator.read(0x5FFE, 5) == b"\0abc\0"
    emulator.write(0x6000, b"XY")
    emulator.map(0x6001, b"z", writable=False)
    assert emulator.read(0x5FFF, 4) == b"aXz\0"
    for address, size in ((0x4FFF, 2), (0x6FFF, 2), (0x9000, 1)):
        with pytest.raises(EmulatorError, match="no memory"):
            emulator.read(address, size)
    with pytest.raises(EmulatorError):
        emulator.map(1 << 47, b"x")
    with pytest.raises(EmulatorError):
        emulator.map(0, b"x")


def test_code_can_be_replaced(program) -> None:
    emulator, image = program("f: mov $1, %eax\n ret")
    assert emulator.call(image.symbols["f"], []) == 1
    emulator.map(image.symbols["f"], b"\xb8\x02")
    assert emulator.call(image.symbols["f"], []) == 2


def test_many_emulators(program) -> None:
    _, image = program("f: mov (%rdi), %eax\n ret")
    many = [Emulator() for _ in range(20)]
    for number, emulator in enumerate(many):
        map_image(emulator, image)
        emulator.map(0x5000, bytes([number]))
    assert [emulator.call(image.symbols["f"], [0x5000]) for emulator in many] == list(range(20))


def test_process_ends_cleanly_with_a_live_emulator() -> None:
    text = "from aeskit.machine.bochs import Emulator\ne = Emulator()\ntry:\n e.call(4096, [])\n"
    text += "except Exception as error:\n kept = error\n"
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
