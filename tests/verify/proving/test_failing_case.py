"""The case in which a proof fails, as bytes of its inputs."""

from pathlib import Path

import pytest

from aeskit import contracts
from aeskit.machine.loader import load
from aeskit.verify.proving.assumption import Assumption
from aeskit.verify.proving.failing_case import failing_case, hints
from aeskit.verify.proving.proof import Proof, Prover

pytest.importorskip("iced_x86", reason="decoding needs iced-x86")

SAMPLE = Path(__file__).parents[1] / "samples" / "counter_sse.S"
DRAWN = {"counter": b"\xaa" * 16, "K": b"\xbb" * 16}


def prover(*define):
    return Prover(load(SAMPLE, define=define))


def test_the_counter_of_the_failing_case_is_given_its_least_and_its_greatest():
    made = prover("BUG_COUNTER")
    case = failing_case(made, Proof("counter_sse", "ctr", 1, 16, False), contracts.ALL["ctr"])
    low = 0x123456789.to_bytes(8)
    assert [hint["counter"][8:] for hint in hints(made, case, DRAWN)] == [low, low]


def test_without_a_fault_or_without_a_case_there_is_no_hint():
    made = prover()
    assert failing_case(made, Proof("counter_sse", "ctr", 1, 16, False), contracts.ALL["ctr"]) is None
    for nothing in (None, Assumption()):
        assert list(hints(made, nothing, DRAWN)) == []


def test_fixed_bits_and_indices_are_put_where_they_are():
    case = Assumption(
        bits=(("counter", 15, 0x0F, 5),), indices=((("counter", 3, 0x30), (2, 3)), (("other", 0, 1), (0, 1)))
    )
    least, greatest = (hint["counter"] for hint in hints(prover(), case, DRAWN))
    assert least == b"\xaa" * 3 + b"\xaa" + b"\xaa" * 11 + b"\xa5"
    assert greatest == b"\xaa" * 3 + b"\xba" + b"\xaa" * 11 + b"\xa5"
