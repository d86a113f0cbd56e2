"""The three bit orders by the standards' words, and what undoes what."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeskit import bits
from aeskit.bits import BitOrder

blocks = st.binary(min_size=16, max_size=16)
orders = st.sampled_from(BitOrder)
check = settings(derandomize=True, max_examples=50, deadline=None)


def spelt(polynomial, order):
    return bits.from_polynomial(polynomial, order).hex()


@pytest.mark.parametrize(
    ("order", "one", "x", "x127"),
    [
        # IEEE 1619-2018, 5.2: byte 0, low bit first
        (BitOrder.XTS, "01" + 30 * "0", "02" + 30 * "0", 30 * "0" + "80"),
        # SP 800-38D, 6.3: the leftmost bit is x^0
        (BitOrder.GHASH, "80" + 30 * "0", "40" + 30 * "0", 30 * "0" + "01"),
        # IEEE P1619 draft, LRW: a big-endian integer
        (BitOrder.LRW, 30 * "0" + "01", 30 * "0" + "02", "80" + 30 * "0"),
    ],
)
def test_where_one_x_and_x127_stand(order, one, x, x127):
    assert (spelt(1, order), spelt(2, order), spelt(1 << 127, order)) == (one, x, x127)


@check
@given(block=blocks, order=orders)
def test_a_polynomial_spells_its_block(block, order):
    polynomial = bits.to_polynomial(block, order)
    assert bits.from_polynomial(polynomial, order) == block
    # The coefficient i of the block's own words: byte and bit in that order.
    place = {
        BitOrder.XTS: lambda i: block[i // 8] >> i % 8,
        BitOrder.GHASH: lambda i: block[i // 8] >> (7 - i % 8),
        BitOrder.LRW: lambda i: block[15 - i // 8] >> i % 8,
    }[order]
    assert all(polynomial >> i & 1 == place(i) & 1 for i in range(128))


@check
@given(left=blocks, right=blocks, order=orders)
def test_xor_is_the_sum_of_polynomials_in_every_order(left, right, order):
    total = bits.to_polynomial(left, order) ^ bits.to_polynomial(right, order)
    assert bits.from_polynomial(total, order) == bits.xor(left, right)


@check
@given(data=st.binary(max_size=40))
def test_integers_both_ways(data):
    assert bits.to_le(bits.from_le(data), len(data)) == data
    assert bits.to_be(bits.from_be(data), len(data)) == data
    assert bits.from_le(data) == bits.from_be(data[::-1])
    assert bits.reverse_bits(bits.reverse_bits(data)) == data
    assert bits.xor(data, data) == bytes(len(data))


def test_integers_and_bits_by_example():
    assert bits.from_le(b"\1\2") == 0x201
    assert bits.from_be(b"\1\2") == 0x102
    assert bits.reverse_bits(b"\x01\xa0") == b"\x80\x05"
    assert bits.xor(b"\x0f\xff", b"\xff\x00") == b"\xf0\xff"


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="block must be 16 bytes, not 15"):
        bits.to_polynomial(bytes(15), BitOrder.XTS)
    for polynomial in (1 << 128, 1 << 300):
        with pytest.raises(ValueError, match="polynomial must have a degree below 128"):
            bits.from_polynomial(polynomial, BitOrder.XTS)
    with pytest.raises(ValueError, match="polynomial must not be negative: -1"):
        bits.from_polynomial(-1, BitOrder.XTS)
    with pytest.raises(ValueError, match="must have one length, not 1 and 2"):
        bits.xor(b"1", b"12")
    with pytest.raises(OverflowError):
        bits.to_le(256, 1)
    with pytest.raises(OverflowError):
        bits.to_be(-1, 1)


@pytest.mark.parametrize(
    ("polynomial", "text"),
    [(0, "0"), (1, "1"), (2, "x"), (3, "x + 1"), (0x87, "x^7 + x^2 + x + 1"), (1 << 127, "x^127")],
)
def test_polynomials_as_people_write_them(polynomial, text):
    assert bits.format_polynomial(polynomial) == text
    assert bits.format_polynomial(polynomial, "α") == text.replace("x", "α")
