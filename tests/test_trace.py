"""Traces are frozen, go through JSON unchanged, and a file that is none says where it goes wrong."""

import dataclasses
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeskit.trace import VERSION, Recorder, Step, Trace, TraceError

words = st.text(max_size=12)
steps = st.builds(
    Step,
    text=words,
    place=words,
    phase=words,
    values=st.dictionaries(words, st.binary(max_size=20), max_size=3),
    names=st.dictionaries(words, words, max_size=3),
)
traces = st.builds(
    Trace,
    title=words,
    source=words,
    steps=st.lists(steps, max_size=4).map(tuple),
    findings=st.lists(words, max_size=3).map(tuple),
)


def whole(**changes):
    raw = {"aeskit_trace": VERSION, "title": "t", "source": "model", "steps": [], "findings": []}
    return raw | changes


def a_step(**changes):
    return {"text": "T_1", "place": "", "phase": "", "values": {}, "names": {}} | changes


@settings(derandomize=True, max_examples=50, deadline=None)
@given(trace=traces)
def test_json_gives_an_equal_trace_back(trace):
    assert Trace.from_json(trace.to_json()) == trace


@settings(derandomize=True, max_examples=100, deadline=None)
@given(
    text=st.one_of(
        st.text(),
        st.recursive(
            st.none() | st.booleans() | st.integers() | words,
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["aeskit_trace", "title", "source", "steps", "findings", "values"]),
                    inner,
                    max_size=6,
                )
            ),
        ).map(json.dumps),
    )
)
def test_anything_else_is_a_trace_error(text):
    with pytest.raises(TraceError):
        Trace.from_json(text)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ([], '"aeskit_trace": 1'),
        (whole(aeskit_trace=2), '"aeskit_trace": 1'),
        (whole(title=1), 'trace: "title" must be a string'),
        (whole(source=None), 'trace: "source" must be a string'),
        (whole(steps={}), 'trace: "steps" must be a list'),
        (whole(findings="x"), 'trace: "findings" must be a list'),
        (whole(findings=[1]), 'trace: "findings" must be a list of strings'),
        (whole(steps=[1]), "step 0 must be an object, not int"),
        (whole(steps=[a_step(), a_step(text=1)]), 'step 1: "text" must be a string'),
        (whole(steps=[a_step(values={"a": 1})]), 'step 0: "values" must be an object of strings'),
        (whole(steps=[a_step(values={"a": "zz"})]), "step 0: values must be hexadecimal"),
        (whole(steps=[a_step(names=[])]), 'step 0: "names" must be an object of strings'),
    ],
)
def test_a_broken_file_says_where(raw, message):
    with pytest.raises(TraceError) as raised:
        Trace.from_json(json.dumps(raw))
    assert message in str(raised.value)


def test_deep_nesting_and_too_many_steps_are_refused(monkeypatch):
    with pytest.raises(TraceError, match="must be JSON"):
        Trace.from_json("[" * 100_000)
    monkeypatch.setattr("aeskit.trace.MAX_STEPS", 1)
    with pytest.raises(TraceError, match="at most 1 steps, not 2"):
        Trace.from_json(json.dumps(whole(steps=[a_step(), a_step()])))


def test_a_recorder_collects_frozen_steps():
    recorder = Recorder()
    source = bytearray(b"\1\2")
    recorder.note("T_0", "5.3.1", "tweak", T_0=source)
    recorder.note("K1[7]", **{"K1[7]": memoryview(b"\3")})
    source[0] = 9
    trace = recorder.trace("XTS", "model")
    recorder.note("later", T_0=b"\7")
    assert [step.text for step in trace] == ["T_0", "K1[7]"]
    assert trace.values() == {"T_0": b"\1\2", "K1[7]": b"\3"}
    assert trace.steps[0] == Step("T_0", "5.3.1", "tweak", {"T_0": b"\1\2"})
    with pytest.raises(dataclasses.FrozenInstanceError):
        trace.title = "other"


def test_the_last_value_of_a_name_counts():
    trace = Trace("t", "model", (Step("a", values={"T": b"\1"}), Step("b", values={"T": b"\2"})))
    assert trace.values() == {"T": b"\2"}
