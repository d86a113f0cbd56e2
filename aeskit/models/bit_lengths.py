"""XTS, CTR and CBC with ciphertext stealing at lengths that are no whole number of bytes.

The standards count bits: a partial block has 1 to 127 of them (IEEE 1619-2018, 5.3.2; SP 800-38A, 6.5 and its
addendum). Here a text of n bits is ⌈n/8⌉ bytes whose last byte holds the remaining bits at its high end; the
low bits of that byte are zero. A whole number of bytes is left to the modes' own models.
"""

from __future__ import annotations

from collections.abc import Callable

from aeskit.bits import BLOCK, from_be, to_be, xor
from aeskit.models import cbc, ctr, cts, ecb, xts
from aeskit.models.checks import Data, as_bytes
from aeskit.models.cts import Stealing

_BITS = 8 * BLOCK


def ctr_crypt(key: Data, counter: Data, data: Data, bits: int) -> bytes:
    """C*_n = P*_n ⊕ MSB_u(O_n) (SP 800-38A, 6.5); ValueError unless data has ⌈bits/8⌉ bytes."""
    data = _checked(data, bits, 0)
    return _cut(ctr.crypt(key, counter, data), bits)


def xts_encrypt(key: Data, tweak: Data, data: Data, bits: int) -> bytes:
    """XTS-AES encryption of a data unit of `bits` bits, at least 128 (IEEE 1619-2018, 5.3.2)."""
    data = _checked(data, bits, _BITS)
    if bits % 8 == 0:
        return xts.encrypt(key, tweak, data)
    return _xts(bytes(key), bytes(tweak), data, bits, encrypting=True)


def xts_decrypt(key: Data, tweak: Data, data: Data, bits: int) -> bytes:
    """XTS-AES decryption of a data unit of `bits` bits, at least 128 (IEEE 1619-2018, 5.4.2)."""
    data = _checked(data, bits, _BITS)
    if bits % 8 == 0:
        return xts.decrypt(key, tweak, data)
    return _xts(bytes(key), bytes(tweak), data, bits, encrypting=False)


def cts_encrypt(key: Data, iv: Data, data: Data, bits: int, stealing: Stealing) -> bytes:
    """CBC-CS1, -CS2 or -CS3 encryption of `bits` bits, at least 128 (SP 800-38A addendum)."""
    data = _checked(data, bits, _BITS)
    if bits % 8 == 0:
        return cts.encrypt(key, iv, data, stealing)
    whole, d = bits // _BITS * BLOCK, bits % _BITS
    C = cbc.encrypt(key, iv, data.ljust(whole + BLOCK, b"\0"))
    shortened, last = _head(C[whole - BLOCK : whole], d), from_be(C[whole:])
    end = _join((last, _BITS), (shortened, d)) if stealing != "CS1" else _join((shortened, d), (last, _BITS))
    return C[: whole - BLOCK] + end


def cts_decrypt(key: Data, iv: Data, data: Data, bits: int, stealing: Stealing) -> bytes:
    """CBC-CS1, -CS2 or -CS3 decryption of `bits` bits, at least 128 (SP 800-38A addendum)."""
    data = _checked(data, bits, _BITS)
    if bits % 8 == 0:
        return cts.decrypt(key, iv, data, stealing)
    before, d = bits // _BITS * BLOCK - BLOCK, bits % _BITS
    end = from_be(data[before:]) >> -bits % 8
    if stealing == "CS1":
        shortened, last = end >> _BITS, end & ((1 << _BITS) - 1)
    else:
        last, shortened = end >> d, end & ((1 << d) - 1)
    Z = from_be(ecb.decrypt(key, to_be(last, BLOCK)))
    P_n = (Z >> (_BITS - d)) ^ shortened
    C_before = (shortened << (_BITS - d)) | (Z & ((1 << (_BITS - d)) - 1))
    return cbc.decrypt(key, iv, data[:before] + to_be(C_before, BLOCK)) + _join((P_n, d))


def _xts(key: bytes, tweak: bytes, data: bytes, bits: int, encrypting: bool) -> bytes:
    """Steps 1 to 4 with b = bits mod 128; the whole blocks before the last are the bytes' own model."""
    half, m, b = len(key) // 2, bits // _BITS, bits % _BITS
    crypt = xts.encrypt if encrypting else xts.decrypt
    body = ecb.encrypt if encrypting else ecb.decrypt
    T = _tweaks(ecb.encrypt(key[half:], tweak), m)
    last, next_ = T if encrypting else T[::-1]
    head = crypt(key, tweak, data[: BLOCK * (m - 1)]) if m > 1 else b""
    first = _masked(lambda block: body(key[:half], block), data[BLOCK * (m - 1) : BLOCK * m], last)
    stolen = from_be(first) & ((1 << (_BITS - b)) - 1)
    tail = from_be(data[BLOCK * m :]) >> -b % 8
    second = _masked(lambda block: body(key[:half], block), to_be(tail << (_BITS - b) | stolen, BLOCK), next_)
    return head + second + _join((_head(first, b), b))


def _tweaks(T: bytes, m: int) -> tuple[bytes, bytes]:
    """T_m-1 and T_m."""
    from aeskit.models.arithmetic import choose

    a = choose("plain")
    return xts.next_tweak(a, T, m - 1), xts.next_tweak(a, T, m)


def _masked(body: Callable[[bytes], bytes], block: bytes, T: bytes) -> bytes:
    return xor(body(xor(block, T)), T)


def _head(block: bytes, bits: int) -> int:
    """MSB_bits of a block, as an integer."""
    return from_be(block) >> (_BITS - bits)


def _join(*parts: tuple[int, int]) -> bytes:
    """Bit strings (value, bits) one after another, filled with zero bits to a whole byte."""
    value, size = 0, 0
    for part, bits in parts:
        value, size = value << bits | part, size + bits
    return to_be(value << -size % 8, (size + 7) // 8)


def _cut(data: bytes, bits: int) -> bytes:
    """The first `bits` bits, the rest of the last byte zero."""
    if bits % 8 == 0:
        return data
    return data[:-1] + bytes([data[-1] & 0xFF << -bits % 8])


def _checked(data: Data, bits: int, least: int) -> bytes:
    found = as_bytes("data", data)
    if bits < least or len(found) != (bits + 7) // 8:
        raise ValueError(
            f"data must be the bytes of at least {least} bits, {bits} bits are not {len(found)} bytes"
        )
    if _cut(found, bits) != found:
        raise ValueError(f"the bits of the last byte after the first {bits} must be zero")
    return found
