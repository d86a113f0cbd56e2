"""CTR (SP 800-38A, 6.5) whose counter block is one 128-bit big-endian integer. Indices count from 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from aeskit.bits import BLOCK, from_be, to_be
from aeskit.models.arithmetic import Arithmetic, Form, choose
from aeskit.models.checks import Data, as_block, as_bytes, as_key
from aeskit.models.listener import Listener
from aeskit.trace import Note

S = TypeVar("S")
STANDARD = "SP 800-38A"


def crypt(key: Data, counter: Data, data: Data, *, form: Form = "numpy", note: Note | None = None) -> bytes:
    """Encrypt or decrypt: C_j = P_j ⊕ CIPH_K(T_j), T_j+1 = T_j + 1 modulo 2^128 (B.1, m = 128).

    Data of any length, counter 16 bytes (T_1), key 16, 24 or 32; ValueError otherwise.
    """
    key, counter, data = as_key(key), as_block("counter", counter), as_bytes("data", data)
    a = choose(form)
    K = a.expand(key, note)
    return a.value(crypt_message(a, K, a.string(counter), a.string(data), note))


def next_counter(counter: Data, length: int) -> bytes:
    """The counter block that continues after `length` bytes: advanced by ⌈length / 16⌉."""
    return to_be((from_be(as_block("counter", counter)) + -(-length // BLOCK)) % 2**128, BLOCK)


def crypt_message(a: Arithmetic[S], K: Sequence[S], T: S, P: S, note: Note | None = None) -> S:
    """CTR under the round keys K from the counter block T = T_1, in any arithmetic."""
    tell = Listener(a, note, STANDARD)
    size = a.length(P)
    C = []
    for first, count in a.runs(-(-size // BLOCK), note):
        j = first + 1
        T_j = a.counters(T, count)
        tell("6.5 and B.1", "T_j = T_j-1 + 1 mod 2^128" if first else "T_1: the counter", j, T=T_j)
        O_j = a.encrypt(K, T_j, note, f"T_{j}")
        tell("6.5", "O_j = CIPH_K(T_j)", j, O=O_j)
        # The last block may be a part P*_n of u bits: C*_n = P*_n ⊕ MSB_u(O_n).
        P_j = a.part(P, BLOCK * first, min(BLOCK * (first + count), size))
        C_j = a.xor(P_j, a.part(O_j, 0, a.length(P_j)))
        tell("6.5", "C_j = P_j ⊕ O_j", j, C=C_j)
        C.append(C_j)
        T = a.block(a.counters(T, count + 1), count)
    return a.join(*C)
