"""Instructions with operands that are implied: accumulators, products, quotients, string instructions."""

from __future__ import annotations

from aeskit.machine import decode as d
from aeskit.machine.errors import MachineError
from aeskit.machine.flow import Execute, special
from aeskit.machine.operands import Binder
from aeskit.machine.semantics import unknown


# RAX := SignExtend(EAX) and the like; RDX := the sign of RAX
@special("cdqe", "cwde", "cbw")
def _extend_accumulator(b: Binder) -> Execute:
    small = {"cdqe": 4, "cwde": 2, "cbw": 1}[b.ins.mnemonic]
    fetch, store = b.integer(d.Gpr(0, small)), b.store_integer(d.Gpr(0, 2 * small))
    extend = b.domain.extend
    return lambda: store(extend(fetch(), small, 2 * small))


@special("cqo", "cdq")
def _sign_accumulator(b: Binder) -> Execute:
    size = 8 if b.ins.mnemonic == "cqo" else 4
    fetch, store = b.integer(d.Gpr(0, size)), b.store_integer(d.Gpr(2, size))
    extend, part = b.domain.extend, b.domain.part
    return lambda: store(part(extend(fetch(), size, 2 * size), size, size))


# RDX:RAX := RAX × SRC (MULX: DEST1:DEST2 := RDX × SRC, no flags)
@special("mul", "mulx")
def _multiply(b: Binder) -> Execute:
    *destinations, source = b.ins.operands
    size = source.size if isinstance(source, d.Gpr | d.Memory) else 8
    if size < 4:
        raise unknown(b.ins)
    high, low = destinations or (d.Gpr(2, size), d.Gpr(0, size))
    one, two = b.integer(d.Gpr(2 if destinations else 0, size)), b.integer(source)
    to_high, to_low, known, state, ins = (
        b.store_integer(high),
        b.store_integer(low),
        b.domain.number,
        b.state,
        b.ins,
    )

    def execute() -> None:
        product = known(one(), ins, "a factor") * known(two(), ins, "a factor")
        to_low(product & (1 << 8 * size) - 1)
        to_high(product >> 8 * size)
        if not destinations:
            state.cf = state.of = int(product >> 8 * size != 0)

    return execute


# RAX := RDX:RAX / SRC; RDX := the remainder; #DE where the quotient does not fit (IDIV: signed)
@special("div", "idiv")
def _divide(b: Binder) -> Execute:
    source = b.ins.operands[0]
    size = source.size if isinstance(source, d.Gpr | d.Memory) else 0
    if size < 4:
        raise unknown(b.ins)
    low, high, known, ins = d.Gpr(0, size), d.Gpr(2, size), b.domain.number, b.ins
    fetches = [b.integer(o) for o in (high, low, source)]
    to_low, to_high, signed = b.store_integer(low), b.store_integer(high), ins.mnemonic == "idiv"
    bits, least = 8 * size, -(1 << 8 * size - 1) if signed else 0

    def execute() -> None:
        top, bottom, by = (known(fetch(), ins, "a division") for fetch in fetches)
        whole = top << bits | bottom
        if signed:
            whole, by = (n - (n >> m - 1 << m) for n, m in ((whole, 2 * bits), (by, bits)))
        quotient = abs(whole) // abs(by) * (-1 if (whole < 0) != (by < 0) else 1) if by else least - 1
        if not least <= quotient < least + (1 << bits):
            raise MachineError(f"a divide error: {ins.where()}")
        to_low(quotient & (1 << bits) - 1)
        to_high(whole - quotient * by & (1 << bits) - 1)

    return execute


# WHILE RCX ≠ 0: [RDI] := [RSI] or AL; both move on (the direction flag is clear by the ABI)
@special("movsb", "movsw", "movsd", "movsq", "stosb", "stosw", "stosd", "stosq")
def _string(b: Binder) -> Execute:
    name, gpr, memory, ins = b.ins.mnemonic, b.state.gpr, b.memory, b.ins
    size, to_bytes = {"b": 1, "w": 2, "d": 4, "q": 8}[name[-1]], b.domain.to_bytes
    count, moved, place = b.domain.number, b.domain.moved, b.domain.placing(memory, ins, False)
    copies = name[0] == "m"

    def execute() -> None:
        for _ in range(count(gpr[1], ins, "a count") if ins.prefix else 1):
            to = place(gpr[7], 1)
            memory.write(to, memory.read(place(gpr[6], 1), size) if copies else to_bytes(gpr[0], 8)[:size])
            gpr[7] = moved(gpr[7], size)
            gpr[6] = moved(gpr[6], size) if copies else gpr[6]
            gpr[1] = gpr[1] - 1 if ins.prefix else gpr[1]

    return execute
