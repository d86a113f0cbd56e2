"""Goals of calls from Python against made-up rows."""

import pytest

from aeskit.bench.python_calls import NATIVE, PythonRow
from aeskit.bench.python_goals import judge


def row(operation: str, name: str, size: int, microseconds: float) -> PythonRow:
    return PythonRow(operation, name, size, microseconds, False)


def test_a_sector_has_a_time():
    (met,) = judge([row("xts encrypt", "aeskit", 512, 0.9), row("xts encrypt", "cryptography", 512, 3)])
    assert (met.met, met.found) == (True, "0.90 µs")
    (missed,) = judge([row("xts encrypt", "aeskit", 512, 2.4)])
    assert missed.factor == pytest.approx(2)


def test_batches_are_held_against_the_same_from_c():
    rows = [
        row("sectors", name, size, time)
        for size in (1 << 16, 1 << 18)
        for name, time in (("aeskit", 20), (NATIVE, 19))
    ]
    (verdict,) = judge(rows)
    assert (verdict.size, verdict.found, verdict.met) == (1 << 18, "95.0%", False)
    assert verdict.factor == pytest.approx(0.97 / 0.95)


def test_two_threads_are_held_against_one():
    rows = [row("sectors", "aeskit", 1 << 25, 1900), row("sectors, 2 threads", "aeskit", 1 << 25, 1000)]
    (verdict,) = judge(rows)
    assert (verdict.found, verdict.met) == ("1.90 ×", True)


def test_a_figure_that_is_noisy_meets_nothing():
    (verdict,) = judge([PythonRow("xts encrypt", "aeskit", 512, 0.9, True)])
    assert (verdict.factor <= 1, verdict.met) == (True, False)
