"""One case on one implementation in one layout: the call, and every way in which its result can be wrong."""

from __future__ import annotations

from dataclasses import dataclass

from aeskit.verify.inputs import Inputs
from aeskit.verify.layouts import Layout
from aeskit.verify.runner import After, Call, Fault, Runner, canary

_STEALING = {"": 0, "CS1": 1, "CS2": 2, "CS3": 3}


@dataclass(frozen=True, slots=True)
class Expected:
    """What must be there after a call, whatever the layout."""

    text: bytes | None
    """None where the function must return at once and change nothing."""
    iv: bytes | None
    """What continues the message; None where nothing is promised."""


def examine(
    runner: Runner, function: str, inputs: Inputs, context: bytes, expected: Expected, layout: Layout
) -> str | None:
    """What is wrong, as a finding writes it; None where nothing is."""
    call = called(function, inputs, context, expected, layout)
    try:
        after = runner.call(call)
    except Fault as fault:
        return str(fault)
    start = after.start
    before = canary(len(after.window))
    text = expected.text
    if text is None:
        text = inputs.data if layout.in_place else before[start : start + call.size]
    found = after.window[start : start + call.size]
    if found != text:
        at = _first(found, text)
        return f"block {at // 16} byte {at % 16} is {found[at]:02x}, must be {text[at]:02x}"
    return strayed(call, after) or _written_back(call, after, expected)


def called(function: str, inputs: Inputs, context: bytes, expected: Expected, layout: Layout) -> Call:
    """The call that `examine` makes."""
    size, stealing = len(inputs.data) if expected.text is None else len(expected.text), inputs.stealing
    iv, data = inputs.iv, inputs.data
    return Call(function, inputs.mode, context, data, size, iv, layout, _STEALING[stealing])


def strayed(call: Call, after: After) -> str | None:
    """What was changed that holds no result: bytes beside the destination, the source, the key schedules."""
    before, start, end = canary(len(after.window)), after.start, after.start + call.size
    if after.window[:start] != before[:start]:
        at = _first(after.window[:start], before[:start])
        return f"byte {start - at} before the destination was written: is {after.window[at]:02x}"
    if after.window[end:] != before[end:]:
        at = _first(after.window[end:], before[end:])
        return f"byte {at + 1} past the destination was written: is {after.window[end + at]:02x}"
    if not call.layout.in_place and after.source != call.source:
        at = _first(after.source, call.source)
        return f"source block {at // 16} byte {at % 16} was changed to {after.source[at]:02x}"
    if after.context != call.context:
        return f"key schedule byte {_first(after.context, call.context)} was changed"
    return None


def _written_back(call: Call, after: After, expected: Expected) -> str | None:
    wanted = expected.iv if call.updates else call.iv
    if wanted is None or after.iv == wanted:
        return None
    at, name = _first(after.iv, wanted), {"xts": "tweak", "ctr": "counter"}.get(call.mode, "IV")
    kind = f"written-back {name}" if call.updates else f"{name}, not to be written,"
    return f"{kind} byte {at} is {after.iv[at]:02x}, must be {wanted[at]:02x}"


def _first(found: bytes, wanted: bytes) -> int:
    return next(at for at, (a, b) in enumerate(zip(found, wanted, strict=True)) if a != b)
