"""Which contract a function of unknown origin keeps: by the words of its symbol, and by what it does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from aeskit import contracts
from aeskit.contracts import ANY, Call, Contract, UInt32
from aeskit.machine.errors import MachineError
from aeskit.machine.loader import Image
from aeskit.machine.run import Machine
from aeskit.models.arithmetic import choose
from aeskit.verify.calls import Given, Prepared, prepare

LENGTHS = (64, 16, 80)
STEPS = 8_000
"""More than any function of ours needs for the longest of LENGTHS."""
KEYS = (32, 16)
"""Bytes of a key: code for AES-128 alone is told apart where the longest gives nothing right."""


@dataclass(frozen=True)
class Guess:
    """Contracts that a function may keep, and the reason in words; none where nothing fits."""

    contracts: tuple[Contract, ...]
    reason: str
    certain: bool = False
    """Our own function: its contracts are known."""
    fits: bool = True
    """Whether it gives right results with them; else they are the nearest."""


def guess(image: Image, symbol: str) -> Guess:
    """Our own by name; else those with which it gives right results; else the nearest."""
    own = contracts.of(symbol)
    if own:
        return Guess(tuple(own), "the name of one of our own functions", certain=True)
    likely = _likely(symbol)
    nearest: tuple[float, Contract | None] = (0.0, None)
    for key in KEYS:
        scores = {contract: score(image, symbol, contract, key) for contract in likely}
        right = [contract for contract, part in scores.items() if part == 1]
        if right:
            return _fitting(symbol, right, key)
        contract, part = max(scores.items(), key=lambda item: item[1], default=(None, 0.0))
        if contract is not None and part > nearest[0]:
            nearest = part, _for_keys(contract, key)
    if nearest[1] is None:
        return Guess((), "with no contract that is known it gives a right block")
    told = (
        f"no contract fits: of all it comes nearest to this one, with {100 * nearest[0]:.0f} % of the bytes"
    )
    return Guess((nearest[1],), told, fits=False)


def _for_keys(contract: Contract, key: int) -> Contract:
    """The contract; where it was met by AES-128 alone for that."""
    return contract if key == KEYS[0] else replace(contract, key_sizes=(key,))


def _fitting(symbol: str, right: Sequence[Contract], key: int) -> Guess:
    """Of contracts that fit, those by whose words the symbol goes; all that differ in a flag alone."""
    words = _words_fit(symbol, right)
    first, *others = words or right
    family = [c for c in others if _has_flag(first) and _has_flag(c) and _family(c) == _family(first)]
    lengths = ", ".join(str(n) for n in sorted(LENGTHS) if n in first.lengths(n, n))
    at = f" at {lengths} bytes" if first.has_length else ""
    reason = f"{'its name fits, and ' if words else ''}it gives the right bytes{at} with a {8 * key}-bit key"
    reason += "" if key == KEYS[0] else f", not with {8 * KEYS[0]} bits: other key sizes are not asked"
    rest = [c.name for c in right if c is not first and c not in family]
    kept = tuple(_for_keys(contract, key) for contract in (first, *family))
    return Guess(kept, f"{reason}; so it does with {', '.join(rest)}" if rest else reason)


def _family(contract: Contract) -> list[str]:
    """Mode and direction."""
    return contract.name.split("_")[:2]


def _has_flag(contract: Contract) -> bool:
    """Whether it has a 32-bit argument beside keys and data: its forms are contracts of their own."""
    call = Call(choose("plain"), lambda name, size: bytes(size), lambda word, number: word, 64, KEYS[0])
    contract.setup(call)
    return contract.has_length and any(isinstance(value, UInt32) for value in call.registers)


def _likely(symbol: str) -> Sequence[Contract]:
    """Every contract, those whose words the symbol has first."""
    return sorted(contracts.ALL.values(), key=lambda contract: -_fit(symbol, contract))


def _fit(symbol: str, contract: Contract) -> int:
    """How many words of the contract's name the symbol holds; the wrong direction counts against it."""
    text = symbol.lower()
    found = sum(word in text for word in contract.name.split("_"))
    other = {"encrypt": "decrypt", "decrypt": "encrypt"}
    return found - sum(2 for word, wrong in other.items() if word in contract.name and wrong in text)


def _words_fit(symbol: str, found: Sequence[Contract]) -> list[Contract]:
    return [contract for contract in found if contract.name.split("_")[0] in symbol.lower()]


def score(image: Image, symbol: str, contract: Contract, key: int = KEYS[0]) -> float:
    """The part of the bytes that are right after runs with it; 1 for all, 0 where it faults at once."""
    if key not in contract.key_sizes:
        return 0.0
    lengths = [n for n in LENGTHS if n in contract.lengths(n, n)] if contract.has_length else [0]
    parts, machine = [], Machine(image)
    for length in lengths:
        prepared = prepare(image, symbol, contract, Given(length, key))
        prepared.load(machine, poison=0)
        parts.append(_part(prepared, machine))
        if not parts[-1]:
            return 0.0
    return min(parts, default=0.0)


def _part(prepared: Prepared, machine: Machine) -> float:
    """The part of the bytes that a run leaves right in what it must write; a fault counts against it."""
    try:
        machine.call(prepared.symbol, STEPS)
        weight = 1.0
    except MachineError:
        weight = 0.5
    right = total = 0
    after = {region.name: region.data.tobytes() for region in prepared.regions}
    for buffer in prepared.call.buffers:
        if buffer.expected is ANY or not len(buffer.data):
            continue
        if buffer.expected is None:
            weight *= 1.0 if after[buffer.name] == bytes(buffer.data) else 0.25
            continue
        wanted, got = bytes(buffer.expected), after[buffer.name]
        changed = [i for i, (a, b) in enumerate(zip(wanted, bytes(buffer.data), strict=True)) if a != b]
        right += sum(got[i] == wanted[i] for i in changed)
        total += len(changed)
    part = right / total if total else 0.0
    return weight * part if part > 0.1 else 0.0  # one byte in 256 is right by chance
