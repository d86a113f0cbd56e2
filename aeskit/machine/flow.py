"""Control flow, plain moves of general registers, the stack, and the few forms that fit no table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from aeskit.machine import decode as d
from aeskit.machine.operands import ONES, Binder
from aeskit.machine.semantics import unknown

Execute = Callable[[], int | None]

CONDITIONS: dict[str, tuple[tuple[str, ...], Callable[..., Any]]] = {
    "o": (("of",), lambda o: o),
    "no": (("of",), lambda o: not o),
    "b": (("cf",), lambda c: c),
    "ae": (("cf",), lambda c: not c),
    "e": (("zf",), lambda z: z),
    "ne": (("zf",), lambda z: not z),
    "be": (("cf", "zf"), lambda c, z: c or z),
    "a": (("cf", "zf"), lambda c, z: not (c or z)),
    "s": (("sf",), lambda s: s),
    "ns": (("sf",), lambda s: not s),
    "p": (("pf",), lambda p: p),
    "np": (("pf",), lambda p: not p),
    "l": (("sf", "of"), lambda s, o: s != o),
    "ge": (("sf", "of"), lambda s, o: s == o),
    "le": (("zf", "sf", "of"), lambda z, s, o: z or s != o),
    "g": (("zf", "sf", "of"), lambda z, s, o: not z and s == o),
}
"""Suffix to the flags that it asks and what of them (SDM volume 1, appendix B)."""

SPECIAL: dict[str, Callable[[Binder], Execute]] = {}


def special(*names: str) -> Callable[[Callable[[Binder], Execute]], Callable[[Binder], Execute]]:
    """Enter what binds an instruction by itself under `names`."""

    def enter(make: Callable[[Binder], Execute]) -> Callable[[Binder], Execute]:
        for name in names:
            SPECIAL[name] = make
        return make

    return enter


_PREFIXES = b"\x26\x2e\x36\x3e\x64\x65\x66\x67\xf0\xf2\xf3" + bytes(range(0x40, 0x50))
"""Legacy prefixes, and REX, which may stand among them and counts for nothing there (SDM volume 2, 2.2.1)."""


def prefixed(instruction: d.Instruction, prefix: int) -> bool:
    """Whether a legacy prefix is among those before the opcode."""
    code = instruction.code
    return prefix in code[: len(code) - len(code.lstrip(_PREFIXES))]


def _full_size(*names: str) -> Callable[[Callable[[Binder], Execute]], Callable[[Binder], Execute]]:
    """Enter what is known in 64 bits alone: with a 66 prefix AMD and Intel do not agree."""

    def enter(make: Callable[[Binder], Execute]) -> Callable[[Binder], Execute]:
        def checked(b: Binder) -> Execute:
            if prefixed(b.ins, 0x66):
                raise unknown(b.ins)
            return make(b)

        return special(*names)(checked)

    return enter


def conditional(b: Binder) -> Execute | None:
    """jcc, setcc and cmovcc; None for anything else."""
    for prefix, make in (("cmov", _cmov), ("set", _set), ("j", _jump_if)):
        suffix = b.ins.mnemonic.removeprefix(prefix)
        if suffix != b.ins.mnemonic and suffix in CONDITIONS:
            return make(b, *CONDITIONS[suffix])
    return None


def _decided(b: Binder, names: tuple[str, ...], test: Callable[..., Any]) -> Callable[[], bool]:
    state, flag, ins = b.state, b.domain.flag, b.ins
    return lambda: bool(test(*[flag(getattr(state, name), ins) for name in names]))


def _jump_if(b: Binder, names: tuple[str, ...], test: Callable[..., Any]) -> Execute:
    if prefixed(b.ins, 0x66):
        raise unknown(b.ins)
    holds, target = _decided(b, names, test), b.ins.operands[0]
    address = target.address if isinstance(target, d.Target) else 0
    return lambda: address if holds() else None


def _choice(b: Binder, names: tuple[str, ...], test: Callable[..., Any]) -> Callable[[Any, Any, int], Any]:
    """A choice by one flag may stay undecided over GF(2); by several it is decided first."""
    state, ins, select = b.state, b.ins, b.domain.select
    if len(names) > 1:
        holds = _decided(b, names, test)
        return lambda yes, no, size: yes if holds() else no
    if test(1):
        return lambda yes, no, size: select(getattr(state, names[0]), yes, no, size, ins)
    return lambda yes, no, size: select(getattr(state, names[0]), no, yes, size, ins)


def _cmov(b: Binder, names: tuple[str, ...], test: Callable[..., Any]) -> Execute:
    destination, source = b.ins.operands
    assert isinstance(destination, d.Gpr)
    old, new, store = b.integer(destination), b.integer(source), b.store_integer(destination)
    choose, size = _choice(b, names, test), destination.size
    return lambda: store(choose(new(), old(), size))


def _set(b: Binder, names: tuple[str, ...], test: Callable[..., Any]) -> Execute:
    store, choose = b.store_integer(b.ins.operands[0]), _choice(b, names, test)
    return lambda: store(choose(1, 0, 1))


# TEMP := target; RIP := TEMP
@_full_size("jmp")
def _jump(b: Binder) -> Execute:
    where = _where(b)
    return lambda: where()


def _where(b: Binder) -> Callable[[], int]:
    target = b.ins.operands[0]
    if isinstance(target, d.Target):
        address = target.address
        return lambda: address
    if not isinstance(target, d.Gpr | d.Memory) or target.size != 8:
        raise unknown(b.ins)  # far pointers
    fetch, known, ins = b.integer(target), b.domain.address, b.ins
    return lambda: known(fetch(), ins)


# RSP := RSP − 8; [RSP] := RIP; RIP := target
@_full_size("call")
def _call(b: Binder) -> Execute:
    where, push, back = _where(b), _pusher(b), b.ins.following

    def execute() -> int:
        target = where()
        push(back)
        return target

    return execute


# RIP := [RSP]; RSP := RSP + 8 + imm16
@_full_size("ret")
def _return(b: Binder) -> Execute:
    pop, gpr, known, ins = _popper(b, 8), b.state.gpr, b.domain.address, b.ins
    more = sum(o.value for o in ins.operands if isinstance(o, d.Immediate))

    def execute() -> int:
        target = known(pop(), ins)
        gpr[4] = (gpr[4] + more) & ONES
        return target

    return execute


def _pusher(b: Binder, size: int = 8) -> Callable[[Any], None]:
    gpr, memory, to_bytes, known, ins = b.state.gpr, b.memory, b.domain.to_bytes, b.domain.address, b.ins

    def push(value: Any) -> None:
        at = (known(gpr[4], ins) - size) & ONES
        memory.write(at, to_bytes(value, size))
        gpr[4] = at

    return push


def _popper(b: Binder, size: int) -> Callable[[], Any]:
    gpr, memory, from_bytes, known, ins = b.state.gpr, b.memory, b.domain.from_bytes, b.domain.address, b.ins

    def pop() -> Any:
        at = known(gpr[4], ins)
        value = from_bytes(memory.read(at, size))
        gpr[4] = (at + size) & ONES
        return value

    return pop


@_full_size("push")
def _push(b: Binder) -> Execute:
    fetch, push = b.integer(b.ins.operands[0]), _pusher(b)
    return lambda: push(fetch())


@_full_size("pop")
def _pop(b: Binder) -> Execute:
    store, pop = b.store_integer(b.ins.operands[0]), _popper(b, 8)
    return lambda: store(pop())


# RSP := RBP; RBP := [RSP]; RSP := RSP + 8
@_full_size("leave")
def _leave(b: Binder) -> Execute:
    gpr, pop = b.state.gpr, _popper(b, 8)

    def execute() -> None:
        gpr[4] = gpr[5]
        gpr[5] = pop()

    return execute


@special("nop", "endbr64", "lfence", "mfence", "sfence", "cld", "pause")
def _nothing(b: Binder) -> Execute:
    return lambda: None


# Nothing is read, but the cache tells the address
@special("prefetcht0", "prefetcht1", "prefetcht2", "prefetchnta", "prefetchw")
def _prefetch(b: Binder) -> Execute:
    operand = b.ins.operands[0]
    assert isinstance(operand, d.Memory)
    address = b.address(operand)

    def execute() -> None:
        address()

    return execute


# DEST := SRC; the same zero-extended
@special("mov", "movzx", "movabs")
def _move(b: Binder) -> Execute:
    destination, source = b.ins.operands
    size = destination.size if isinstance(destination, d.Gpr | d.Memory) else 8
    store, fetch = b.store_integer(destination), b.integer(source, size)
    return lambda: store(fetch())


# DEST := SignExtend(SRC)
@special("movsx", "movsxd")
def _move_signed(b: Binder) -> Execute:
    destination, source = b.ins.operands
    assert isinstance(destination, d.Gpr)
    assert isinstance(source, d.Gpr | d.Memory)
    store, fetch, extend = b.store_integer(destination), b.integer(source), b.domain.extend
    small, large = source.size, destination.size
    return lambda: store(extend(fetch(), small, large))


@special("lea")
def _lea(b: Binder) -> Execute:
    destination, source = b.ins.operands
    assert isinstance(destination, d.Gpr)
    assert isinstance(source, d.Memory)
    store, compute, part = b.store_integer(destination), b.domain.effective(b, source), b.domain.part
    size = destination.size
    if size == 8:
        return lambda: store(compute())
    return lambda: store(part(compute(), 0, size))


@special("xchg")
def _exchange(b: Binder) -> Execute:
    one, two = b.ins.operands
    first, second, to_first, to_second = (
        b.integer(one),
        b.integer(two),
        b.store_integer(one),
        b.store_integer(two),
    )

    def execute() -> None:
        x, y = first(), second()
        to_first(y)
        to_second(x)

    return execute


# The upper bits of ymm0 to ymm15 (all of them with vzeroall) := 0
@special("vzeroupper", "vzeroall")
def _zero_upper(b: Binder) -> Execute:
    rows = b.state.v[:16, 16 if b.ins.mnemonic == "vzeroupper" else 0 :]

    def execute() -> None:
        rows[...] = 0

    return execute


# CF := 0, 1, NOT CF
@special("clc", "stc", "cmc")
def _carry(b: Binder) -> Execute:
    state, name = b.state, b.ins.mnemonic
    flag, ins = b.domain.flag, b.ins

    def execute() -> None:
        state.cf = {"clc": 0, "stc": 1}.get(name, 0) if name != "cmc" else 1 - flag(state.cf, ins)

    return execute


# IF (E)CX = 0 THEN jump; RCX := RCX − 1, IF RCX ≠ 0 THEN jump
@special("jrcxz", "jecxz", "loop")
def _jump_count(b: Binder) -> Execute:
    target, name, gpr = b.ins.operands[0], b.ins.mnemonic, b.state.gpr
    if prefixed(b.ins, 0x66) or (name == "loop" and prefixed(b.ins, 0x67)):
        raise unknown(b.ins)
    address = target.address if isinstance(target, d.Target) else 0
    known, ins = b.domain.number, b.ins

    def execute() -> int | None:
        count = known(gpr[1], ins, "a count")
        if name == "loop":
            gpr[1] = count = (count - 1) & ONES
            return address if count else None
        return None if count & (ONES if name == "jrcxz" else 0xFFFFFFFF) else address

    return execute
