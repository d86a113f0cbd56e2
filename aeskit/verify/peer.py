"""The independent answer: `cryptography` where it has the mode, else composed of its ECB and CBC.

Composed are ciphertext stealing, XTS with AES-192 or with two equal key halves, and what continues a message.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from aeskit import bits

Answer = tuple[bytes, bytes | None]
"""The text, and the IV, counter or encrypted tweak that continues the message; None where nothing does."""


def answer(mode: str, direction: str, key: bytes, iv: bytes, data: bytes, stealing: str = "") -> Answer:
    """What `mode` makes of `data`; lengths and key sizes as the mode takes them, ValueError otherwise."""
    forward = direction != "decrypt"
    if mode == "cts":
        return (_cts_encrypt if forward else _cts_decrypt)(key, iv, data, stealing)
    return _MODES[mode](key, iv, data, forward)


def block(key: bytes, data: bytes, forward: bool = True) -> bytes:
    """AES of whole blocks, each by itself."""
    return _run(modes.ECB(), key, data, forward)


def _run(mode: modes.Mode, key: bytes, data: bytes, forward: bool) -> bytes:
    cipher: Cipher[Any] = Cipher(algorithms.AES(key), mode)
    context = cipher.encryptor() if forward else cipher.decryptor()
    return context.update(data) + context.finalize()


def _ecb(key: bytes, iv: bytes, data: bytes, forward: bool) -> Answer:
    return block(key, data, forward), None


def _cbc(key: bytes, iv: bytes, data: bytes, forward: bool) -> Answer:
    result = _run(modes.CBC(iv), key, data, forward)
    return result, (iv + (result if forward else data))[-16:]


def _cbc_streams(key: bytes, ivs: bytes, data: bytes, forward: bool) -> Answer:
    size = len(data) // (len(ivs) // 16)
    starts = range(0, len(ivs), 16)
    done = [_cbc(key, ivs[at : at + 16], data[at // 16 * size :][:size], forward) for at in starts]
    return b"".join(text for text, _ in done), b"".join(after or b"" for _, after in done)


def _ctr(key: bytes, iv: bytes, data: bytes, forward: bool) -> Answer:
    blocks = (len(data) + 15) // 16
    after = (bits.from_be(iv) + blocks) % (1 << 128)
    return _run(modes.CTR(iv), key, data, forward), bits.to_be(after, 16)


def _xts(key: bytes, iv: bytes, data: bytes, forward: bool) -> Answer:
    half = len(key) // 2
    tweaks = tweak_sequence(block(key[half:], iv), len(data) // 16 + 1)
    after = None if len(data) % 16 else tweaks[-1]
    if half == 24 or key[:half] == key[half:]:
        return _xts_composed(key[:half], tweaks, data, forward), after
    return _run(modes.XTS(iv), key, data, forward), after


def _xts_sectors(key: bytes, tweaks: bytes, data: bytes, forward: bool) -> Answer:
    half, count = len(key) // 2, len(tweaks) // 32
    size, ready, ivs = len(data) // count, tweaks[: 16 * count], tweaks[16 * count :]
    done = [
        _xts_composed(
            key[:half],
            tweak_sequence(ready[16 * i : 16 * (i + 1)], size // 16),
            data[size * i : size * (i + 1)],
            forward,
        )
        for i in range(count)
    ]
    return b"".join(done), ready + block(key[half:], ivs)


def tweak_sequence(first: bytes, count: int) -> list[bytes]:
    """T_0 to T_(count - 1), each the one before times x (IEEE 1619-2018, 5.2)."""
    value, tweaks = bits.from_le(first), []
    for _ in range(count):
        tweaks.append(bits.to_le(value, 16))
        value = (value << 1) ^ ((1 << 128 | 0x87) if value >> 127 else 0)
    return tweaks


def _xts_composed(key: bytes, tweaks: list[bytes], data: bytes, forward: bool) -> bytes:
    def whole(text: bytes, mask: bytes) -> bytes:
        return bits.xor(block(key, bits.xor(text, mask), forward), mask)

    tail = len(data) % 16
    cut = len(data) - tail - (16 if tail else 0)
    result = whole(data[:cut], b"".join(tweaks)[:cut]) if cut else b""
    if not tail:
        return result
    used = tweaks[cut // 16 : cut // 16 + 2]
    first, second = used if forward else used[::-1]
    stolen = whole(data[cut : cut + 16], first)
    return result + whole(data[cut + 16 :] + stolen[tail:], second) + stolen[:tail]


def _cts_encrypt(key: bytes, iv: bytes, data: bytes, stealing: str) -> Answer:
    padded, after = _cbc(key, iv, data + bytes(-len(data) % 16), True)
    tail = len(data) % 16 or 16
    if len(data) <= 16:
        return padded, after
    head, shortened, last = padded[:-32], padded[-32:-16][:tail], padded[-16:]
    return head + (last + shortened if _swapped(stealing, tail) else shortened + last), after


def _cts_decrypt(key: bytes, iv: bytes, data: bytes, stealing: str) -> Answer:
    tail = len(data) % 16 or 16
    if len(data) <= 16:
        return _cbc(key, iv, data, False)
    head, end = data[: -16 - tail], data[-16 - tail :]
    swapped = _swapped(stealing, tail)
    last, shortened = (end[:16], end[16:]) if swapped else (end[tail:], end[:tail])
    opened = block(key, last, False)
    result, _ = _cbc(key, iv, head + shortened + opened[tail:], False)
    return result + bits.xor(opened[:tail], shortened), last


def _swapped(stealing: str, tail: int) -> bool:
    """Whether the last whole block comes before the shortened one (SP 800-38A addendum)."""
    return {"CS1": False, "CS2": tail != 16, "CS3": True}[stealing]


_MODES: dict[str, Callable[[bytes, bytes, bytes, bool], Answer]] = {
    "ecb": _ecb,
    "cbc": _cbc,
    "cbc_streams": _cbc_streams,
    "ctr": _ctr,
    "xts": _xts,
    "xts_sectors": _xts_sectors,
}
