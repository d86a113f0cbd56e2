"""CBC, plain and with ciphertext stealing, by the native core (SP 800-38A, 6.2, and its addendum)."""

from __future__ import annotations

from typing import Any

from aeskit._native import lib
from aeskit.buffers import BytesLike, block, fresh, readable, refuse, writable
from aeskit.implementations import for_cipher
from aeskit.keys import schedule

STEALING = {"CS1": 1, "CS2": 2, "CS3": 3}
"""The addendum's forms by their numbers; they differ in the order of the last two blocks."""


class Cipher:
    """AES-CBC under one key of 16, 24 or 32 bytes.

    Plain (`stealing` None): data is any multiple of 16 bytes. With `stealing` CS1, CS2 or CS3 (what Linux
    calls cts(cbc)): any length of at least 16 bytes. The IV is 16 bytes and is not changed.
    `implementation` is a full name, an instruction set, or what AESKIT_IMPLEMENTATION says; encryption of
    one chain is serial, so it has aesni_avx alone and an instruction set's name chooses for decryption.
    """

    def __init__(
        self, key: BytesLike, *, stealing: str | None = None, implementation: str | None = None
    ) -> None:
        """Expand the key; ValueError for its length, the stealing, or an implementation that cannot run."""
        if stealing is not None and stealing not in STEALING:
            raise ValueError(f"stealing must be None, 'CS1', 'CS2' or 'CS3', not {stealing!r}")
        mode = "cts" if stealing else "cbc"
        self.implementations = for_cipher(mode, "encrypt", "decrypt", implementation=implementation)
        self._encrypt, self._decrypt = (row.function for row in self.implementations)
        self._stealing = STEALING[stealing] if stealing else 0
        self._key = schedule(key)

    def encrypt(self, data: BytesLike, iv: BytesLike) -> bytes:
        """The ciphertext of `data`, of its length."""
        source = readable(data)
        result = fresh(len(source))
        self._run(self._encrypt, source, result, iv)
        return result

    def decrypt(self, data: BytesLike, iv: BytesLike) -> bytes:
        """The plaintext of `data`, of its length."""
        source = readable(data)
        result = fresh(len(source))
        self._run(self._decrypt, source, result, iv)
        return result

    def encrypt_into(self, data: BytesLike, destination: BytesLike, iv: BytesLike) -> None:
        """Write the ciphertext to `destination`, of the same size: the data itself or apart from it."""
        self._run(self._encrypt, readable(data), writable(destination), iv)

    def decrypt_into(self, data: BytesLike, destination: BytesLike, iv: BytesLike) -> None:
        """Write the plaintext to `destination`, of the same size: the data itself or apart from it."""
        self._run(self._decrypt, readable(data), writable(destination), iv)

    def _run(self, function: Any, source: Any, destination: Any, iv: BytesLike) -> None:
        length, room = len(source), len(destination)
        call = (function, self._key, source, length, destination, room, block(iv, "iv"))
        refusal = lib.core_cts(*call, self._stealing) if self._stealing else lib.core_cbc(*call)
        if refusal:
            raise refuse(refusal, length, room)
