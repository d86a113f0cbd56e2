"""The limit of this CPU: AES rounds a cycle in every width, and what follows for bytes a cycle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aeskit.bench.measure import Call, Figure, address
from aeskit.cpu import CPU

ROUNDS_AN_ITERATION = 64
ITERATIONS = 50
QUIET = 0.01
"""How far the throughput of a quiet machine may be from a whole number, as a part of it."""
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
    noisy: bool = False

    @property
    def quiet(self) -> bool:
        """Whether it is steady and a whole number of rounds a cycle, as on every CPU that we know."""
        return (
            not self.noisy
            and abs(self.rounds_a_cycle - round(self.rounds_a_cycle)) < QUIET * self.rounds_a_cycle
        )

    def bytes_a_cycle(self, key_bits: int) -> float:
        """The most that any mode of AES with this key size can do in this width."""
        return self.vl * self.rounds_a_cycle / ROUNDS[key_bits]


def widths(cpu: CPU) -> list[str]:
    """The register names in which `cpu` has AES rounds."""
    return [width for width, (_, needs) in WIDTHS.items() if cpu.features.issuperset(needs)]


def calls(cpu: CPU) -> list[Call]:
    """What must be measured for `limits`: latency and throughput of every width, in the order of `widths`."""
    names = [f"limit_{kind}_{width}" for width in widths(cpu) for kind in ("latency", "throughput")]
    return [Call(address(name), (ITERATIONS,)) for name in names]


def limits(cpu: CPU, figures: Sequence[Figure]) -> list[Limit]:
    """The limits of `cpu` from the figures of `calls`."""
    cycles = [figure.cycles / (ITERATIONS * ROUNDS_AN_ITERATION) for figure in figures]
    noisy = [one.noisy or other.noisy for one, other in zip(figures[::2], figures[1::2], strict=True)]
    pairs = zip(widths(cpu), cycles[::2], cycles[1::2], noisy, strict=True)
    return [Limit(width, WIDTHS[width][0], latency, 1 / taken, busy) for width, latency, taken, busy in pairs]


def best(found: Sequence[Limit], vl: int) -> Limit:
    """The limit for code whose widest register has `vl` bytes: the fastest width up to it."""
    narrow_enough = [limit for limit in found if limit.vl <= vl]
    return max(narrow_enough, key=lambda limit: limit.vl * limit.rounds_a_cycle)
