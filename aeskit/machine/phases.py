"""Phases of a run: where it is in the code, by labels and loop heads, and on which blocks it works."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from aeskit.machine.loader import Image

ENTRY = "entry"
_NUMBERED = re.compile(r"[_\d.]*\d+$")
"""The end of a label that a macro made unique."""


@dataclass
class _Segment:
    """Steps that belong together: one pass of a loop, or straight code from a label on."""

    label: str
    loop: int
    """Address of the loop's head; 0 outside loops."""
    first: int
    work: set[str] = field(default_factory=set)


def phases(image: Image, addresses: Sequence[int], work: Sequence[Iterable[str]]) -> list[str]:
    """A phase for every step, as ``main, pass 2: blocks 8–15``.

    `addresses` are the steps' in order, `work` names what each worked on (``tweak``, ``block 3``). A loop
    whose passes work on the same is one phase: the rounds of a cipher.
    """
    places = _Places(image, addresses)
    segments: list[_Segment] = []
    for number, address in enumerate(addresses):
        label, loop = places.of(address)
        last = segments[-1] if segments else None
        if last is None or (label, loop) != (last.label, last.loop) or (loop and address == loop):
            segments.append(_Segment(label, loop, number))
        segments[-1].work.update(work[number])
    merged = _merged(segments)
    ends = [segment.first for segment in merged[1:]] + [len(addresses)]
    parts = [part for s, end in zip(merged, ends, strict=True) for part in _batches(s, end, work)]
    return [text for text, count in _texts(parts, len(addresses)) for _ in range(count)]


def _batches(segment: _Segment, end: int, work: Sequence[Iterable[str]]) -> list[_Segment]:
    """Straight code cut where all that it worked on is done and something else begins."""
    if segment.loop:
        return [segment]
    last = {word: number for number in range(segment.first, end) for word in work[number]}
    parts, reach = [_Segment(segment.label, segment.loop, segment.first)], -1
    for number in range(segment.first, end):
        if work[number] and parts[-1].work and number > reach:
            parts.append(_Segment(segment.label, 0, reach + 1))
        parts[-1].work.update(work[number])
        reach = max([reach, *(last[word] for word in work[number])])
    return parts


def _merged(segments: list[_Segment]) -> list[_Segment]:
    kept: list[_Segment] = []
    for segment in segments:
        last = kept[-1] if kept else None
        same = last is not None and (last.label, last.loop) == (segment.label, segment.loop)
        if last is not None and same and (segment.work <= last.work or last.work <= segment.work):
            last.work |= segment.work
        else:
            kept.append(segment)
    return kept


def _texts(segments: list[_Segment], steps: int) -> Iterable[tuple[str, int]]:
    ends = [segment.first for segment in segments[1:]] + [steps]
    number = 0
    for i, (segment, end) in enumerate(zip(segments, ends, strict=True)):
        loop = segment.loop
        number = number + 1 if loop and i and segments[i - 1].loop == loop else 1
        again = number > 1 or (loop and i + 1 < len(segments) and segments[i + 1].loop == loop)
        text = f"{segment.label}, pass {number}" if again else segment.label
        about = summary(segment.work)
        yield (f"{text}: {about}" if about else text), end - segment.first


def summary(work: Iterable[str]) -> str:
    """``tweak, blocks 0–7, 9``: block numbers as ranges, all else by name before them."""
    numbers = sorted(int(word[6:]) for word in work if re.fullmatch(r"block \d+", word))
    other = sorted(word for word in work if not re.fullmatch(r"block \d+", word))
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    texts = [str(a) if a == b else f"{a}–{b}" for a, b in ranges]
    blocks = [f"block{'s' if len(numbers) > 1 else ''} {', '.join(texts)}"] if texts else []
    return ", ".join(other + blocks)


class _Places:
    """Labels and loops of the functions that ran."""

    def __init__(self, image: Image, addresses: Sequence[int]) -> None:
        self.starts = {image.symbols[name]: name for name in image.functions if name in image.symbols}
        self.loops = self._loops(addresses)
        names = [(at, name) for table in (image.symbols, image.labels) for name, at in table.items()]
        self.labels = sorted((at, name) for at, name in names if at not in self.starts and name.isprintable())
        self.main = self._function(addresses[0]) if addresses else 0
        self.known: dict[int, tuple[str, int]] = {}

    def of(self, address: int) -> tuple[str, int]:
        """The label that an address lies behind, and the head of the outermost loop around it, or 0."""
        if address not in self.known:
            self.known[address] = self._find(address)
        return self.known[address]

    def _find(self, address: int) -> tuple[str, int]:
        function = self._function(address)
        around = [(last - head, head) for head, last in self.loops.items() if head <= address <= last]
        loop = max(around)[1] if around else 0
        if loop:
            return self._loop_name(loop, function), loop
        if function != self.main and function in self.starts:
            return self.starts[function], 0
        named = [
            (at, text)
            for at, name in self.labels
            if function <= at <= address and (text := self._clean(name, function))
        ]
        label, text = named[-1] if named else (function, ENTRY)
        behind = [head for head, last in self.loops.items() if label <= head and last < address]
        return (f"after {self._loop_name(max(behind), function)}" if behind else text), 0

    def _function(self, address: int) -> int:
        return max((at for at in self.starts if at <= address), default=0)

    def _loop_name(self, head: int, function: int) -> str:
        for at, name in self.labels:
            if at == head:
                short = name.removeprefix(".L").removeprefix(self.starts.get(function, "")).strip("_")
                return _NUMBERED.sub("", short).replace("_", " ") or f"loop at +{head - function:#x}"
        return f"loop at +{head - function:#x}"

    def _clean(self, name: str, function: int) -> str:
        """What a label tells; nothing for one that a macro numbered."""
        short = name.removeprefix(".L")
        own = self.starts.get(function, "")
        if own and short.startswith(own):
            return short.removeprefix(own).strip("_").replace("_", " ")
        return "" if _NUMBERED.search(short) else short.strip("_").replace("_", " ")

    def _loops(self, addresses: Sequence[int]) -> dict[int, int]:
        """Loop heads with the last address of each: a step back, in one function, to what ran before."""
        loops: dict[int, int] = {}
        seen: set[int] = set()
        for address, following in pairwise(addresses):
            seen.add(address)
            back = following <= address and following in seen
            if back and self._function(address) == self._function(following):
                loops[following] = max(loops.get(following, 0), address)
        return loops
