"""An instruction as a closure on a machine's state: looked up, its operands bound, once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from aeskit.machine import arithmetic, crypto, implied, logic, masks, moves, scalar, shifts, shuffles  # noqa: F401  (they fill the table)
from aeskit.machine import decode as d
from aeskit.machine.errors import UnknownInstruction
from aeskit.machine.flow import SPECIAL, conditional, prefixed
from aeskit.machine.operands import Binder, sources
from aeskit.machine.semantics import SCALARS, Entry, Scalar, immediate, lookup, unknown

if TYPE_CHECKING:
    from aeskit.machine.run import Machine

Execute = Callable[[], int | None]
"""Runs the instruction; gives the address to go to, or None for the next one."""

ONE_SOURCE = {"movbe", "tzcnt", "lzcnt", "popcnt", "blsi", "blsr", "blsmsk"}
CONTROLS = {"bextr": 2} | dict.fromkeys(("bzhi", "shlx", "shrx", "sarx", "bt", "bts", "btr", "btc"), 1)
"""The second source's bytes that count: what stands above them is not read (SDM volume 2)."""
WITH_CARRY = {"adc", "sbb", "rcl", "rcr"}


def bind(machine: Machine, instruction: d.Instruction) -> Execute:
    """The closure; UnknownInstruction where the table has no row."""
    binder = Binder(machine, instruction)
    execute, left = _bind(binder), binder.domain.undefined(instruction)
    return _leaving(binder, execute, left) if left else execute


def _leaving(b: Binder, execute: Execute, left: tuple[tuple[str, Any], ...]) -> Execute:
    state = b.state

    def leave() -> int | None:
        target = execute()
        for name, value in left:
            setattr(state, name, value)
        return target

    return leave


def _check_repeat(instruction: d.Instruction) -> None:
    """Refuse F2 and F3 where they are reserved (SDM volume 2, 2.1.1): there each CPU does as it likes.

    F3 repeats a string instruction, and makes ret two bytes long (AMD's guides for family 10h and later);
    F2 before a branch is BND.
    """
    name, prefix = instruction.mnemonic, instruction.prefix
    both = instruction.encoding == "legacy" and prefixed(instruction, 0xF2) and prefixed(instruction, 0xF3)
    strings, branches = ("movs", "stos", "ret"), name[0] == "j" or name in ("call", "ret")
    if both or (prefix and not (name[:4] in strings if prefix == "rep" else branches)):
        told = "rep and repne are" if both else f"{prefix} is"
        raise UnknownInstruction(
            f"{told} reserved before {name} (SDM volume 2, 2.1.1): {instruction.where()}"
        )


def _bind(binder: Binder) -> Execute:
    instruction, name = binder.ins, binder.ins.mnemonic
    _check_repeat(instruction)
    if name in SPECIAL and (name != "movsd" or not _vector(instruction)):
        return SPECIAL[name](binder)
    entry = lookup(instruction)
    if entry is not None:
        return _flags(binder, entry) if entry.to_flags else _vector_row(binder, entry)
    if name in masks.OPERATIONS:
        return _mask(binder, *masks.OPERATIONS[name])
    if name in masks.FLAGS:
        return _mask_flags(binder, *masks.FLAGS[name])
    if name in SCALARS and not _vector(instruction):
        return _scalar(binder, SCALARS[name])
    execute = conditional(binder)
    if execute is None:
        raise unknown(instruction)
    return execute


def _vector(instruction: d.Instruction) -> bool:
    return any(isinstance(o, d.Vector) for o in instruction.operands)


def _size(operand: d.Operand) -> int:
    return operand.size if isinstance(operand, d.Vector | d.Memory | d.Gpr) else 0


