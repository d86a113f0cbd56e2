"""GF(2^128) with x^128 + x^7 + x^2 + x + 1: plain integers and numpy, in the three bit orders.

A polynomial is an int whose bit i is the coefficient of x^i; a block is 16 bytes that spell one in a
`BitOrder`. The arrays are uint8 of the shape (…, 16). galois, which judges both, is in `galois_form`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from aeskit.bits import BitOrder, from_polynomial, to_polynomial

Bytes = NDArray[np.uint8]

REDUCTION = 0x87
"""x^128 = x^7 + x^2 + x + 1 (IEEE 1619-2018, 5.2; SP 800-38D, 6.3)."""
POLYNOMIAL = 1 << 128 | REDUCTION

# ---- Polynomials as integers ----------------------------------------------------------------------------


def double(p: int) -> int:
    """The product p · x."""
    p <<= 1
    return p ^ POLYNOMIAL if p >> 128 else p


def multiply(p: int, q: int) -> int:
    """The product p · q: q's coefficients choose among p, p · x, p · x^2, … (SP 800-38D, algorithm 1)."""
    product = 0
    while q:
        if q & 1:
            product ^= p
        p, q = double(p), q >> 1
    return product


def multiply_blocks(a: bytes, b: bytes, order: BitOrder) -> bytes:
    """The product of two 16-byte blocks that are read and written in `order`."""
    return from_polynomial(multiply(to_polynomial(a, order), to_polynomial(b, order)), order)


# ---- Arrays of blocks -----------------------------------------------------------------------------------


def mul_alpha(blocks: Bytes, order: BitOrder = BitOrder.XTS) -> Bytes:
    """Each block of the shape (…, 16) times α = x, byte by byte as IEEE 1619-2018, 5.2 has it.

    In that order: a'[0] = 2(a[0] mod 128) ⊕ 135⌊a[15] / 128⌋, a'[k] = 2(a[k] mod 128) ⊕ ⌊a[k-1] / 128⌋.
    """
    a = reorder(blocks, order)
    carry = a >> 7
    doubled: Bytes = np.left_shift(a, 1)
    doubled[..., 1:] ^= carry[..., :-1]
    doubled[..., 0] ^= carry[..., 15] * np.uint8(REDUCTION)
    return reorder(doubled, order)


def mul_x(blocks: Bytes, k: int, order: BitOrder = BitOrder.XTS) -> Bytes:
    """Each block of the shape (…, 16) times x^k, k ≥ 0: shifts of two quadwords, at most 64 at a time."""
    if k >= 128:
        # x^128 = x^7 + x^2 + x + 1, squared i times: x^(128 n) = x^(7 n) + x^(2 n) + x^n + 1 with n = 2^i.
        n = 1 << (k // 128).bit_length() - 1
        p = mul_x(blocks, k - 128 * n, order)
        return mul_x(p, 7 * n, order) ^ mul_x(p, 2 * n, order) ^ mul_x(p, n, order) ^ p
    halves = np.ascontiguousarray(reorder(blocks, order)).view("<u8")
    low, high = halves[..., 0], halves[..., 1]
    while k > 0:
        low, high = _shift(low, high, min(k, 64))
        k -= 64
    result: Bytes = np.stack([low, high], axis=-1).astype("<u8", copy=False).view(np.uint8)
    return reorder(result, order)


def powers(block: Bytes, count: int, order: BitOrder = BitOrder.XTS) -> Bytes:
    """From (…, 16) the sequence T, T·α, T·α^2, … as (…, count, 16): its first n times x^n are the next n."""
    sequence = block[..., None, :]
    while (n := sequence.shape[-2]) < count:
        sequence = np.concatenate([sequence, mul_x(sequence[..., : count - n, :], n, order)], axis=-2)
    return sequence


def basis_images(block: bytes, order: BitOrder) -> Bytes:
    """The 128 products of a block with 1, x, x^2, …: multiplication by it as a linear map."""
    return powers(np.frombuffer(block, np.uint8), 128, order)


def products(block: bytes, polynomials: Sequence[int], order: BitOrder) -> Bytes:
    """One block times each polynomial, as (n, 16): the images of the set coefficients, summed."""
    images = np.unpackbits(basis_images(block, order), axis=-1).astype(np.float32)
    packed = b"".join(p.to_bytes(16, "little") for p in polynomials)
    coefficients = np.unpackbits(np.frombuffer(packed, np.uint8).reshape(-1, 16), axis=-1, bitorder="little")
    # A sum of at most 128 ones is exact in float32; its lowest bit is the sum in GF(2).
    sums = coefficients.astype(np.float32) @ images
    return np.packbits(sums.astype(np.uint8) & 1, axis=-1)


_REVERSED = np.packbits(np.unpackbits(np.arange(256, dtype=np.uint8)[:, None], axis=1)[:, ::-1], axis=1)[:, 0]


def reorder(blocks: Bytes, order: BitOrder) -> Bytes:
    """Blocks of `order` as blocks of the XTS order, or back: the change undoes itself."""
    if order is BitOrder.GHASH:
        return _REVERSED.take(blocks)
    return blocks[..., ::-1] if order is BitOrder.LRW else blocks


def _shift(
    low: NDArray[np.uint64], high: NDArray[np.uint64], k: int
) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """Times x^k, 1 ≤ k ≤ 64: the k bits that leave the top come back at the bottom times 0x87."""
    if k == 64:  # numpy leaves a shift by the full width undefined
        out, low, high = high, np.zeros_like(low), low
    else:
        out = high >> np.uint64(64 - k)
        low, high = low << np.uint64(k), high << np.uint64(k) | low >> np.uint64(64 - k)
    low = low ^ out ^ out << np.uint64(1) ^ out << np.uint64(2) ^ out << np.uint64(7)
    high = high ^ out >> np.uint64(63) ^ out >> np.uint64(62) ^ out >> np.uint64(57)
    return low, high
