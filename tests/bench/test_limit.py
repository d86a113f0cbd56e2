"""The limits: what is asked of which CPU, and the arithmetic."""

import machines
import pytest

from aeskit.bench import limit
from aeskit.bench.limit import ITERATIONS, ROUNDS_AN_ITERATION, Limit
from aeskit.bench.measure import Figure


def figures(*cycles_a_round: float) -> list[Figure]:
    rounds = ITERATIONS * ROUNDS_AN_ITERATION
    return [Figure(cycles * rounds, 1.0, False, 3.0) for cycles in cycles_a_round]


def test_widths_are_those_that_the_cpu_can_run():
    assert limit.widths(machines.NO_AES) == []
    assert limit.widths(machines.SKYLAKE_X) == ["xmm"]
    assert limit.widths(machines.ZEN_3) == ["xmm", "ymm"]
    assert limit.widths(machines.ZEN_4) == ["xmm", "ymm", "zmm"]
    assert limit.widths(machines.NO_ZMM_STATE) == ["xmm", "ymm"]


def test_latency_and_rounds_a_cycle():
    xmm, ymm = limit.limits(machines.ZEN_3, figures(4, 0.5, 4, 0.5))
    assert (xmm.width, xmm.latency, xmm.rounds_a_cycle) == ("xmm", 4, 2)
    assert (ymm.vl, ymm.bytes_a_cycle(128), ymm.bytes_a_cycle(256)) == (32, 6.4, pytest.approx(64 / 14))


@pytest.mark.parametrize(
    ("rounds", "quiet"), [(2.0, True), (1.99, True), (1.85, False), (1.005, True), (0.9, False)]
)
def test_quiet_is_a_whole_number_of_rounds_a_cycle(rounds, quiet):
    assert Limit("ymm", 32, 4, rounds).quiet is quiet
    assert not Limit("ymm", 32, 4, rounds, noisy=True).quiet


def test_the_best_limit_up_to_a_width():
    xmm, ymm, zmm = Limit("xmm", 16, 4, 2), Limit("ymm", 32, 4, 2), Limit("zmm", 64, 4, 1.01)
    assert limit.best([xmm, ymm, zmm], 16) == xmm
    assert limit.best([xmm, ymm, zmm], 32) == ymm
    assert limit.best([xmm, ymm, zmm], 64) == zmm
    assert limit.best([xmm], 64) == xmm
