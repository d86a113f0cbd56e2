"""CBC, plain and with ciphertext stealing, by the native core (SP 800-38A, 6.2, and its addendum)."""

from __future__ import annotations

from typing import Any

from aeskit._native import lib
from aeskit.buffers import BytesLike, block, fresh, readable, refuse, writable
from aeskit.implementations import choose, for_cipher
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
        if not (stealing is None or isinstance(stealing, str)):
            raise TypeError(f"stealing must be None or a str, not {type(stealing).__name__}")
        if stealing is not None and stealing not in STEALING:
            raise ValueError(f"stealing must be None, 'CS1', 'CS2' or 'CS3', not {stealing!r}")
        mode = "cts" if stealing else "cbc"
        self.implementations = for_cipher(mode, "encrypt", "decrypt", implementation=implementation)
        self._encrypt, self._decrypt = (row.function for row in self.implementations)
        self._streams = choose(
            "cbc_streams", "encrypt", force=self.implementations[1].instruction_set
        ).function
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

    def encrypt_messages(self, data: BytesLike, ivs: BytesLike, size: int) -> bytes:
        """The ciphertexts of messages of `size` bytes each, one behind the other, with 16 bytes of IV each.

        `size` is a multiple of 16. Several times as fast as one by one, for a chain leaves most of the CPU
        idle. Plain CBC alone.
        """
        source = readable(data)
        result = fresh(len(source))
        self._run_messages(source, result, ivs, size)
        return result

    def encrypt_messages_into(
        self, data: BytesLike, destination: BytesLike, ivs: BytesLike, size: int
    ) -> None:
        """Write what `encrypt_messages` gives to `destination`: the data itself or apart from it."""
        self._run_messages(readable(data), writable(destination), ivs, size)

    def _run_messages(self, source: Any, destination: Any, ivs: BytesLike, size: int) -> None:
        if self._stealing:
            raise ValueError("many messages at once must be plain CBC, without ciphertext stealing")
        if type(size) is not int or size < 16 or size % 16:
            raise ValueError(f"size must be a multiple of 16 bytes from 16 on, not {size!r}")
        length, room, starts = len(source), len(destination), bytes(readable(ivs, "ivs"))
        call = (source, length, destination, room, starts, len(starts), size)
        refusal = lib.core_cbc_streams(self._streams, self._key, *call)
        if refusal == lib.REFUSED_PARTIAL_BLOCK:
            raise ValueError(f"data must be whole messages of {size} bytes, not {length} bytes")
        if refusal == lib.REFUSED_IVS:
            raise ValueError(f"ivs must be {16 * (length // size)} bytes, 16 a message, not {len(starts)}")
        if refusal:
            raise refuse(refusal, length, room)

    def _run(self, function: Any, source: Any, destination: Any, iv: BytesLike) -> None:
        length, room = len(source), len(destination)
        call = (function, self._key, source, length, destination, room, block(iv, "iv"))
        refusal = lib.core_cts(*call, self._stealing) if self._stealing else lib.core_cbc(*call)
        if refusal:
            raise refuse(refusal, length, room)
