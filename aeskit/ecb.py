"""ECB by the native core (SP 800-38A, 6.1)."""

from __future__ import annotations

from typing import Any

from aeskit._native import lib
from aeskit.buffers import BytesLike, fresh, readable, refuse, writable
from aeskit.implementations import for_cipher
from aeskit.keys import schedule


class Cipher:
    """AES-ECB under one key of 16, 24 or 32 bytes; data is any multiple of 16 bytes.

    `implementation` is a full name, an instruction set, or what AESKIT_IMPLEMENTATION says.
    """

    def __init__(self, key: BytesLike, *, implementation: str | None = None) -> None:
        """Expand the key; ValueError for its length or for an implementation that cannot run."""
        self.implementations = for_cipher("ecb", "encrypt", "decrypt", implementation=implementation)
        self._encrypt, self._decrypt = (row.function for row in self.implementations)
        self._key = schedule(key)

    def encrypt(self, data: BytesLike) -> bytes:
        """The ciphertext of `data`."""
        source = readable(data)
        result = fresh(len(source))
        self._run(self._encrypt, source, result)
        return result

    def decrypt(self, data: BytesLike) -> bytes:
        """The plaintext of `data`."""
        source = readable(data)
        result = fresh(len(source))
        self._run(self._decrypt, source, result)
        return result

    def encrypt_into(self, data: BytesLike, destination: BytesLike) -> None:
        """Write the ciphertext to `destination`, of the same size: the data itself or apart from it."""
        self._run(self._encrypt, readable(data), writable(destination))

    def decrypt_into(self, data: BytesLike, destination: BytesLike) -> None:
        """Write the plaintext to `destination`, of the same size: the data itself or apart from it."""
        self._run(self._decrypt, readable(data), writable(destination))

    def _run(self, function: Any, source: Any, destination: Any) -> None:
        length, room = len(source), len(destination)
        if refusal := lib.core_ecb(function, self._key, source, length, destination, room):
            raise refuse(refusal, length, room)
