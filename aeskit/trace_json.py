"""The JSON form of a trace, version 2: compact, and read with suspicion.

An object with

- ``aeskit_trace``: 2, ``title`` and ``source``: strings
- ``places``: strings, each once
- ``code``: rows ``[text, index of its place, line]``, each once however often it ran
- ``names``: the strings that values were recognised as, each once
- ``phases``: rows ``[first step, name]``, and ``model_phases``
- ``buffers``: rows ``[name, address, writable, hex, expected hex or null]``
- ``start``: register to hex
- ``steps``: rows ``[code, values, names, accesses, origins, wanted]``, empty ends left out; values are
  name to hex; names are place to an index of ``names``, or a register to a list of its lanes' (null for
  none); an access is ``[buffer, offset, size]`` for a read and ``[buffer, offset, hex]`` for a write, the
  buffer an index or -1; wanted are lane to ``[index of names, hex]``, where a lane is not what it must be
- ``model``: rows ``[code, name, hex, name, hex, …]``, names as indices; a text of null is the first name
- ``findings``: rows ``[text, step or null]``
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeVar

from aeskit.bits import BLOCK
from aeskit.trace import Access, Buffer, Finding, Step, Trace, TraceError, Wanted

VERSION = 2
"""A reader refuses any other."""

FIELDS = frozenset(
    [
        "aeskit_trace",
        "title",
        "source",
        "findings",
        "buffers",
        "start",
        "places",
        "code",
        "names",
        "phases",
        "model_phases",
        "steps",
        "model",
    ]
)

MAX_STEPS = 1_000_000
MAX_ADDRESS = (1 << 64) - 1

T = TypeVar("T")

_HEX = re.compile("(?:[0-9a-f]{2})*")


# ---- Writing --------------------------------------------------------------------------------------------


class _Table:
    """Rows, each once, and their indices."""

    def __init__(self) -> None:
        self.index: dict[Any, int] = {}

    def __call__(self, row: Any) -> int:
        return self.index.setdefault(row, len(self.index))

    def rows(self) -> list[Any]:
        return list(self.index)


class _Code(_Table):
    """Rows of text, place and line; places are a table of their own."""

    def __init__(self) -> None:
        super().__init__()
        self.places = _Table()

    def __call__(self, row: Any) -> int:
        text, place, line = row
        return super().__call__((text, self.places(place), line))


def write(trace: Trace) -> str:
    """The JSON of a trace."""
    code, names = _Code(), _Table()
    places = {buffer.name: index for index, buffer in enumerate(trace.buffers)}
    steps = [_write_step(step, code, names, places) for step in trace.steps]
    model = [_write_model(step, code, names) for step in trace.model]
    whole = {
        "aeskit_trace": VERSION,
        "title": trace.title,
        "source": trace.source,
        "findings": [[finding.text, finding.step] for finding in trace.findings],
        "buffers": [_write_buffer(buffer) for buffer in trace.buffers],
        "start": _hex(trace.start),
        "places": code.places.rows(),
        "code": code.rows(),
        "names": names.rows(),
        "phases": _phases(trace.steps),
        "model_phases": _phases(trace.model),
        "steps": steps,
        "model": model,
    }
    return json.dumps(whole, ensure_ascii=False, separators=(",", ":"))


def _hex(values: Mapping[str, bytes]) -> dict[str, str]:
    return {name: bytes(data).hex() for name, data in values.items()}


def _write_step(step: Step, code: _Table, names: _Table, places: Mapping[str, int]) -> list[Any]:
    row: list[Any] = [
        code((step.text, step.place, step.line)),
        _hex(step.values),
        _write_names(step.names, names),
        [_write_access(access, places) for access in step.accesses],
        dict(step.origins),
        {place: [names(must.name), must.data.hex()] for place, must in step.wanted.items()},
    ]
    while not row[-1] and len(row) > 1:
        row.pop()
    return row


_LANE = re.compile(r"(\w+)\[([0-3])\]")


def _write_names(found: Mapping[str, str], names: _Table) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for place, name in found.items():
        match = _LANE.fullmatch(place)
        if match is None or match[1] in found:
            made[place] = names(name)
        else:
            lanes = made.setdefault(match[1], [])
            lanes += [None] * (int(match[2]) + 1 - len(lanes))
            lanes[int(match[2])] = names(name)
    return made


def _write_model(step: Step, code: _Table, names: _Table) -> list[Any]:
    """A model's step sets values and nothing else; most are called as the one value that they set."""
    text = None if next(iter(step.values), None) == step.text else step.text
    pairs = ((names(name), bytes(data).hex()) for name, data in step.values.items())
    return [code((text, step.place, step.line)), *(item for pair in pairs for item in pair)]


