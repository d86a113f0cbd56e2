"""One call of a function as its contract asks, in numbers.

Inputs that nobody gives are reproducible bytes; registers that hold no argument, and the upper halves of
32-bit arguments, are poisoned.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from hashlib import shake_128
from itertools import accumulate
from typing import Any

import numpy as np

from aeskit.bits import BLOCK, from_le, to_le, xor
from aeskit.contracts import ANY, Call, Contract, UInt32
from aeskit.machine import decode as d
from aeskit.machine.loader import Image
from aeskit.machine.memory import Region
from aeskit.machine.run import Machine
from aeskit.models import cts
from aeskit.models.arithmetic import choose
from aeskit.trace import Buffer, Recorder, Step

ARGUMENTS = (7, 6, 2, 1, 8, 9)
"""rdi rsi rdx rcx r8 r9 (System V AMD64 ABI, 3.2.3)."""
FIRST_BUFFER, BUFFER_STEP = 0x2000_0000_0000, 0x1_0000_0000
POISON = 0xB0B0_B0B0_0000_0000
"""The upper half of a 32-bit argument."""
LONGEST = 1 << 18
"""Bytes of data: the model tells seventeen values a block."""
MARGIN = 256
"""Bytes around a buffer that can be reached, so that a run goes on after it was seen to do so."""
STARTS = ("tweak", "iv", "counter")
WIDTHS = (8, 16, 32, 64, 128)
"""Low bits of a counter, big-endian or little-endian, that a faulty one may carry out of or fail to."""
CARRIES = 2 * 8 * len(WIDTHS)

_ROUND_KEY = re.compile(r"(K\d*)\[(\d+)\]")
_INNER = re.compile(r"\.(s_box|s_row|m_col|is_row|is_box|ik_add|im_col|i?output)$")
"""Within a round: one instruction does it all, so no lane ever holds these; an output has another name."""


@dataclass(frozen=True)
class Given:
    """What the caller chooses; None for reproducible bytes."""

    length: int = 64
    key_size: int = 0
    """Of one AES key, in bytes; 0 for the longest that the contract has."""
    key: bytes | None = None
    """XTS: the data key, then the tweak key."""
    data: bytes | None = None
    start: bytes | None = None
    """Tweak, IV or counter."""
    in_place: bool = False
    inputs: tuple[tuple[str, bytes], ...] = ()
    """Any other input by its name in the contract."""
    places: tuple[tuple[str, int, int], ...] = ()
    """Low bits of buffers' addresses, as (name, mask, value), the mask below 64."""

    def low(self, buffer: str) -> tuple[int, int]:
        """What is fixed of a buffer's address, as (mask, value)."""
        return next(((mask, value) for name, mask, value in self.places if name == buffer), (0, 0))


@dataclass
class Inputs:
    """The unknown inputs of a contract as bytes."""

    given: Given
    letters: tuple[str, ...] = ()
    """Names of the keys: K, or K1 and K2."""
    used: dict[str, bytes] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    """The key schedules as the model tells them."""
    vary: str = ""
    """An input that is to be another than given, ``key``, ``data`` or ``start``, in every byte; or ``carry``,
    for a start that as a counter carries soon."""
    salt: int = 0
    """Which other."""

    def __call__(self, name: str, size: int) -> bytes:
        """The bytes of an input."""
        match = _ROUND_KEY.fullmatch(name)
        data = self._round_key(match[1], int(match[2])) if match else self._plain(name, size)
        self.used[name] = data
        return data

    def _plain(self, name: str, size: int) -> bytes:
        given = self.given
        chosen = {"data": given.data, "key": given.key, **dict.fromkeys(STARTS, given.start)}.get(name)
        chosen = dict(given.inputs).get(name, chosen)
        data = draw(name, size) if chosen is None else _sized(name, chosen, size)
        if name in STARTS and self.vary == "carry":
            return carrying(data, self.salt)
        return self._varied("start" if name in STARTS else name, data)

    def _varied(self, kind: str, data: bytes) -> bytes:
        if kind != self.vary:
            return data
        return xor(data, bytes(byte | 1 for byte in draw(f"another {kind}, {self.salt}", len(data))))

    def _round_key(self, letter: str, number: int) -> bytes:
        if f"{letter}[0]" not in self.used:
            if letter not in self.letters:
                self.letters += (letter,)
            at, size = self.letters.index(letter), self.given.key_size
            whole = self.given.key
            key = draw(f"key {letter}", size) if whole is None else whole[size * at : size * (at + 1)]
            key, heard = self._varied("key", key), Recorder()
            choose("plain").expand_for_decryption(key, heard.note, letter)
            self.steps += heard.steps
            self.schedules[letter] = [
                step.values[f"{letter}[{r}]"] for r, step in enumerate(_own(heard, letter))
            ]
        return self.schedules[letter][number]

    schedules: dict[str, list[bytes]] = field(default_factory=dict)


def _own(heard: Recorder, letter: str) -> list[Step]:
    return [step for step in heard.steps if any(name.startswith(f"{letter}[") for name in step.values)]


