"""A function called once in numbers, and the run recorded as a trace: what `aeskit step` shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from aeskit import contracts
from aeskit.bits import BLOCK
from aeskit.contracts import ANY, Contract, UInt32
from aeskit.machine import decode as d
from aeskit.machine import events, findings
from aeskit.machine.divergence import Wrong, divergence
from aeskit.machine.events import Events
from aeskit.machine.loader import Image, load
from aeskit.machine.memory import Region
from aeskit.machine.naming import Names
from aeskit.machine.origins import KINDS, origins, secret_paths
from aeskit.machine.record import record
from aeskit.machine.run import RELOCATED, Machine
from aeskit.models.arithmetic import choose
from aeskit.trace import Finding, Trace
from aeskit.verify.calls import ARGUMENTS, STARTS, Given, Prepared, prepare
from aeskit.verify.judge import limit
from aeskit.verify.proving.proofs import find_contract, unpromised

ENGINES = ("lanes", "silicon", "emulator")

# ---- The function -----------------------------------------------------------------------------------------

NATIVE = Path(__file__).parents[2] / "native"


def find(target: str, **options: Any) -> tuple[Image, str]:
    """``NAME`` of one of our own functions, ``FILE:SYMBOL``, or a ``FILE`` with one function.

    `options` are `loader.load`'s. LoadError or ValueError in words for anything else.
    """
    file, _, symbol = target.rpartition(":")
    if file:
        image = load(file, **options)
    elif Path(target).is_file():
        image, symbol = load(target, **options), ""
    elif contracts.of(target):
        image, symbol = _own_image(target), target
    else:
        raise ValueError(f"{target} must be one of our own functions, FILE:SYMBOL or a file")
    if not symbol:
        if len(image.functions) != 1:
            known = ", ".join(sorted(image.functions)[:20]) or "none"
            raise ValueError(f"{target} must be FILE:SYMBOL: the file has the functions {known}")
        symbol = next(iter(image.functions))
    image.address_of(symbol)
    return image, symbol


def _own_image(name: str) -> Image:
    """From the source where it is at hand, since it has labels; else from the extension itself."""
    source = NATIVE / f"{ {'cts': 'cbc'}.get(name.split('_')[0], name.split('_')[0]) }.S"
    if source.is_file():
        return load(source)
    from aeskit import _native

    return load(_native.__file__)


def contract_of(symbol: str, name: str | None, file: str = "") -> Contract:
    """The contract by name, from a user's Python file if given, or the first of one of our own functions.

    ValueError with what there is.
    """
    own = contracts.of(symbol)
    if name is None and own:
        return own[0]
    if name is None:
        raise unpromised(symbol)
    return find_contract(name, file)


# ---- The run ----------------------------------------------------------------------------------------------


def trace(
    target: str,
    contract: str | None,
    given: Given,
    engine: str = "lanes",
    contract_file: str = "",
    **options: Any,
) -> Trace:
    """Run a function once and tell everything; ValueError (MachineError is one) where it cannot be run."""
    image, symbol = find(target, **options)
    prepared = prepare(image, symbol, contract_of(symbol, contract, contract_file), given)
    machine = prepared.machine()
    run, after = _run(prepared, machine, engine)
    found = [*_findings(prepared, machine, run), *_wrong(prepared, after, run)]
    others = _Others()
    if not run.problem and len(run.events) <= MOST_COMPARED:
        found += _upper_halves_matter(prepared, machine, run, after)
        others = _others(prepared, machine)
        found += secret_paths(run, others.runs)
        found += [] if _is_wrong(found) else others.wrong
    names = _names(prepared)
    wrong: list[Wrong] = []
    if _is_wrong(found):
        wrong = divergence(run, names, _buffers(prepared, after), _given(prepared))
        found += [*_first_missing(prepared, run), *_first_wrong(wrong, run)]
    kinds = {name: step.phase for step in prepared.model for name in step.values}
    found.sort(key=lambda finding: len(run.events) if finding.step is None else finding.step)
    return record(
        _title(prepared),
        engine,
        image,
        run,
        prepared.buffers(),
        machine.stack,
        names,
        _about(kinds),
        found,
        prepared.model,
        origins(run, others.runs) if others.runs else (),
        wrong,
    )


def _names(prepared: Prepared) -> Names:
    values = [(name, data) for step in prepared.model for name, data in step.values.items()]
    return Names([*values, *_ahead(prepared)])


def first_wrong(prepared: Prepared) -> str:
    """The first wrong step of a call with a wrong result, in the lane machine; empty where none is found."""
    machine = prepared.machine()
    run, after = _run(prepared, machine, "lanes")
    wrong = divergence(run, _names(prepared), _buffers(prepared, after), _given(prepared))
    for finding in _first_wrong(wrong, run):
        instruction = run.events[finding.step or 0].instruction
        place = prepared.image.label_at(instruction.address)
        return f"{finding.text.removeprefix(DIFFERS)}; {instruction.where()} in {place}"
    return ""


DIFFERS = "the first lane that differs from the model: "


def _is_wrong(found: list[Finding]) -> bool:
    """Whether a buffer's bytes are not what they must be."""
    return any(", must be " in finding.text for finding in found)


