"""Calls that may show a fault: the inputs of one call by their names, and other values for them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from aeskit.machine import decode as d
from aeskit.verify.calls import CARRIES, STARTS, Given, Prepared, carrying, draw

DRAWN = 48
"""Values that are drawn for all inputs at once: what hangs on one bit shows in one of two."""
CONSTANTS = 64
"""Constants of the code that are tried, beside every byte."""
FREE = ("old ", "free bytes")
"""How inputs begin that a function should not care for."""

Values = dict[str, bytes]
"""A call's inputs by name, in the order in which they are made simple: keys, tweak or IV, others, data."""


def values(prepared: Prepared) -> Values:
    """What a call was given. A key is called as its round keys are (K, or K1 and K2)."""
    inputs, used = prepared.inputs, prepared.inputs.used
    out = {x: (keys[0] + keys[1])[: inputs.given.key_size] for x, keys in inputs.schedules.items()}
    names = [name for name in used if not name.startswith(FREE) and "[" not in name]
    first = [name for name in ("key", *STARTS) if name in names]
    last = ["data"] if "data" in names else []
    rest = [name for name in names if name not in (*first, *last)]
    return out | {name: used[name] for name in (*first, *rest, *last) if used[name]}


def given(base: Given, some: Mapping[str, bytes], letters: tuple[str, ...]) -> Given:
    """The same call with these values; `letters` name its keys."""
    starts = [name for name in STARTS if name in some]
    own = {"data", "key", *letters, *starts[:1]}
    whole = b"".join(some[letter] for letter in letters) or some.get("key")
    return replace(
        base,
        key=whole,
        data=some.get("data"),
        start=some[starts[0]] if starts else None,
        inputs=tuple((name, data) for name, data in some.items() if name not in own),
    )


def others(
    found: Values, letters: tuple[str, ...], hints: Iterable[Mapping[str, bytes]], constants: Iterable[int]
) -> Iterator[Values]:
    """Other values for a call's inputs, those first that a proof's case names."""
    for hint in hints:
        yield found | {name: data for name, data in hint.items() if name in found}
    yield found
    for salt in range(DRAWN):
        yield {name: draw(f"{name}, {salt}", len(data)) for name, data in found.items()}
    starts = [name for name, data in found.items() if name in STARTS and data]
    for number in range(CARRIES if starts else 0):
        yield found | {name: carrying(found[name], number) for name in starts}
    for pattern in patterns(constants):
        yield apart({name: _filled(pattern, len(data)) for name, data in found.items()}, letters)


def apart(some: Values, letters: tuple[str, ...]) -> Values:
    """The same with two keys that differ: XTS libraries refuse two that are the same."""
    if len(letters) == 2 and some[letters[0]] == some[letters[1]]:
        second = some[letters[1]]
        return some | {letters[1]: bytes([second[0] ^ 1]) + second[1:]}
    return some


def constants_of(instructions: Iterable[d.Instruction]) -> Iterator[int]:
    """The constants that instructions compare with, or compute with."""
    for instruction in instructions:
        for operand in instruction.operands:
            if isinstance(operand, d.Immediate):
                yield operand.value % (1 << 64)


def patterns(constants: Iterable[int]) -> list[bytes]:
    """Constants of more than a byte, as they lie in memory and reversed; then every byte."""
    found: dict[bytes, None] = {}
    for value in constants:
        signed = value - (1 << 64) if value >> 63 else value
        size = next(n for n in (1, 2, 4, 8) if -(1 << 8 * n - 1) <= signed < 1 << 8 * n)
        if size > 1 and len(found) < 2 * CONSTANTS:
            data = (value % (1 << 8 * size)).to_bytes(size, "little")
            found |= {data: None, data[::-1]: None}
    return [*found, *(bytes([byte]) for byte in range(256))]


def _filled(pattern: bytes, size: int) -> bytes:
    return (pattern * (size // len(pattern) + 1))[:size]
