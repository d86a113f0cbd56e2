"""CBC with ciphertext stealing (SP 800-38A addendum, October 2010): CS1, CS2 and CS3.

They differ in the order of the last two blocks alone: CS1 leaves the shortened one before the last; CS3
exchanges the two; CS2 exchanges them only where there is a tail. Kerberos (RFC 3962) and the Linux
``cts(cbc(aes))`` are CS3. Exactly one block is plain CBC. Indices count from 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeVar

from aeskit.bits import BLOCK
from aeskit.models import cbc
from aeskit.models.arithmetic import Arithmetic, Form, choose
from aeskit.models.checks import Data, as_at_least_a_block, as_block, as_key
from aeskit.models.listener import Listener
from aeskit.trace import Note

S = TypeVar("S")
STANDARD = "SP 800-38A addendum"
Stealing = Literal["CS1", "CS2", "CS3"]
STEALING: tuple[Stealing, ...] = ("CS1", "CS2", "CS3")


def encrypt(
    key: Data, iv: Data, data: Data, stealing: Stealing, *, form: Form = "plain", note: Note | None = None
) -> bytes:
    """CBC-CS1, -CS2 or -CS3 encryption; data at least 16 bytes, iv 16, key 16, 24 or 32, else ValueError."""
    key, iv, data = _checked(key, iv, data, stealing)
    a = choose(form)
    K = a.expand(key, note)
    return a.value(encrypt_message(a, K, a.string(iv), a.string(data), stealing, note))


def decrypt(
    key: Data, iv: Data, data: Data, stealing: Stealing, *, form: Form = "numpy", note: Note | None = None
) -> bytes:
    """CBC-CS1, -CS2 or -CS3 decryption; arguments as for `encrypt`."""
    key, iv, data = _checked(key, iv, data, stealing)
    a = choose(form)
    K = a.expand_for_decryption(key, note)
    return a.value(decrypt_message(a, K, a.string(iv), a.string(data), stealing, note))


def next_iv(ciphertext: Data, stealing: Stealing) -> bytes:
    """The IV that continues the message: C_n, the last block that was encrypted (RFC 3962, 5)."""
    _check_stealing(stealing)
    ciphertext = as_at_least_a_block(ciphertext)
    d = tail(len(ciphertext))
    if len(ciphertext) > BLOCK and exchanged(d, stealing):
        return ciphertext[-BLOCK - d : -d]
    return ciphertext[-BLOCK:]


def tail(length: int) -> int:
    """d: the bytes of the last block P*_n, 1 to 16."""
    return (length - 1) % BLOCK + 1


def exchanged(d: int, stealing: Stealing) -> bool:
    """Whether C_n stands before C*_n-1 when the tail has d bytes."""
    return {"CS1": False, "CS2": d < BLOCK, "CS3": True}[stealing]


def encrypt_message(
    a: Arithmetic[S], K: Sequence[S], IV: S, P: S, stealing: Stealing, note: Note | None = None
) -> S:
    """Encryption under the round keys K, in any arithmetic."""
    tell = Listener(a, note, STANDARD)
    size = a.length(P)
    n, d = -(-size // BLOCK), tail(size)
    if n == 1:
        return cbc.encrypt_message(a, K, IV, P, note)
    # CBC-CS1-Encrypt, steps 2 and 3: P_n = P*_n || 0^(b-d), then CBC
    padded = a.join(P, a.string(bytes(BLOCK - d)))
    C = cbc.encrypt_message(a, K, IV, padded, note)
    # Step 4: C*_n-1 = MSB_d(C_n-1)
    start = BLOCK * (n - 2)
    shortened, last = a.part(C, start, start + d), a.block(C, n - 1)
    tell("CBC-CS1", f"C*_{n - 1} = MSB(C_{n - 1}): {d} bytes", None, "stealing", **{f"C*_{n - 1}": shortened})
    end = (last, shortened) if exchanged(d, stealing) else (shortened, last)
    return a.join(a.part(C, 0, start), *end)


def decrypt_message(
    a: Arithmetic[S], K: Sequence[S], IV: S, C: S, stealing: Stealing, note: Note | None = None
) -> S:
    """Decryption under the round keys K, in any arithmetic."""
    tell = Listener(a, note, STANDARD)
    size = a.length(C)
    n, d = -(-size // BLOCK), tail(size)
    if n == 1:
        return cbc.decrypt_message(a, K, IV, C, note)
    start = BLOCK * (n - 2)
    if exchanged(d, stealing):
        last, shortened = a.part(C, start, start + BLOCK), a.part(C, start + BLOCK, size)
    else:
        shortened, last = a.part(C, start, start + d), a.part(C, start + d, size)
    # CBC-CS1-Decrypt: Z* = MSB_d and Z** = LSB_(b-d) of CIPH⁻¹_K(C_n)
    Z = a.decrypt(K, last, note, f"C_{n}")
    tell("CBC-CS1", f"Z = CIPH⁻¹_K(C_{n})", None, "stealing", Z=Z)
    # C_n-1 = C*_n-1 || Z**; P_1 to P_n-1 by CBC
    C_n1 = a.join(shortened, a.part(Z, d, BLOCK))
    tell("CBC-CS1", f"C_{n - 1} = C*_{n - 1} || Z**", None, "stealing", **{f"C_{n - 1}": C_n1})
    P = cbc.decrypt_message(a, K, IV, a.join(a.part(C, 0, start), C_n1), note)
    # P*_n = C*_n-1 ⊕ Z*
    P_n = a.xor(shortened, a.part(Z, 0, d))
    tell("CBC-CS1", f"P*_{n} = C*_{n - 1} ⊕ Z*", None, "stealing", **{f"P*_{n}": P_n})
    return a.join(P, P_n)


def _checked(key: Data, iv: Data, data: Data, stealing: Stealing) -> tuple[bytes, bytes, bytes]:
    _check_stealing(stealing)
    return as_key(key), as_block("iv", iv), as_at_least_a_block(data)


def _check_stealing(stealing: str) -> None:
    if not isinstance(stealing, str) or stealing not in STEALING:
        raise ValueError(f"stealing must be one of {', '.join(STEALING)}, not {stealing!r}")
