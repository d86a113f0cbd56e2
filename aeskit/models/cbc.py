"""CBC (SP 800-38A, 6.2): each block is added to the ciphertext before it. Indices count from 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from aeskit.bits import BLOCK
from aeskit.models.arithmetic import Arithmetic, Form, choose
from aeskit.models.checks import Data, as_block, as_key, as_whole_blocks
from aeskit.models.listener import Listener
from aeskit.trace import Note

S = TypeVar("S")
STANDARD = "SP 800-38A"


def encrypt(key: Data, iv: Data, data: Data, *, form: Form = "plain", note: Note | None = None) -> bytes:
    """C_1 = CIPH_K(P_1 ⊕ IV), C_j = CIPH_K(P_j ⊕ C_j-1).

    Data a multiple of 16 bytes, iv 16, key 16, 24 or 32; ValueError otherwise. A chain is serial: numpy has
    nothing to run side by side, so the plain form is the default.
    """
    key, iv, data = as_key(key), as_block("iv", iv), as_whole_blocks(data)
    a = choose(form)
    K = a.expand(key, note)
    return a.value(encrypt_message(a, K, a.string(iv), a.string(data), note))


def decrypt(key: Data, iv: Data, data: Data, *, form: Form = "numpy", note: Note | None = None) -> bytes:
    """P_1 = CIPH⁻¹_K(C_1) ⊕ IV, P_j = CIPH⁻¹_K(C_j) ⊕ C_j-1; arguments as for `encrypt`."""
    key, iv, data = as_key(key), as_block("iv", iv), as_whole_blocks(data)
    a = choose(form)
    K = a.expand_for_decryption(key, note)
    return a.value(decrypt_message(a, K, a.string(iv), a.string(data), note))


def next_iv(iv: Data, ciphertext: Data) -> bytes:
    """The IV that continues the message: its last ciphertext block, or `iv` where there is none."""
    return (as_block("iv", iv) + as_whole_blocks(ciphertext))[-BLOCK:]


def encrypt_message(a: Arithmetic[S], K: Sequence[S], IV: S, P: S, note: Note | None = None) -> S:
    """CBC encryption under the round keys K, in any arithmetic."""
    tell = Listener(a, note, STANDARD)
    tell("6.2", "C_j = IV", 0, "IV", C=IV)
    C = [IV]
    for j in range(1, a.length(P) // BLOCK + 1):
        I_j = a.xor(a.block(P, j - 1), C[j - 1])
        tell("6.2", "I_j = P_j ⊕ C_j-1", j, I=I_j)
        C_j = a.encrypt(K, I_j, note, f"I_{j}")
        tell("6.2", "C_j = CIPH_K(I_j)", j, C=C_j)
        C.append(C_j)
    return a.join(*C[1:])


def decrypt_message(a: Arithmetic[S], K: Sequence[S], IV: S, C: S, note: Note | None = None) -> S:
    """CBC decryption under the round keys K, in any arithmetic; the blocks are independent of each other."""
    tell = Listener(a, note, STANDARD)
    tell("6.2", "C_j = IV", 0, "IV", C=IV)
    before = a.join(IV, C)  # C_0, C_1, …: block j - 1 of it stands before C_j
    P = []
    for first, count in a.runs(a.length(C) // BLOCK, note):
        j = first + 1
        O_j = a.decrypt(K, a.block(C, first, count), note, f"C_{j}")
        tell("6.2", "O_j = CIPH⁻¹_K(C_j)", j, O=O_j)
        P_j = a.xor(O_j, a.block(before, first, count))
        tell("6.2", "P_j = O_j ⊕ C_j-1", j, P=P_j)
        P.append(P_j)
    return a.join(*P)
