"""One call that shows what a proof found, as small as the proofs allow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from aeskit.contracts import ANY, Contract
from aeskit.machine import findings
from aeskit.machine.errors import MachineError, NotDefined, UnknownInstruction
from aeskit.machine.loader import Image
from aeskit.machine.run import Machine
from aeskit.verify.calls import CARRIES, STARTS, Given, Prepared, prepare
from aeskit.verify.review.hardware import Hardware, Layout, beside
from aeskit.verify.review.model import Cell
from aeskit.verify.review.runs import LIMIT, title

TRIES = 48
"""Starts, then data, that are tried: what hangs on one bit shows in one of two."""
TRIED = {"start": TRIES, "carry": CARRIES, "data": TRIES}


def search(
    image: Image, symbol: str, contracts: Sequence[Contract], wrong: Sequence[Cell], file: str, make: Any
) -> tuple[str, ...]:
    """The first call of the shortest wrong proof whose bytes are wrong, and the command that repeats it.

    `make` is the engine that must confirm it, or None.
    """
    cell = min(wrong, key=lambda cell: (cell.length, cell.in_place, cell.key_bits))
    contract = next(c for c in contracts if c.name == cell.contract)
    given = Given(cell.length, cell.key_bits // 8, in_place=cell.in_place)
    machine = Machine(image)
    for vary, prepared in _calls(image, symbol, contract, given):
        try:
            told = _wrong(prepared, machine)
        except UnknownInstruction:
            return ("no counterexample was looked for: the lane machine does not run this instruction",)
        except NotDefined as error:
            return (f"no counterexample was looked for: {error}",)
        if told:
            return _told(prepared, vary, told, file, make)
    tried = f"{sum(TRIED.values()) + 1} calls at {cell.length} bytes do not show it"
    return (f"{tried}: it is rare, or the bytes are equal for a reason that the proof does not see",)


def _calls(image: Image, symbol: str, contract: Contract, given: Given) -> Iterator[tuple[str, Prepared]]:
    yield "", prepare(image, symbol, contract, given)
    for vary, tries in TRIED.items():
        for salt in range(tries):
            try:
                yield vary, prepare(image, symbol, contract, given, vary, salt)
            except ValueError:  # a counter that the contract does not allow
                continue


def _wrong(prepared: Prepared, machine: Machine) -> str:
    prepared.load(machine)
    try:
        machine.call(prepared.symbol, LIMIT)
    except (UnknownInstruction, NotDefined):
        raise
    except MachineError as error:
        return str(error)
    buffers = {b.name: b for b in prepared.call.buffers if len(b.data) and b.expected is not ANY}
    found = findings.wrong_bytes(
        {name: None if b.expected is None else bytes(b.expected) for name, b in buffers.items()},
        {name: bytes(b.data) for name, b in buffers.items()},
        {region.name: region.data.tobytes() for region in prepared.regions if region.name in buffers},
    )
    return next((finding.text for finding in found), "")


def _told(prepared: Prepared, vary: str, told: str, file: str, make: Any) -> tuple[str, ...]:
    call, contract = prepared.call, prepared.contract
    chosen = {name: prepared.inputs.used[name] for name in STARTS if name in prepared.inputs.used}
    given = "".join(f", {name} {data.hex()}" for name, data in chosen.items())
    text = f"counterexample: {title(contract, call.length, call.key_size, call.in_place)}{given}: {told}"
    size = f" --bytes {call.length}" if contract.has_length else ""
    command = f"aeskit step {file}:{prepared.symbol} --contract {contract.name}{size}"
    command += f" --key-bits {8 * call.key_size}"
    command += " --in-place" * call.in_place + "".join(f" --start {data.hex()}" for data in chosen.values())
    command += f" --data {prepared.inputs.used['data'].hex()}" if vary == "data" else ""
    return (f"{text}{_confirmed(prepared, make)}", f"again: {command}")


def _confirmed(prepared: Prepared, make: Any) -> str:
    if make is None:
        return ""
    out = Hardware()
    beside(out, replace(prepared), Layout("as it is", lambda buffer, start: start + 64), make)
    return f"; {'so it is' if out.findings else 'it is not so'} on hardware"
