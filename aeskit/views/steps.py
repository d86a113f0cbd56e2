"""A machine's trace as text: one instruction a line, beside it what it set, recognised values by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from aeskit.bits import BLOCK, from_le
from aeskit.trace import Access, Step, Trace

FLAGS = {"CF": 0, "PF": 2, "ZF": 6, "SF": 7, "OF": 11}
NARROWEST, NARROW = 40, 72
"""Columns: the fewest, and those below which nothing stands beside an instruction."""
_NUMBER = re.compile(r"\d+")
_MARK = "✗"


def picture(trace: Trace, width: int = 80, full: bool = False) -> str:
    """The whole run in at most `width` columns; with `full` the bytes of recognised lanes too.

    ValueError for a width under 40.
    """
    if width < NARROWEST:
        raise ValueError(f"width must be at least {NARROWEST} columns, not {width}")
    return "\n".join(line.rstrip() for line in _lines(trace, width, full))


def _lines(trace: Trace, width: int, full: bool) -> Iterator[str]:
    yield from _wrapped(trace.title, width, "  ")
    yield from _wrapped(_counts(trace), width, "  ")
    drawing = _Drawing(trace, width, full)
    number = 0
    for phase, steps in groupby(trace.steps, key=lambda step: step.phase):
        group = list(steps)
        yield ""
        yield _rule(phase, f"{number} to {number + len(group) - 1}" if len(group) > 1 else f"{number}", width)
        for step in group:
            yield from drawing.step(number, step)
            number += 1
    yield from _memory(trace, width)
    if trace.findings:
        yield ""
        yield _rule("findings", str(len(trace.findings)), width)
        for finding in trace.findings:
            yield from _wrapped(f"{_MARK} {finding}", width, "  ")


def _memory(trace: Trace, width: int) -> Iterator[str]:
    """A strip a buffer: a letter for each 16 bytes, what was done with them."""
    if not trace.buffers:
        return
    touched: dict[tuple[str, int], str] = {}
    for step in trace.steps:
        for access in step.accesses:
            letter = "r" if access.written is None else "w"
            for block in range(access.offset // BLOCK, -(-(access.offset + access.size) // BLOCK)):
                key = (access.buffer, block)
                touched[key] = letter if touched.get(key, letter) == letter else "b"
    yield ""
    legend = "16 bytes a letter: r read, w written, b both, · neither"
    yield _rule("memory", legend if width >= NARROW else "", width)
    if width < NARROW:
        yield from _wrapped(legend, width, "  ")
    label = max(len(buffer.name) for buffer in trace.buffers)
    for buffer in trace.buffers:
        blocks = -(-len(buffer.data) // BLOCK)
        strip = "".join(touched.get((buffer.name, block), "·") for block in range(blocks))
        head = f"{buffer.name:{label}} {len(buffer.data):7} bytes  "
        room = max(width - len(head), 4)
        for start in range(0, max(blocks, 1), room):
            yield (head if not start else " " * len(head)) + strip[start : start + room]


def _counts(trace: Trace) -> str:
    found = len(trace.findings)
    said = f"{found} finding{'s' * (found != 1)}" if found else "nothing found"
    count = len(trace.steps)
    return f"{count} instruction{'s' * (count != 1)} run by {trace.source}; {said}"


def _rule(left: str, right: str, width: int) -> str:
    room = width - len(right) - 6
    left = left if len(left) <= room else left[: room - 1] + "…"
    left = left or "run"
    end = f" {right} ──" if right else "──"
    return f"── {left} {'─' * (width - len(left) - len(end) - 4)}{end}"


def _wrapped(text: str, width: int, indent: str) -> Iterator[str]:
    while len(text) > width:
        cut = text.rfind(" ", len(text) - len(text.lstrip()) + 1, width + 1)
        cut = cut if cut > len(indent) else width
        yield text[:cut]
        text = indent + text[cut:].lstrip()
    yield text


class _Drawing:
    """Draws step after step; remembers the registers, to tell which lanes changed."""

    def __init__(self, trace: Trace, width: int, full: bool) -> None:
        self.steps, self.width, self.full = trace.steps, width, full
        self.before: dict[str, bytes] = dict(trace.start)
        self.beside = 56 if width >= 96 else 48 if width >= NARROW else 0
        """The column in which what an instruction set stands; 0 for the lines below it."""
        self.indent = " " * (15 if self.beside else 8)
        self.found: dict[int, list[str]] = {}
        for finding in trace.findings:
            if finding.step is not None:
                self.found.setdefault(finding.step, []).append(finding.text)

    def step(self, number: int, step: Step) -> Iterator[str]:
        """The lines of a step."""
        offset = "+" + step.place.partition("+")[2] if "+" in step.place else "+0x0"
        head = f"{number:5} {offset:>7}  {step.text}"
        items = _packed(self._items(number, step), self.width - (self.beside or len(self.indent)))
        for item in items:
            fits = len(head) < self.beside and self.beside + len(item) <= self.width
            if head and not fits:
                yield from _wrapped(head, self.width, self.indent)
                head = ""
            if fits:
                yield head.ljust(self.beside) + item
            else:
                yield from _wrapped(self.indent + item, self.width, f"{self.indent}  ")
            head = ""
        if head:
            yield from _wrapped(head, self.width, self.indent)
        for place, must in step.wanted.items():
            told = f"    ≠ {place} must be {must.name + ': ' if must.name else ''}{must.data.hex(' ', 4)}"
            yield from _wrapped(told, self.width, " " * 6)
        for text in self.found.get(number, ()):
            yield from _wrapped(f"    {_MARK} {text}", self.width, " " * 6)
        self.before.update(step.values)

    def _items(self, number: int, step: Step) -> Iterator[str]:
        """What stands beside an instruction."""
        zeros = []
        for name, data in step.values.items():
            if name[1:3] == "mm":
                items, zero = self._register(name, data, step.names)
                yield from items
                zeros += zero
            elif name == "flags":
                yield "flags " + (
                    " ".join(f for f, bit in FLAGS.items() if from_le(data) >> bit & 1) or "clear"
                )
            else:
                yield f"{name} = {step.names.get(name, f'{from_le(data):#x}')}"
        if zeros:
            yield f"{', '.join(zeros)} = 0"
        yield from _stored(step)
        if step.text.startswith("j") and not step.text.startswith("jmp"):
            yield "taken" if self._jumped(number, step) else "not taken"
        reads = [text for access in step.accesses if (text := _read(access, step.names))]
        recognised = any(f"{name}[0]" in step.names for name in step.values)
        if reads and not recognised:  # a round key that was read says nothing beside the state it led to
            yield "← " + ", ".join(reads)

    def _jumped(self, number: int, step: Step) -> bool:
        target = step.text.split()[-1]
        return number + 1 < len(self.steps) and self.steps[number + 1].place.endswith(target)

    def _register(self, name: str, data: bytes, names: Mapping[str, str]) -> tuple[list[str], list[str]]:
        """Changed lanes: recognised ones by name on one line, others with their bytes; and those now zero."""
        # Of a register that nothing was known of, upper lanes that are zero are no news.
        old = self.before.get(name, bytes(len(data)))
        lanes = [
            i for i in range(len(data) // BLOCK) if data[16 * i : 16 * i + 16] != old[16 * i : 16 * i + 16]
        ]
        named = [(i, names[f"{name}[{i}]"]) for i in lanes if f"{name}[{i}]" in names]
        zero = [i for i in lanes if not any(data[16 * i : 16 * i + 16])]
        if self.full:
            shown = [f"{_lane(name, data, i)}  {names.get(f'{name}[{i}]', '')}".rstrip() for i in lanes]
            return shown, []
        plain = [i for i in lanes if f"{name}[{i}]" not in names and i not in zero]
        items = [_lane(name, data, *same) for same in _equal(data, plain)]
        if named:
            places = _which([i for i, _ in named], len(data))
            items.insert(0, f"{name}{places} = {joined([text for _, text in named])}")
        return items, [f"{name}{_which(zero, len(data))}"] if zero else []


def _packed(items: Iterable[str], room: int) -> list[str]:
    """The items, several on one line where there is room."""
    lines: list[str] = []
    for item in items:
        if lines and len(lines[-1]) + 2 + len(item) <= room:
            lines[-1] += f"  {item}"
        else:
            lines.append(item)
    return lines


def _equal(data: bytes, lanes: Sequence[int]) -> list[list[int]]:
    """The lanes in groups of the same bytes."""
    groups: dict[bytes, list[int]] = {}
    for lane in lanes:
        groups.setdefault(data[BLOCK * lane : BLOCK * lane + BLOCK], []).append(lane)
    return list(groups.values())


def _lane(name: str, data: bytes, *lanes: int) -> str:
    place = f"{name}[{','.join(_ranges(lanes))}]" if len(data) > BLOCK else name
    return f"{place:9} {data[BLOCK * lanes[0] : BLOCK * lanes[0] + BLOCK].hex(' ', 4)}"


def _which(lanes: Sequence[int], size: int) -> str:
    """``[0]``, ``[0–3]``, or nothing where it is every lane."""
    if len(lanes) == size // BLOCK:
        return ""
    return f"[{','.join(_ranges(lanes))}]"


def _ranges(numbers: Iterable[int]) -> list[str]:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] == number - 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return [str(a) if a == b else f"{a}–{b}" for a, b in runs]


def joined(names: Sequence[str]) -> str:
    """``PP_0–3.round[2].start`` for four names that count up; else one after another."""
    if len(names) > 1:
        if len(set(names)) == 1:
            return f"{len(names)} × {names[0]}"
        for place, first in enumerate(_NUMBER.finditer(names[0])):
            start, end = first.span()
            wanted = [f"{names[0][:start]}{int(first[0]) + i}{names[0][end:]}" for i in range(len(names))]
            if wanted == list(names):
                return f"{names[0][:start]}{first[0]}–{int(first[0]) + len(names) - 1}{names[0][end:]}"
            if place > 1:
                break
    return ", ".join(names)


def _read(access: Access, names: Mapping[str, str]) -> str:
    if access.written is not None or not access.buffer:
        return ""
    known = [
        name
        for at in range(0, access.size, BLOCK)
        if (name := names.get(f"{access.buffer}+{access.offset + at}"))
    ]
    return joined(known) if known else access.name


def _stored(step: Step) -> Iterator[str]:
    for access in step.accesses:
        if access.written is None:
            continue
        last = access.offset + access.size - 1
        place = f"{access.name} to {last}" if access.buffer and access.size > 1 else access.name
        places = [f"{access.buffer}+{access.offset + at}" for at in range(0, access.size, BLOCK)]
        known = [step.names[at] for at in places if at in step.names]
        if known and len(known) == len(places):
            yield f"{place} = {joined(known)}"
        else:
            yield f"{place} = {access.written.hex(' ', 4) if access.size <= BLOCK else '…'}"
