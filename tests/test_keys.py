"""Key schedules: FIPS 197's own, and that native memory is cleared when it is released."""

import pytest

from aeskit import keys
from aeskit._native import ffi


def test_fips_197_appendix_a():
    """The last words of A.1, A.2 and A.3."""
    known = {
        "2b7e151628aed2a6abf7158809cf4f3c": "d014f9a8c9ee2589e13f0cc8b6630ca6",
        "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b": "e98ba06f448c773c8ecc720401002202",
        "603deb1015ca71be2b73aef0857d7781"
        "1f352c073b6108d72d9810a30914dff4": "fe4890d1e6188d0b046df344706c631e",
    }
    for key, last in known.items():
        found = keys.expand(bytes.fromhex(key))
        assert found.encrypt[-1].hex() == last
        assert found.encrypt[0] == bytes.fromhex(key)[:16]
        assert len(found.encrypt) == len(found.decrypt) == len(key) // 8 + 7
        assert (found.decrypt[0], found.decrypt[-1]) == (found.encrypt[-1], found.encrypt[0])


@pytest.mark.parametrize("size", [0, 8, 15, 17, 25, 33])
def test_key_length(size):
    with pytest.raises(ValueError, match=f"key must be 16, 24 or 32 bytes, not {size}"):
        keys.expand(bytes(size))


def test_key_types():
    with pytest.raises(TypeError, match="key must be a bytes-like object, not str"):
        keys.expand("k" * 16)
    assert keys.expand(bytearray(16)) == keys.expand(memoryview(bytes(16))) == keys.expand(bytes(16))


def test_schedules_lie_on_cache_lines_and_belong_to_one_owner():
    first, second = keys.schedule(bytes(16)), keys.schedule(bytes(range(16)))
    assert all(int(ffi.cast("uintptr_t", key)) % 64 == 0 for key in (first, second))
    assert bytes(ffi.buffer(first)) != bytes(ffi.buffer(second))
