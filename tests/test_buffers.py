"""Bytes-like arguments: what is taken as it is, and what is refused and why."""

import array
import ctypes
import mmap

import numpy as np
import pytest

from aeskit import buffers
from aeskit._native import ffi


def test_bytes_are_taken_as_they_are():
    data = bytes(range(20))
    assert buffers.readable(data) is data


@pytest.mark.parametrize(
    "data",
    [
        bytearray(range(24)),
        memoryview(bytes(range(24))),
        memoryview(bytearray(range(24)))[:],
        array.array("I", [1, 2, 3]),
        np.arange(3.0),
        np.arange(6, dtype=">i2").reshape(3, 2),
        np.zeros(2, dtype=[("OOO", "i4"), ("b", "f8")]),
        np.array(1.5),
        (ctypes.c_uint16 * 4)(1, 2, 3, 4),
        mmap.mmap(-1, 64),
    ],
    ids=lambda data: type(data).__name__,
)
def test_nothing_is_copied(data):
    found = buffers.readable(data)
    assert bytes(ffi.buffer(found)) == bytes(memoryview(data).cast("B"))
    assert len(found) == memoryview(data).nbytes
    if not memoryview(data).readonly:
        assert buffers.writable(data) == found


def test_empty_buffers():
    for empty in (b"", bytearray(), memoryview(b""), np.zeros(0)):
        assert len(buffers.readable(empty)) == 0


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        ("text", TypeError, "key must be a bytes-like object, not str"),
        (None, TypeError, "key must be a bytes-like object, not NoneType"),
        (7, TypeError, "key must be a bytes-like object, not int"),
        ([1, 2], TypeError, "key must be a bytes-like object, not list"),
        (memoryview(bytes(8))[::-1], BufferError, "key must be contiguous in memory"),
        (np.zeros((4, 4))[:, 0], BufferError, "key must be contiguous in memory"),
        (np.zeros((4, 4)).T, BufferError, "key must be contiguous in memory"),
        (np.array([object()]), TypeError, "key must hold plain bytes, not references to Python objects"),
        (np.zeros(2, dtype=[("a", "O")]), TypeError, "key must hold plain bytes"),
        ((ctypes.py_object * 2)(), TypeError, "key must hold plain bytes"),
        (np.zeros(2, dtype="M8[s]"), BufferError, "key must be a bytes-like object: "),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_refused(data, error, message):
    for check in (buffers.readable, buffers.writable):
        with pytest.raises(error) as raised:
            check(data, "key")
        assert message in str(raised.value)


def test_a_released_memoryview():
    view = memoryview(bytearray(16))
    view.release()
    with pytest.raises(BufferError, match="data must be a bytes-like object: operation forbidden"):
        buffers.readable(view)


@pytest.mark.parametrize("data", [bytes(8), memoryview(bytes(8)), np.frombuffer(bytes(8))])
def test_read_only_is_no_destination(data):
    with pytest.raises(BufferError, match="destination must be writable, not a read-only"):
        buffers.writable(data)


def test_a_buffer_cannot_be_resized_while_native_code_has_it():
    data = bytearray(64)
    held = buffers.writable(data)
    with pytest.raises(BufferError):
        data.extend(bytes(1000))
    del held
    data.extend(bytes(1000))
    assert len(data) == 1064


def test_blocks():
    assert buffers.block(bytearray(range(16)), "iv") == bytes(range(16))
    assert buffers.block(np.arange(2, dtype="<u8"), "iv") == bytes(8) + b"\1" + bytes(7)
    with pytest.raises(ValueError, match="iv must be 16 bytes, not 17"):
        buffers.block(bytes(17), "iv")
    with pytest.raises(TypeError, match="iv must be a bytes-like object, not int"):
        buffers.block(16, "iv")
