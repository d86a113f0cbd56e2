"""Bytes-like arguments at the native boundary: taken as they are, never copied, or refused with the reason.

Nothing that Python can hand over may make native code read or write where it should not: a buffer stays
exported (and so in place) for as long as the value returned here lives.
"""

from __future__ import annotations

import re
from typing import Any, TypeAlias

from aeskit._native import ffi, lib

BytesLike: TypeAlias = Any
"""Any object with a contiguous buffer: bytes, bytearray, memoryview, array, mmap, a numpy array."""

_ARRAY = ffi.typeof("uint8_t[]")
_from_buffer = ffi.from_buffer


def readable(data: BytesLike, name: str = "data") -> Any:
    """`data` for native code to read; its len() is in bytes. TypeError, BufferError if it cannot be."""
    if type(data) is bytes:
        return data
    return _from_buffer(_ARRAY, data if type(data) is bytearray else _view(data, name))


def writable(data: BytesLike, name: str = "destination") -> Any:
    """`data` for native code to write; its len() is in bytes. TypeError, BufferError if it cannot be."""
    if type(data) is bytearray:
        return _from_buffer(_ARRAY, data, True)
    view = _view(data, name)
    if view.readonly:
        raise BufferError(f"{name} must be writable, not a read-only {type(data).__name__}")
    return _from_buffer(_ARRAY, view, True)


def block(data: BytesLike, name: str) -> bytes:
    """A copy of the 16 bytes of an IV, a counter or a tweak; ValueError at another length."""
    copied = data if type(data) is bytes else bytes(_view(data, name))
    if len(copied) != 16:
        raise ValueError(f"{name} must be 16 bytes, not {len(copied)}")
    return copied


def fresh(length: int) -> bytes:
    """A new bytes object for native code to fill, as CPython's C API allows before anyone else holds it."""
    return bytes(length)


def _view(data: BytesLike, name: str) -> memoryview:
    try:
        view = memoryview(data)
    except TypeError:
        raise TypeError(f"{name} must be a bytes-like object, not {type(data).__name__}") from None
    except ValueError as error:  # a dtype that has no buffer form; a released memoryview
        raise BufferError(f"{name} must be a bytes-like object: {error}") from None
    if not view.c_contiguous:
        raise BufferError(f"{name} must be contiguous in memory (C order); take a copy of it first")
    if "O" in view.format and "O" in re.sub(":[^:]*:", "", view.format):  # not in the name of a field
        raise TypeError(f"{name} must hold plain bytes, not references to Python objects")
    return view


def refuse(refusal: int, length: int, room: int) -> ValueError:
    """The error of a call that core.c refused: `length` bytes of data for a destination of `room` bytes."""
    return ValueError(
        {
            lib.REFUSED_ROOM: f"destination must have the {length} bytes of data, not {room}",
            lib.REFUSED_OVERLAP: "destination must be data itself or apart from it, not overlap in part",
            lib.REFUSED_SHORT: f"data must have at least 16 bytes, not {length}",
            lib.REFUSED_PARTIAL_BLOCK: f"data must be a multiple of 16 bytes, not {length}",
            lib.REFUSED_LONG: "a data unit must have at most 2^20 blocks (16777216 bytes), "
            f"not {length} bytes; allow_long_units=True lifts the limit",
        }[refusal]
    )
