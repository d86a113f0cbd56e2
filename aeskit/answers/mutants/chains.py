"""Faulty CBC, with and without stealing, and ECB: chain, order of the last blocks, tails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from aeskit.answers.engine import BLOCK, Call
from aeskit.answers.mutants.base import (
    Mutant,
    Run,
    aes,
    fixed,
    mutant,
    remainders,
    right,
    right_after,
    spoiled,
)
from aeskit.bits import xor
from aeskit.vectors.test_vector import STEALING


def cbc_mutants() -> list[Mutant]:
    """Every fault of CBC."""
    found = remainders("cbc", right)
    for s in (4, 8, 16):
        found.append(
            mutant("cbc", "chain", f"decryption takes the IV again after {s} blocks", run=_iv_again(s))
        )
        found.append(
            mutant(
                "cbc",
                "in place",
                f"the ciphertext before a pass of {s} is overwritten",
                in_place=_overwritten(s),
            )
        )
    found += [
        mutant("cbc", "chain", "the IV is not used", run=lambda call: right(replace(call, iv=bytes(BLOCK)))),
        mutant("cbc", "chain", "encryption chains the plaintext", run=_plaintext_chain),
        mutant(
            "cbc",
            "pieces",
            "each piece begins with the IV",
            pieces=lambda call, p: _pieces(call, p, lambda iv, done: call.iv),
        ),
        mutant(
            "cbc",
            "pieces",
            "each piece begins with the block before the last",
            pieces=lambda call, p: _pieces(call, p, _last_but_one),
        ),
        mutant("cbc", "what continues", "the IV as it was", after=lambda call: call.iv),
        mutant("cbc", "what continues", "the last plaintext", after=lambda call: _last(call, plaintext=True)),
    ]
    return found


def cts_mutants() -> list[Mutant]:
    """Every fault of ciphertext stealing, for each of its forms."""
    found = remainders("cts", right, least=2)
    for form in STEALING:
        for other in STEALING:
            if other != form:
                name = f"{form} is taken for {other}"
                found.append(mutant("cts", "order", name, run=_form(form, other)))
                left = f"{form} leaves the IV that {other} would"
                found.append(mutant("cts", "what continues", left, after=_form_after(form, other)))
    for b in range(1, BLOCK + 1):
        found.append(
            mutant(
                "cts",
                "stealing",
                f"a tail of {b} after one block",
                run=_tail(fixed(lambda m, n, b: n == b and m == 1, b)),
            )
        )
        found.append(
            mutant(
                "cts",
                "stealing",
                f"a tail of {b} after more blocks",
                run=_tail(fixed(lambda m, n, b: n == b and m > 1, b)),
            )
        )
    for s in (4, 8, 16):
        for k in range(s):
            late = _tail(fixed(lambda m, n, s, k: m % s == k and m >= s, s, k))
            found.append(mutant("cts", "stealing", f"any tail with {k} blocks after passes of {s}", run=late))
    found += [
        mutant(
            "cts",
            "one block",
            "exactly one block is spoiled",
            run=lambda c: spoiled(right(c), 0) if len(c.data) == BLOCK else right(c),
        ),
        mutant("cts", "chain", "the IV is not used", run=lambda call: right(replace(call, iv=bytes(BLOCK)))),
        mutant(
            "cts",
            "in place",
            "the tail is overwritten before it is read",
            in_place=_tail(lambda m, n: n < BLOCK),
        ),
        mutant("cts", "what continues", "the last 16 bytes", after=_last_sixteen),
        mutant("cts", "what continues", "the IV as it was", after=lambda call: call.iv),
    ]
    return found


def ecb_mutants() -> list[Mutant]:
    """Every fault of ECB's loops; the cipher's own are in `keys`."""
    return remainders("ecb", right)


def _iv_again(s: int) -> Run:
    def faulty(call: Call) -> bytes:
        result = right(call)
        if call.forward or len(call.data) < BLOCK * (s + 1):
            return result
        at = BLOCK * s
        wrong = xor(xor(result[at : at + BLOCK], call.data[at - BLOCK : at]), call.iv)
        return result[:at] + wrong + result[at + BLOCK :]

    return faulty


def _overwritten(s: int) -> Run:
    """Decryption in place: the block before a pass is read after its plaintext was written over it."""

    def faulty(call: Call) -> bytes:
        result = right(call)
        if call.forward:
            return result
        for at in range(BLOCK * s, len(result), BLOCK * s):
            block = xor(result[at : at + BLOCK], call.data[at - BLOCK : at])
            result = result[:at] + xor(block, result[at - BLOCK : at]) + result[at + BLOCK :]
        return result

    return faulty


def _plaintext_chain(call: Call) -> bytes:
    if not call.forward:
        return right(call)
    chain, data = call.iv + call.data[:-BLOCK], call.data
    return aes(call.key, True, xor(data, chain[: len(data)]))


def _pieces(call: Call, pieces: tuple[int, ...], follow: Callable[[bytes, bytes], bytes]) -> bytes:
    result, at, iv = b"", 0, call.iv
    for size in pieces:
        piece = replace(call, data=call.data[at : at + size], iv=iv)
        answer = right(piece)
        iv = follow(iv, answer if call.forward else piece.data)
        result, at = result + answer, at + size
    return result


def _last_but_one(iv: bytes, ciphertext: bytes) -> bytes:
    return (iv + ciphertext)[-2 * BLOCK : -BLOCK]


def _last(call: Call, plaintext: bool) -> bytes:
    text = call.data if plaintext == call.forward else right(call)
    return (call.iv + text)[-BLOCK:]


def _form(form: str, other: str) -> Run:
    return lambda call: right(replace(call, stealing=other) if call.stealing == form else call)


def _form_after(form: str, other: str) -> Run:
    """What continues, looked for where another form has it."""

    def faulty(call: Call) -> bytes:
        ciphertext = right(call) if call.forward else call.data
        taken = replace(call, direction="decrypt", data=ciphertext, stealing=other)
        return right_after(taken if call.stealing == form else call) or call.iv

    return faulty


def _tail(wrong: Callable[[int, int], bool]) -> Run:
    """Spoil the partial block where `wrong` of the whole blocks before it and its bytes, 1 to 16."""

    def faulty(call: Call) -> bytes:
        result = right(call)
        m, b = divmod(len(call.data) - 1, BLOCK)
        return spoiled(result, m, b) if m and wrong(m, b + 1) else result

    return faulty


def _last_sixteen(call: Call) -> bytes:
    return (right(call) if call.forward else call.data)[-BLOCK:]
