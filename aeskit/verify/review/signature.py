"""A contract in words: the arguments that it gives, and the inputs that it holds for."""

from __future__ import annotations

from aeskit.bits import BLOCK
from aeskit.contracts import Blocks, Buffer, Call, Contract, Length, UInt32
from aeskit.models.arithmetic import choose

_INPUTS = {"key": ("K", "key", "w["), "tweak": ("tweak",), "IV": ("iv",), "counter": ("counter",)}
"""What is said of an input, by how a contract's name of it begins."""


def shortest(contract: Contract) -> int:
    """The shortest length with data in it, in bytes; 0 without a length."""
    if not contract.has_length:
        return 0
    first = max(contract.minimum, 1)
    return -(-first // contract.multiple) * contract.multiple


def usable(contract: Contract, lengths: tuple[int, ...]) -> list[int]:
    """Those of `lengths` that a contract allows; where it allows none of them but 0, its own first three."""
    if not contract.has_length:
        return [0]
    some = [n for n in sorted({*lengths, *contract.also}) if n in contract.lengths(n, n)]
    if lengths and not any(some):
        some += [shortest(contract) + contract.multiple * n for n in range(3)]
    return some


def call(contract: Contract) -> tuple[Call, set[str]]:
    """One call of the shortest length with zeros for inputs, and the names of those."""
    names: set[str] = set()

    def unknown(name: str, size: int) -> bytes:
        names.add(name)
        return bytes(size)

    length = max(shortest(contract), contract.minimum)
    made = Call(choose("plain"), unknown, lambda word, number: word, length, max(contract.key_sizes))
    contract.setup(made)
    return made, names


def arguments(contract: Contract) -> str:
    """``const key[496], const source[], destination[], length, tweak[16], 32 bits``: sizes in bytes."""
    return ", ".join(_argument(value) for value in call(contract)[0].registers)


def _argument(value: Buffer | UInt32 | int) -> str:
    if isinstance(value, Buffer):
        size = "" if value.moves else len(value.data)
        return f"{'' if value.writable else 'const '}{value.name}[{size}]"
    if isinstance(value, Length):
        return "length"
    if isinstance(value, Blocks):
        return f"length / {BLOCK}"
    return "32 bits" if isinstance(value, UInt32) else "64 bits"


def narrow(contract: Contract) -> bool:
    """Whether some argument is of 32 bits."""
    return any(isinstance(value, UInt32) for value in call(contract)[0].registers)


def inputs(contract: Contract) -> list[str]:
    """Of key, tweak, IV and counter those that a contract has."""
    names = call(contract)[1]
    return [said for said, starts in _INPUTS.items() if any(name.startswith(starts) for name in names)]