def _write_access(access: Access, places: Mapping[str, int]) -> list[Any]:
    what = access.size if access.written is None else bytes(access.written).hex()
    return [places[access.buffer] if access.buffer else -1, access.offset, what]


def _write_buffer(buffer: Buffer) -> list[Any]:
    expected = None if buffer.expected is None else buffer.expected.hex()
    return [buffer.name, buffer.address, buffer.writable, buffer.data.hex(), expected]


def _phases(steps: Sequence[Step]) -> list[list[Any]]:
    starts = [0] if steps else []
    starts += [i for i, (a, b) in enumerate(pairwise(steps), 1) if a.phase != b.phase]
    return [[i, steps[i].phase] for i in starts]


# ---- Reading --------------------------------------------------------------------------------------------


def read(text: str) -> Trace:
    """The trace that `write` wrote; TraceError with the place for anything else."""
    if not isinstance(text, str):
        raise TraceError(f"a trace must be JSON as a str, not {type(text).__name__}")
    try:
        raw = json.loads(text, object_pairs_hook=_once)
        if r"\ud" in text.lower() or not text.isascii():
            json.dumps(raw, ensure_ascii=False).encode()  # half of a surrogate pair is no character
    except (ValueError, RecursionError) as error:
        raise TraceError(f"a trace must be JSON: {error}") from None
    if (
        not isinstance(raw, dict)
        or type(raw.get("aeskit_trace")) is not int
        or raw["aeskit_trace"] != VERSION
    ):
        raise TraceError(f'a trace must be an object with "aeskit_trace": {VERSION}')
    for key in raw:
        if key not in FIELDS:
            raise TraceError(f"trace: there is no field {key!r:.40}")
    for key in ("steps", "model"):
        if len(_list(raw, key)) > MAX_STEPS:
            raise TraceError(f"a trace must have at most {MAX_STEPS} {key}, not {len(raw[key])}")
    reader = _Reader(raw)
    steps = reader.steps("steps", "phases", reader.step)
    model = reader.steps("model", "model_phases", reader.model)
    return Trace(
        title=_string(raw.get("title"), 'trace: "title"'),
        source=_string(raw.get("source"), 'trace: "source"'),
        steps=steps,
        findings=_rows(raw, "findings", lambda row, where: _finding(row, where, len(steps))),
        buffers=reader.buffers,
        start=_values(raw.get("start"), "trace: start"),
        model=model,
    )


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, each of whose names stands there once."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r:.40} stands twice in an object")
    return found


class _Reader:
    """The tables of a trace, and its steps read by them."""

    def __init__(self, raw: dict[str, Any]) -> None:
        self.raw = raw
        places = _rows(raw, "places", _string)
        self.code = _rows(raw, "code", lambda row, where: _code(row, where, places))
        self.names = _rows(raw, "names", _string)
        self.buffers = _rows(raw, "buffers", _buffer)
        if len({buffer.name for buffer in self.buffers} | {""}) <= len(self.buffers):
            raise TraceError("trace: buffers must have names, each another")

    def steps(self, key: str, phases: str, make: Callable[[Any, str, str], Step]) -> tuple[Step, ...]:
        """The rows of `key` by `make`, with the phases told by the rows of `phases`."""
        count = len(self.raw[key])
        starts = dict(rows := _rows(self.raw, phases, lambda row, where: _phase(row, where, count)))
        if count and 0 not in starts:
            raise TraceError(f"trace: {phases} must begin at step 0")
        if [first for first, _ in rows] != sorted(starts):
            raise TraceError(f"trace: {phases} must be in order, one a step")
        made, phase = [], ""
        for number, row in enumerate(self.raw[key]):
            phase = starts.get(number, phase)
            made.append(make(row, phase, f"{key}[{number}]"))
        return tuple(made)

    def model(self, row: Any, phase: str, where: str) -> Step:
        """A row of ``model``."""
        row = _row(row, where)
        if len(row) % 2 == 0:
            raise TraceError(f"{where} must have names and values in pairs behind its code")
        text, place, line = self.code[_index(row[0], len(self.code), f"{where}: code")]
        values = {
            self.names[_index(name, len(self.names), f"{where}: names")]: _bytes(data, where)
            for name, data in zip(row[1::2], row[2::2], strict=True)
        }
        return Step(next(iter(values), "") if text is None else text, place, phase, values, line=line)

    def step(self, row: Any, phase: str, where: str) -> Step:
        """A row of ``steps``."""
        row = [*_row(row, where, range(1, 7)), *({}, {}, [], {}, {})[len(row) - 1 :]]
        text, place, line = self.code[_index(row[0], len(self.code), f"{where}: code")]
        names = self._names(row[2], f"{where}: names")
        return Step(
            text or "",
            place,
            phase,
            _values(row[1], where),
            names,
            tuple(self._access(item, f"{where}: accesses") for item in _row(row[3], f"{where}: accesses")),
            line,
            {at: _letters(found, where) for at, found in _object(row[4], f"{where}: origins").items()},
            {
                at: self._must(found, f"{where}: wanted")
                for at, found in _object(row[5], f"{where}: wanted").items()
            },
        )

    def _names(self, found: Any, where: str) -> dict[str, str]:
        made = {}
        for place, lanes in _object(found, where).items():
            several = isinstance(lanes, list)
            for lane, index in enumerate(_row(lanes, where, range(5)) if several else [lanes]):
                if index is not None:
                    at = f"{place}[{lane}]" if several else place
                    made[at] = self.names[_index(index, len(self.names), where)]
        return made

    def _must(self, row: Any, where: str) -> Wanted:
        index, data = _row(row, where, range(2, 3))
        data = _bytes(data, where)
        if len(data) != BLOCK:
            raise TraceError(f"{where} must have {BLOCK} bytes, not {len(data)}")
        return Wanted(self.names[_index(index, len(self.names), where)], data)

    def _access(self, row: Any, where: str) -> Access:
        place, offset, what = _row(row, where, range(3, 4))
        buffer = "" if place == -1 else self.buffers[_index(place, len(self.buffers), where)].name
        offset = _index(offset, MAX_ADDRESS + 1, where)
        if isinstance(what, str):
            data = _bytes(what, where)
            return Access(buffer, offset, len(data), data)
        return Access(buffer, offset, _index(what, 1 << 32, where))


