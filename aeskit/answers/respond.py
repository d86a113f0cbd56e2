"""Answers to questions: what a file leaves open (ACVP prompts, CAVP requests), by any engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from hashlib import shake_128

from aeskit.answers import monte_carlo
from aeskit.answers.engine import BLOCK, Engine, call_of, units
from aeskit.vectors import TestVector


def respond(
    vectors: Iterable[TestVector], engine: Engine, outer: int = monte_carlo.OUTER
) -> Iterator[TestVector]:
    """Each vector with its answer; a Monte Carlo question becomes its `outer` answers.

    Vectors that have an answer are given back as they are. Where the answerer makes the IV, it is drawn from
    the key and the name, so that two runs agree. Unsupported where the engine lacks what is asked.
    """
    for vector in vectors:
        if not vector.asks:
            yield vector
        elif vector.iterations > 1:
            yield from _monte_carlo(vector, engine, outer)
        else:
            yield _answer(_with_iv(vector), engine)


def _answer(vector: TestVector, engine: Engine) -> TestVector:
    direction = "encrypt" if vector.asks == "ciphertext" else "decrypt"
    call = replace(call_of(vector, direction), data=vector.plaintext or vector.ciphertext)
    text = b"".join(engine.crypt(unit) for unit in units(vector, call))
    return _answered(vector, text)


def _answered(vector: TestVector, text: bytes) -> TestVector:
    if vector.asks == "ciphertext":
        return replace(vector, ciphertext=text, asks="")
    return replace(vector, plaintext=text, asks="")


def _monte_carlo(question: TestVector, engine: Engine, outer: int) -> Iterator[TestVector]:
    direction = "encrypt" if question.asks == "ciphertext" else "decrypt"
    vector = question
    for number in range(outer):
        text, following = monte_carlo.run(engine, vector, direction)
        yield replace(_answered(vector, text), name=f"{question.name}, {number}")
        vector = following


def _with_iv(vector: TestVector) -> TestVector:
    if vector.iv or vector.mode != "ctr":
        return vector
    return replace(vector, iv=shake_128(b"iv" + vector.key + vector.name.encode()).digest(BLOCK))
