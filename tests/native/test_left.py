"""What the C core leaves on the stack: no copy of an IV, a chain, a counter or a tweak."""

import struct

import peer
import pytest
from engines import NO_EMULATOR

from aeskit import _native, implementations
from aeskit.machine.bochs import Emulator, map_image
from aeskit.machine.bochs.emulator import STACK, STACK_SIZE
from aeskit.machine.loader import load
from aeskit.verify import oracle

pytestmark = [
    pytest.mark.skipif(bool(NO_EMULATOR), reason=NO_EMULATOR or "-"),
    pytest.mark.skipif(not implementations.ALL[0].built, reason="not built here"),
]

CONTEXT, SOURCE, DESTINATION, IV, WAY = (number << 32 for number in (1, 2, 3, 4, 5))
FIRST = 77
KEY, TEXT, START = bytes(range(64)), bytes(range(100, 180)), bytes(range(200, 216))
LIMIT = 1 << 24


@pytest.mark.parametrize(
    ("name", "function", "mode", "rest"),
    [
        ("core_cbc", "cbc_encrypt_aesni_avx", "cbc", [IV]),
        ("core_cbc", "cbc_decrypt_aesni_avx", "cbc", [IV]),
        ("core_cts", "cts_encrypt_aesni_avx", "cts", [IV, 3]),
        ("core_ctr", "ctr_crypt_aesni_avx", "ctr", [IV]),
    ],
)
def test_no_iv_or_chain_is_left(name, function, mode, rest):
    image, emulator = load(_native.__file__), Emulator()
    map_image(emulator, image)
    context, size = oracle.context(mode, KEY[:32]), len(TEXT)
    for address, data in ((CONTEXT, context), (SOURCE, TEXT), (DESTINATION, bytes(size)), (IV, START)):
        emulator.map(address, data.ljust(4096, b"\0"))
    arguments = [image.address_of(function), CONTEXT, SOURCE, size, DESTINATION, size, *rest]
    assert emulator.call(image.address_of(name), arguments) & 0xFFFF_FFFF == 0
    written = emulator.read(DESTINATION, size)
    assert written != bytes(size)
    secret = START + written + TEXT
    (first,) = struct.unpack(">Q", START[8:])
    secret += b"".join(struct.pack(">Q", first + block) for block in range(size // 16 + 2))  # of the counter
    assert left(emulator, secret) == []


@pytest.mark.parametrize(
    ("name", "unit", "sectors", "rest"),
    [
        ("core_xts", "xts_encrypt_aesni_avx", None, [IV]),
        ("core_xts", "xts_decrypt_vaes_avx2", None, [IV]),
        ("core_xts_sectors", "xts_encrypt_aesni_avx", None, [FIRST, 512, 1]),
        (
            "core_xts_sectors",
            "xts_encrypt_vaes_avx512_512",
            "xts_sectors_encrypt_vaes_avx512_512",
            [FIRST, 512, 1],
        ),
    ],
)
def test_no_tweak_is_left(name, unit, sectors, rest):
    image, emulator = load(_native.__file__), Emulator()
    map_image(emulator, image)
    addresses = [image.address_of(function) if function else 0 for function in (unit, sectors)]
    cipher = bytearray(_native.ffi.sizeof("struct xts_cipher"))
    cipher[:992] = oracle.context("xts", KEY)
    end = _native.ffi.offsetof("struct xts_cipher", "encrypt_ivs")
    struct.pack_into("<QQ", cipher, end, image.address_of("ecb_encrypt_aesni_avx"), LIMIT)
    text = bytes(range(256)) * 4
    for address, data in (
        (CONTEXT, cipher),
        (SOURCE, text),
        (DESTINATION, bytes(len(text))),
        (IV, START),
        (WAY, struct.pack("<QQ", *addresses)),
    ):
        emulator.map(address, bytes(data).ljust(4096, b"\0"))
    arguments = [CONTEXT, WAY, SOURCE, len(text), DESTINATION, len(text), *rest]
    assert emulator.call(image.address_of(name), arguments) & 0xFFFF_FFFF == 0
    written = emulator.read(DESTINATION, len(text))
    assert written != bytes(len(text))
    ivs = [START, *(number.to_bytes(16, "little") for number in range(FIRST, FIRST + 34))]
    assert left(emulator, b"".join(peer.ecb(KEY[32:], iv) for iv in ivs) + START + written) == []


def left(emulator, secret):
    """Those 8 bytes of what is secret that the stack holds."""
    stack = emulator.read(STACK, STACK_SIZE)
    words = {secret[i : i + 8] for i in range(0, len(secret), 8)}
    return [word.hex() for word in words if word in stack]
