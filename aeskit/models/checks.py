"""What every mode asks of its arguments; each refusal says what must be and what was given."""

from __future__ import annotations

from collections.abc import Sequence

from aeskit.bits import BLOCK

Data = bytes | bytearray | memoryview


def as_bytes(what: str, data: Data) -> bytes:
    """The bytes of any bytes-like object; TypeError for anything else (an int or a str among them)."""
    try:
        return memoryview(data).tobytes()
    except TypeError:
        raise TypeError(f"{what} must be bytes-like, not {type(data).__name__}") from None


def as_key(key: Data, sizes: Sequence[int] = (16, 24, 32)) -> bytes:
    """The key's bytes; ValueError unless their number is one of `sizes`."""
    found = as_bytes("key", key)
    if len(found) not in sizes:
        *most, last = sizes
        raise ValueError(f"key must be {', '.join(map(str, most))} or {last} bytes, not {len(found)}")
    return found


def as_block(what: str, data: Data) -> bytes:
    """Exactly 16 bytes; ValueError otherwise."""
    found = as_bytes(what, data)
    if len(found) != BLOCK:
        raise ValueError(f"{what} must be {BLOCK} bytes, not {len(found)}")
    return found


def as_whole_blocks(data: Data) -> bytes:
    """A multiple of 16 bytes, zero included; ValueError otherwise."""
    found = as_bytes("data", data)
    if len(found) % BLOCK:
        raise ValueError(f"data must be a multiple of {BLOCK} bytes, not {len(found)}")
    return found


def as_at_least_a_block(data: Data) -> bytes:
    """At least 16 bytes; ValueError otherwise."""
    found = as_bytes("data", data)
    if len(found) < BLOCK:
        raise ValueError(f"data must be at least {BLOCK} bytes, not {len(found)}")
    return found