MOST_COMPARED = 20_000
"""Instructions of the longest run that is made again with other inputs."""
TIMES = {"data": 3, "start": 6, "key": 3}
"""How often each input is changed; tweaks oftener, since masks made of one bit of them are common."""


@dataclass
class _Others:
    """The same call with other inputs."""

    runs: dict[str, list[Events]] = field(default_factory=dict)
    """By what is another: key, data or start."""
    wrong: list[Finding] = field(default_factory=list)
    """The first result that is not what the model says, if one is."""


def _said(other: Prepared, kind: str) -> str:
    """What was another, as an option where it is short."""
    used = other.inputs.used
    start = next((used[name].hex() for name in STARTS if name in used), "")
    return f"--start {start}" if kind == "start" else {"data": "other data", "key": "another key"}[kind]


def _others(prepared: Prepared, machine: Machine) -> _Others:
    """The same call with another key, other data, another start, as far as the contract allows."""
    made = _Others()
    for kind in KINDS:
        for salt in range(TIMES[kind]):
            try:
                other = prepare(
                    prepared.image, prepared.symbol, prepared.contract, prepared.inputs.given, kind, salt
                )
            except ValueError:
                continue
            other.load(machine)
            run, after = _run(other, machine, "lanes")
            made.runs.setdefault(kind, []).append(run)
            if not made.wrong:
                texts = [finding.text for finding in _wrong(other, after, run)]
                made.wrong = [Finding(f"with {_said(other, kind)}, {text}") for text in texts[:1]]
    return made


def _title(prepared: Prepared) -> str:
    contract, call = prepared.contract, prepared.call
    parts = [prepared.symbol, f"AES-{8 * call.key_size}"]
    parts += (
        [f"{call.length} bytes", "in place" if call.in_place else "out of place"]
        if contract.has_length
        else []
    )
    return f"{', '.join(parts)} ({contract.title})"


def _run(prepared: Prepared, machine: Machine, engine: str) -> tuple[Events, dict[str, bytes]]:
    """The run, and what each buffer holds after it."""
    symbol, most = prepared.symbol, limit(int(prepared.call.length))
    if engine == "lanes":
        run = events.lanes(machine, symbol, most)
    elif engine == "silicon":
        from aeskit.machine.silicon import Silicon

        run = events.engine(machine, symbol, Silicon, most)
    elif engine == "emulator":
        from aeskit.machine.bochs.steps import Bochs

        run = events.engine(machine, symbol, Bochs, most)
    else:
        raise ValueError(f"engine must be one of {', '.join(ENGINES)}, not {engine!r}")
    return run, {region.name: region.data.tobytes() for region in prepared.regions}


def _constants(section: Region) -> Region:
    """Of the file only constants may be read: what is writable is state that no contract speaks of."""
    fixed = "w" not in section.permissions or RELOCATED.fullmatch(section.name)
    return replace(section, permissions="r" if fixed else "")


def _findings(prepared: Prepared, machine: Machine, run: Events) -> list[Finding]:
    buffers = {region.name for region in prepared.regions}
    others = [r for r in machine.memory.regions if r is not machine.stack and r.name not in buffers]
    regions = [*prepared.regions, *map(_constants, others)]
    count = len(prepared.call.registers)
    return findings.all_findings(
        run,
        regions,
        machine.stack,
        max(count - len(ARGUMENTS), 0),
        ("destination", "schedule"),
        [d.GPR_NAMES[number] for number in ARGUMENTS[:count]],
    )


