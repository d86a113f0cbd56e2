"""The face of native ECB against `cryptography`."""

import machines
import peer
import pytest

from aeskit import ecb

DATA = bytes(i * 17 + i // 256 & 255 for i in range(1600))


@pytest.mark.parametrize("instruction_set", machines.every("ecb"))
@pytest.mark.parametrize("size", [16, 24, 32])
def test_every_number_of_blocks(instruction_set, size):
    cipher = ecb.Cipher(bytes(range(size)), implementation=instruction_set)
    for length in range(0, 1600, 16):
        data = DATA[:length]
        assert cipher.encrypt(data) == peer.ecb(bytes(range(size)), data)
        assert cipher.decrypt(data) == peer.ecb(bytes(range(size)), data, "decrypt")


def test_in_place():
    cipher = ecb.Cipher(bytes(16))
    buffer = bytearray(DATA)
    cipher.encrypt_into(buffer, buffer)
    assert buffer == cipher.encrypt(DATA)
    cipher.decrypt_into(buffer, buffer)
    assert buffer == DATA


def test_refused():
    cipher = ecb.Cipher(bytes(24))
    buffer = bytearray(48)
    with pytest.raises(ValueError, match="data must be a multiple of 16 bytes, not 31"):
        cipher.encrypt(bytes(31))
    with pytest.raises(ValueError, match="not overlap in part"):
        cipher.encrypt_into(memoryview(buffer)[:32], memoryview(buffer)[8:40])
    with pytest.raises(ValueError, match="destination must have the 32 bytes of data, not 48"):
        cipher.decrypt_into(bytes(32), buffer)
    assert not any(buffer)
