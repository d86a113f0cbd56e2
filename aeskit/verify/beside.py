"""Functions run in lock-step with hardware: on silicon, or in the emulator where this CPU lacks something."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from aeskit.contracts import Contract
from aeskit.machine.loader import Image
from aeskit.machine.lockstep import Lockstep, lockstep
from aeskit.machine.silicon import Silicon
from aeskit.verify import pool
from aeskit.verify.calls import Given, prepare
from aeskit.verify.judge import limit
from aeskit.verify.proving.proofs import Target

ENGINES = ("auto", "silicon", "emulator")


@dataclass(frozen=True)
class Beside:
    """A target at some lengths."""

    target: Target
    lengths: tuple[int, ...]
    engine: str
    """The one that ran last."""
    steps: int
    difference: str = ""
    """Which call, and the first thing that differed; empty for nothing."""
    skipped: str = ""
    """What this CPU lacks for it."""
    stopped: str = ""
    """Which call did not return, though both agree, and why."""


MOST = 1 << 14
"""Bytes of the longest message: a few lengths of contracts whose lengths are far apart are enough."""


def spread(contract: Contract, count: int, last: int = 1100) -> tuple[int, ...]:
    """`count` lengths that the contract allows: the first ones, then others spread up to `last` bytes.

    Where there are too few up to there, up to twice as many bytes and so on, MOST at most. Without a length,
    one 0 for each key size.
    """
    if not contract.has_length:
        return (0,) * len(contract.key_sizes)
    every = contract.lengths(0, max((last, *contract.also)))
    if len(every) < count and last < MOST:
        return spread(contract, count, min(2 * last, MOST))
    head, rest = every[: count // 2], every[count // 2 :]
    more = min(count - len(head), len(rest))
    return (*head, *(rest[number * len(rest) // more] for number in range(more)))


def run(target: Target, lengths: tuple[int, ...], engine: str) -> Beside:
    """Run a target at each length, key sizes and layouts taking turns; stop at the first difference.

    SiliconError or EmulatorMissing where the engine cannot be had.
    """
    contract, steps = target.promise(), 0
    for number, length in enumerate(lengths):
        size = contract.key_sizes[number % len(contract.key_sizes)]
        in_place = contract.in_place and contract.has_length and number % 2 == 1
        engine, found = _once(target, contract, Given(length, size, in_place=in_place), engine)
        steps += found.steps
        if found.lacking:
            return Beside(target, lengths, engine, steps, skipped=found.where)
        where = f"{8 * size} bits, {length} bytes{', in place' * in_place}"
        if found.difference:
            return Beside(target, lengths, _name(engine), steps, f"{where}: {found}")
        if found.stop != "returned":
            return Beside(target, lengths, _name(engine), steps, stopped=f"{where}: {found}")
    return Beside(target, lengths, _name(engine), steps)


def _name(engine: str) -> str:
    return "silicon" if engine == "auto" else engine


def _once(target: Target, contract: Contract, given: Given, engine: str) -> tuple[str, Lockstep]:
    """One call; with ``auto`` the emulator takes over when an instruction is met that this CPU lacks."""
    prepared = prepare(_image(replace(target, contract="")), target.function, contract, given)
    most = limit(int(prepared.call.length))
    if engine != "emulator":
        found = lockstep(prepared.machine(), target.function, Silicon, most)
        if engine == "silicon" or not found.lacking:
            return engine, found
    from aeskit.machine.bochs.steps import Bochs

    return "emulator", lockstep(prepared.machine(), target.function, Bochs, most)


@lru_cache(maxsize=4)
def _image(target: Target) -> Image:
    return target.image()


def every(jobs: list[tuple[Target, tuple[int, ...]]], engine: str, workers: int | None) -> Iterator[Beside]:
    """Run them all on `workers` processes, by default one a core; in the order in which they end."""
    return pool.each(partial(_job, engine), jobs, workers)


def _job(engine: str, job: tuple[Target, tuple[int, ...]]) -> Beside:
    return run(*job, engine)
