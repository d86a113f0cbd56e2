"""Stand-ins for functions of the C library and of the kernel that code calls and its file does not define.

Compilers copy and clear by calls of memcpy and memset. Here they are machine code that does what the C
standard says, byte by byte, so every engine runs it; the registers that a callee may change are spoiled by
it, and made unknown in a proof (`proving`). The kernel's thunks are what they stand for: a return, a
jump through a register; of profiling hooks nothing is done, and they keep every register.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from aeskit.machine.counters import Unknown
from aeskit.machine.decode import GPR_NAMES, Instruction
from aeskit.machine.errors import MachineError
from aeskit.machine.masks import UnsetMask

if TYPE_CHECKING:
    from aeskit.machine.run import Machine

SOURCE = """
__memcpy_chk:
    cmp %rdx, %rcx
    jb trap
memcpy:
    mov %rdi, %rax
    mov %rdx, %rcx
    rep movsb
    call spoil
    ret
__memmove_chk:
    cmp %rdx, %rcx
    jb trap
memmove:
    mov %rdi, %rax
    mov %rdx, %rcx
    cmp %rsi, %rdi
    jbe forward
backward:
    test %rcx, %rcx
    je moved
    dec %rcx
    mov (%rsi,%rcx), %dl
    mov %dl, (%rdi,%rcx)
    jmp backward
forward:
    rep movsb
moved:
    call spoil
    ret
bzero:
    mov %rsi, %rcx
    xor %eax, %eax
    rep stosb
    mov $0xb0b0b0b0, %eax
    call spoil
    ret
__memset_chk:
    cmp %rdx, %rcx
    jb trap
memset:
    mov %rdi, %r8
    mov %esi, %eax
    mov %rdx, %rcx
    rep stosb
    mov %r8, %rax
    call spoil
    ret
spoil:
    mov $0xc1c1c1c1, %ecx
    mov $0xd2d2d2d2, %edx
    mov $0xe3e3e3e3, %esi
    mov $0xf4f4f4f4, %edi
    mov $0x85858585, %r8d
    mov $0x96969696, %r9d
    mov $0xa7a7a7a7, %r10d
    mov $0xb8b8b8b8, %r11d
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    pcmpeqd %xmm\\n, %xmm\\n
    .endr
kept:
    ret
traced:
    ret
trap:
    ud2
    .irp r, rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8, r9, r10, r11, r12, r13, r14, r15
    .p2align 3
jump_\\r:
    jmp *%\\r
    .endr
"""
"""What `CODE` is, for the GNU assembler; a test holds the two together."""

CODE = bytes.fromhex(
    """
    4839d10f82de0000004889f84889d1f3a4e85b000000c34839d10f82c70000004889f84889d14839f776104885c9740d
    48ffc98a140e88140febf0f3a4e82f000000c34889f131c0f3aab8b0b0b0b0e81d000000c34839d10f82890000004989
    f889f04889d1f3aa4c89c0e801000000c3b9c1c1c1c1bad2d2d2d2bee3e3e3e3bff4f4f4f441b88585858541b9969696
    9641baa7a7a7a741bbb8b8b8b8660f76c0660f76c9660f76d2660f76db660f76e4660f76ed660f76f6660f76ff66450f
    76c066450f76c966450f76d266450f76db66450f76e466450f76ed66450f76f666450f76ffc3c30f0b0f1f8000000000
    ffe0660f1f440000ffe1660f1f440000ffe2660f1f440000ffe3660f1f440000ffe4660f1f440000ffe5660f1f440000
    ffe6660f1f440000ffe7660f1f44000041ffe00f1f44000041ffe10f1f44000041ffe20f1f44000041ffe30f1f440000
    41ffe40f1f44000041ffe50f1f44000041ffe60f1f44000041ffe7
    """
)

NAME, ADDRESS = "stand-ins", 0x2C5A_0000
"""The section in which they lie, and where: below what is loaded."""
FUNCTIONS = {
    "__memcpy_chk": 0,
    "memcpy": 9,
    "__memmove_chk": 23,
    "memmove": 32,
    **dict.fromkeys(("bzero", "explicit_bzero", "memzero_explicit", "OPENSSL_cleanse"), 67),
    "__memset_chk": 85,
    "memset": 94,
    "__x86_return_thunk": 229,
    **dict.fromkeys(("mcount", "__fentry__"), 230),
    **{f"__x86_indirect_thunk_{name}": 240 + 8 * n for n, name in enumerate(GPR_NAMES)},
}
"""Names that have a stand-in, and where in `CODE` it begins."""
RETURNS = {22: "memcpy", 66: "memmove", 84: "bzero", 112: "memset"}
"""Where a function returns that may have changed what the ABI lets it change."""
TRACED = 230
"""Where a profiling hook returns: it may have used the stack below its return address."""
COPY = 15
"""Where memcpy copies: C leaves undefined what it does where the two overlap."""

CHANGED = (1, 2, 6, 7, 8, 9, 10, 11)
"""rcx rdx rsi rdi r8 to r11 (System V AMD64 ABI, figure 3.4); rax is what the function gives back, if any."""
RAX, RCX, RSI, RDI = 0, 1, 6, 7
VALUED = frozenset({"memcpy", "memmove", "memset"})
"""Functions that give something back."""

Execute = Callable[[], int | None]


def told(names: Sequence[str]) -> str:
    """What a report says of functions that were called and are not in the file."""
    return (
        f"{', '.join(names)}: called, and not in the file; a stand-in does what the C standard says, "
        "and leaves of the registers only those that the ABI keeps."
    )


def proving(machine: Machine, execute: Execute, instruction: Instruction, base: int) -> Execute:
    """An instruction of `CODE`, which lies at `base`, as a proof needs it."""
    at = instruction.address - base
    if at == COPY:
        return _apart(machine, execute)
    if at == TRACED:
        return _below(machine, execute)
    return _leaving(machine, _below(machine, execute), RETURNS[at]) if at in RETURNS else execute


def _apart(machine: Machine, execute: Execute) -> Execute:
    gpr = machine.state.gpr

    def copy() -> int | None:
        known = [value for value in (gpr[RSI], gpr[RDI], gpr[RCX]) if type(value) is int]
        if len(known) == 3 and 0 < abs(known[0] - known[1]) < known[2]:
            raise MachineError("memcpy is called for bytes that overlap, which C leaves undefined")
        return execute()

    return copy


def _below(machine: Machine, execute: Execute) -> Execute:
    """The return of a function: the stack below was its own, so the caller's red zone is lost."""

    def leave() -> int | None:
        target = execute()
        machine.lose_red_zone()
        return target

    return leave


def _leaving(machine: Machine, execute: Execute, name: str) -> Execute:
    """The return of a function: what it may have changed is unknown, and nothing that another call left."""
    domain: Any = machine.domain
    state, inputs = machine.state, domain.expressions.inputs
    unset = Unknown(f"the flags behind {name}")
    changed = CHANGED if name in VALUED else (*CHANGED, RAX)

    def leave() -> int | None:
        target = execute()
        machine.stood_in.add(name)
        call = f"{name}, left {machine.losses} times"
        for number in changed:
            state.gpr[number] = tuple(inputs(f"{GPR_NAMES[number]} behind {call}", 8).tolist())
        for number, row in enumerate(state.v):
            row[...] = inputs(f"zmm{number} behind {call}", 64)
        state.k[:] = [UnsetMask()] * 8  # type: ignore[list-item]
        state.cf = state.pf = state.af = state.zf = state.sf = state.of = unset
        return target

    return leave
