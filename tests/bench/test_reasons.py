"""Why a goal is missed: told of made-up rows, by their own figures."""

from dataclasses import replace

import pytest
from bench_support import XMM, YMM, row

from aeskit.bench import goals
from aeskit.bench.goals import Goal
from aeskit.bench.limit import Limit
from aeskit.bench.reasons import reasons
from aeskit.bench.table import Run

ZMM = Limit("zmm", 64, 3.0, 1.0)
NARROW = Limit("xmm", 16, 3.0, 2.0)


def told(*rows, goal: Goal, limits=(NARROW, ZMM)) -> str:
    run = Run(3.0, list(limits), list(rows))
    (text,) = reasons(run, goals.judge(run, [goal]))
    return text


def test_only_what_misses_its_goal_has_a_reason():
    met, missed = Goal("ctr crypt", 16, cycles=25), Goal("xts encrypt", 16, cycles=26)
    run = Run(3.0, [XMM, YMM], [row("ctr crypt", 16, 20), row("xts encrypt", 16, 36)])
    verdicts = goals.judge(run, [met, missed, Goal("cbc decrypt", 4096, percent=97)])
    assert [text.split()[0] for text in reasons(run, verdicts)] == ["XTS"]


def test_a_noisy_figure_has_no_reason_but_the_noise():
    noisy = replace(row("xts encrypt", 16, 36), noisy=True)
    run = Run(3.0, [XMM, YMM], [noisy])
    assert reasons(run, goals.judge(run, [Goal("xts encrypt", 16, cycles=26)])) == []


def test_an_iv_takes_places_and_waits_for_its_rounds():
    text = told(
        row("xts encrypt", 512, 190, "vaes_avx512_512"),
        row("xts encrypt, batch", 512, 118),
        row("xts encrypt, IV encrypted", 512, 131, "vaes_avx512_512"),
        goal=Goal("xts encrypt", 512, cycles=165),
    )
    assert "512 bytes are 8 zmm, with the IV 126 cycles of the AES units, 190 were needed" in text
    assert "190 were needed, 131 with an IV that comes encrypted." in text
    assert "wait 42 cycles for each other" in text
    assert text.endswith("512 bytes: 190 cycles, 118 in a batch, whose IVs come first.")


def test_a_message_of_less_than_a_register_needs_narrower_rounds_alone():
    goal = Goal("xts encrypt", 16, cycles=26)
    text = told(row("xts encrypt", 16, 27, "vaes_avx512_512"), goal=goal, limits=(NARROW, ZMM))
    assert "16 bytes are 1 xmm, with the IV 14 cycles of the AES units, 27 were needed" in text


def test_a_tail_takes_a_block_more():
    text = told(row("xts decrypt", 1420, 370, "vaes_avx512_512"), goal=Goal("xts decrypt", 1420, cycles=340))
    assert "1420 bytes are 22 zmm, with the IV and the block that steals 336 cycles" in text


@pytest.mark.parametrize(
    ("operation", "size", "figures"),
    [
        ("xts encrypt, batch", 512, "are 115.5 cycles at the limit, 300.0 were needed"),
        ("xts encrypt, in sequence", 512, "14 places of zmm rounds, so 512 bytes are 126 cycles"),
        ("ctr crypt", 1420, "1420 bytes are 23 zmm, so 322 cycles or 96.5% of the limit at the best"),
        ("cbc encrypt, 16 streams", 4096, "12 blocks in flight fill the AES units"),
        ("cbc encrypt", 16, "14 rounds of 3.00 cycles a block"),
    ],
)
def test_the_limit_of_each_kind_is_reckoned_from_the_run(operation, size, figures):
    assert figures in told(row(operation, size, 300, "vaes_avx512_512"), goal=Goal(operation, size, cycles=1))


@pytest.mark.parametrize(
    ("operation", "ecb"), [("cbc decrypt", "ecb decrypt"), ("xts encrypt", "ecb encrypt")]
)
def test_long_messages_are_held_against_ecb(operation, ecb):
    goal = Goal(operation, 8192, percent=100)
    slow = row(operation, 8192, 1900)
    assert "Measure ecb" in told(slow, goal=goal)
    assert f"by {ecb}: 1800 cycles, by {operation} 1900" in told(slow, row(ecb, 8192, 1800), goal=goal)


def test_whole_registers_of_ctr_are_held_against_ecb():
    """128 bytes are two registers, of 14 rounds each, one a cycle."""
    rows = [row("ctr crypt", 128, 41, "vaes_avx512_512"), row("ecb encrypt", 128, 38, "vaes_avx512_512")]
    text = told(*rows, goal=Goal("ctr crypt", 128, cycles=30))
    assert text.startswith("CTR: 128 bytes are 2 zmm, 28 cycles of the AES units; 41 were needed.")
    assert "128 bytes by ecb encrypt: 38 cycles, by ctr crypt 41" in text


def test_a_size_is_told_once_of_the_direction_that_misses_by_more():
    figures = [("xts encrypt", 64, 50), ("xts decrypt", 64, 60), ("xts decrypt", 128, 63)]
    run = Run(3.0, [NARROW, ZMM], [row(*figure) for figure in figures])
    found = reasons(run, goals.judge(run, [Goal(name, size, 30) for name, size, _ in figures]))
    assert len(found) == 2
    assert "XTS of one message: 64 bytes" in found[0]
    assert "60 were needed" in found[0]
    assert "XTS of one message: 128 bytes" in found[1]
    waits = [text.count("wait 42 cycles for each other") for text in found]
    assert waits == [1, 0], "what holds for all sizes is told once"


def test_a_width_is_held_against_its_own_ecb():
    rows = [
        row("xts encrypt", 4096, 1900, "aesni_avx"),
        row("ecb encrypt", 4096, 1800, "aesni_avx"),
        row("ecb encrypt", 4096, 900),
    ]
    text = told(*rows, goal=Goal("xts encrypt", 4096, percent=300, name="aesni_avx"))
    assert "aesni_avx, 4096 bytes by ecb encrypt: 1800 cycles, by xts encrypt 1900" in text
