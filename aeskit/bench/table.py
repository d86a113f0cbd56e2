"""A benchmark run: cells measured interleaved, then a row an implementation, key size and message size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from aeskit.bench import code, limit
from aeskit.bench.cells import Cell, Workspace, family, prepare
from aeskit.bench.limit import Limit, best
from aeskit.bench.measure import Call, Figure, measure
from aeskit.bench.peers import Peer
from aeskit.cpu import CPU
from aeskit.implementations import ALL, Implementation, beside

SIZES = (16, 64, 128, 256, 512, 1024, 1420, 4096, 8192, 16384)
SECTORS = {"batch": (512, 4096), "in sequence": (512, 1024)}
"""The sizes of XTS sectors that are also measured in a batch and in sequence."""
READY = (16, 64, 128, 1420, 4096, 8192, 16384)
"""The sizes of XTS messages that are also measured with an IV that comes encrypted."""
KEY_BITS = (128, 192, 256)


@dataclass(frozen=True)
class Row:
    """A measured cell."""

    operation: str
    """Mode and direction: ``xts encrypt``."""
    name: str
    """The instruction set, or the other library."""
    key_bits: int
    size: int
    """Bytes of the message; for key expansion, of the key."""
    cycles: float
    """Of one message; where one call takes several, their mean."""
    spread: float
    bytes_a_cycle: float
    percent: float | None
    """Of the limit in the widest register that the implementation uses; None for key expansion."""
    noisy: bool
    ours: bool
    """Whether it is one of the implementations of this project."""
    code_bytes: int | None
    """Machine code of the function; None where it is not known."""


@dataclass(frozen=True)
class Run:
    """What a benchmark measured: the limits first, then the rows."""

    gigahertz: float
    """The core's clock as the chains of additions gave it."""
    limits: list[Limit]
    rows: list[Row]

    def as_json(self) -> dict[str, Any]:
        """Plain dictionaries and lists, for a file."""
        return asdict(self)


def runnable(cpu: CPU, modes: Sequence[str], names: Sequence[str] = ()) -> list[Implementation]:
    """The implementations of `modes` that this CPU can run, or of those the ones named (by name or set)."""
    able = [row for row in ALL if family(row.mode) in modes and row.built and not row.can(cpu)]
    return [row for row in able if not names or row.name in names or row.instruction_set in names]


def cells(chosen: Sequence[Implementation], key_bits: Sequence[int], sizes: Sequence[int]) -> list[Cell]:
    """Every cell of the table that exists: modes of whole blocks leave the other sizes out."""
    made = [
        Cell(implementation, bits, bits // 8 if implementation.mode == "keys" else size)
        for implementation in chosen
        for bits in key_bits
        for size in (sizes[:1] if implementation.mode == "keys" else sizes)
    ]
    made = [replace(cell, workload=workload) for cell in made for workload in _workloads(cell)]
    return [cell for cell in made if cell.runs]


def _workloads(cell: Cell) -> list[str]:
    """What is measured of a cell: one message a call, "", or sectors as the Python face would run them."""
    row = cell.implementation
    if row.mode == "cbc_streams":
        return ["16 streams"]
    if row.mode == "xts_sectors":
        return [workload for workload, sizes in SECTORS.items() if cell.size in sizes]
    if row.mode != "xts":
        return [""]
    batch = cell.size in SECTORS["batch"] and not beside(row, "xts_sectors")
    return ["", *["batch"] * batch, *["IV encrypted"] * (cell.size in READY)]


def run(
    cpu: CPU,
    chosen: Sequence[Cell],
    passes: int,
    peers: Sequence[Peer] = (),
    step: Callable[[], None] = lambda: None,
) -> Run:
    """Measure the limits of `cpu`, the one at hand, all cells and those of `peers`, interleaved.

    `step` is called after each pass over them.
    """
    space = Workspace(max((cell.size * cell.messages for cell in chosen), default=16))
    bounds = limit.calls(cpu)
    ours = [(cell, cell.implementation.instruction_set, prepare(cell, space)) for cell in chosen]
    calls = ours + _peer_calls(chosen, peers, space)
    figures = measure([*bounds, *(call for _, _, call in calls)], passes, step)
    found = limit.limits(cpu, figures[: len(bounds)])
    measured = zip(calls, figures[len(bounds) :], strict=True)
    rows = [_row(cell, name, figure, found) for (cell, name, _), figure in measured]
    return Run(figures[0].gigahertz, found, rows)


Named = tuple[Cell, str, Call]
"""A cell, what its row is called, and what is timed."""


def _peer_calls(chosen: Sequence[Cell], peers: Sequence[Peer], space: Workspace) -> list[Named]:
    """Each place of the table once for every peer; held against the widest limit that our own cells use."""
    widest: dict[tuple[str, str, int, int], Cell] = {}
    for cell in sorted(chosen, key=lambda cell: cell.implementation.vl):
        implementation = cell.implementation
        if not cell.workload:
            widest[implementation.mode, implementation.direction, cell.key_bits, cell.size] = cell
    made = [(cell, peer.name, peer.call(*place, space)) for place, cell in widest.items() for peer in peers]
    return [(cell, name, call) for cell, name, call in made if call]


def _row(cell: Cell, name: str, figure: Figure, found: list[Limit]) -> Row:
    implementation = cell.implementation
    cycles = figure.cycles / cell.messages
    rate = cell.size / cycles
    ours = name == implementation.instruction_set
    limit = best(found, implementation.vl).bytes_a_cycle(cell.key_bits)
    return Row(
        operation=cell.operation,
        name=name,
        key_bits=cell.key_bits,
        size=cell.size,
        cycles=cycles,
        spread=figure.spread,
        bytes_a_cycle=rate,
        percent=None if implementation.mode == "keys" else 100 * rate / limit,
        noisy=figure.noisy,
        ours=ours,
        code_bytes=code.sizes().get(implementation.name) if ours else None,
    )
