"""What the core is to reach, for each operation and size: met, or by what factor not.

The cycles are for AES-256 on a CPU whose widest AES rounds pass 64 bytes a cycle, be it one zmm register or
two ymm registers; one thread, the key schedule excluded, the IV's encryption included, calls independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from aeskit.bench.limit import Limit, best
from aeskit.bench.table import Row, Run

KEY_BITS = 256
BYTES_A_CYCLE = 64
"""What the widest AES rounds of the CPU pass for which the cycles are meant."""
SAME = 0.02
"""How far another CPU's bytes a cycle may be from that for its cycles to be held against the goals."""


@dataclass(frozen=True)
class Goal:
    """At most so many cycles, or at least so many percent of the limit, or so many latencies a block."""

    operation: str
    size: int
    cycles: float | None = None
    percent: float | None = None
    latencies: float | None = None
    name: str = ""
    """The instruction set to reach it, in percent of its own width's limit; "" is any, of the widest."""

    def text(self) -> str:
        """The goal in short: cycles without a unit, percent (and of which width), latencies a block."""
        if self.name:
            return f"≥ {self.percent:g} % {_WIDTHS[self.name]}"
        if self.cycles is not None:
            return f"≤ {self.cycles:g}"
        if self.percent is not None:
            return f"≥ {self.percent:g} %"
        return f"≤ {self.latencies} lat."


def _both(
    size: int, cycles: float | None = None, percent: float | None = None, workload: str = ""
) -> list[Goal]:
    return [Goal(f"xts {way}{workload}", size, cycles, percent) for way in ("encrypt", "decrypt")]


_XTS = {16: 26, 64: 30, 128: 42, 256: 105, 512: 165, 1024: 268, 1420: 340, 4096: 915}
_CTR_CYCLES = {16: 25, 64: 28, 128: 32}
_CTR_PERCENT = {256: 97, 512: 99, 1024: 99, 1420: 97, 4096: 99, 8192: 99, 16384: 99}

_WIDTHS = {"aesni_avx": "xmm", "vaes_avx2": "ymm", "vaes_avx512_256": "ymm"}
_WIDTH_PERCENT = {"aesni_avx": 98, "vaes_avx2": 97, "vaes_avx512_256": 97}

BATCH = ", batch"
SEQUENCE = ", in sequence"
STREAMS = ", 16 streams"
READY = ", IV encrypted"

GOALS = (
    *(goal for size, cycles in _XTS.items() for goal in _both(size, cycles)),
    *(goal for size in (8192, 16384) for goal in _both(size, percent=98.5)),
    *(
        replace(goal, name=name)
        for name, percent in _WIDTH_PERCENT.items()
        for size in (4096, 16384)
        for goal in _both(size, percent=percent)
    ),
    *_both(512, 118, workload=BATCH),
    *_both(512, 135, workload=SEQUENCE),
    *_both(1024, 245, workload=SEQUENCE),
    *(Goal("ctr crypt", size, cycles) for size, cycles in _CTR_CYCLES.items()),
    *(Goal("ctr crypt", size, percent=percent) for size, percent in _CTR_PERCENT.items()),
    *(Goal("cbc decrypt", size, percent=97) for size in (4096, 16384)),
    Goal("cbc encrypt", 4096, latencies=14.2),
    *(Goal("cbc encrypt" + STREAMS, size, percent=85) for size in (1024, 4096)),
)


@dataclass(frozen=True)
class Verdict:
    """A goal beside what was measured; `factor` is cycles over those of the goal, at most 1 when met."""

    goal: Goal
    row: Row | None
    factor: float | None

    @property
    def met(self) -> bool:
        """Whether the goal was measured and reached."""
        return self.factor is not None and self.factor <= 1


def judge(run: Run, goals: Sequence[Goal] = GOALS) -> list[Verdict]:
    """Each goal beside the fastest of our own rows for it; a goal without a row has no factor."""
    return [_verdict(goal, run) for goal in goals]


def comparable(limits: Sequence[Limit]) -> bool:
    """Whether this CPU's widest AES rounds pass the bytes a cycle that the goals are meant for."""
    return abs(bytes_a_cycle(limits) - BYTES_A_CYCLE) < SAME * BYTES_A_CYCLE


def bytes_a_cycle(limits: Sequence[Limit]) -> float:
    """What the widest AES rounds pass in a cycle."""
    widest = best(limits, BYTES_A_CYCLE)
    return widest.vl * widest.rounds_a_cycle


def compared(limits: Sequence[Limit]) -> str:
    """What is held against what, in a sentence."""
    widest = best(limits, BYTES_A_CYCLE)
    here = f"{widest.rounds_a_cycle:.2f} {widest.width} rounds, {bytes_a_cycle(limits):.0f} bytes, a cycle"
    if comparable(limits):
        return f"The goals are for {BYTES_A_CYCLE} bytes a cycle; this CPU has {here}: compared as they are."
    return (
        f"The goals in cycles are for {BYTES_A_CYCLE} bytes a cycle; this CPU has {here}: no fair comparison."
    )


def _verdict(goal: Goal, run: Run) -> Verdict:
    rows = [row for row in run.rows if _measures(row, goal)]
    if not rows:
        return Verdict(goal, None, None)
    row = min(rows, key=lambda row: row.cycles)
    return Verdict(goal, row, _factor(goal, row, run.limits))


def _measures(row: Row, goal: Goal) -> bool:
    same = (row.operation, row.size, row.key_bits) == (goal.operation, goal.size, KEY_BITS)
    return row.ours and same and goal.name in ("", row.name)


def _factor(goal: Goal, row: Row, limits: Sequence[Limit]) -> float:
    if goal.cycles is not None:
        return row.cycles / goal.cycles
    if goal.name:
        return (goal.percent or 0) / (row.percent or 1)
    if goal.percent is not None:
        rate = best(limits, BYTES_A_CYCLE).bytes_a_cycle(KEY_BITS)
        return goal.percent / 100 * rate / row.bytes_a_cycle
    return row.cycles / ((goal.latencies or 0) * best(limits, 16).latency * row.size / 16)
