"""The Monte Carlo tests: a thousand calls for an answer, a hundred answers.

ECB and CBC (AESAVS, 6.4). ECB: each result is the next text. CBC: the next text is the result before the
last, the IV first. The next answer's key is this key XOR the last key-size bits of the results.

CBC-CS1, -CS2 and -CS3 were tested so by ACVP from May 2019 to September 2020, when its specification dropped
them. A text has 16 bytes or more: the second is the IV, filled up with the first result's beginning, and of a
result longer than a block the key takes the first 16 bytes, for AES-192 behind the last 8 of the one before.
The IV of a call is C_n of the call before, the block that was encrypted last, as NIST's server had it (issues
690 and 694 of usnistgov/ACVP); that of the next answer is the result's first 16 bytes, as the specification
wrote for all three forms.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from aeskit.answers.engine import BLOCK, Engine, Unsupported, call_of
from aeskit.bits import xor
from aeskit.models import cts
from aeskit.vectors import TestVector

OUTER = 100
"""Answers of one test."""

Step = Callable[[bytes, bytes], bytes]
"""IV and text to the result."""


def run(engine: Engine, vector: TestVector, direction: str) -> tuple[bytes, TestVector]:
    """The answer, and the vector that asks for the next one."""
    if vector.mode not in ("ecb", "cbc", "cts"):
        raise Unsupported(f"there is no Monte Carlo test of {vector.mode}")
    if vector.bits is not None:
        raise Unsupported("a Monte Carlo test of a length that is no whole number of bytes")
    call = call_of(vector, direction)
    if vector.mode != "cts" and len(call.data) != BLOCK:
        raise ValueError(f"the text of a Monte Carlo test must be one block, not {len(call.data)} bytes")
    results = _ecb if vector.mode == "ecb" else _chained
    before, last = results(engine.stepper(call), vector, call.data, call.forward)
    key = xor(vector.key, _shuffle(len(vector.key), before, last))
    iv, text = (b"", last) if vector.mode == "ecb" else (last[:BLOCK], before)
    following = replace(vector, key=key, iv=iv, plaintext=text, ciphertext=b"", asks="ciphertext")
    if not call.forward:
        following = replace(following, plaintext=b"", ciphertext=text, asks="plaintext")
    return last, following


def _ecb(step: Step, vector: TestVector, text: bytes, forward: bool) -> tuple[bytes, bytes]:
    """The last two results."""
    before = b""
    for _ in range(vector.iterations):
        before, text = text, step(b"", text)
    return before, text


def _chained(step: Step, vector: TestVector, text: bytes, forward: bool) -> tuple[bytes, bytes]:
    """The last two results; the IV of a call is the chain's block out of the last ciphertext."""
    iv, before, last = vector.iv, b"", b""
    for number in range(vector.iterations):
        result = step(iv, text)
        following = last if number else iv + result[: len(text) - BLOCK]
        iv = _chain(vector, result if forward else text)
        before, last, text = last, result, following
    return before, last


def _chain(vector: TestVector, ciphertext: bytes) -> bytes:
    if vector.mode == "cbc":
        return ciphertext
    return cts.next_iv(ciphertext, vector.stealing)  # type: ignore[arg-type]


def _shuffle(size: int, before: bytes, last: bytes) -> bytes:
    """What a key of `size` bytes is changed by."""
    return {16: b"", 24: before[-8:], 32: before[:BLOCK]}[size] + last[:BLOCK]
