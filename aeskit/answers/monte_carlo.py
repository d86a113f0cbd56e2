"""The Monte Carlo tests of ECB and CBC (AESAVS, 6.4): a thousand calls for an answer, a hundred answers.

ECB: each result is the next text. CBC: the next text is the result before the last, the IV first. The next
answer's key is this key XOR the last key-size bits of the results.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from aeskit.answers.engine import Engine, Unsupported, call_of
from aeskit.bits import xor
from aeskit.vectors import TestVector

OUTER = 100
"""Answers of one test."""


def run(engine: Engine, vector: TestVector, direction: str) -> tuple[bytes, TestVector]:
    """The answer, and the vector that asks for the next one."""
    if vector.mode not in ("ecb", "cbc"):
        raise Unsupported(f"AESAVS has no Monte Carlo test of {vector.mode}")
    call = call_of(vector, direction)
    if len(call.data) != 16:
        raise ValueError(f"the text of a Monte Carlo test must be one block, not {len(call.data)} bytes")
    loop = _ecb if vector.mode == "ecb" else _cbc
    before, last = loop(engine.stepper(call), call.iv, call.data, vector.iterations, call.forward)
    key = xor(vector.key, (before + last)[-len(vector.key) :])
    iv, text = (b"", last) if vector.mode == "ecb" else (last, before)
    following = replace(vector, key=key, iv=iv, plaintext=text, ciphertext=b"", asks="ciphertext")
    if not call.forward:
        following = replace(following, plaintext=b"", ciphertext=text, asks="plaintext")
    return last, following


def _ecb(
    step: Callable[[bytes, bytes], bytes], iv: bytes, text: bytes, count: int, forward: bool
) -> tuple[bytes, bytes]:
    before = bytes(16)
    for _ in range(count):
        before, text = text, step(iv, text)
    return before, text


def _cbc(
    step: Callable[[bytes, bytes], bytes], iv: bytes, text: bytes, count: int, forward: bool
) -> tuple[bytes, bytes]:
    """The chain's own block is the last ciphertext: the result when encrypting, the text when decrypting."""
    before, last = iv, text
    for _ in range(count):
        result = step(iv, text)
        iv = result if forward else text
        before, text, last = result, before, result
    return text, last