def _vector_row(b: Binder, entry: Entry) -> Execute:
    destination, immediates = b.ins.operands[0], immediate(b.ins)
    operands = sources(b.ins, entry)
    size = max(_size(destination), *(o.size for o in operands if isinstance(o, d.Vector)), 0)
    fetches = [b.source(operand, entry, size) for operand in operands]
    store, body = b.destination(destination, entry), b.domain.body(entry, b.ins)
    extra = {"size": size} if entry.sized else {}
    if extra:
        return lambda: store(body(*[f() for f in fetches], *immediates, **extra))
    if len(fetches) == 2 and not immediates:
        first, second = fetches
        return lambda: store(body(first(), second()))
    return lambda: store(body(*[f() for f in fetches], *immediates))


def _flags(b: Binder, entry: Entry) -> Execute:
    fetches = [b.source(o, entry, 0) for o in sources(b.ins, entry)]
    body, state = b.domain.test(entry, b.ins), b.state

    def execute() -> None:
        state.zf, state.cf = body(*[f() for f in fetches])
        state.sf = state.of = state.af = state.pf = 0

    return execute


def _mask_fetch(b: Binder, operand: d.Operand) -> Callable[[], Any]:
    if isinstance(operand, d.Mask):
        k, number = b.state.k, operand.number
        return lambda: k[number]
    fetch, known, ins = b.integer(operand), b.domain.number, b.ins
    return lambda: known(fetch(), ins, "a mask")


def _mask(b: Binder, bits: int, function: Callable[..., int]) -> Execute:
    destination, *rest = b.ins.operands
    fetches = [_mask_fetch(b, o) for o in rest]
    full, k = (1 << bits) - 1, b.state.k
    if isinstance(destination, d.Mask):
        number = destination.number

        def execute() -> None:
            k[number] = function(*[f() for f in fetches]) & full

        return execute
    store = b.store_integer(destination)
    return lambda: store(function(*[f() for f in fetches]) & full)


def _mask_flags(b: Binder, bits: int, function: Callable[[int, int, int], tuple[int, int]]) -> Execute:
    first, second = (_mask_fetch(b, o) for o in b.ins.operands)
    full, state = (1 << bits) - 1, b.state

    def execute() -> None:
        zf, cf = function(first() & full, second() & full, full)
        state.zf, state.cf = int(zf), int(cf)
        state.sf = state.of = state.af = state.pf = 0

    return execute


def _scalar(b: Binder, entry: Scalar) -> Execute:
    destination, *rest = b.ins.operands
    vex = b.ins.encoding != "legacy"
    plain = vex or entry.name in ONE_SOURCE or (entry.name == "imul" and len(rest) == 2)
    operands = rest if plain and rest else [destination, *rest]
    size = _size(destination)
    if entry.name == "imul" and not rest:
        raise unknown(b.ins)
    if entry.name in ("bt", "bts", "btr", "btc") and isinstance(destination, d.Memory) and _size(rest[0]):
        raise unknown(b.ins)
    fetches = [b.integer(o, size) for o in operands]
    if entry.name in CONTROLS and _size(operands[1]):
        fetches[1] = _low(b, fetches[1], CONTROLS[entry.name])
    if entry.name in WITH_CARRY:
        state, bit = b.state, b.domain.bit
        fetches.append(lambda: bit(state.cf, b.ins))
    store = b.store_integer(destination) if entry.writes else None
    compute = b.domain.integer(entry, 8 * size, b.ins)
    return _apply(b, compute, fetches, store)


def _low(b: Binder, fetch: Callable[[], Any], size: int) -> Callable[[], Any]:
    part = b.domain.part
    return lambda: part(fetch(), 0, size)


def _apply(b: Binder, compute: Callable[..., Any], fetches: list[Any], store: Any) -> Execute:
    state = b.state

    def execute() -> None:
        result, cf, of, flags = compute(*[f() for f in fetches])
        if store:
            store(result)
        if cf is not None:
            state.cf = cf
        elif of is None:
            return
        if of is not None:
            state.of = of
        if flags:
            state.zf, state.sf, state.pf = flags

    return execute
