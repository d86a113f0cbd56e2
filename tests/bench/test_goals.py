"""Goals against made-up rows: which are met, and the factor that is missing."""

from dataclasses import replace

import pytest
from bench_support import LIMIT, XMM, YMM, row

from aeskit.bench import goals
from aeskit.bench.goals import Goal
from aeskit.bench.limit import Limit
from aeskit.bench.table import Row, Run

ZMM = Limit("zmm", 64, 4.0, 1.0)


def judged(goal: Goal, *rows: Row, limits=(XMM, YMM)) -> goals.Verdict:
    (verdict,) = goals.judge(Run(3.0, list(limits), list(rows)), [goal])
    return verdict


def test_cycles_are_met_or_too_many_by_a_factor():
    goal = Goal("xts encrypt", 512, cycles=165)
    assert judged(goal, row("xts encrypt", 512, 165)).met
    missed = judged(goal, row("xts encrypt", 512, 330))
    assert not missed.met
    assert missed.factor == pytest.approx(2)


def test_percent_are_of_the_widest_limit():
    goal = Goal("ctr crypt", 4096, percent=99)
    assert judged(goal, row("ctr crypt", 4096, 4096 / LIMIT / 0.995)).met
    missed = judged(goal, row("ctr crypt", 4096, 4096 / LIMIT * 2))
    assert missed.factor == pytest.approx(0.99 * 2)


def test_percent_of_a_width_are_of_the_row_that_is_named():
    goal = Goal("xts encrypt", 4096, percent=98, name="aesni_avx")
    slow, fast = row("xts encrypt", 4096, 1000, "aesni_avx"), row("xts encrypt", 4096, 900)
    narrow = replace(slow, percent=96.0)
    verdict = judged(goal, narrow, fast)
    assert verdict.row is narrow
    assert verdict.factor == pytest.approx(98 / 96)
    assert goal.text() == "≥ 98 % xmm"
    assert judged(goal, fast).row is None


def test_a_chain_is_held_against_the_latency():
    goal = Goal("cbc encrypt", 4096, latencies=14)
    assert judged(goal, row("cbc encrypt", 4096, 256 * 14 * 4 + 0.1)).factor == pytest.approx(1, abs=1e-4)


def test_the_fastest_of_our_own_rows_counts():
    goal = Goal("xts encrypt", 16, cycles=26)
    rows = (
        row("xts encrypt", 16, 40, "aesni_avx"),
        row("xts encrypt", 16, 30),
        row("xts encrypt", 16, 10, "OpenSSL"),
    )
    assert judged(goal, *rows).row.cycles == 30


@pytest.mark.parametrize(
    "other", [row("xts decrypt", 16, 9), row("xts encrypt", 32, 9), row("xts encrypt", 16, 9, key_bits=128)]
)
def test_other_rows_measure_nothing_of_a_goal(other):
    verdict = judged(Goal("xts encrypt", 16, cycles=26), other)
    assert (verdict.row, verdict.factor, verdict.met) == (None, None, False)


def test_a_cpu_is_comparable_by_the_bytes_that_its_rounds_pass_in_a_cycle():
    assert goals.comparable([XMM, YMM])
    assert goals.comparable([XMM, ZMM])
    assert not goals.comparable([XMM])
    assert "2.00 ymm rounds, 64 bytes, a cycle: compared as they are" in goals.compared([XMM, YMM])
    assert "no fair comparison" in goals.compared([XMM])


def test_every_goal_has_one_measure():
    for goal in goals.GOALS:
        assert sum(value is not None for value in (goal.cycles, goal.percent, goal.latencies)) == 1
        assert goal.text().startswith(("≤", "≥"))
