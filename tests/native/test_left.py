"""What the C core leaves on the stack: no copy of an IV, a chain, a counter or a tweak."""

import struct

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

CONTEXT, SOURCE, DESTINATION, IV = (number << 32 for number in (1, 2, 3, 4))
KEY, TEXT, START = bytes(range(64)), bytes(range(100, 180)), bytes(range(200, 216))
LIMIT = 1 << 24


@pytest.mark.parametrize(
    ("name", "function", "mode", "rest"),
    [
        ("core_cbc", "cbc_encrypt_aesni_avx", "cbc", [IV]),
        ("core_cbc", "cbc_decrypt_aesni_avx", "cbc", [IV]),
        ("core_cts", "cts_encrypt_aesni_avx", "cts", [IV, 3]),
        ("core_ctr", "ctr_crypt_aesni_avx", "ctr", [IV]),
        ("core_xts", "xts_encrypt_aesni_avx", "xts", [IV, LIMIT]),
        ("core_xts", "xts_decrypt_vaes_avx2", "xts", [IV, LIMIT]),
    ],
)
def test_no_iv_or_chain_is_left(name, function, mode, rest):
    image, emulator = load(_native.__file__), Emulator()
    map_image(emulator, image)
    context = oracle.context(mode, KEY if mode == "xts" else KEY[:32])
    for address, data in ((CONTEXT, context), (SOURCE, TEXT), (DESTINATION, bytes(len(TEXT))), (IV, START)):
        emulator.map(address, data.ljust(4096, b"\0"))
    size = len(TEXT)
    arguments = [image.address_of(function), CONTEXT, SOURCE, size, DESTINATION, size, *rest]
    assert emulator.call(image.address_of(name), arguments) & 0xFFFF_FFFF == 0
    written = emulator.read(DESTINATION, size)
    assert written != bytes(size)
    stack = emulator.read(STACK, STACK_SIZE)
    secret = {START[:8], START[8:], *(written[i : i + 8] for i in range(0, size, 8))}
    secret |= {TEXT[i : i + 8] for i in range(0, size, 8)}
    (first,) = struct.unpack(">Q", START[8:])
    secret |= {struct.pack(">Q", first + block) for block in range(size // 16 + 2)}  # of the counter
    assert [word.hex() for word in secret if word in stack] == []
