"""The semantics table: a mnemonic to its `Entry`, a body and the kind of map it is.

A body takes its sources as byte arrays of shape (n, 16), one row a lane (shorter rows for a small memory
operand or a general register), then the immediate, and returns the bytes of the destination. What legacy, VEX
and EVEX do around it (upper bits, masking, zeroing, broadcast) is the operand layer's work. In the numbers
domain the arrays are uint8. Over GF(2) the kind says what is done instead:

MOVE        the body itself, on arrays of ids: it moves whole bytes and writes zeros
BOOLEAN     the body itself, on `Symbols`, which know & | ^ ~
LINEAR      the matrix of the body, got by running it on the basis
BILINEAR    the same, one source being constant
SUM, COMPARE  words x + c; see `counters`
NUMBERS     constants only
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from aeskit.machine.decode import Immediate, Instruction, Mask, Memory, Vector
from aeskit.machine.errors import UnknownInstruction

Array = NDArray[Any]


class Kind(Enum):
    """What kind of map a body is; the GF(2) domain chooses by it."""

    MOVE = "move"
    BOOLEAN = "Boolean"
    LINEAR = "linear"
    BILINEAR = "bilinear"
    SUM = "sum"
    COMPARE = "compare"
    NUMBERS = "numbers"


@dataclass(frozen=True)
class Entry:
    """A row of the table for an instruction on vector or mask registers."""

    name: str
    body: Callable[..., Any]
    kind: Kind
    arity: int
    """Sources of the body, immediates not counted; a legacy form gives its destination as the first."""
    element: int
    """Bytes of an element for masking; 0 where a form with a mask does not exist."""
    control: tuple[int, ...] = ()
    """Sources that must be constant over GF(2): shuffle indices, shift counts."""
    reads_destination: bool = False
    """The destination is the first source in the VEX and EVEX forms as well."""
    tile: bool = False
    """The result is repeated over the destination (broadcasts)."""
    sized: bool = False
    """The body takes the destination's bytes as `size`."""
    whole: bool = False
    """Linear over the whole register, not lane by lane."""
    merge_first: bool = False
    """Where the mask is clear the first source shows (vpblendm)."""
    substitution: str = ""
    """forward or inverse: the first source goes through the S-box before the body."""
    aligned: bool = False
    """A memory operand must be aligned in every encoding (movdqa)."""
    unaligned: bool = False
    """A memory operand may be unaligned in the legacy form too (movdqu)."""
    to_mask: bool = False
    """The body gives a Boolean an element, for a mask register."""
    scattered: bool = False
    """A mask spares no access to memory: all of it is touched (SDM volume 2, 2.8: classes E4NF and E6NF)."""
    to_flags: bool = False
    """The body gives (zf, cf); sf, of, af and pf are cleared."""


@dataclass(frozen=True)
class Scalar:
    """A row of the table for an instruction on general registers.

    The body takes the operation's bits, its sources as unsigned ints and the carry (0 or 1), and gives
    (result, cf, of): None for a flag that it leaves alone. `flags` names those set from the result.
    """

    name: str
    body: Callable[..., Any]
    kind: Kind
    flags: str = "szp"
    writes: bool = True
    """False for cmp and test."""


TABLE: dict[str, Entry] = {}
"""By the name without the v of VEX and EVEX."""

SCALARS: dict[str, Scalar] = {}


def vector(
    *names: str, kind: Kind, arity: int = 2, **more: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a body under `names`, each ``name`` or ``name:element`` with the element's bytes for masking."""

    def enter(body: Callable[..., Any]) -> Callable[..., Any]:
        for spelled in names:
            name, _, element = spelled.partition(":")
            TABLE[name] = Entry(name, body, kind, arity, int(element or 0), **more)
        return body

    return enter


def family(pattern: str, letters: str, *, kind: Kind, arity: int = 2, **more: Any) -> Callable[[Any], Any]:
    """Enter a factory's bodies: {} in `pattern` becomes each letter, the factory is given its bytes."""
    sizes = {"b": 1, "w": 2, "d": 4, "q": 8}

    def enter(factory: Callable[[int], Callable[..., Any]]) -> Callable[[int], Callable[..., Any]]:
        for letter in letters:
            vector(f"{pattern.format(letter)}:{sizes[letter]}", kind=kind, arity=arity, **more)(
                factory(sizes[letter])
            )
        return factory

    return enter


def scalar(*names: str, kind: Kind, flags: str = "szp", writes: bool = True) -> Callable[[Any], Any]:
    """Enter a scalar body under `names`."""

    def enter(body: Callable[..., Any]) -> Callable[..., Any]:
        for name in names:
            SCALARS[name] = Scalar(name, body, kind, flags, writes)
        return body

    return enter


def lookup(instruction: Instruction) -> Entry | None:
    """The vector row of an instruction, or None; forms of one mnemonic that differ have rows of their own."""
    name, operands = instruction.mnemonic, instruction.operands
    if not any(isinstance(o, Vector | Mask) for o in operands):
        return None
    stem = name[1:] if name[0] == "v" else name
    by_immediate = any(isinstance(o, Immediate) for o in operands)
    form = ""
    if operands and isinstance(operands[0], Mask) and stem.startswith(("pcmpeq", "pcmpgt")):
        form = " to mask"
    elif by_immediate and stem[:4] in ("psll", "psrl", "psra") and "dq" not in stem:
        form = " by immediate"
    elif not by_immediate and stem in ("permq", "permpd", "permilps"):
        form = " by register"
    elif stem in ("movss", "movsd"):
        if instruction.mask:
            return None  # it chooses element 0 alone
        form = " store" if isinstance(operands[0], Memory) else ""
        form = " load" if isinstance(operands[-1], Memory) else form
    elif isinstance(operands[0], Memory) and stem[:4] in ("movh", "movl"):
        form = " store"
    return TABLE.get(stem + form)


def immediate(instruction: Instruction) -> tuple[int, ...]:
    """The immediates as the body takes them."""
    return tuple(o.value & 0xFF for o in instruction.operands if isinstance(o, Immediate))


def unknown(instruction: Instruction) -> UnknownInstruction:
    """The error for an instruction that the table lacks."""
    return UnknownInstruction(f"the semantics table has no {instruction.mnemonic}: {instruction.where()}")


def words(data: Array, size: int) -> Array:
    """Bytes (…, 16) as unsigned little-endian elements of `size` bytes (…, 16/size)."""
    return np.ascontiguousarray(data, np.uint8).view(f"<u{size}")


def signed(data: Array, size: int) -> Array:
    """The same, signed."""
    return np.ascontiguousarray(data, np.uint8).view(f"<i{size}")


def to_bytes(elements: Array) -> Array:
    """Elements back to bytes; Booleans become all ones."""
    return np.ascontiguousarray(elements).view(np.uint8)


def split(data: Array, size: int) -> Array:
    """Bytes (…, n) of any domain as (…, n/size, size): elements to be moved, not computed with."""
    return data.reshape(*data.shape[:-1], -1, size)


def join(data: Array) -> Array:
    """The inverse of `split`."""
    return data.reshape(*data.shape[:-2], -1)
