"""ECB (SP 800-38A, 6.1): each block by itself. Indices count from 1, as the standard's do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from aeskit.bits import BLOCK
from aeskit.models.arithmetic import Arithmetic, Form, choose
from aeskit.models.checks import Data, as_key, as_whole_blocks
from aeskit.models.listener import Listener
from aeskit.trace import Note

S = TypeVar("S")
STANDARD = "SP 800-38A"


def encrypt(key: Data, data: Data, *, form: Form = "numpy", note: Note | None = None) -> bytes:
    """C_j = CIPH_K(P_j); data a multiple of 16 bytes, key 16, 24 or 32; ValueError otherwise."""
    key, data = as_key(key), as_whole_blocks(data)
    a = choose(form)
    return a.value(encrypt_message(a, a.expand(key, note), a.string(data), note))


def decrypt(key: Data, data: Data, *, form: Form = "numpy", note: Note | None = None) -> bytes:
    """P_j = CIPH⁻¹_K(C_j); arguments as for `encrypt`."""
    key, data = as_key(key), as_whole_blocks(data)
    a = choose(form)
    return a.value(decrypt_message(a, a.expand_for_decryption(key, note), a.string(data), note))


def encrypt_message(a: Arithmetic[S], K: Sequence[S], P: S, note: Note | None = None) -> S:
    """ECB encryption under the round keys K, in any arithmetic."""
    tell = Listener(a, note, STANDARD)
    C = []
    for first, count in a.runs(a.length(P) // BLOCK, note):
        j = first + 1
        C_j = a.encrypt(K, a.block(P, first, count), note, f"P_{j}")
        tell("6.1", "C_j = CIPH_K(P_j)", j, C=C_j)
        C.append(C_j)
    return a.join(*C)


def decrypt_message(a: Arithmetic[S], K: Sequence[S], C: S, note: Note | None = None) -> S:
    """ECB decryption under the round keys K, in any arithmetic."""
    tell = Listener(a, note, STANDARD)
    P = []
    for first, count in a.runs(a.length(C) // BLOCK, note):
        j = first + 1
        P_j = a.decrypt(K, a.block(C, first, count), note, f"C_{j}")
        tell("6.1", "P_j = CIPH⁻¹_K(C_j)", j, P=P_j)
        P.append(P_j)
    return a.join(*P)
