"""LRW-AES (Liskov, Rivest and Wagner; the IEEE P1619 draft of 2004): tweaked by the block's index.

Key = Key1 | Key2: an AES key, then 16 bytes to multiply with. The index of a block is a 128-bit big-endian
integer and goes on modulo 2^128; products are in the LRW bit order. Indices of values count from 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from aeskit.bits import BLOCK, BitOrder, from_be
from aeskit.models.arithmetic import Arithmetic, Form, choose
from aeskit.models.checks import Data, as_block, as_key, as_whole_blocks
from aeskit.models.listener import Listener
from aeskit.trace import Note

S = TypeVar("S")
STANDARD = "IEEE P1619 draft (LRW-AES)"
KEY_SIZES = (32, 40, 48)


def encrypt(key: Data, index: Data, data: Data, *, form: Form = "numpy", note: Note | None = None) -> bytes:
    """C_j = AES-enc(Key1, P_j ⊕ T_j) ⊕ T_j with T_j = Key2 ⊗ (index + j).

    Key 32, 40 or 48 bytes, index 16 (of the first block), data a multiple of 16; ValueError otherwise.
    """
    key, first, data = as_key(key, KEY_SIZES), from_be(as_block("index", index)), as_whole_blocks(data)
    a = choose(form)
    K1 = a.expand(key[:-BLOCK], note, "K1")
    return a.value(encrypt_message(a, K1, a.string(key[-BLOCK:]), first, a.string(data), note))


def decrypt(key: Data, index: Data, data: Data, *, form: Form = "numpy", note: Note | None = None) -> bytes:
    """P_j = AES-dec(Key1, C_j ⊕ T_j) ⊕ T_j; arguments as for `encrypt`."""
    key, first, data = as_key(key, KEY_SIZES), from_be(as_block("index", index)), as_whole_blocks(data)
    a = choose(form)
    K1 = a.expand_for_decryption(key[:-BLOCK], note, "K1")
    return a.value(decrypt_message(a, K1, a.string(key[-BLOCK:]), first, a.string(data), note))


def tweaks(a: Arithmetic[S], Key2: S, index: int, count: int) -> S:
    """T = Key2 ⊗ I for `count` indices I from `index`, which wrap modulo 2^128."""
    return a.products(Key2, [(index + j) % 2**128 for j in range(count)], BitOrder.LRW)


def encrypt_message(
    a: Arithmetic[S], Key1: Sequence[S], Key2: S, index: int, P: S, note: Note | None = None
) -> S:
    """LRW encryption under the round keys of Key1, in any arithmetic; the index is known."""
    tell = Listener(a, note, STANDARD)
    C = []
    for j, count in a.runs(a.length(P) // BLOCK, note):
        T_j = tweaks(a, Key2, index + j, count)
        tell("", f"T_j = Key2 ⊗ (index + {j})", j, T=T_j)
        PP_j = a.xor(a.block(P, j, count), T_j)
        tell("", "PP_j = P_j ⊕ T_j", j, PP=PP_j)
        CC_j = a.encrypt(Key1, PP_j, note, f"PP_{j}")
        tell("", "CC_j = AES-enc(Key1, PP_j)", j, CC=CC_j)
        C_j = a.xor(CC_j, T_j)
        tell("", "C_j = CC_j ⊕ T_j", j, C=C_j)
        C.append(C_j)
    return a.join(*C)


def decrypt_message(
    a: Arithmetic[S], Key1: Sequence[S], Key2: S, index: int, C: S, note: Note | None = None
) -> S:
    """LRW decryption under the round keys of Key1, in any arithmetic; the index is known."""
    tell = Listener(a, note, STANDARD)
    P = []
    for j, count in a.runs(a.length(C) // BLOCK, note):
        T_j = tweaks(a, Key2, index + j, count)
        tell("", f"T_j = Key2 ⊗ (index + {j})", j, T=T_j)
        CC_j = a.xor(a.block(C, j, count), T_j)
        tell("", "CC_j = C_j ⊕ T_j", j, CC=CC_j)
        PP_j = a.decrypt(Key1, CC_j, note, f"CC_{j}")
        tell("", "PP_j = AES-dec(Key1, CC_j)", j, PP=PP_j)
        P_j = a.xor(PP_j, T_j)
        tell("", "P_j = PP_j ⊕ T_j", j, P=P_j)
        P.append(P_j)
    return a.join(*P)
