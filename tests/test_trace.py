"""Traces are frozen, go through JSON unchanged, and a file that is none says where it goes wrong."""

import dataclasses
import json
import os
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeskit.trace import Access, Buffer, Finding, Recorder, Step, Trace, TraceError, Wanted
from aeskit.trace_json import VERSION

words = st.text(max_size=12)
BUFFERS = (
    Buffer("source", 0x2000, b"\1\2\3"),
    Buffer("destination", 0xFFFF_FFFF_FFFF_0000, bytes(3), True, b"\4\5\6"),
)
reads = st.builds(
    Access,
    st.sampled_from(["source", "destination", ""]),
    st.integers(0, 2**64 - 1),
    st.integers(0, 2**32 - 1),
)
writes = st.binary(max_size=9).map(lambda data: Access("destination", 3, len(data), data))
steps = st.builds(
    Step,
    text=words,
    place=words,
    phase=st.sampled_from(["", "tweak", "main, pass 2"]),
    values=st.dictionaries(words, st.binary(max_size=20), max_size=3),
    names=st.dictionaries(words, words, max_size=3),
    accesses=st.lists(reads | writes, max_size=2).map(tuple),
    line=st.sampled_from(["", "f.S:3"]),
    origins=st.dictionaries(words, st.sampled_from(["d", "dtkc", "c" * 32]), max_size=2),
    wanted=st.dictionaries(words, st.builds(Wanted, words, st.binary(min_size=16, max_size=16)), max_size=2),
)
traces = st.builds(
    Trace,
    title=words,
    source=words,
    steps=st.lists(steps, min_size=1, max_size=4).map(tuple),
    findings=st.lists(st.builds(Finding, words, st.just(0) | st.none()), max_size=3).map(tuple),
    buffers=st.just(BUFFERS),
    start=st.dictionaries(words, st.binary(max_size=8), max_size=2),
    model=st.lists(
        st.builds(
            Step, words, words, words, st.dictionaries(words, st.binary(max_size=20), min_size=1, max_size=3)
        ),
        max_size=2,
    ).map(tuple),
)


def whole(**changes):
    raw = {"aeskit_trace": VERSION, "title": "t", "source": "model", "start": {}}
    keys = ("steps", "phases", "model", "model_phases", "findings", "buffers", "places", "code", "names")
    return raw | {key: [] for key in keys} | changes


def one(row, **changes):
    return whole(steps=[row], phases=[[0, "p"]], places=[""], code=[["nop", 0, ""]], **changes)


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
                st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from([*whole()]), inner, max_size=6)
            ),
        ).map(json.dumps),
    )
)
def test_anything_else_is_a_trace_error(text):
    with pytest.raises(TraceError):
        Trace.from_json(text)


@settings(derandomize=True, max_examples=120, deadline=None)
@given(trace=traces, data=st.data())
def test_a_trace_with_one_value_replaced_is_read_or_refused(trace, data):
    raw = json.loads(trace.to_json())
    at = raw
    while isinstance(at, list | dict) and at:
        keys = list(at) if isinstance(at, dict) else range(len(at))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(at[key], list | dict) or not at[key] or data.draw(st.booleans()):
            at[key] = data.draw(
                st.sampled_from([None, True, -1, 0, 2**70, 1.5, "x", "zz", [], {}, [[]], {"a": 1}, [0] * 5])
            )
            break
        at = at[key]
    try:
        Trace.from_json(json.dumps(raw))
    except TraceError as error:
        assert len(str(error)) < 200  # noqa: PT017


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ([], f'"aeskit_trace": {VERSION}'),
        (whole(aeskit_trace=1), f'"aeskit_trace": {VERSION}'),
        (whole(aeskit_trace=2.0), f'"aeskit_trace": {VERSION}'),
        (whole(title=1), 'trace: "title" must be a string'),
        (whole(source=None), 'trace: "source" must be a string'),
        (whole(steps={}), 'trace: "steps" must be a list'),
        (whole(findings="x"), 'trace: "findings" must be a list'),
        (whole(findings=[1]), "findings[0] must be a list, not int"),
        (whole(findings=[["x", 0]]), "findings[0] must be from 0 to -1, not 0"),
        (one(1), "steps[0] must be a list, not int"),
        (one([]), "steps[0] must have 1 to 6 items, not 0"),
        (one([1]), "steps[0]: code must be from 0 to 0, not 1"),
        (one([True]), "steps[0]: code must be from 0 to 0, not True"),
        (one([0, {"a": 1}]), "steps[0]: values must be hexadecimal"),
        (one([0, {"a": "zz"}]), "steps[0]: values must be hexadecimal"),
        (one([0, {}, []]), "steps[0]: names must be an object, not list"),
        (one([0, {}, {"a": 0}]), "steps[0]: names must be from 0 to -1, not 0"),
        (whole(model=[[0, 1]], model_phases=[[0, ""]]), "model[0] must have names and values in pairs"),
        (one([0, {}, {}, [], {"zmm0": "x"}]), "steps[0]: origins must be letters d, t, k and c"),
        (one([0, {}, {}, [], {}, {"zmm0[1]": [0, "00" * 16]}]), "steps[0]: wanted must be from 0 to -1"),
        (one([0, {}, {}, [], {}, {"zmm0[1]": "T_1"}]), "steps[0]: wanted must be a list, not str"),
        (
            one([0, {}, {}, [], {}, {"zmm0[1]": [0, "00"]}]) | {"names": ["T_1"]},
            "steps[0]: wanted must have 16 bytes, not 1",
        ),
        (one([0, {}, {}, [[0, 0, 1]]]), "steps[0]: accesses must be from 0 to -1, not 0"),
        (one([0, {}, {}, [[-1, -1, 1]]]), "not -1"),
        (whole(steps=[[0]], places=[""], code=[["nop", 0, ""]]), "trace: phases must begin at step 0"),
        (whole(buffers=[["", 0, False, "", None]]), "buffers must have names, each another"),
        (whole(buffers=[["a", 0, 1, "", None]]), "buffers[0]: writable must be true or false"),
    ],
)
def test_a_broken_file_says_where(raw, message):
    with pytest.raises(TraceError) as raised:
        Trace.from_json(json.dumps(raw))
    assert message in str(raised.value)


