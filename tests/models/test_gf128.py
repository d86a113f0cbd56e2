"""GF(2^128): plain integers, numpy and galois are one field, over the basis and by examples."""

import random

import numpy as np
import pytest

from aeskit.bits import BitOrder, from_polynomial, to_polynomial
from aeskit.models import gf128
from aeskit.models.arithmetic import FORMS, choose

BASIS = [1 << i for i in range(128)]
ORDERS = list(BitOrder)


def spell(polynomials, order):
    spelt = b"".join(from_polynomial(p, order) for p in polynomials)
    return np.frombuffer(spelt, np.uint8).reshape(-1, 16)


def read(blocks, order):
    return [to_polynomial(block.tobytes(), order) for block in blocks.reshape(-1, 16)]


def test_double_is_galois_over_the_basis():
    from aeskit.models.galois_form import multiply

    assert [gf128.double(p) for p in BASIS] == [multiply(p, 2) for p in BASIS]
    assert gf128.double(1 << 127) == 0x87


@pytest.mark.parametrize("order", ORDERS)
def test_mul_alpha_on_arrays_is_double_over_the_basis(order):
    assert read(gf128.mul_alpha(spell(BASIS, order), order), order) == [gf128.double(p) for p in BASIS]


@pytest.mark.parametrize("form", FORMS)
def test_mul_alpha_of_every_form_is_double_over_the_basis(form):
    a = choose(form)
    images = [a.value(a.mul_alpha(a.string(from_polynomial(p, BitOrder.XTS)))) for p in BASIS]
    assert images == [from_polynomial(gf128.double(p), BitOrder.XTS) for p in BASIS]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("k", [0, 1, 2, 3, 7, 8, 31, 32, 57, 63, 64, 65, 100, 127, 128, 129, 300, 1000, 4096])
def test_mul_x_is_k_doublings_over_the_basis(order, k):
    expected = BASIS
    for _ in range(k):
        expected = [gf128.double(p) for p in expected]
    assert read(gf128.mul_x(spell(BASIS, order), k, order), order) == expected


def test_multiply_is_galois():
    from aeskit.models.galois_form import multiply

    # Bilinear: that pairs of basis elements agree proves it for all. x^i · x^j depends on i + j alone.
    sums = [(i, j) for i in range(128) for j in ({0, 127} if i else range(128))]
    assert all(gf128.multiply(1 << i, 1 << j) == multiply(1 << i, 1 << j) for i, j in sums)
    for _ in range(50):
        p, q = random.getrandbits(128), random.getrandbits(128)
        assert gf128.multiply(p, q) == gf128.multiply(q, p) == multiply(p, q)


def test_ghash_order_is_the_gcm_specification():
    # McGrew and Viega, The Galois/Counter Mode of Operation, test case 2: X_1 = C_1 · H, and GHASH.
    H = bytes.fromhex("66e94bd4ef8a2c3b884cfa59ca342b2e")
    X1 = gf128.multiply_blocks(bytes.fromhex("0388dace60b6a392f328c2b971b2fe78"), H, BitOrder.GHASH)
    assert X1.hex() == "5e2ec746917062882c85b0685353deb7"
    lengths = bytes(15) + b"\x80"
    X2 = gf128.multiply_blocks(bytes(x ^ y for x, y in zip(X1, lengths, strict=True)), H, BitOrder.GHASH)
    assert X2.hex() == "f38cbb1ad69223dcc3457ae5b6b0f885"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("count", [1, 2, 3, 63, 64, 65, 128, 129, 200])
def test_powers_are_repeated_doubling(form, count):
    a, T = choose(form), random.randbytes(16)
    p, expected = to_polynomial(T, BitOrder.XTS), b""
    for _ in range(count):
        expected += from_polynomial(p, BitOrder.XTS)
        p = gf128.double(p)
    assert a.value(a.powers(a.string(T), count)) == expected


def test_powers_of_many_units_side_by_side():
    tweaks = np.frombuffer(random.randbytes(7 * 16), np.uint8).reshape(7, 16)
    sequences = gf128.powers(tweaks, 130)
    assert sequences.shape == (7, 130, 16)
    assert all((sequences[unit] == gf128.powers(tweaks[unit], 130)).all() for unit in range(7))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("order", ORDERS)
def test_products_are_multiply(form, order):
    a, block = choose(form), random.randbytes(16)
    factors = [0, (1 << 128) - 1, *BASIS, *(random.getrandbits(128) for _ in range(20))]
    expected = [gf128.multiply(to_polynomial(block, order), factor) for factor in factors]
    products = a.value(a.products(a.string(block), factors, order))
    assert read(np.frombuffer(products, np.uint8), order) == expected


@pytest.mark.parametrize("order", ORDERS)
def test_the_inherited_product_of_a_symbolic_form_is_multiply(order):
    a, block = choose("numpy"), random.randbytes(16)
    for factor in (0, 1, 3, 1 << 127, random.getrandbits(128)):
        expected = from_polynomial(gf128.multiply(to_polynomial(block, order), factor), order)
        assert a._product(a.string(block), factor, order).tobytes() == expected


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "first", [0, 255, 2**32 - 2, 2**64 - 3, 2**64 - 1, 2**96 - 1, 2**128 - 4, 2**128 - 1]
)
def test_counters_carry_through_128_bits(form, first):
    a = choose(form)
    expected = b"".join(((first + j) % 2**128).to_bytes(16, "big") for j in range(9))
    assert a.value(a.counters(a.string(first.to_bytes(16, "big")), 9)) == expected
