"""The modes by `cryptography` (OpenSSL): what the faces of the native core are compared with."""

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes


def _run(key: bytes, mode, data: bytes, direction: str) -> bytes:
    context = getattr(Cipher(algorithms.AES(key), mode), direction + "or")()
    return context.update(data) + context.finalize()


def xts(key: bytes, tweak: bytes, data: bytes, direction: str = "encrypt") -> bytes:
    return _run(key, modes.XTS(tweak), data, direction)


def ctr(key: bytes, counter: bytes, data: bytes) -> bytes:
    return _run(key, modes.CTR(counter), data, "encrypt")


def cbc(key: bytes, iv: bytes, data: bytes, direction: str = "encrypt") -> bytes:
    return _run(key, modes.CBC(iv), data, direction)


def ecb(key: bytes, data: bytes, direction: str = "encrypt") -> bytes:
    return _run(key, modes.ECB(), data, direction)


def cts(key: bytes, iv: bytes, data: bytes, stealing: str) -> bytes:
    """Encrypt as the addendum to SP 800-38A says: CBC of the zero-padded data, C*_n-1 cut, then reordered."""
    tail = len(data) % 16 or 16
    padded = cbc(key, iv, data + bytes(-len(data) % 16))
    last, before, head = padded[-16:], padded[-32:-16][:tail], padded[:-32]
    if len(data) == 16:
        return padded
    if stealing == "CS3" or (stealing == "CS2" and tail < 16):
        return head + last + before
    return head + before + last
