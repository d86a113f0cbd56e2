"""Key schedules by the native core.

A schedule lies in memory of its own, which is cleared when its last owner goes. That is a best effort:
the caller's key, and what the interpreter, the operating system or a core dump copied, are out of reach.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from aeskit._native import ffi, lib
from aeskit.buffers import BytesLike, readable
from aeskit.implementations import choose

_new = ffi.new_allocator(lib.core_allocate, lib.core_release)


@dataclass(frozen=True)
class RoundKeys:
    """The round keys of one AES key, 16 bytes each, in the order in which they are used."""

    encrypt: tuple[bytes, ...]
    """Of the cipher: 11, 13 or 15 (FIPS 197, 5.2)."""
    decrypt: tuple[bytes, ...]
    """Of the equivalent inverse cipher: reversed, the middle ones through InvMixColumns (FIPS 197, 5.3.5)."""


def expand(key: BytesLike) -> RoundKeys:
    """The round keys of a key of 16, 24 or 32 bytes, as plain bytes to look at."""
    found = schedule(key)
    size = 16 * (found.length // 4 + 7)
    parts = (bytes(ffi.buffer(part))[:size] for part in (found.encrypt, found.decrypt))
    encrypt, decrypt = (tuple(part[i : i + 16] for i in range(0, size, 16)) for part in parts)
    return RoundKeys(encrypt, decrypt)


def schedule(key: BytesLike) -> Any:
    """The `struct aes_key` of a key, cleared on release; ValueError unless it has 16, 24 or 32 bytes."""
    source = readable(key, "key")
    found = secret("struct aes_key *")
    if lib.core_key(choose("keys", "expand").function, found, source, len(source)):
        raise ValueError(f"key must be 16, 24 or 32 bytes, not {len(source)}")
    return found


def xts_cipher(key: BytesLike, allow_equal_halves: bool = False) -> Any:
    """A `struct xts_cipher` with the schedules of K1, the data key, and K2, the tweak key behind it in `key`.

    IEEE 1619-2018, 5.1. ValueError unless the key has 32, 48 or 64 bytes and, without `allow_equal_halves`,
    K1 differs from K2 (FIPS 140-3 implementation guidance, C.I).
    """
    source = readable(key, "key")
    found = secret("struct xts_cipher *")
    expansion, schedules = choose("keys", "expand").function, ffi.addressof(found, "key")
    refusal = lib.core_xts_key(expansion, schedules, source, len(source), bool(allow_equal_halves))
    if refusal == lib.REFUSED_EQUAL_HALVES:
        raise ValueError("the key's halves must differ; allow_equal_halves=True accepts equal ones")
    if refusal:
        raise ValueError(f"key must be 32, 48 or 64 bytes, not {len(source)}")
    return found


def secret(declaration: str) -> Any:
    """Zeroed native memory for a C type, cleared when it is released."""
    return _new(declaration)
