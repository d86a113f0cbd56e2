"""What a view draws: bytes in lanes of 16, cut into cells of one type."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from aeskit.bits import BLOCK, BitOrder, from_le, to_le, to_polynomial, xor
from aeskit.trace import Step

SIZES = {"bytes": 1, "words": 2, "dwords": 4, "quadwords": 8, "bits": 1, "polynomial": 1}
"""Cell type to bytes of a cell; bits and the polynomial are grouped by byte."""

REGISTERS = (16, 32, 64)
"""Bytes of an xmm, ymm and zmm register."""

MAX_BYTES = 1 << 16


@dataclass(frozen=True)
class Lanes:
    """Named bytes in lanes of 16: a register, or a buffer block by block (its last lane may be shorter)."""

    name: str
    data: bytes
    labels: tuple[str, ...] = ()
    """What stands before each lane; ``name`` or ``name[i]`` if empty."""
    mark: bytes = b""
    """As long as `data`, a one for each bit that is marked as different; empty for none."""
    order: BitOrder = BitOrder.XTS
    """How a lane spells a polynomial."""
    heading: str = ""
    """A line above the lanes: the instruction that set them."""

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn."""
        for name in ("data", "mark"):
            object.__setattr__(self, name, bytes(getattr(self, name)))
        object.__setattr__(self, "labels", tuple(self.labels))
        if not 0 < len(self.data) <= MAX_BYTES:
            raise ValueError(f"{self.name} must have 1 to {MAX_BYTES} bytes, not {len(self.data)}")
        if self.mark and len(self.mark) != len(self.data):
            raise ValueError(f"mark of {self.name} must have {len(self.data)} bytes, not {len(self.mark)}")
        if self.labels and len(self.labels) != self.count:
            raise ValueError(f"{self.name} must have {self.count} labels, not {len(self.labels)}")

    @property
    def count(self) -> int:
        """How many lanes, the last one perhaps shorter."""
        return -(-len(self.data) // BLOCK)

    @property
    def titles(self) -> tuple[str, ...]:
        """What stands before each lane."""
        if self.labels:
            return self.labels
        return (self.name,) if self.count == 1 else tuple(f"{self.name}[{i}]" for i in range(self.count))

    def lane(self, index: int) -> bytes:
        """The bytes of one lane."""
        return self.data[BLOCK * index : BLOCK * (index + 1)]

    def lane_mark(self, index: int) -> bytes:
        """The marked bits of one lane, zeros where nothing is marked."""
        mark = self.mark or bytes(len(self.data))
        return mark[BLOCK * index : BLOCK * (index + 1)]

    def against(self, other: bytes) -> Lanes:
        """The same lanes with each bit marked that differs from `other`; bytes it lacks differ whole."""
        common = min(len(self.data), len(other))
        rest = b"\xff" * (len(self.data) - common)
        return replace(self, mark=xor(self.data[:common], other[:common]) + rest)


def register(name: str, data: bytes, values: Sequence[str] = (), order: BitOrder = BitOrder.XTS) -> Lanes:
    """A 128, 256 or 512-bit register; `values` names what each lane holds: ``zmm6[2] = T_2``."""
    if len(data) not in REGISTERS:
        raise ValueError(f"register {name} must have 16, 32 or 64 bytes, not {len(data)}")
    plain = Lanes(name, data, order=order)
    if not values:
        return plain
    if len(values) != plain.count:
        raise ValueError(f"register {name} has {plain.count} lanes, not {len(values)} to name")
    titles = zip(plain.titles, values, strict=True)
    return replace(plain, labels=tuple(f"{title} = {value}" for title, value in titles))


def blocks(name: str, data: bytes) -> Lanes:
    """A buffer block by block, each labelled with the offset of its first byte."""
    return Lanes(name, data, tuple(f"{name} +{offset}" for offset in range(0, len(data), BLOCK)))


def step_lanes(step: Step) -> list[Lanes]:
    """The values that a step set, its text and place as the heading of the first."""
    head = f"{step.text}    {step.place}".rstrip()
    shown = [Lanes(name, data) for name, data in step.values.items() if data]
    return [replace(lanes, heading="" if number else head) for number, lanes in enumerate(shown)]


@dataclass(frozen=True)
class Cell:
    """One cell: what it says, the first byte in its lane that it shows, and its marked bits."""

    text: str
    first: int
    mark: int


def check_type(cells: str) -> None:
    """Refuse a cell type that is none of `SIZES`."""
    if cells not in SIZES:
        raise ValueError(f"cells must be one of {', '.join(SIZES)}, not {cells!r}")


def lane_cells(lanes: Lanes, lane: int, cells: str, high_first: bool = False) -> list[Cell]:
    """The cells of a lane, byte 0 first, or last with `high_first`.

    Words, dwords and quadwords are the little-endian integers that an x86 instruction sees.
    """
    check_type(cells)
    size, data, mark = SIZES[cells], lanes.lane(lane), lanes.lane_mark(lane)
    made = []
    for first in range(0, len(data), size):
        value, marked = (from_le(part[first : first + size]) for part in (data, mark))
        digits = len(data[first : first + size])
        text = f"{value:08b}" if cells == "bits" else f"{value:0{2 * digits}x}"
        made.append(Cell(text, first, marked))
    return made[::-1] if high_first else made


def lane_polynomial(lanes: Lanes, lane: int, mark: bool = False) -> int:
    """The polynomial that a lane (or its mark) spells; missing bytes count as zero."""
    data = lanes.lane_mark(lane) if mark else lanes.lane(lane)
    return to_polynomial(data.ljust(BLOCK, b"\0"), lanes.order)


def degree(byte: int, bit: int, order: BitOrder) -> int:
    """The power of x that `bit` (0 the lowest) of `byte` stands for."""
    lone = to_le(1 << (8 * byte + bit), BLOCK)
    return to_polynomial(lone, order).bit_length() - 1


def lane_indices(shown: Sequence[Lanes]) -> Iterator[tuple[Lanes, int]]:
    """Every lane of every register, in order."""
    for lanes in shown:
        for index in range(lanes.count):
            yield lanes, index
