"""The fewest that meet every row, against all subsets tried, and what a search that is given up says."""

import random
from itertools import combinations

import pytest

from aeskit.answers.minimise import cover


def fewest(rows, numbers):
    """By trying all."""
    return next(
        size
        for size in range(numbers + 1)
        for chosen in combinations(range(numbers), size)
        if all(set(chosen) & row for row in rows)
    )


def drawn(seed, numbers, count, most):
    draw = random.Random(seed)
    return [frozenset(draw.sample(range(numbers), draw.randint(1, most))) for _ in range(count)]


@pytest.mark.parametrize("seed", range(60))
def test_no_smaller_set_meets_every_row(seed):
    numbers = 6 + seed % 6
    rows = drawn(seed, numbers, 4 + seed % 17, 2 + seed % 4)
    chosen, least = cover(rows)
    assert all(chosen & row for row in rows)
    assert len(chosen) == least == fewest(rows, numbers)


@pytest.mark.parametrize("seed", range(20))
def test_a_search_that_is_given_up_says_how_many_are_needed_at_least(seed):
    rows = drawn(seed, 12, 24, 3)
    chosen, least = cover(rows, effort=0)
    assert all(chosen & row for row in rows)
    assert least <= fewest(rows, 12) <= len(chosen)


def test_a_search_that_is_given_up_does_not_claim_the_fewest():
    """The lines of the plane of order 2: any two share a point, yet no two points meet all seven."""
    lines = [frozenset((start + step) % 7 for step in (0, 1, 3)) for start in range(7)]
    assert cover(lines)[1] == 3
    assert cover(lines, effort=0)[1] == 1


def test_nothing_to_meet():
    assert cover([]) == (set(), 0)