def _code(row: Any, where: str, places: Sequence[str]) -> tuple[str | None, str, str]:
    text, place, line = _row(row, where, range(3, 4))
    place = places[_index(place, len(places), where)]
    return None if text is None else _string(text, where), place, _string(line, where)


def _phase(row: Any, where: str, steps: int) -> tuple[int, str]:
    first, name = _row(row, where, range(2, 3))
    return _index(first, steps, where), _string(name, where)


def _finding(row: Any, where: str, steps: int) -> Finding:
    text, step = _row(row, where, range(2, 3))
    return Finding(_string(text, where), None if step is None else _index(step, steps, where))


def _buffer(row: Any, where: str) -> Buffer:
    name, address, writable, data, expected = _row(row, where, range(5, 6))
    if not isinstance(writable, bool):
        raise TraceError(f"{where}: writable must be true or false")
    after = None if expected is None else _bytes(expected, where)
    held = _bytes(data, where)
    if after is not None and len(after) != len(held):
        raise TraceError(f"{where}: expected must have the {len(held)} bytes of the buffer, not {len(after)}")
    address = _index(address, MAX_ADDRESS + 2 - max(len(held), 1), f"{where}: address")
    return Buffer(_string(name, where), address, held, writable, after)


def _rows(raw: dict[str, Any], key: str, make: Callable[[Any, str], T]) -> tuple[T, ...]:
    return tuple(make(row, f"{key}[{number}]") for number, row in enumerate(_list(raw, key)))


def _list(raw: dict[str, Any], key: str) -> list[Any]:
    found = raw.get(key)
    if not isinstance(found, list):
        raise TraceError(f'trace: "{key}" must be a list')
    return found


def _row(row: Any, where: str, sizes: range | None = None) -> list[Any]:
    if not isinstance(row, list):
        raise TraceError(f"{where} must be a list, not {type(row).__name__}")
    if sizes is not None and len(row) not in sizes:
        wanted = sizes[0] if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
        raise TraceError(f"{where} must have {wanted} items, not {len(row)}")
    return row


def _object(found: Any, where: str) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise TraceError(f"{where} must be an object, not {type(found).__name__}")
    return found


def _values(found: Any, where: str) -> dict[str, bytes]:
    return {name: _bytes(data, where) for name, data in _object(found, f"{where}: values").items()}


def _bytes(found: Any, where: str) -> bytes:
    if not (isinstance(found, str) and _HEX.fullmatch(found)):
        raise TraceError(f"{where}: values must be hexadecimal, two lower-case digits a byte")
    return bytes.fromhex(found)


def _letters(found: Any, where: str) -> str:
    if not isinstance(found, str) or not set(found) <= set("dtkc"):
        raise TraceError(f"{where}: origins must be letters d, t, k and c")
    return found


def _string(found: Any, where: str) -> str:
    if not isinstance(found, str):
        raise TraceError(f"{where} must be a string")
    return found


def _index(found: Any, count: int, where: str) -> int:
    if type(found) is not int or not 0 <= found < count:
        raise TraceError(f"{where} must be from 0 to {count - 1}, not {found!r:.40}")
    return found