def draw(name: str, size: int) -> bytes:
    """Reproducible bytes for a purpose."""
    return shake_128(f"aeskit step: {name}".encode()).digest(size)


def carrying(data: bytes, number: int) -> bytes:
    """A counter whose low bits carry in one of the next eight blocks: `number` counts to `CARRIES`."""
    way, number = number % 2, number // 2
    width, lane = WIDTHS[number // 8 % len(WIDTHS)], number % 8
    value = (from_le(data if way else data[::-1]) | (1 << width) - 1) - lane
    out = to_le(value, len(data))
    return out if way else out[::-1]


def _sized(name: str, data: bytes, size: int) -> bytes:
    if len(data) != size:
        raise ValueError(f"{name} must be {size} bytes, not {len(data)}")
    return data


# ---- The call ---------------------------------------------------------------------------------------------


@dataclass
class Prepared:
    """A call ready to be made."""

    image: Image
    symbol: str
    contract: Contract
    call: Call
    inputs: Inputs
    model: list[Step]
    addresses: dict[int, int] = field(default_factory=dict)
    regions: list[Region] = field(default_factory=list)
    """The buffers in the machine's memory, where there are some bytes more on either side."""

    def machine(self) -> Machine:
        """A lane machine with memory and registers as the function finds them."""
        machine = Machine(self.image)
        self.load(machine)
        return machine

    def load(self, machine: Machine, poison: int = POISON) -> None:
        """Set memory and registers as the function finds them, `poison` over its 32-bit arguments."""
        regions, self.regions = [], []
        for number, buffer in enumerate(self.call.buffers):
            low = self.inputs.given.low(buffer.name)
            address = FIRST_BUFFER + BUFFER_STEP * number + buffer.place(number, low)
            self.addresses[id(buffer)] = address
            if len(buffer.data):
                rights = "rw" if buffer.writable else "r"
                around = draw(f"around {buffer.name}", 2 * MARGIN)
                whole = _array(around[:MARGIN] + bytes(buffer.data) + around[MARGIN:])
                regions.append(Region(buffer.name, address - MARGIN, whole, rights))
                self.regions.append(Region(buffer.name, address, whole[MARGIN:-MARGIN], rights))
        machine.reset(regions, _array(draw("stack", len(machine.stack.data))))
        state, stack_pointer = machine.state, machine.state.gpr[4]
        state.v[...] = _array(draw("vector registers", 32 * 64)).reshape(32, 64)
        state.v[:16, 16:] = 0  # upper halves are clean at a call
        state.k[:] = [from_le(draw(f"k{n}", 8)) for n in range(8)]
        state.gpr[:] = [from_le(draw(name, 8)) for name in d.GPR_NAMES]
        state.gpr[4] = stack_pointer
        for number, value in enumerate(self.call.registers):
            self._argument(machine, number, value, poison)

    def _argument(self, machine: Machine, number: int, value: Any, poison: int) -> None:
        given = value if isinstance(value, int) else self.addresses.get(id(value), 0)
        if isinstance(value, UInt32):
            given = value.value | poison
        if number < len(ARGUMENTS):
            machine.state.gpr[ARGUMENTS[number]] = given
        else:
            at = machine.state.gpr[4] + 8 * (number - len(ARGUMENTS))
            machine.memory.write(at, _array(to_le(given, 8)))

    def buffers(self) -> tuple[Buffer, ...]:
        """The buffers as the trace tells them."""
        return tuple(
            Buffer(b.name, self.addresses[id(b)], bytes(b.data), b.writable, _expected(b))
            for b in self.call.buffers
        )


def _expected(buffer: Any) -> bytes | None:
    if buffer.expected is ANY:
        return None
    return bytes(buffer.data if buffer.expected is None else buffer.expected)


def _array(data: bytes) -> Any:
    return np.frombuffer(data, np.uint8).copy()


def prepare(
    image: Image,
    symbol: str,
    contract: Contract,
    given: Given,
    vary: str = "",
    salt: int = 0,
    quiet: bool = False,
) -> Prepared:
    """Set a call up; ValueError in words for inputs that the contract does not take.

    With `vary` one input is another than given, each `salt` another; the model then tells nothing, nor does
    it when it is to be `quiet`, which is faster, and for which a key must come with its size.
    """
    given = replace(given, key_size=given.key_size or max(contract.key_sizes))
    _check(contract, given)
    if given.key is not None and not quiet:
        given = _with_key_size(contract, given)
    inputs = Inputs(given, vary=vary, salt=salt)
    heard = Recorder()
    call = Call(choose("plain"), inputs, _add, given.length, given.key_size, given.in_place)
    call.note = None if vary or quiet else heard.note
    contract.setup(call)
    _check_named(contract, given, inputs)
    _check_assumed(call)
    _check_places(contract, given, call)
    blocks, others = _given_steps(contract, inputs, heard.steps)
    model = [*inputs.steps, *blocks, *heard.steps, *others]
    kept = [_of_block(step) for step in model if not all(_INNER.search(name) for name in step.values)]
    return Prepared(image, symbol, contract, call, inputs, kept)


def _of_block(step: Step) -> Step:
    """A state of a round with the block's number as its phase, not the round's, which its name tells."""
    name = next(iter(step.values), "").partition(".")[0]
    number = re.fullmatch(r"[A-Z]+\*?_(\d+)", name)
    if not step.phase.startswith("round "):
        return step
    return replace(step, phase=f"block {number[1]}" if number else {"i": "tweak"}.get(name, ""))


def _check(contract: Contract, given: Given) -> None:
    if given.key_size not in contract.key_sizes and given.key is None:
        sizes = ", ".join(str(8 * size) for size in contract.key_sizes)
        raise ValueError(f"a key must have {sizes} bits, not {8 * given.key_size}")
    if contract.has_length and (given.length < contract.minimum or given.length % contract.multiple):
        what = f"at least {contract.minimum}" + (
            f", a multiple of {contract.multiple}" * (contract.multiple > 1)
        )
        raise ValueError(f"bytes must be {what} for {contract.name}, not {given.length}")
    if given.length > LONGEST:
        raise ValueError(f"bytes must be at most {LONGEST} to be told step by step, not {given.length}")
    if given.in_place and not contract.in_place:
        raise ValueError(f"{contract.name} does not run in place")


def _with_key_size(contract: Contract, given: Given) -> Given:
    """The size of one AES key, found out from what the contract asks for."""
    assert given.key is not None
    probe = Inputs(Given(given.length, contract.key_sizes[0], in_place=given.in_place))
    contract.setup(Call(choose("plain"), probe, _add, given.length, contract.key_sizes[0], given.in_place))
    keys = max(len(probe.letters), 1)
    size, rest = divmod(len(given.key), keys)
    if rest or size not in contract.key_sizes:
        sizes = " or ".join(str(keys * size) for size in contract.key_sizes)
        raise ValueError(f"key must be {sizes} bytes for {contract.name}, not {len(given.key)}")
    return replace(given, key_size=size)


def _check_named(contract: Contract, given: Given, inputs: Inputs) -> None:
    for name, _ in given.inputs:
        if name not in inputs.used:
            known = ", ".join(name for name in inputs.used if not _ROUND_KEY.fullmatch(name)) or "none"
            raise ValueError(f"{contract.name} has no input {name!r:.40}; it has {known}")


def _check_places(contract: Contract, given: Given, call: Call) -> None:
    buffers = {buffer.name: buffer for buffer in call.buffers}
    for name, mask, low in given.places:
        if name not in buffers:
            raise ValueError(f"{contract.name} has no buffer {name!r:.40}; it has {', '.join(buffers)}")
        if buffers[name].aligned and low % BLOCK:
            raise ValueError(f"{name} must lie at a multiple of {BLOCK}, not at {low} modulo {mask + 1}")


def _check_assumed(call: Call) -> None:
    for word, low, high in call.assumed:
        if not low <= from_le(word) <= high:
            raise ValueError(f"the counter must be from {low} to {high} there, not {from_le(word)}")


def _add(word: bytes, number: int) -> bytes:
    return to_le((from_le(word) + number) % (1 << 8 * len(word)), len(word))


def _given_steps(contract: Contract, inputs: Inputs, heard: list[Step]) -> tuple[list[Step], list[Step]]:
    """Blocks and other inputs by the standard's letters: the model names what it makes of them, not them."""
    made = {name for step in heard for name in step.values}
    letter = "C" if any(re.fullmatch(r"P\*?_\d+", name) for name in made) else "P"
    blocks = _blocks(contract.name, letter, inputs.used.get("data", b""))
    others = {name: inputs.used[name] for name in ("key", *STARTS) if name in inputs.used}
    more = [_given_step(*item) for item in others.items()]
    if "key" in inputs.used:
        keys = Recorder()
        choose("plain").expand_for_decryption(inputs.used["key"], keys.note, "K")
        more += [step for step in keys.steps if step.text.startswith("dK")]
    return [_given_step(*item) for item in blocks.items()], more


def _blocks(contract: str, letter: str, data: bytes) -> dict[str, bytes]:
    """The blocks of a message by their names; of stolen ciphertext the last two as they lie there."""
    first, n = 0 if contract.startswith("xts") else 1, -(-len(data) // BLOCK)
    sizes, numbers = [BLOCK] * n, list(range(first, first + n))
    stealing = next((s for s in cts.STEALING if contract == f"cts_decrypt_{s.lower()}"), None)
    if stealing and n > 1:
        d = cts.tail(len(data))
        exchanged = cts.exchanged(d, stealing)
        sizes[-2:] = (BLOCK, d) if exchanged else (d, BLOCK)
        numbers[-2:] = (n, n - 1) if exchanged else (n - 1, n)
    ends = list(accumulate(sizes))
    parts = [data[end - size : end] for end, size in zip(ends, sizes, strict=True)]
    stars = ["*" * (stealing is not None and len(part) < BLOCK) for part in parts]
    return {f"{letter}{s}_{i}": part for s, i, part in zip(stars, numbers, parts, strict=True)}


def _given_step(name: str, data: bytes) -> Step:
    return Step(f"{name}: given", "", "input", {name: data})
