"""A trace to step through in a notebook: the page's module as a widget, text where widgets cannot run.

Needs anywidget: ``pip install 'aeskit[lab]'``.
"""

from __future__ import annotations

from html import escape
from typing import Any

from aeskit.trace import Trace
from aeskit.views.module import STEPS, inlined, styles
from aeskit.views.steps import picture

try:
    import traitlets
    from anywidget import AnyWidget
except ImportError as error:
    raise ImportError(f"the widgets need {error.name}: pip install 'aeskit[lab]'") from None

MAX_TEXT_STEPS = 400
"""Of the text that stands in for the widget."""


class StepsWidget(AnyWidget):
    """Code by phase, registers by role, the model's step, memory and a timeline; all in the browser."""

    _esm = inlined("steps.js")
    _css = styles(*STEPS)

    trace = traitlets.Unicode().tag(sync=True)

    def __init__(self, trace: Trace) -> None:
        """Show a run; the kernel is not asked again."""
        self._shown = trace
        super().__init__(trace=trace.to_json())

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """The widget, and its text for where it cannot run."""
        made = super()._repr_mimebundle_(**kwargs) or ({}, {})
        few = len(self._shown.steps) <= MAX_TEXT_STEPS
        text = picture(self._shown, 100) if few else f"{self._shown.title}: {len(self._shown.steps)} steps"
        fallback = {"text/plain": text, "text/html": f"<pre>{escape(text)}</pre>"}
        return {**made[0], **fallback}, made[1]
