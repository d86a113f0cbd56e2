"""What is right: the peer's answer for every case, the model's beside it, and the schedules of the calls."""

from __future__ import annotations

from functools import lru_cache

from aeskit import bits
from aeskit.models import aes, cbc, ctr, cts, ecb, xts
from aeskit.models.plain_form import Plain
from aeskit.verify import cases, peer
from aeskit.verify.differential import Expected
from aeskit.verify.inputs import Inputs

_PLAIN = Plain()
_ROOM = 240
"""Bytes that `struct aes_key` has for the round keys of one direction."""


def expected(inputs: Inputs) -> Expected:
    """The peer's answer; for a key the model's schedule; for a refused length that nothing changes."""
    if inputs.mode == "keys":
        return Expected(schedule(inputs.key), None)
    if not cases.takes(inputs.mode, len(inputs.data)):
        return Expected(None, inputs.iv)
    answer = peer.answer(inputs.mode, inputs.direction, inputs.key, inputs.iv, inputs.data, inputs.stealing)
    return Expected(*answer)


def model(inputs: Inputs) -> bytes:
    """The model's answer to the same inputs, in its form for bulk."""
    key, iv, data = inputs.key, inputs.iv, inputs.data
    if inputs.mode == "ctr":
        return ctr.crypt(key, iv, data)
    if inputs.mode == "cbc_streams":
        size, starts = len(data) // (len(iv) // 16), range(0, len(iv), 16)
        return b"".join(cbc.encrypt(key, iv[at : at + 16], data[at // 16 * size :][:size]) for at in starts)
    if inputs.mode == "xts_sectors":
        return _sectors(inputs)
    room = {"ecb": ecb, "cbc": cbc, "cts": cts, "xts": xts}[inputs.mode]
    function = room.encrypt if inputs.direction == "encrypt" else room.decrypt
    if inputs.mode == "ecb":
        return function(key, data)
    return function(key, iv, data, inputs.stealing) if inputs.mode == "cts" else function(key, iv, data)


def _sectors(inputs: Inputs) -> bytes:
    """Each sector with the IV that its tweak is the encryption of."""
    key, function = inputs.key, xts.encrypt if inputs.direction == "encrypt" else xts.decrypt
    count = len(inputs.iv) // 32
    size, ivs = len(inputs.data) // count, ecb.decrypt(key[len(key) // 2 :], inputs.iv[: 16 * count])
    return b"".join(
        function(key, ivs[16 * i : 16 * (i + 1)], inputs.data[size * i : size * (i + 1)])
        for i in range(count)
    )


def difference(inputs: Inputs, wanted: Expected) -> str | None:
    """Where the model departs from what is right; None where it does not.

    A schedule is the model's own, so there the peer judges what the model encrypts and decrypts with the key.
    """
    key, text = inputs.key, wanted.text or b""
    if inputs.mode == "keys":
        block = key[:16]
        text = peer.block(key, block) + peer.block(key, block, forward=False)
        found = ecb.encrypt(key, block) + ecb.decrypt(key, block)
    else:
        found = model(inputs)
    if len(found) != len(text):
        return f"is {len(found)} bytes, must be {len(text)}"
    return next(
        (
            f"block {at // 16} byte {at % 16} is {a:02x}, must be {b:02x}"
            for at, (a, b) in enumerate(zip(found, text, strict=True))
            if a != b
        ),
        None,
    )


def context(mode: str, key: bytes) -> bytes:
    """The first argument of the mode's functions: for XTS the tweak key's schedule, then the data key's."""
    if mode == "keys":
        return b""
    half = len(key) // 2
    return schedule(key[half:]) + schedule(key[:half]) if cases.has_two_keys(mode) else schedule(key)


@lru_cache(maxsize=256)
def schedule(key: bytes) -> bytes:
    """`struct aes_key` of native/prototypes.h, by the model: what a shorter key does not fill is zero."""
    w = aes.key_expansion(_PLAIN, key)
    inverse = aes.key_expansion_eic(_PLAIN, w)[::-1]
    parts = [b"".join(keys).ljust(_ROOM, b"\0") for keys in (w, inverse)]
    return b"".join(parts) + bits.to_le(len(key), 4) + bytes(12)
