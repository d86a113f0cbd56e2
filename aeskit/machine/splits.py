"""What a run over GF(2) raises where public values decide: it must be done again for each case of them."""

from __future__ import annotations

from typing import Any

Interval = tuple[int, int]


class Split(Exception):
    """The run must be done once with `word` below `at` and once from there on."""

    def __init__(self, word: Any, at: int, interval: Interval, step: int) -> None:
        """`word` is the x, a multiple of `step`, of which `interval` was assumed, or a pair of them."""
        super().__init__(f"a counter must be split at {at:#x}")
        self.word, self.at = word, at
        self.halves = (interval[0], at - step), (at, interval[1])


class Narrow(Split):
    """The run must be done with the values of an index below number `at`, and with those from there on."""

    def __init__(self, name: str, index: int, mask: int, at: int) -> None:
        """The index is the bits `mask` of byte `index` of the input `name`."""
        Exception.__init__(self, f"an index, {name}[{index}], must be split at its value number {at}")
        self.key, self.at = (name, index, mask), at


class Impossible(Exception):
    """No values meet what is assumed: the case need not be run."""


class Choose(Exception):
    """The run must be done for every value of some bits of a public input: an address depends on them."""

    def __init__(self, name: str, index: int, mask: int) -> None:
        """`mask` are the bits of byte `index` of the input `name`."""
        super().__init__(f"bits {mask:#04x} of {name}[{index}] choose an address")
        self.name, self.index, self.mask = name, index, mask
