"""PCBC, propagating CBC: the plaintext before a block is added as well, so an error spreads to the end.

P_j ⊕ C_j feeds forward. No standard defines it; Kerberos 4 used it (Kohl, Neuman and Ts'o, The Evolution of
the Kerberos Authentication Service, 1994). Serial both ways. Indices count from 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from aeskit.bits import BLOCK
from aeskit.models.arithmetic import Arithmetic, Form, choose
from aeskit.models.checks import Data, as_block, as_key, as_whole_blocks
from aeskit.models.listener import Listener
from aeskit.trace import Note

S = TypeVar("S")
STANDARD = "PCBC"


def encrypt(key: Data, iv: Data, data: Data, *, form: Form = "plain", note: Note | None = None) -> bytes:
    """C_j = CIPH_K(P_j ⊕ F_j) with F_1 = IV and F_j+1 = P_j ⊕ C_j.

    Data a multiple of 16 bytes, iv 16, key 16, 24 or 32; ValueError otherwise.
    """
    key, iv, data = as_key(key), as_block("iv", iv), as_whole_blocks(data)
    a = choose(form)
    return a.value(encrypt_message(a, a.expand(key, note), a.string(iv), a.string(data), note))


def decrypt(key: Data, iv: Data, data: Data, *, form: Form = "plain", note: Note | None = None) -> bytes:
    """P_j = CIPH⁻¹_K(C_j) ⊕ F_j; arguments as for `encrypt`."""
    key, iv, data = as_key(key), as_block("iv", iv), as_whole_blocks(data)
    a = choose(form)
    return a.value(decrypt_message(a, a.expand_for_decryption(key, note), a.string(iv), a.string(data), note))


def encrypt_message(a: Arithmetic[S], K: Sequence[S], IV: S, P: S, note: Note | None = None) -> S:
    """PCBC encryption under the round keys K, in any arithmetic."""
    tell = Listener(a, note, STANDARD)
    F_j, C = IV, []
    for j in range(1, a.length(P) // BLOCK + 1):
        tell("", "F_j = P_j-1 ⊕ C_j-1" if j > 1 else "F_j = IV", j, F=F_j)
        P_j = a.block(P, j - 1)
        I_j = a.xor(P_j, F_j)
        tell("", "I_j = P_j ⊕ F_j", j, I=I_j)
        C_j = a.encrypt(K, I_j, note, f"I_{j}")
        tell("", "C_j = CIPH_K(I_j)", j, C=C_j)
        C.append(C_j)
        F_j = a.xor(P_j, C_j)
    return a.join(*C)


def decrypt_message(a: Arithmetic[S], K: Sequence[S], IV: S, C: S, note: Note | None = None) -> S:
    """PCBC decryption under the round keys K, in any arithmetic."""
    tell = Listener(a, note, STANDARD)
    F_j, P = IV, []
    for j in range(1, a.length(C) // BLOCK + 1):
        tell("", "F_j = P_j-1 ⊕ C_j-1" if j > 1 else "F_j = IV", j, F=F_j)
        C_j = a.block(C, j - 1)
        O_j = a.decrypt(K, C_j, note, f"C_{j}")
        tell("", "O_j = CIPH⁻¹_K(C_j)", j, O=O_j)
        P_j = a.xor(O_j, F_j)
        tell("", "P_j = O_j ⊕ F_j", j, P=P_j)
        P.append(P_j)
        F_j = a.xor(P_j, C_j)
    return a.join(*P)
