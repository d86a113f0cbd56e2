"""Naming lanes: a lane's value looked up among the values that the model named, none annotated by hand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from aeskit.bits import from_le, to_le

LANE = 16
SHORTEST = 4
"""Bytes of the shortest value that is looked up: of fewer, chance finds too many."""

_TWEAK = re.compile(r"T_\d+")
_ROUND_KEY = re.compile(r"d?K\d*\[(\d+)\]")


class Names:
    """The values of one run by their bytes."""

    def __init__(self, values: Iterable[tuple[str, bytes]]) -> None:
        """`values` in the order in which the model told them.

        Of several names of one value the first counts, one of a whole step (``CC_0``) before one of a
        round's state (``PP_0.round[14].output``). A round key of few bytes that are not zero is any value.
        """
        self._names: dict[bytes, str] = {}
        for name, data in values:
            few = _ROUND_KEY.fullmatch(name) and _bytes_of(data) < SHORTEST
            if len(data) < SHORTEST or not any(data) or few:
                continue
            known = self._names.get(data)
            if known is None or ("." in known and "." not in name):
                self._names[data] = name
        self._halves: dict[bytes, str] | None = None
        self._doubles: set[bytes] = set()
        self._outer = _outer_round_keys(self._names)

    def __len__(self) -> int:
        """How many values have a name."""
        return len(self._names)

    def name(self, data: bytes) -> str:
        """The name of a value, of its byte reverse, or of its sum with a first or last round key; else empty.

        Those sums are what code holds that folds a tweak or a block into a round key.
        """
        found = self._names.get(data)
        if found:
            return found
        found = self._names.get(data[::-1])
        if found:
            return f"{found} reversed"
        return self._sum(data) if len(data) == LANE and any(data) else ""

    def half(self, data: bytes) -> str:
        """The name of a value of which these 8 bytes are a half, in either order of bytes; else empty.

        Of a tweak also of its double before the reduction, which general registers hold for a moment.
        """
        if self._halves is None:
            self._halves = {}
            whole = {value: name for value, name in self._names.items() if len(value) == LANE}
            plain = [(name, value) for value, name in whole.items() if "." not in name]
            for name, value in plain:
                self._halved(name, value)
            for name, value in plain:
                if _TWEAK.fullmatch(name):
                    double = to_le(2 * from_le(value) % (1 << 128), LANE)
                    self._doubles |= {double[:8], double[8:]}
                    self._halved(f"2·{name} before the reduction", double)
        return self._halves.get(data, "")

    def double(self, data: bytes) -> bool:
        """Whether these 8 bytes are a half of a tweak's double before the reduction."""
        self.half(data)
        return data in self._doubles

    def _halved(self, name: str, value: bytes) -> None:
        assert self._halves is not None
        for at in (0, 8):
            told = f"bytes {at} to {at + 7} of {name}"
            self._halves.setdefault(value[at : at + 8], told)
            self._halves.setdefault(value[at : at + 8][::-1], f"{told} reversed")

    def lanes_known(self) -> list[bytes]:
        """The values of a lane's size."""
        return [data for data in self._names if len(data) == LANE]

    def fitting(self, data: bytes, known: bytes) -> bytes | None:
        """The one value of a lane's size that fits the bytes of `data` where `known` is not 0.

        All bytes known, it is `data` where that has a name. None for no value, several, or too few bytes.
        """
        places = [at for at in range(LANE) if known[at]]
        if len(places) == LANE:
            return data if self.name(data) else None
        if len(places) < SHORTEST:
            return None
        fits = [v for v in self.lanes_known() if all(v[at] == data[at] for at in places)]
        return fits[0] if len(fits) == 1 else None

    def lanes(self, register: str, data: bytes) -> dict[str, str]:
        """``zmm6[2]`` to ``T_2`` for each lane of a register that has a name."""
        named = (
            (lane, self.name(data[LANE * lane : LANE * (lane + 1)])) for lane in range(len(data) // LANE)
        )
        return {f"{register}[{lane}]": name for lane, name in named if name}

    def _sum(self, data: bytes) -> str:
        value = from_le(data)
        for number, round_key in self._outer:
            found = self._names.get(to_le(value ^ number, LANE))
            if found and "." not in found:
                return f"{found} ⊕ {round_key}"
        return ""


def _bytes_of(data: bytes) -> int:
    """How many bytes of it are not zero."""
    return sum(map(bool, data))


def _outer_round_keys(names: Mapping[bytes, str]) -> list[tuple[int, str]]:
    """The first and the last round key of each schedule, as integers with their names."""
    schedules: dict[str, list[tuple[int, int, str]]] = {}
    for data, name in names.items():
        match = _ROUND_KEY.fullmatch(name)
        if match:
            schedules.setdefault(name[: match.start(1)], []).append((int(match[1]), from_le(data), name))
    ends = [end for keys in schedules.values() for end in {min(keys), max(keys)}]
    return [(value, name) for _, value, name in sorted(ends, key=lambda end: end[2])]
