"""One computation, several ways: fields to type into, a verdict for each way, and the lanes below.

Needs anywidget and ipywidgets: ``pip install 'aeskit[lab]'``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from typing import Any

from aeskit.views.cells import Lanes
from aeskit.views.widget import LanesWidget

try:
    import ipywidgets
except ImportError as error:
    raise ImportError(f"the form needs {error.name}: pip install 'aeskit[lab]'") from None

Ways = Mapping[str, bytes]
"""Name of a way to its result; the first is what the others are held against."""

REFUSED = (ValueError, TypeError, BufferError, OverflowError)
"""What bad input raises anywhere in the package: shown in place, without a traceback."""

FLIP_AT = 5

_ALERT = '<div role="alert" style="color:var(--jp-error-color1,#b00020);line-height:1.5"><b>✗ {}</b></div>'
_NAME = '<th scope="row" style="font-weight:normal;padding:0 16px 0 6px;text-align:left">{}</th>'


def hexadecimal(name: str, text: str) -> bytes:
    """The bytes that a field spells, spaces allowed; ValueError that names the field and the place."""
    digits = "".join(text.split())
    for place, character in enumerate(digits):
        if character not in "0123456789abcdefABCDEF":
            raise ValueError(f"{name} must be hexadecimal, not {character!r} at digit {place + 1}")
    if len(digits) % 2:
        raise ValueError(f"{name} must have two digits a byte: {len(digits)} digits are odd")
    return bytes.fromhex(digits)


def integer(name: str, text: str) -> int:
    """The number that a field spells in decimal or as 0x…; ValueError that names the field."""
    try:
        return int(text.strip(), 0)
    except ValueError:
        raise ValueError(f"{name} must be a number, decimal or 0x…, not {text.strip()!r}") from None


def differing(first: bytes, other: bytes) -> list[int]:
    """The offsets at which two results differ, the missing bytes of the shorter one among them."""
    common = min(len(first), len(other))
    return [i for i in range(common) if first[i] != other[i]] + [*range(common, max(len(first), len(other)))]


def verdict(first: bytes, other: bytes) -> str:
    """``equal``, or where two results differ, in words."""
    places = differing(first, other)
    if not places:
        return "equal"
    at = places[0]
    bytes_ = [f"{data[at]:02x}" if at < len(data) else "missing" for data in (other, first)]
    more = f" and {len(places) - 1} more" if len(places) > 1 else ""
    return f"differs: block {at // 16} byte {at % 16} is {bytes_[0]}, must be {bytes_[1]}{more}"


def in_blocks(results: Ways) -> list[Lanes]:
    """A register a block, a lane a way, each lane marked where it differs from the first way's."""
    first, *_ = results.values()
    longest = max(map(len, results.values()))
    made = []
    for start in range(0, longest, 16):
        judge = first[start : start + 16]
        for number, (name, data) in enumerate(results.items()):
            part = data[start : start + 16]
            heading = "" if number else f"block {start // 16}"
            if part:
                made.append(
                    Lanes(f"{name}, block {start // 16}", part, (name,), heading=heading).against(judge)
                )
    return made


def _field(name: str, value: str) -> Any:
    """One line, or two for what is long."""
    options = {"value": value, "description": name, "style": {"description_width": "70px"}}
    if len(value) > 70:
        return ipywidgets.Textarea(rows=2, layout={"width": "calc(100% - 8px)"}, **options)
    return ipywidgets.Text(layout={"width": "calc(100% - 8px)"}, **options)


class Comparison(ipywidgets.VBox):
    """Fields above, verdicts and lanes below; every edit computes anew."""

    def __init__(self, run: Callable[..., Iterable[tuple[str, bytes]]], **fields: str) -> None:
        """Call `run` with the text of each field by name; it gives (name, result) pairs, the judge first."""
        self._run = run
        self.fields = {name: _field(name, value) for name, value in fields.items()}
        self.flip = ipywidgets.Checkbox(
            description=f"flip a bit of byte {FLIP_AT} of the last result: what a difference looks like",
            indent=False,
            layout={"width": "auto", "margin": "2px 0 2px 78px"},
        )
        self.table = ipywidgets.HTML()
        self.lanes: LanesWidget | None = None
        for control in (*self.fields.values(), self.flip):
            control.observe(self._update, names="value")
        super().__init__([])
        self._update()

    def results(self) -> dict[str, bytes]:
        """Each way's result for what the fields hold now; one of `REFUSED` for bad input."""
        results = {name: bytes(data) for name, data in self._run(**self._texts())}
        if self.flip.value:
            name = list(results)[-1]
            changed = bytearray(results[name])
            changed[min(FLIP_AT, len(changed) - 1)] ^= 1
            results[name] = bytes(changed)
        return results

    def _texts(self) -> dict[str, str]:
        return {name: field.value for name, field in self.fields.items()}

    def _update(self, _change: Any = None) -> None:
        try:
            results = self.results()
        except REFUSED as error:
            self.table.value = _ALERT.format(escape(str(error)))
            self._place(())
            return
        self.table.value = verdict_table(results)
        self._place(in_blocks(results))

    def _place(self, shown: Sequence[Lanes]) -> None:
        """Show the lanes, in the one widget of this view, or none."""
        if shown and self.lanes is None:
            self.lanes = LanesWidget(*shown)
        elif shown and self.lanes is not None:
            self.lanes.show(*shown)
        lanes = [self.lanes] if shown and self.lanes is not None else []
        self.children = (*self.fields.values(), self.flip, self.table, *lanes)


def verdict_table(results: Ways) -> str:
    """A row a way: its name and whether it equals the first."""
    first, *_ = results.values()
    rows = []
    for number, (name, data) in enumerate(results.items()):
        said = verdict(first, data) if number else f"{len(data)} bytes, the judge"
        sign = "✓" if not differing(first, data) else "✗"
        strong = f"<b>{escape(said)}</b>" if sign == "✗" else escape(said)
        rows.append(f"<tr><td>{sign}</td>{_NAME.format(escape(name))}<td>{strong}</td></tr>")
    return f'<table style="line-height:1.5;margin:6px 0"><tbody>{"".join(rows)}</tbody></table>'
