"""Goals of calls from Python against made-up rows."""

import pytest

from aeskit.bench.python_calls import NATIVE, PythonRow
from aeskit.bench.python_goals import judge, reasons


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


def test_a_missed_batch_is_told_what_the_interpreter_takes():
    times = {1 << 16: (6.1, 4.9), 1 << 18: (21.1, 19.4)}
    rows = [
        row("sectors", name, size, time)
        for size, pair in times.items()
        for name, time in zip(("aeskit", NATIVE), pair, strict=True)
    ]
    (text,) = reasons(judge(rows))
    assert "262144 bytes: 19.40 µs from C leave 0.60 µs for Python, which took 1.70" in text
    assert "with 65536 bytes it took 1.20" in text


def test_missed_scaling_is_held_against_the_caches():
    rows = [
        row("sectors", "aeskit", 1 << 20, 80),
        row("sectors", "aeskit", 1 << 25, 1 << 12),
        row("sectors, 2 threads", "aeskit", 1 << 25, 1 << 12),
    ]
    (text,) = reasons(judge(rows))
    assert "8192 MB/s by one thread, 13107 where the data are in its caches" in text


def test_a_slow_sector_is_held_against_the_least_call():
    (text,) = reasons(judge([row("xts encrypt", "aeskit", size, 2 + size / 512) for size in (16, 512)]))
    assert text == "xts encrypt, 512 bytes: 3.00 µs; 16 bytes take 2.03 µs."


def test_noise_and_what_is_met_have_no_reason():
    noisy = PythonRow("xts encrypt", "aeskit", 512, 9.0, True)
    assert reasons(judge([noisy])) == reasons(judge([row("xts encrypt", "aeskit", 512, 0.9)])) == []