def test_deep_nesting_and_too_many_steps_are_refused(monkeypatch):
    with pytest.raises(TraceError, match="must be JSON"):
        Trace.from_json("[" * 100_000)
    monkeypatch.setattr("aeskit.trace_json.MAX_STEPS", 1)
    with pytest.raises(TraceError, match="at most 1 steps, not 2"):
        Trace.from_json(json.dumps(whole(steps=[[0], [0]])))


def test_ten_thousand_steps_of_zmm_code_are_under_five_megabytes():
    lanes = {f"zmm7[{lane}]": f"PP_{lane}.round[3].start" for lane in range(4)}
    made = [
        Step(
            "vaesenc 0x40(%rdi),%zmm7,%zmm7",
            f"f+{n % 700:#x}",
            "main",
            {"zmm7": os.urandom(64)},
            lanes,
            (),
            "",
            {"zmm7": "dddd"},
        )
        for n in range(10_000)
    ]
    assert len(Trace("t", "lanes", tuple(made)).to_json()) < 5_000_000


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


def test_findings_and_accesses_say_where():
    assert str(Finding("no vzeroupper")) == "no vzeroupper"
    assert str(Finding("past the end", 7)) == "step 7: past the end"
    assert [Access("source", 16, 4).name, Access("", 0x1000, 1).name] == ["source+16", "0x1000"]


SMALL = Trace("t", "model", (Step("nop", "f+0x0", "main", {"T_1": bytes(16)}), Step("ret")))


def test_what_python_s_json_would_let_through_is_refused():
    text = SMALL.to_json()
    raw = json.loads(text)
    step = raw["phases"][0]
    assert Trace.from_json(json.dumps(raw)) == SMALL
    for wrong, message in (
        (None, "a trace must be JSON as a str, not NoneType"),
        (text.encode(), "a trace must be JSON as a str, not bytes"),
        (json.dumps(raw | {"aeskit_trace": True}), '"aeskit_trace": 2'),
        (json.dumps(raw | {"aeskit_trace": 2.0}), '"aeskit_trace": 2'),
        (json.dumps(raw | {"note": 1}), "there is no field 'note'"),
        (text[:-1] + ',"title":"other"}', "'title' stands twice in an object"),
        (json.dumps(raw | {"start": {"xmm0": "01 02"}}), "must be hexadecimal, two lower-case digits"),
        (json.dumps(raw | {"start": {"xmm0": "0A"}}), "must be hexadecimal, two lower-case digits"),
        (json.dumps(raw | {"title": "\ud800"}), "surrogates not allowed"),
        (json.dumps(raw | {"start": {"\udc00": "00"}}), "surrogates not allowed"),
        (json.dumps(raw | {"phases": [step, step]}), "phases must be in order, one a step"),
        (json.dumps(raw | {"buffers": [["b", 0, True, "0000", "00"]]}), "expected must have the 2 bytes"),
        (json.dumps(raw | {"buffers": [["b", 2**64 - 1, True, "0000", None]]}), "address must be from 0"),
    ):
        with pytest.raises(TraceError, match=re.escape(message)):
            Trace.from_json(wrong)


def test_a_whole_surrogate_pair_is_a_character():
    raw = json.loads(SMALL.to_json()) | {"title": "\U0001f600"}
    assert Trace.from_json(json.dumps(raw)).title == "\U0001f600"
