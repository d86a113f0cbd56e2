"""CTR by the native core (SP 800-38A, 6.5); the counter block is a 128-bit big-endian integer."""

from __future__ import annotations

from threading import Lock
from typing import Any

from aeskit._native import ffi, lib
from aeskit.buffers import BytesLike, block, fresh, readable, refuse, writable
from aeskit.implementations import for_cipher
from aeskit.keys import schedule, secret


class Cipher:
    """AES-CTR under one key of 16, 24 or 32 bytes; data of any length, one function for both directions.

    `implementation` is a full name, an instruction set, or what AESKIT_IMPLEMENTATION says.
    """

    def __init__(self, key: BytesLike, *, implementation: str | None = None) -> None:
        """Expand the key; ValueError for its length or for an implementation that cannot run."""
        self.implementations = for_cipher("ctr", "crypt", implementation=implementation)
        self._function = self.implementations[0].function
        self._key = schedule(key)

    def crypt(self, data: BytesLike, counter: BytesLike) -> bytes:
        """`data` XOR the keystream from the 16-byte block `counter` on, which is not changed."""
        source = readable(data)
        result = fresh(len(source))
        self._run(source, result, counter)
        return result

    def crypt_into(self, data: BytesLike, destination: BytesLike, counter: BytesLike) -> None:
        """Write what `crypt` gives to `destination`, of the same size: the data itself or apart from it."""
        self._run(readable(data), writable(destination), counter)

    def stream(self, counter: BytesLike) -> Stream:
        """A message that begins at the 16-byte block `counter` and comes in pieces of any size."""
        return Stream(self._function, self._key, block(counter, "counter"))

    def _run(self, source: Any, destination: Any, counter: BytesLike) -> None:
        length, room, first = len(source), len(destination), block(counter, "counter")
        if refusal := lib.core_ctr(self._function, self._key, source, length, destination, room, first):
            raise refuse(refusal, length, room)


class Stream:
    """One message in pieces of any size: each call goes on in the keystream where the last one stopped.

    Calls from several threads follow one another, so no byte of the keystream is used twice.
    """

    def __init__(self, function: Any, key: Any, counter: bytes) -> None:
        """Begin at the block `counter`; made by `Cipher.stream`."""
        self._function, self._key, self._lock = function, key, Lock()
        self._state = secret("struct ctr_stream *")
        ffi.memmove(self._state.counter, counter, len(counter))

    @property
    def position(self) -> int:
        """The bytes of keystream used so far."""
        return int(self._state.position)

    def crypt(self, data: BytesLike) -> bytes:
        """The next piece: `data` XOR the keystream."""
        source = readable(data)
        result = fresh(len(source))
        self._run(source, result)
        return result

    def crypt_into(self, data: BytesLike, destination: BytesLike) -> None:
        """Write the next piece to `destination`, of the same size: the data itself or apart from it."""
        self._run(readable(data), writable(destination))

    def _run(self, source: Any, destination: Any) -> None:
        length, room = len(source), len(destination)
        call = (self._function, self._key, self._state, source, length, destination, room)
        with self._lock:
            refusal = lib.core_ctr_stream(*call)
        if refusal:
            raise refuse(refusal, length, room)
