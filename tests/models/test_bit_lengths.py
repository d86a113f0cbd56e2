"""Lengths in bits, against the definitions written out on strings of 0 and 1 over `cryptography`'s ECB."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeskit.models import bit_lengths, cts, xts
from aeskit.verify import peer

KEY = bytes(range(16))
IV = bytes(range(100, 116))


def spelt(data, bits):
    return "".join(f"{byte:08b}" for byte in data)[:bits]


def packed(text):
    padded = text + "0" * (-len(text) % 8)
    return bytes(int(padded[at : at + 8], 2) for at in range(0, len(padded), 8))


def xor(a, b):
    return "".join("01"[x != y] for x, y in zip(a, b, strict=True))


def block(text, forward=True, key=KEY):
    return spelt(peer.block(key, packed(text), forward), 128)


def drawn(bits):
    data = bytes(7 * at % 251 for at in range((bits + 7) // 8))
    return packed(spelt(data, bits))


@settings(derandomize=True, max_examples=40, deadline=None)
@given(st.integers(0, 400))
def test_ctr(bits):
    stream = spelt(peer.answer("ctr", "encrypt", KEY, IV, bytes(56))[0], bits)
    data = drawn(bits)
    assert bit_lengths.ctr_crypt(KEY, IV, data, bits) == packed(xor(spelt(data, bits), stream))


def stolen(bits, stealing):
    """CBC-CS1-Encrypt of the addendum: pad with zeros, CBC, d bits of the last but one; then the order."""
    text = spelt(drawn(bits), bits)
    blocks = [text[at : at + 128].ljust(128, "0") for at in range(0, bits, 128)]
    C = [spelt(IV, 128)]
    for P in blocks:
        C.append(block(xor(P, C[-1])))
    *head, before, last = C[1:]
    d = (bits - 1) % 128 + 1
    end = [before[:d], last]
    if stealing == "CS3" or (stealing == "CS2" and d < 128):
        end.reverse()
    return packed("".join(head + end))


@pytest.mark.parametrize("stealing", cts.STEALING)
def test_cts(stealing):
    for bits in (129, 135, 136, 137, 255, 256, 257, 300, 391):
        ciphertext = bit_lengths.cts_encrypt(KEY, IV, drawn(bits), bits, stealing)
        assert ciphertext == stolen(bits, stealing)
        assert bit_lengths.cts_decrypt(KEY, IV, ciphertext, bits, stealing) == drawn(bits)


def unit(bits):
    """5.3.2 of IEEE 1619 for a data unit with a tail of b bits."""
    text, K2 = spelt(drawn(bits), bits), bytes(reversed(KEY))
    m, b = bits // 128, bits % 128
    T = [spelt(T, 128) for T in peer.tweak_sequence(peer.block(K2, IV), m + 1)]
    C = [xor(block(xor(text[128 * j : 128 * (j + 1)], T[j])), T[j]) for j in range(m)]
    CC = C.pop()
    PP = text[128 * m :] + CC[b:]
    return packed("".join([*C, xor(block(xor(PP, T[m])), T[m]), CC[:b]]))


def test_xts():
    key = KEY + bytes(reversed(KEY))
    for bits in (129, 130, 135, 137, 200 + 1, 255, 257, 391):
        ciphertext = bit_lengths.xts_encrypt(key, IV, drawn(bits), bits)
        assert ciphertext == unit(bits)
        assert bit_lengths.xts_decrypt(key, IV, ciphertext, bits) == drawn(bits)


def test_whole_bytes_are_the_bytes_own_model():
    key, data = KEY + bytes(reversed(KEY)), drawn(264)
    assert bit_lengths.xts_encrypt(key, IV, data, 264) == xts.encrypt(key, IV, data)
    assert bit_lengths.xts_decrypt(key, IV, data, 264) == xts.decrypt(key, IV, data)
    assert bit_lengths.cts_encrypt(KEY, IV, data, 264, "CS1") == cts.encrypt(KEY, IV, data, "CS1")
    assert bit_lengths.cts_decrypt(KEY, IV, data, 264, "CS2") == cts.decrypt(KEY, IV, data, "CS2")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bit_lengths.xts_encrypt(KEY * 2, IV, bytes(16), 127), "127 bits are not 16 bytes"),
        (lambda: bit_lengths.xts_encrypt(KEY * 2, IV, bytes(16), 129), "129 bits are not 16 bytes"),
        (lambda: bit_lengths.ctr_crypt(KEY, IV, b"\xff", 7), "after the first 7 must be zero"),
        (lambda: bit_lengths.ctr_crypt(KEY, IV, "text", 7), "data must be bytes-like, not str"),
    ],
)
def test_refusals(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call()
