"""Which lengths and which kinds of call reach an instruction: found by running the code, not by reading it.

Lengths whose runs visit the same instructions form a class; the shortest of each class is run with every key
size and every contract of the function. Secret contents do not matter: code with a secret in a branch is no
code of ours, and the proof of the unchanged function says so. A counter, which is public, is also run where
it carries, at the first blocks of a message and at one in eight.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from aeskit.bits import BLOCK
from aeskit.contracts import Call, Contract
from aeskit.machine.bochs import Emulator, EmulatorMissing, map_image
from aeskit.machine.loader import Image
from aeskit.machine.run import Machine
from aeskit.models.arithmetic import choose
from aeskit.verify.calls import ARGUMENTS, Given, Inputs, Prepared
from aeskit.verify.proving.proofs import Target

STEPS = 200_000
"""More than any run of a few kilobytes takes."""


def lengths() -> list[int]:
    """Every length up to 160 bytes, whole blocks and three tails up to 600, and a little beyond 1,024.

    So every tail, every remainder of the widest main loop (512 bytes), and one that has made two passes.
    """
    short = range(161)
    middle = (n for n in range(161, 601) if n % 16 in (0, 1, 8, 15))
    return [*short, *middle, *(n for n in range(1009, 1101) if n % 16 in (0, 1, 15))]


@dataclass(frozen=True)
class Kind:
    """A kind of call: a contract by its place among the targets, and a key size in bytes."""

    target: int
    key_size: int


@dataclass(frozen=True)
class Reach:
    """Classes of lengths, each class's lengths upwards, and what each kind of call visits there."""

    classes: tuple[tuple[int, ...], ...]
    visits: dict[tuple[int, Kind], frozenset[int]]
    """(number of the class, kind) to addresses."""
    kinds: tuple[Kind, ...]

    @property
    def measured(self) -> frozenset[int]:
        """Every length of which it is known what it reaches."""
        return frozenset(length for group in self.classes for length in group)

    def of(self, address: int) -> list[tuple[tuple[int, ...], list[Kind]]]:
        """The classes whose runs visit an address, the shortest first, each with the kinds that do."""
        found = []
        for number, lengths in enumerate(self.classes):
            kinds = [kind for kind in self.kinds if address in self.visits.get((number, kind), ())]
            if kinds:
                found.append((lengths, kinds))
        return found

    def lengths(self, address: int) -> frozenset[int]:
        """Every length at which some kind of call visits an address."""
        return frozenset(length for lengths, _ in self.of(address) for length in lengths)


def kinds(targets: tuple[Target, ...]) -> tuple[Kind, ...]:
    """Every contract with every key size that it takes."""
    return tuple(Kind(t, size) for t, target in enumerate(targets) for size in target.promise().key_sizes)


def measure(
    targets: tuple[Target, ...], lengths: Iterable[int], told: Callable[[int], None] = lambda done: None
) -> Reach:
    """Run one function's targets; `told` hears how many runs were made."""
    image, every = targets[0].image(), kinds(targets)
    promises = [target.promise() for target in targets]
    run, function = _runner(image), targets[0].function
    wanted = sorted(
        {n for length in lengths for promise in promises for n in promise.lengths(length, length)}
        | {length for promise in promises for length in promise.also}
    )

    def visited(kind: Kind, length: int, counters: Iterable[Carry | None]) -> Visited:
        return _visited(run, image, function, promises[kind.target], length, kind.key_size, counters)

    paths: dict[tuple[Kind, frozenset[int]], list[int]] = {}
    counters: dict[tuple[Kind, frozenset[int]], tuple[Carry | None, ...]] = {}
    for length in wanted:
        base = next(kind for kind in reversed(every) if _takes(promises[kind.target], length))
        path, needed = visited(base, length, (None, *_carries(length)))
        paths.setdefault((base, path), []).append(length)
        counters.setdefault((base, path), needed)
        told(len(paths))
    visits = {}
    for number, (key, same) in enumerate(paths.items()):
        for kind in every:
            if kind == key[0]:
                visits[number, kind] = key[1]
            elif _takes(promises[kind.target], same[0]):
                visits[number, kind] = visited(kind, same[0], counters[key])[0]
    return Reach(tuple(map(tuple, paths.values())), visits, every)


