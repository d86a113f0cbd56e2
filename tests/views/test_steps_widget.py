"""The widget of a run: what it sends, and the text that stands in for it."""

import pytest

pytest.importorskip("anywidget", reason="widgets need the extra lab")

from aeskit.trace import Step, Trace
from aeskit.views.steps_widget import StepsWidget

RUN = Trace("f <b>", "lanes", (Step("ret", "f", "entry"),))


def test_it_sends_the_trace_and_has_text_besides():
    widget = StepsWidget(RUN)
    assert Trace.from_json(widget.trace) == RUN
    bundle, _ = widget._repr_mimebundle_()
    assert "ret" in bundle["text/plain"]
    assert "f &lt;b&gt;" in bundle["text/html"]


def test_a_long_run_has_one_line_for_text():
    bundle, _ = StepsWidget(Trace("long", "lanes", RUN.steps * 500))._repr_mimebundle_()
    assert bundle["text/plain"] == "long: 500 steps"
