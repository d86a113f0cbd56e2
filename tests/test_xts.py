"""The face of native XTS against `cryptography`, and what it refuses."""

import threading

import machines
import numpy as np
import peer
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeskit import xts

SETS = machines.runnable("xts")
KEYS = {size: bytes(range(size)) for size in (32, 48, 64)}
TWEAK = bytes(range(100, 116))
DATA = bytes(i * 7 + i // 256 & 255 for i in range(2000))
DIRECTIONS = ("encrypt", "decrypt")


@pytest.mark.parametrize("instruction_set", machines.every("xts"))
@pytest.mark.parametrize("size", [32, 64])  # `cryptography` has no AES-192 in XTS
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_every_length_is_what_cryptography_says(instruction_set, size, direction):
    cipher = xts.Cipher(KEYS[size], implementation=instruction_set)
    for length in (*range(16, 160), 255, 512, 513, 1420, 2000):
        data = DATA[:length]
        assert getattr(cipher, direction)(data, TWEAK) == peer.xts(KEYS[size], TWEAK, data, direction), length


def test_192_bits_by_the_definition():
    """C = E(K1, P ⊕ T_0) ⊕ T_0, T_0 = E(K2, tweak) (IEEE 1619-2018, 5.3), with `cryptography` for E."""
    key = KEYS[48]
    first = peer.ecb(key[24:], TWEAK)
    mixed = bytes(a ^ b for a, b in zip(DATA[:16], first, strict=True))
    expected = bytes(a ^ b for a, b in zip(peer.ecb(key[:24], mixed), first, strict=True))
    cipher = xts.Cipher(key)
    assert cipher.encrypt(DATA[:16], TWEAK) == expected
    assert cipher.decrypt(cipher.encrypt(DATA, TWEAK), TWEAK) == DATA


@given(
    st.binary(min_size=64, max_size=64),
    st.binary(min_size=16, max_size=16),
    st.binary(min_size=16, max_size=400),
)
@settings(max_examples=50, deadline=None, derandomize=True)
def test_any_key_tweak_and_data(key, tweak, data):
    cipher = xts.Cipher(key, allow_equal_halves=True)
    if key[:32] == key[32:]:
        assert cipher.decrypt(cipher.encrypt(data, tweak), tweak) == data
    else:
        assert cipher.encrypt(data, tweak) == peer.xts(key, tweak, data)


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_into_a_buffer_and_in_place(direction):
    cipher = xts.Cipher(KEYS[64])
    for length in (16, 31, 32, 100, 515):
        expected = getattr(cipher, direction)(DATA[:length], TWEAK)
        destination = bytearray(length)
        into = getattr(cipher, direction + "_into")
        assert into(DATA[:length], destination, TWEAK) is None
        assert destination == expected
        buffer = bytearray(DATA[:length])
        into(buffer, buffer, TWEAK)
        assert buffer == expected
        buffer = bytearray(b"<" + DATA[:length] + b">")
        into(memoryview(buffer)[1:-1], memoryview(buffer)[1:-1], TWEAK)
        assert buffer == b"<" + expected + b">"


def test_any_bytes_like_object():
    cipher = xts.Cipher(bytearray(KEYS[64]))
    expected = cipher.encrypt(DATA, TWEAK)
    array = np.frombuffer(DATA, np.float64).copy()
    for data in (bytearray(DATA), memoryview(DATA), array, array.reshape(10, 25)):
        assert cipher.encrypt(data, bytearray(TWEAK)) == expected
    cipher.encrypt_into(array, array, memoryview(TWEAK))
    assert array.tobytes() == expected


def test_a_number_as_tweak():
    cipher = xts.Cipher(KEYS[64])
    for number in (0, 1, 255, 2**32 + 5, 2**64 - 1, np.int64(77)):
        tweak = int(number).to_bytes(8, "little") + bytes(8)
        assert cipher.encrypt(DATA, number) == cipher.encrypt(DATA, tweak)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("sector_size", [16, 100, 512, 520])
@pytest.mark.parametrize("first", [0, 255, 2**64 - 3])
def test_sectors(direction, sector_size, first):
    cipher = xts.Cipher(KEYS[32])
    data = (DATA * 2)[: 3 * sector_size]
    expected = b"".join(
        peer.xts(
            KEYS[32],
            (first + i).to_bytes(16, "little"),
            data[i * sector_size : (i + 1) * sector_size],
            direction,
        )
        for i in range(3)
    )
    assert getattr(cipher, direction + "_sectors")(data, first, sector_size) == expected
    buffer = bytearray(data)
    getattr(cipher, direction + "_sectors_into")(buffer, buffer, first, sector_size)
    assert buffer == expected
    assert getattr(cipher, direction + "_sectors")(b"", first, sector_size) == b""


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("instruction_set", machines.every("xts"))
def test_pieces(direction, instruction_set):
    cipher = xts.Cipher(KEYS[64], implementation=instruction_set)
    for length in (16, 32, 33, 47, 300, 515):
        expected = getattr(cipher, direction)(DATA[:length], TWEAK)
        for cut in range(0, length - 15, 16):
            unit = getattr(cipher, direction + "_unit")(TWEAK)
            head = unit.update(DATA[:cut]) if cut else b""
            assert unit.position == cut
            assert head + unit.finish(DATA[cut:length]) == expected, (length, cut)


def test_pieces_in_place_and_many():
    cipher = xts.Cipher(KEYS[64])
    buffer = bytearray(DATA[:1000])
    unit = cipher.encrypt_unit(7)
    for start in range(0, 960, 64):
        piece = memoryview(buffer)[start : start + 64]
        unit.update_into(piece, piece)
    last = memoryview(buffer)[960:]
    unit.finish_into(last, last)
    assert buffer == cipher.encrypt(DATA[:1000], 7)


def test_a_refused_piece_changes_nothing():
    cipher = xts.Cipher(KEYS[64])
    unit = cipher.encrypt_unit(TWEAK)
    head = unit.update(DATA[:32])
    for call, message in (
        (
            lambda: unit.update(DATA[:40]),
            "every piece but the last must be a multiple of 16 bytes, at least 16, not 40",
        ),
        (
            lambda: unit.update(b""),
            "every piece but the last must be a multiple of 16 bytes, at least 16, not 0",
        ),
        (
            lambda: unit.update(DATA[:15]),
            "every piece but the last must be a multiple of 16 bytes, at least 16, not 15",
        ),
        (
            lambda: unit.finish(DATA[:5]),
            "the last whole block must travel with the tail: 16 bytes or more, not 5",
        ),
        (
            lambda: unit.update_into(DATA[:16], bytearray(15)),
            "destination must have the 16 bytes of data, not 15",
        ),
    ):
        with pytest.raises(ValueError) as raised:  # noqa: PT011
            call()
        assert str(raised.value) == message
        assert unit.position == 32
    assert head + unit.finish(DATA[32:100]) == cipher.encrypt(DATA[:100], TWEAK)
    for method in (unit.update, unit.finish):
        with pytest.raises(ValueError, match="this data unit has ended"):
            method(DATA[:16])


def test_the_limit_of_a_data_unit():
    unit = bytes(xts.MAX_UNIT)
    cipher = xts.Cipher(KEYS[64])
    assert len(cipher.encrypt(unit, 0)) == 2**24
    message = r"at most 2\^20 blocks \(16777216 bytes\), not 16777217 bytes; allow_long_units=True"
    destination = bytearray(len(unit) + 1)
    for call in (
        lambda: cipher.encrypt(unit + b"x", 0),
        lambda: cipher.encrypt_into(unit + b"x", destination, 0),
        lambda: cipher.encrypt_sectors(unit + b"x", 0, len(unit) + 1),
    ):
        with pytest.raises(ValueError, match=message):
            call()
    assert not any(destination)
    pieces = cipher.encrypt_unit(0)
    pieces.update_into(unit, bytearray(unit))
    with pytest.raises(ValueError, match="not 16777232 bytes"):
        pieces.finish(bytes(16))


def test_a_longer_data_unit_when_allowed():
    """Block 2^20 has T = T_0 ⊗ α^(2^20) (IEEE 1619-2018, 5.2), doubled here as an integer."""
    tweak = int.from_bytes(peer.ecb(KEYS[64][32:], bytes(16)), "little")
    for _ in range(2**20):
        tweak = tweak << 1 ^ (0x87 | 1 << 128) * (tweak >> 127)
    block = tweak.to_bytes(16, "little")
    expected = bytes(a ^ b for a, b in zip(peer.ecb(KEYS[64][:32], block), block, strict=True))
    cipher = xts.Cipher(KEYS[64], allow_long_units=True)
    assert cipher.encrypt(bytes(xts.MAX_UNIT + 16), 0)[-16:] == expected


@pytest.mark.parametrize("size", [0, 16, 31, 33, 40, 63, 65, 96, 128])
def test_key_length(size):
    with pytest.raises(ValueError, match=f"key must be 32, 48 or 64 bytes, not {size}"):
        xts.Cipher(bytes(range(size)))


def test_equal_halves():
    key = bytes(range(32)) * 2
    with pytest.raises(ValueError, match="halves must differ; allow_equal_halves=True"):
        xts.Cipher(key)
    cipher = xts.Cipher(key, allow_equal_halves=True)
    assert cipher.decrypt(cipher.encrypt(DATA, 3), 3) == DATA


BUFFER = bytearray(100)

REFUSED = {
    "short": (lambda c: c.encrypt(bytes(15), 0), ValueError, "data must have at least 16 bytes, not 15"),
    "empty": (lambda c: c.decrypt(b"", 0), ValueError, "data must have at least 16 bytes, not 0"),
    "tweak of 15 bytes": (lambda c: c.encrypt(DATA, bytes(15)), ValueError, "tweak must be 16 bytes, not 15"),
    "tweak below 0": (
        lambda c: c.encrypt(DATA, -1),
        ValueError,
        "tweak must be a sector number from 0 to 2^64 - 1",
    ),
    "tweak of 65 bits": (
        lambda c: c.encrypt(DATA, 2**64),
        ValueError,
        "from 0 to 2^64 - 1, not 18446744073709551616",
    ),
    "tweak a str": (
        lambda c: c.encrypt(DATA, "0" * 16),
        TypeError,
        "tweak must be a bytes-like object, not str",
    ),
    "tweak a float": (
        lambda c: c.encrypt(DATA, 1.0),
        TypeError,
        "tweak must be a bytes-like object, not float",
    ),
    "data a str": (lambda c: c.encrypt("a" * 16, 0), TypeError, "data must be a bytes-like object, not str"),
    "data an int": (lambda c: c.encrypt(16, 0), TypeError, "data must be a bytes-like object, not int"),
    "data a list": (
        lambda c: c.encrypt([0] * 16, 0),
        TypeError,
        "data must be a bytes-like object, not list",
    ),
    "data None": (lambda c: c.encrypt(None, 0), TypeError, "data must be a bytes-like object, not NoneType"),
    "strided": (
        lambda c: c.encrypt(memoryview(DATA)[::2], 0),
        BufferError,
        "data must be contiguous in memory",
    ),
    "Fortran order": (
        lambda c: c.encrypt(np.zeros((8, 8), order="F"), 0),
        BufferError,
        "data must be contiguous in memory",
    ),
    "objects": (
        lambda c: c.encrypt(np.array([None] * 4), 0),
        TypeError,
        "must hold plain bytes, not references",
    ),
    "objects to write": (
        lambda c: c.encrypt_into(bytes(32), np.array([None] * 4), 0),
        TypeError,
        "destination must hold plain bytes, not references",
    ),
    "read-only": (
        lambda c: c.encrypt_into(bytes(32), bytes(32), 0),
        BufferError,
        "destination must be writable, not a read-only bytes",
    ),
    "larger destination": (
        lambda c: c.encrypt_into(bytes(32), bytearray(33), 0),
        ValueError,
        "destination must have the 32 bytes of data, not 33",
    ),
    "overlap": (
        lambda c: c.encrypt_into(memoryview(BUFFER)[:64], memoryview(BUFFER)[1:65], 0),
        ValueError,
        "destination must be data itself or apart from it, not overlap in part",
    ),
    "overlap from below": (
        lambda c: c.decrypt_into(memoryview(BUFFER)[31:63], memoryview(BUFFER)[:32], 0),
        ValueError,
        "not overlap in part",
    ),
    "sectors of 15": (
        lambda c: c.encrypt_sectors(DATA, 0, 15),
        ValueError,
        "sector_size must be at least 16 bytes, not 15",
    ),
    "sectors of -512": (
        lambda c: c.encrypt_sectors(DATA, 0, -512),
        ValueError,
        "at least 16 bytes, not -512",
    ),
    "sectors of 512.0": (
        lambda c: c.encrypt_sectors(DATA, 0, 512.0),
        TypeError,
        "sector_size must be an int, not float",
    ),
    "half a sector": (
        lambda c: c.encrypt_sectors(DATA, 0, 512),
        ValueError,
        "data must be a multiple of the sector size, 512 bytes, not 2000",
    ),
    "sector below 0": (
        lambda c: c.encrypt_sectors(DATA, -1, 500),
        ValueError,
        "first_sector must be a sector number",
    ),
    "sector of 65 bits": (
        lambda c: c.decrypt_sectors(DATA, 2**64, 500),
        ValueError,
        "first_sector must be a sector number",
    ),
    "last sector of 65 bits": (
        lambda c: c.encrypt_sectors(DATA, 2**64 - 3, 500),
        ValueError,
        "sector numbers must be below 2^64; the last of these would be 18446744073709551616",
    ),
    "sectors overlap": (
        lambda c: c.encrypt_sectors_into(memoryview(BUFFER)[:64], memoryview(BUFFER)[32:96], 0, 32),
        ValueError,
        "not overlap in part",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refused_and_nothing_written(case):
    call, error, message = REFUSED[case]
    cipher = xts.Cipher(KEYS[64])
    with pytest.raises(error) as raised:
        call(cipher)
    assert message in str(raised.value)
    assert not any(BUFFER)


def test_touching_buffers_are_apart():
    buffer = bytearray(64)
    cipher = xts.Cipher(KEYS[64])
    cipher.encrypt_into(memoryview(buffer)[:32], memoryview(buffer)[32:], 0)
    assert buffer[32:] == cipher.encrypt(bytes(32), 0)


def test_the_implementation_can_be_forced(monkeypatch):
    for name in SETS:
        cipher = xts.Cipher(KEYS[64], implementation=name)
        assert [row.instruction_set for row in cipher.implementations] == [name, name]
        cipher = xts.Cipher(KEYS[64], implementation=f"xts_decrypt_{name}")
        assert [row.instruction_set for row in cipher.implementations] == [name, name]
        monkeypatch.setenv("AESKIT_IMPLEMENTATION", name)
        assert xts.Cipher(KEYS[64]).implementations[0].instruction_set == name
    monkeypatch.setenv("AESKIT_IMPLEMENTATION", "vaes_avx9")
    with pytest.raises(ValueError, match="there is no implementation 'vaes_avx9'; known are"):
        xts.Cipher(KEYS[64])
    assert xts.Cipher(KEYS[64], implementation="aesni_avx").implementations[0].vl == 16


def test_a_cipher_serves_many_threads_at_once():
    cipher = xts.Cipher(KEYS[64])
    expected = {number: cipher.encrypt(DATA, number) for number in range(8)}
    wrong = []

    def work(number: int) -> None:
        for _ in range(200):
            if cipher.encrypt(DATA, number) != expected[number]:
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in expected]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