def _wrong(prepared: Prepared, after: Mapping[str, bytes], run: Events) -> Iterator[Finding]:
    if run.problem:
        return
    buffers = {b.name: b for b in prepared.call.buffers if len(b.data) and b.expected is not ANY}
    yield from findings.wrong_bytes(
        {name: None if b.expected is None else bytes(b.expected) for name, b in buffers.items()},
        {name: bytes(b.data) for name, b in buffers.items()},
        {name: after[name] for name in buffers},
    )


def _buffers(prepared: Prepared, after: Mapping[str, bytes]) -> Iterator[tuple[int, bytes, bytes]]:
    """Address, what it holds and what it must hold, of each buffer of which that is known."""
    for buffer in prepared.buffers():
        if buffer.data and buffer.expected is not None:
            yield buffer.address, after[buffer.name], buffer.expected


def _given(prepared: Prepared) -> Iterator[tuple[int, bytes]]:
    """Address and bytes before the call of each buffer."""
    return ((buffer.address, buffer.data) for buffer in prepared.buffers())


def _first_wrong(wrong: list[Wrong], run: Events) -> Iterator[Finding]:
    """The first lane that is not what the model says, of those that led to wrong bytes."""
    for one in wrong[:1]:
        event = run.events[one.step]
        held = event.values[one.register][BLOCK * one.lane :]
        at = next(n for n in range(BLOCK) if held[n] != one.must[n])
        place = findings.shown(one.register, event.instruction)
        lane = f"lane {one.lane} of {place}" if one.register[1:3] == "mm" else place
        called = f" is not {one.name}" if one.name else ""
        byte = f"byte {at} is {held[at]:02x}, must be {one.must[at]:02x}"
        yield Finding(f"{DIFFERS}{lane}{called}: {byte}", one.step)


def _first_missing(prepared: Prepared, run: Events) -> Iterator[Finding]:
    """The first state of a round that the model had and no lane ever held: where a wrong result began."""
    lanes = {
        data[at : at + BLOCK]
        for event in run.events
        for name, data in event.values.items()
        if name[1:3] == "mm"
        for at in range(0, len(data), BLOCK)
    }
    for step in prepared.model:
        for name, data in step.values.items():
            if _ROUND.search(name) and data not in lanes:
                yield Finding(f"the first of the model's states that no lane held is {name} ({step.place})")
                return


def _upper_halves_matter(
    prepared: Prepared, machine: Machine, run: Events, after: Mapping[str, bytes]
) -> Iterator[Finding]:
    """The same call with clean upper halves of its 32-bit arguments must do the same."""
    if not any(isinstance(value, UInt32) for value in prepared.call.registers):
        return
    prepared.load(machine, poison=0)
    clean, others = _run(prepared, machine, "lanes")
    path = [event.instruction.address for event in run.events]
    same = path == [event.instruction.address for event in clean.events]
    if same and all(others[b.name] == after[b.name] for b in prepared.call.buffers if len(b.data)):
        return
    pairs = zip(run.events, clean.events, strict=False)
    first = next(
        (i for i, (a, b) in enumerate(pairs) if a.instruction.address != b.instruction.address), None
    )
    yield Finding("a 32-bit argument is read as 64 bits: with its upper half clear the run is another", first)


AHEAD = 64
"""Blocks by which code may make tweaks and counters ahead of the last that the model needs."""


def _ahead(prepared: Prepared) -> Iterator[tuple[str, bytes]]:
    """The tweaks or counters behind the model's last: code makes them a pass at a time."""
    a = choose("plain")
    told = {name: data for step in prepared.model for name, data in step.values.items()}
    numbers = [int(name[2:]) for name in told if re.fullmatch(r"T_\d+", name)]
    if numbers:
        last = max(numbers)
        more = a.powers if prepared.contract.name.startswith("xts") else a.counters
        sequence = more(told[f"T_{last}"], AHEAD + 1)
        for j in range(1, AHEAD + 1):
            yield f"T_{last + j}", a.block(sequence, j)


_ROUND = re.compile(r"\.round\[\d+\]\.i?start$")
_OF_BLOCK = re.compile(r"[A-Z]+\*?_(\d+)")


def _about(kinds: Mapping[str, str]) -> Callable[[str], str]:
    """What a state of the cipher belongs to: these say what the code works on, from the second round on."""

    def about(name: str) -> str:
        head, _, state = name.partition(".")
        if not state or state.startswith("round[1]"):
            return ""
        match = _OF_BLOCK.fullmatch(head)
        return f"block {match[1]}" if match else {"i": "tweak"}.get(head, kinds.get(head, ""))

    return about
