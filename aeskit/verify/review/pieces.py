"""A message in pieces on hardware: each call goes on with the tweak, counter or IV that the last one left.

A contract goes on by itself where what it writes back is the start of the message's rest. Our own XTS
functions take flags, which make another contract of every piece.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aeskit.bits import BLOCK
from aeskit.contracts import ANY, Buffer, Contract, UInt32
from aeskit.machine.loader import Image
from aeskit.machine.run import RETURN
from aeskit.machine.state import Registers
from aeskit.verify.calls import ARGUMENTS, POISON, Given, Prepared, prepare
from aeskit.verify.review.hardware import Hardware, Layout, found_in, placed
from aeskit.verify.review.runs import LIMIT, title

RSP = 4
MESSAGE = ("source", "destination", "data")
"""Buffers in which a piece begins where the last one ended."""
AT_ONCE = Layout("as it is", lambda buffer, start: start + BLOCK)


@dataclass(frozen=True)
class Chain:
    """Contracts of the first piece, of those in the middle and of the last one, and of the whole."""

    whole: Contract
    first: Contract
    middle: Contract
    last: Contract
    left: str
    """The buffer that holds what the whole call and its pieces leave differently; empty for none."""


def chains(image: Image, symbol: str, promises: Sequence[Contract]) -> Iterator[Chain]:
    """How a message can be cut, by the contracts that a function keeps."""
    named = {contract.name: contract for contract in promises}
    for name, contract in named.items():
        stem = name.removesuffix("_first")
        rest = [named.get(f"{stem}_{what}") for what in ("first_update", "update", "piece")]
        if stem != name and all(rest):
            first, middle, last = (one for one in rest if one)
            yield Chain(contract, first, middle, last, "tweak")
        elif _goes_on(image, symbol, contract):
            yield Chain(contract, contract, contract, contract, "")


def _goes_on(image: Image, symbol: str, contract: Contract) -> bool:
    """Whether a call leaves the start of the message's rest where it found its own, and the same bytes."""
    if not contract.has_length or not contract.inductive:
        return False
    length = next(n for n in range(3 * BLOCK, 1 << 20, BLOCK) if contract.lengths(n, n))
    size = contract.key_sizes[0]
    piece, whole = (prepare(image, symbol, contract, Given(n, size)).call for n in (length, 2 * length))
    left, all_ = (dict(_told(c.buffers)) for c in (piece, whole))
    same = all(all_[name].startswith(left[name]) for name in MESSAGE if name in left)
    return same and any(left.get(name) == bytes(f(length // BLOCK)) for name, f in piece.following.items())


def _told(buffers: Sequence[Buffer]) -> Iterator[tuple[str, bytes]]:
    for buffer in buffers:
        if buffer.expected is not None and buffer.expected is not ANY:
            yield buffer.name, bytes(buffer.expected)


def cuts(chain: Chain) -> Iterator[tuple[int, ...]]:
    """Bytes of the pieces: every cut in two of a short message, and some in three; all but the last whole."""
    for total in (64, 145, 288):
        if chain.whole.lengths(total, total):
            yield from ((at, total - at) for at in range(BLOCK, total - BLOCK + 1, BLOCK))
    if chain.whole.lengths(321, 321) or chain.whole.lengths(320, 320):
        total = 321 if chain.whole.lengths(321, 321) else 320
        yield from ((at, 96, total - 96 - at) for at in (16, 64, 112, 160))


def run(out: Hardware, image: Image, symbol: str, chain: Chain, make: Any) -> None:
    """Every cut, out of place and in place, key sizes taking turns; what is wrong goes to `out.findings`."""
    for number, sizes in enumerate(cuts(chain)):
        key_size = chain.whole.key_sizes[number % len(chain.whole.key_sizes)]
        given = Given(sum(sizes), key_size, in_place=bool(number % 2) and chain.whole.in_place)
        whole = prepare(image, symbol, chain.whole, given)
        what = f"{title(chain.whole, given.length, key_size, given.in_place)}, in pieces of "
        what += f"{', '.join(map(str, sizes[:-1]))} and {sizes[-1]} bytes"
        out.findings += [(kind, f"{what}: {text}") for kind, text in _one(out, whole, chain, sizes, make)]
        out.layouts.add(f"in {len(sizes)} pieces")
        out.lengths.add(given.length)


def _one(
    out: Hardware, whole: Prepared, chain: Chain, sizes: Sequence[int], make: Any
) -> list[tuple[str, str]]:
    machine = placed(whole, AT_ONCE.place)
    machine.start(whole.symbol)
    start = machine.registers()
    other, at = make(machine.memory), 0
    try:
        for number, size in enumerate(sizes):
            contract = chain.middle if 0 < number < len(sizes) - 1 else chain.last if number else chain.first
            given = replace(whole.inputs.given, length=size)
            piece = prepare(whole.image, whole.symbol, contract, given)
            other.load(_set_up(other, whole, piece, start, at))
            last = start
            for step in other.steps(RETURN, LIMIT):
                last, out.steps = step.registers, out.steps + 1
            out.calls, at = out.calls + 1, at + size
            if other.stop.reason != "returned":
                break
        return [one for one in found_in(whole, machine, other, start, last) if _counts(one, chain)]
    finally:
        getattr(other, "close", lambda: None)()


def _counts(found: tuple[str, str], chain: Chain) -> bool:
    return not chain.left or not found[1].startswith(f"{chain.left}:")


def _set_up(other: Any, whole: Prepared, piece: Prepared, start: Registers, at: int) -> Registers:
    """Registers and stack of a piece's call, on the memory of the whole message."""
    addresses = {buffer.name: whole.addresses[id(buffer)] for buffer in whole.call.buffers}
    gpr = list(start.gpr)
    other.write(gpr[RSP], RETURN.to_bytes(8, "little"))
    for number, value in enumerate(piece.call.registers):
        if isinstance(value, Buffer):
            given = addresses[value.name] + (at if value.name in MESSAGE else 0)
        else:
            given = value.value | POISON if isinstance(value, UInt32) else int(value)
        if number < len(ARGUMENTS):
            gpr[ARGUMENTS[number]] = given
        else:
            other.write(gpr[RSP] + 8 * (number - len(ARGUMENTS) + 1), given.to_bytes(8, "little"))
    return replace(start, gpr=gpr)
