"""Which calls reach an instruction: of every length, and of counters that carry."""

import pytest

from aeskit.machine.decode import decode
from aeskit.verify.mutants import make as mutants_make
from aeskit.verify.mutants import reach as mutants_reach
from aeskit.verify.mutants import survey as mutants
from aeskit.verify.mutants.explain import UNREACHED
from aeskit.verify.proving import proofs

NAME = "ctr_crypt_aesni_avx"


@pytest.fixture(scope="module")
def counter():
    targets = tuple(proofs.own([NAME]))
    return targets, mutants_reach.measure(targets, [16, 48])


def test_what_a_counter_alone_decides_is_reached(counter):
    """Behind every conditional jump on a carry both ways are taken."""
    targets, reach = counter
    image = targets[0].image()
    visited = frozenset().union(*reach.visits.values())
    carries = [i for i in (decode(image, address) for address in visited) if i.mnemonic == "jb"]
    ways = [{i.following, i.operands[0].address} <= visited for i in carries]
    assert sum(ways) >= 2


def test_what_a_carry_reaches_is_not_called_unreached(counter):
    targets, reach = counter
    plain = frozenset().union(
        *(
            mutants_reach._runner(targets[0].image())(
                mutants_reach.call(targets[0].image(), NAME, targets[0].promise(), length, size)
            )
            for length in (16, 48)
            for size in (16, 24, 32)
        )
    )
    made = mutants_make.every(targets[0].image(), NAME).mutants
    rare = [m for m in made if reach.of(m.address) and m.address not in plain]
    assert rare
    found = list(mutants.run(mutants.Job(targets, reach), rare, workers=1))
    assert any(o.killed_by_proof for o in found)
    assert all(o.killed_by_proof or o.reason.kind != UNREACHED for o in found)


@pytest.mark.parametrize(
    ("carry", "last"),
    [
        ((True, 64, 0), "11" * 8 + "ff" * 8),
        ((True, 64, 2), "11" * 8 + "ff" * 7 + "fd"),
        ((True, 32, 1), "11" * 12 + "ff" * 3 + "fe"),
        ((False, 64, 1), "fe" + "ff" * 7 + "11" * 8),
    ],
)
def test_a_counter_is_so_many_before_it_carries(carry, last):
    assert mutants_reach._carrying(bytes([0x11]) * 16, *carry).hex() == last
