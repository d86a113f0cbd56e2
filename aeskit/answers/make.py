"""Vectors made for the edges: planned in `edges`, computed by the model, confirmed by `cryptography`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from aeskit.answers.check import Checker, Status
from aeskit.answers.edges import EDGES, FLAGS, Draw, Plan
from aeskit.answers.engine import call_of, units
from aeskit.answers.engines import Model, Peer
from aeskit.answers.minimise import Minimal, minimise
from aeskit.answers.mutants import Killer, every
from aeskit.vectors import TestVector, VectorSet
from aeskit.vectors.test_vector import STEALING

KEY_BITS = (128, 192, 256)
_ONCE = ("keys", "chain", "bits", "in-place")
"""Edges that are the same for every form of stealing: made for the first one asked for."""

_CONTINUES = ("ctr", "cbc", "cts")


def make(
    mode: str,
    *,
    edges: Iterable[str] = (),
    key_bits: Iterable[int | str] = KEY_BITS,
    seed: int = 0,
    stealing: Iterable[str] = STEALING,
) -> VectorSet:
    """The vectors of a mode's edges, all of them by default; equal arguments give equal vectors.

    `edges` are names out of `edges.EDGES`, `key_bits` of one AES key, `stealing` the forms for ``cts``.
    ValueError for a name or a size that is not known.
    """
    if mode not in EDGES:
        raise ValueError(f'mode must be one of {", ".join(EDGES)}, not "{mode}"')
    names = _known("edge", edges, EDGES[mode])
    sizes = tuple(int(size) for size in _known("key size", map(str, key_bits), map(str, KEY_BITS)))
    forms = _known("stealing", stealing, STEALING) if mode == "cts" else ("",)
    vectors: list[TestVector] = []
    for turn, form in enumerate(forms):
        draw = Draw(mode, seed, sizes, turn, len(forms))
        for name in names:
            if name in _ONCE and turn:
                continue
            for number, plan in enumerate(EDGES[mode][name](draw)):
                vectors.append(_computed(plan, draw, form, name, number))
    used = {flag for vector in vectors for flag in vector.flags}
    flags = {flag: text for flag, text in FLAGS.items() if flag in used}
    return VectorSet(_source(mode, seed), "aeskit", tuple(vectors), flags)


def smallest(made: VectorSet, killers: Iterable[Killer] = ()) -> tuple[VectorSet, Minimal]:
    """The fewest vectors of a set that kill all that it kills; by default the mutants of its modes."""
    modes = dict.fromkeys(vector.mode for vector in made)
    found = list(killers) or [killer for mode in modes for killer in every(mode)]
    result = minimise(made.vectors, found)
    used = {flag for vector in result.vectors for flag in vector.flags}
    flags = {flag: text for flag, text in made.flags.items() if flag in used}
    return replace(made, vectors=result.vectors, flags=flags), result


def _source(mode: str, seed: int) -> str:
    return f"aeskit, edges of {mode}, seed {seed}"


def _computed(plan: Plan, draw: Draw, form: str, edge: str, number: int) -> TestVector:
    text = draw.drawn(plan.length, "text", edge, number) if plan.text is None else plan.text
    if plan.bits is not None and plan.bits % 8:
        text = text[:-1] + bytes([text[-1] & 0xFF << -plan.bits % 8])
    question = TestVector(
        name=f"{form} {edge} {number}".strip(),
        mode=draw.mode,
        key=plan.key,
        iv=plan.iv,
        plaintext=text,
        ciphertext=text,  # of the right length, until it is computed
        stealing=form,
        schedule=bytes(16 * (len(plan.key) // 4 + 7)) if draw.mode == "keys" else b"",
        source=_source(draw.mode, draw.seed),
        clause=f"edge {edge}",
        bits=plan.bits if plan.bits is not None and plan.bits % 8 else None,
        unit_bits=plan.unit,
        pieces=plan.pieces,
        flags=(plan.flag,),
        comment=plan.comment,
    )
    return confirmed(_answered(question))


def _answered(question: TestVector) -> TestVector:
    model = Model()
    if question.mode == "keys":
        return replace(question, schedule=model.schedule(question.key))
    call = call_of(question, "encrypt")
    ciphertext = b"".join(model.crypt(unit) for unit in units(question, call))
    after = model.after(call) if question.mode in _CONTINUES and question.bits is None else None
    if question.mode == "xts" and question.pieces and question.length % 16 == 0:
        after = model.after(call)
    return replace(question, ciphertext=ciphertext, iv_after=after)


def confirmed(vector: TestVector) -> TestVector:
    """The vector, which the model takes back and `cryptography` agrees with; RuntimeError otherwise."""
    for outcome in _outcomes(vector):
        if outcome:
            raise RuntimeError(f"{vector.name}: {outcome}")
    return vector


def _outcomes(vector: TestVector) -> Iterator[str]:
    peer, model = Checker(Peer()).check(vector), Checker(Model()).check(vector)
    yield f"cryptography: {peer.text}" if peer.status is Status.FAILED else ""
    yield "" if model.status is Status.PASSED else f"model: {model.text}"


def _known(what: str, given: Iterable[str], known: Iterable[str]) -> tuple[str, ...]:
    known = tuple(known)
    chosen = tuple(dict.fromkeys(given)) or known
    for name in chosen:
        if name not in known:
            raise ValueError(f'{what} must be one of {", ".join(known)}, not "{name}"')
    return chosen
