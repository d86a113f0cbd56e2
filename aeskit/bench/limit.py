"""The limit of this CPU: AES rounds a cycle in every width, and what follows for bytes a cycle."""

from __future__ import annotations

from dataclasses import dataclass

from aeskit.bench.measure import Call, address, measure
from aeskit.cpu import CPU

ROUNDS_AN_ITERATION = 64
ITERATIONS = 50
WIDTHS = {
    "xmm": (16, ("AES", "AVX")),
    "ymm": (32, ("VAES", "AVX2")),
    "zmm": (64, ("VAES", "AVX512F")),
}
"""Register name to its bytes and the features that its AES rounds need."""

ROUNDS = {128: 10, 192: 12, 256: 14}
"""Key bits to AES rounds (FIPS 197, table 3)."""


@dataclass(frozen=True)
class Limit:
    """AES rounds of one width: latency in cycles, registers finished a cycle, and the register's bytes."""

    width: str
    vl: int
    latency: float
    rounds_a_cycle: float

    def bytes_a_cycle(self, key_bits: int) -> float:
        """The most that any mode of AES with this key size can do in this width."""
        return self.vl * self.rounds_a_cycle / ROUNDS[key_bits]


def limits(cpu: CPU, passes: int = 50) -> list[Limit]:
    """Measure every width that `cpu`, the one at hand, can run."""
    able = [width for width, (_, needs) in WIDTHS.items() if cpu.features.issuperset(needs)]
    names = [f"limit_{kind}_{width}" for width in able for kind in ("latency", "throughput")]
    figures = measure([Call(address(name), (ITERATIONS,)) for name in names], passes)
    rounds = ITERATIONS * ROUNDS_AN_ITERATION
    cycles = [figure.cycles / rounds for figure in figures]
    pairs = zip(able, cycles[::2], cycles[1::2], strict=True)
    return [Limit(width, WIDTHS[width][0], latency, 1 / throughput) for width, latency, throughput in pairs]


def best(found: list[Limit], vl: int) -> Limit:
    """The limit for code whose widest register has `vl` bytes: the fastest width up to it."""
    narrow_enough = [limit for limit in found if limit.vl <= vl]
    return max(narrow_enough, key=lambda limit: limit.vl * limit.rounds_a_cycle)
