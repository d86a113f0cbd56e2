"""One vector, step by step: the model's trace as text."""

from __future__ import annotations

from collections.abc import Iterator

from aeskit.answers.check import difference
from aeskit.answers.engine import call_of
from aeskit.answers.engines import Model
from aeskit.models import aes
from aeskit.models.arithmetic import choose
from aeskit.trace import Recorder, Step, Trace
from aeskit.vectors import TestVector
from aeskit.vectors.test_vector import DECREMENTS

_AES = "FIPS 197"
_BYTES = ("key", "iv", "plaintext", "ciphertext", "iv_after", "schedule")


def trace(vector: TestVector, direction: str = "") -> Trace:
    """The model's steps for a vector in one direction: its own, or encryption.

    ValueError for what the models do not trace: lengths in bits, several data units, Monte Carlo tests,
    counters that go down.
    """
    direction = direction or vector.direction or "encrypt"
    if vector.bits is not None or vector.unit_bits is not None or vector.iterations > 1:
        raise ValueError("only one message of whole bytes, sent through once, is shown step by step")
    if DECREMENTS in vector.flags:
        raise ValueError("a counter that goes down is not shown step by step")
    recorder = Recorder()
    title = f"{vector.name}: {vector.mode}, {direction}"
    if vector.mode == "keys":
        aes.key_expansion(choose("plain"), vector.key, recorder.note)
    else:
        Model(recorder.note).crypt(call_of(vector, direction))
    return recorder.trace(title, "model")


def text(vector: TestVector, direction: str = "", rounds: bool = False) -> Iterator[str]:
    """Lines: the vector, then the steps; those within AES only with `rounds`."""
    yield from _fields(vector)
    found = trace(vector, direction)
    shown = [step for step in found if rounds or not step.place.startswith(_AES)]
    phase = ""
    for step in shown:
        if step.phase != phase:
            phase = step.phase
            yield ""
            yield phase
        yield from _step(step)
    if len(shown) < len(found.steps):
        yield ""
        yield f"{len(found.steps) - len(shown)} steps within AES are left out: --rounds shows them"


def verdict(vector: TestVector, direction: str = "") -> str:
    """Whether the model ends where the vector says: ``equal``, or where it differs."""
    direction = direction or vector.direction or "encrypt"
    model = Model()
    if vector.mode == "keys":
        return difference(model.schedule(vector.key), vector.schedule) or "equal"
    wanted = vector.ciphertext if direction == "encrypt" else vector.plaintext
    return difference(model.crypt(call_of(vector, direction)), wanted) or "equal"


def _fields(vector: TestVector) -> Iterator[str]:
    mode = f"{vector.mode} {vector.stealing}".strip()
    yield f"{vector.name}: {mode}, AES-{vector.key_bits}"
    yield f"  {vector.source}, {vector.clause}" if vector.clause else f"  {vector.source}"
    if vector.comment:
        yield f"  {', '.join(vector.flags)}: {vector.comment}" if vector.flags else f"  {vector.comment}"
    for name in _BYTES:
        data = getattr(vector, name)
        if data:
            yield from _rows(f"{name} ({len(data)})", data, 18)


def _step(step: Step) -> Iterator[str]:
    yield f"  {step.text}    [{step.place}]"
    for name, data in step.values.items():
        yield from _rows(f"    {name}", data, 18)


def _rows(name: str, data: bytes, width: int) -> Iterator[str]:
    """16 bytes a line, in four groups."""
    for at in range(0, max(len(data), 1), 16):
        row = data[at : at + 16]
        groups = " ".join(row[i : i + 4].hex() for i in range(0, len(row), 4))
        yield f"  {name if at == 0 else '':<{width}} {groups}"
