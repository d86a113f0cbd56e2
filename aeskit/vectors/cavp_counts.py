"""How many COUNTs a CAVP response must have, by what its comments say of it: a file that is cut is told.

AESAVS, 6.1 to 6.4 and appendices B to E; XTSVS: 100 of each length of a data unit. A file whose comments name
no test of these suites, or that is no response, may have any number: where it is cut between two COUNTs, that
cannot be told.
"""

from __future__ import annotations

import re

from aeskit.vectors.source import Source
from aeskit.vectors.test_vector import DIRECTIONS, TestVector

OUTER = 100
"""Answers of one Monte Carlo test (AESAVS, 6.4)."""
UNITS = 100
"""Data units of each length (XTSVS)."""

_SIZES = (128, 192, 256)
_TESTS = {
    "GFSbox": dict(zip(_SIZES, (7, 6, 5), strict=True)),
    "KeySbox": dict(zip(_SIZES, (21, 24, 16), strict=True)),
    "VarKey": {size: size for size in _SIZES},
    "VarTxt": dict.fromkeys(_SIZES, 128),
    "MMT": dict.fromkeys(_SIZES, 10),
}
_TEST = re.compile(rf"(?m)^AESVS ({'|'.join(_TESTS)}) test data for \w+$")
_KEY = re.compile(r"(?m)^Key Length ?: *(?:AES)?(\d{3})$")
_UNITS = re.compile(r"(?m)^Data Unit Lengths Tested: ((?:\d+ ?)+)$")
_BOTH = re.compile(r"(?m)^State(?: tested)? ?: *Encrypt(?: and |/)Decrypt$")


class Counts:
    """Counts the vectors of each section; `end` holds them against the comments."""

    def __init__(self, source: Source) -> None:
        """Begin with none."""
        self._source, self._counts, self._last = source, dict.fromkeys(DIRECTIONS, 0), 0
        self._monte_carlo = False

    def add(self, vector: TestVector) -> None:
        """The next vector; those of a Monte Carlo test are numbered from 0 without a gap."""
        wanted = self._counts[vector.direction]
        self._counts[vector.direction] += 1
        self._last = vector.line
        self._monte_carlo = self._monte_carlo or vector.iterations > 1
        if vector.iterations > 1 and vector.name != f"{vector.direction} {wanted}":
            raise self._source.error(vector.line, f"COUNT {wanted} of a Monte Carlo test must stand here")

    def end(self, comments: str) -> None:
        """VectorError for a response that has fewer or more COUNTs than its test has."""
        if not self._source.stem.lower().endswith(".rsp"):
            return
        what, wanted = ("a Monte Carlo test", OUTER) if self._monte_carlo else _test(comments)
        for direction, count in self._counts.items():
            if wanted and count != wanted and (count or _BOTH.search(comments)):
                raise self._source.error(
                    self._last,
                    f"{what} must have {wanted} answers, [{direction.upper()}] ends after {count} of them",
                )


def _test(comments: str) -> tuple[str, int]:
    """What the file says it is, and the COUNTs of each of its sections; 0 if they are not known."""
    units, test, key = (pattern.search(comments) for pattern in (_UNITS, _TEST, _KEY))
    if units:
        lengths = len(units[1].split())
        return f"XTSGen of {lengths} lengths of data units", UNITS * lengths
    if test and key and int(key[1]) in _SIZES:
        return f"{test[1]} of AES-{key[1]}", _TESTS[test[1]][int(key[1])]
    return "", 0
