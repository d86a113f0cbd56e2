"""The lanes as one Jupyter widget: `lanes.js` draws, hovers and edits; the kernel computes and answers.

Needs anywidget: ``pip install 'aeskit[lab]'``. Where widgets cannot run, a table or text is shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from aeskit.views.cells import SIZES, Lanes
from aeskit.views.html import table
from aeskit.views.text import picture

try:
    import traitlets
    from anywidget import AnyWidget
except ImportError as error:
    raise ImportError(f"the widgets need {error.name}: pip install 'aeskit[lab]'") from None

_HERE = Path(__file__).parent

Derive = Callable[[tuple[bytes, ...]], tuple[Sequence[Lanes], str]]
"""From the editable registers' bytes to every register to draw and a caption."""


class LanesWidget(AnyWidget):
    """Registers one below the other, 4 lanes of 16 cells each for 512 bits.

    `values` and `marks` are hexadecimal, one string a register; an edit in the browser arrives in `values`.
    """

    _esm = _HERE / "lanes.js"
    _css = _HERE / "lanes.css"

    registers = traitlets.List(traitlets.Dict()).tag(sync=True)
    values = traitlets.List(traitlets.Unicode()).tag(sync=True)
    marks = traitlets.List(traitlets.Unicode()).tag(sync=True)
    caption = traitlets.Unicode().tag(sync=True)
    cells = traitlets.Enum([*SIZES], default_value="bytes").tag(sync=True)
    high_first = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        *shown: Lanes,
        editable: Sequence[str] = (),
        derive: Derive | None = None,
        cells: str = "bytes",
        high_first: bool = False,
        caption: str = "",
    ) -> None:
        """Draw `shown`; registers named in `editable` take edits, after which `derive` gives the new picture.

        `derive` receives the bytes of the editable registers in order and must give the same registers.
        """
        unknown = set(editable) - {lanes.name for lanes in shown}
        if unknown:
            raise ValueError(f"editable must name registers that are shown, not {', '.join(sorted(unknown))}")
        self._editable, self._derive, self._busy = tuple(editable), derive, False
        super().__init__(cells=cells, high_first=high_first, **self._drawn(shown, caption))
        self.observe(self._edited, names="values")

    def show(self, *shown: Lanes, caption: str = "") -> None:
        """Draw other values, or other registers."""
        self._busy = True
        try:
            with self.hold_sync():
                for name, value in self._drawn(shown, caption).items():
                    setattr(self, name, value)
        finally:
            self._busy = False

    @property
    def shown(self) -> tuple[Lanes, ...]:
        """What is drawn, with the edits that the browser made."""
        return self._shown

    def _drawn(self, shown: Sequence[Lanes], caption: str) -> dict[str, Any]:
        self._shown = tuple(shown)
        registers = [
            {
                "name": lanes.name,
                "titles": list(lanes.titles),
                "editable": lanes.name in self._editable,
                "order": lanes.order.value,
                "heading": lanes.heading,
            }
            for lanes in shown
        ]
        values, marks = [lanes.data.hex() for lanes in shown], [lanes.mark.hex() for lanes in shown]
        return {"registers": registers, "values": values, "marks": marks, "caption": caption}

    @traitlets.validate("values")
    def _checked(self, proposal: Any) -> list[str]:
        """What the browser sends must be hexadecimal of each register's size."""
        values = list(proposal["value"])
        sizes = [len(lanes.data) for lanes in self._shown]
        good = len(values) == len(sizes) and all(
            re.fullmatch(f"[0-9a-f]{{{2 * size}}}", value) for value, size in zip(values, sizes, strict=True)
        )
        if not good:
            raise traitlets.TraitError(f"values must be hexadecimal strings of {sizes} bytes")
        if self._busy:
            return values
        # An edit made before the last answer arrived carries old values of what is computed: ours stand.
        pairs = zip(self._shown, values, strict=True)
        return [value if lanes.name in self._editable else lanes.data.hex() for lanes, value in pairs]

    def _edited(self, change: Any) -> None:
        if self._busy:
            return
        data = [bytes.fromhex(value) for value in change["new"]]
        self._shown = tuple(_with(lanes, value) for lanes, value in zip(self._shown, data, strict=True))
        if self._derive is not None:
            edited = tuple(lanes.data for lanes in self._shown if lanes.name in self._editable)
            shown, caption = self._derive(edited)
            self.show(*shown, caption=caption)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """The widget, a table for where it cannot run, and text."""
        made = super()._repr_mimebundle_(**kwargs) or ({}, {})
        options: dict[str, Any] = {"cells": self.cells, "high_first": self.high_first}
        fallback = {
            "text/plain": "\n".join(filter(None, (picture(*self._shown, **options), self.caption))),
            "text/html": table(*self._shown, **options, caption=self.caption),
        }
        return {**made[0], **fallback}, made[1]


def _with(lanes: Lanes, data: bytes) -> Lanes:
    return replace(lanes, data=data)
