"""Figures out of passes: arithmetic on made-up times."""

import pytest

from aeskit import _native
from aeskit.bench import measure
from aeskit.bench.measure import ADDITIONS, CLOCK_ITERATIONS

CHAIN = CLOCK_ITERATIONS * ADDITIONS
"""Cycles of a chain; at 1 GHz its nanoseconds."""

needs_assembler = pytest.mark.skipif(
    not hasattr(_native.lib, "limit_add"), reason="needs a core built with the assembler templates"
)


def passes(*taken: int, chains: tuple[int, int] = (CHAIN, CHAIN), repeats: int = 10):
    return [(0, repeats, (chains[0], nanoseconds, chains[1])) for nanoseconds in taken]


def test_cycles_are_the_fastest_pass_over_the_calls():
    (figure,) = measure.figures(passes(1200, 1000, 1100), 1, 3)
    assert figure.cycles == pytest.approx(100)
    assert figure.spread == pytest.approx(1.1)
    assert figure.gigahertz == pytest.approx(1)


def test_a_faster_clock_makes_more_cycles_of_the_same_time():
    (figure,) = measure.figures(passes(1000, 1000, chains=(CHAIN // 2, CHAIN // 2)), 1, 2)
    assert figure.cycles == pytest.approx(200)
    assert figure.gigahertz == pytest.approx(2)


def test_a_disturbed_chain_makes_no_figure_better():
    slow = passes(1000, chains=(3 * CHAIN, 2 * CHAIN))
    (figure,) = measure.figures(passes(1000) + slow + passes(1000), 1, 3)
    assert figure.cycles == pytest.approx(100)


def test_chains_far_away_in_time_do_not_count():
    fast = passes(*[500] * 20, chains=(CHAIN // 2, CHAIN // 2))
    slow = passes(*[1000] * 20)
    (figure,) = measure.figures(fast + slow, 1, 40)
    assert figure.cycles == pytest.approx(100)


@pytest.mark.parametrize(
    ("taken", "noisy"),
    [
        ([1000] * 20, False),
        ([1000] * 8 + [1500] * 12, False),
        ([1000] * 7 + [1500] * 13, True),
        ([1000, 1010, 1500, 1600, 1700], True),
        ([1000, 1010, 1015, 1600, 1700], False),
    ],
)
def test_a_figure_is_noisy_where_too_few_passes_agree(taken, noisy):
    (figure,) = measure.figures(passes(*taken), 1, len(taken))
    assert figure.noisy is noisy


def test_calls_of_one_log_are_kept_apart():
    log = [*passes(1000), (1, 2, (CHAIN, 1000, CHAIN)), *passes(900)]
    first, second = measure.figures(log, 2, 1)
    assert first.cycles == pytest.approx(90)
    assert second.cycles == pytest.approx(500)


@needs_assembler
def test_native_and_python_calls_are_measured_interleaved():
    seen = []
    python = measure.PythonCall(lambda: seen.append(None))
    native = measure.Call(measure.address("limit_add"), (10,))
    steps = []
    figures = measure.measure([python, native], passes=3, step=lambda: steps.append(None))
    assert len(figures) == 2
    assert all(figure.cycles > 0 and figure.spread >= 1 for figure in figures)
    assert len(steps) == 3
    assert len(seen) >= 6


@needs_assembler
def test_the_cpus_allowed_are_those_of_before():
    if not hasattr(measure.os, "sched_getaffinity"):
        pytest.skip("needs sched_getaffinity")
    before = measure.os.sched_getaffinity(0)
    measure.measure([measure.PythonCall(lambda: None)], passes=1)
    assert measure.os.sched_getaffinity(0) == before