def _takes(promise: Contract, length: int) -> bool:
    return length in promise.lengths(length, length)


Run = Callable[[Prepared], frozenset[int]]


Carry = tuple[bool, int, int]
"""Whether a counter is big-endian, its low bits that are ones, and how many it is from there."""
Visited = tuple[frozenset[int], tuple[Carry | None, ...]]
"""Addresses, and the counters that were needed to come to them all."""
CARRIED = (32, 64)
"""Low bits of a counter that carry out."""


def _carries(length: int) -> Iterator[Carry]:
    """Counters that carry within a message, or behind its last block."""
    blocks = -(-length // BLOCK)
    for distance in sorted({*range(min(blocks, 8) + 1), *range(0, blocks + 1, 8), blocks}):
        yield from ((big, bits, distance) for big in (True, False) for bits in CARRIED)


def _visited(
    run: Run,
    image: Image,
    function: str,
    contract: Contract,
    length: int,
    key_size: int,
    counters: Iterable[Carry | None],
) -> Visited:
    """What a call visits with any of the counters, if it has one."""
    found: frozenset[int] = frozenset()
    needed: list[Carry | None] = []
    for counter in counters:
        prepared = call(image, function, contract, length, key_size, counter)
        if counter is not None and not prepared.call.public:
            break
        path = run(prepared)
        if path - found:
            found, needed = found | path, [*needed, counter]
    return found, tuple(needed)


def call(
    image: Image,
    function: str,
    contract: Contract,
    length: int,
    key_size: int,
    counter: Carry | None = None,
) -> Prepared:
    """One call with reproducible contents, in numbers; its public inputs are as the counter says."""
    draw = random.Random(length).randbytes

    def unknown(name: str, size: int) -> Any:
        data = draw(size)
        if counter is not None and name in made.public:
            data = _carrying(data, *counter)
        return np.frombuffer(data, np.uint8)

    made = Call(choose("numpy"), unknown, _add, length, key_size)
    contract.setup(made)
    return Prepared(image, function, contract, made, Inputs(Given(length, key_size)), [])


def _carrying(data: bytes, big: bool, bits: int, distance: int) -> bytes:
    """The same with its low `bits` as many as `distance` below carrying out."""
    order: Literal["big", "little"] = "big" if big else "little"
    value = (int.from_bytes(data, order) | (1 << bits) - 1) - distance
    return value.to_bytes(len(data), order)


def _add(word: Any, number: int) -> Any:
    value = (int.from_bytes(bytes(word), "little") + number) % (1 << 8 * len(word))
    return np.frombuffer(value.to_bytes(len(word), "little"), np.uint8)


def _runner(image: Image) -> Run:
    """The emulator, or where it cannot be had the lane machine, which is slower."""
    try:
        emulator = Emulator()
        map_image(emulator, image)
    except EmulatorMissing:
        return _lanes
    return lambda prepared: _emulated(emulator, prepared)


def _lanes(prepared: Prepared) -> frozenset[int]:
    seen: set[int] = set()
    machine = prepared.machine()
    machine.start(prepared.symbol)
    machine.resume(STEPS, until=seen.add)  # type: ignore[arg-type]
    return frozenset(seen)


def _emulated(emulator: Emulator, prepared: Prepared) -> frozenset[int]:
    seen: set[int] = set()
    machine = prepared.machine()
    for region in _buffers(machine):
        emulator.map(region.address, region.data.astype(np.uint8).tobytes())
    arguments = [machine.state.gpr[number] for number in ARGUMENTS]
    emulator.call(machine.image.address_of(prepared.symbol), arguments, max_steps=STEPS, on_step=seen.add)
    return frozenset(seen)


def _buffers(machine: Machine) -> Iterator[Any]:
    sections = {section.address for section in machine.image.sections}
    return (r for r in machine.memory.regions if r is not machine.stack and r.address not in sections)
