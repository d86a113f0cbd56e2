"""Other libraries at hand, found at run time and named with their version: libcrypto (OpenSSL) and libgcrypt.

Each gives the same kind of native call as our own cells: key set beforehand, then IV and message in one call.
A library that is not there, or that has no such mode, gives nothing. libipsec-mb is not among them: it has no
XTS, and its other modes are called through a table of pointers and a job structure whose layouts its header
alone tells, one for each version, so that a library found at run time cannot be called safely.
"""

from __future__ import annotations

import ctypes
import os
from ctypes.util import find_library
from dataclasses import dataclass
from typing import Any

from aeskit import _native
from aeskit.bench.cells import Workspace, iv, pointer
from aeskit.bench.measure import Call, address

ffi = _native.ffi

GCRYPT_AES = {128: 7, 192: 8, 256: 9}
"""Key bits to GCRY_CIPHER_AES… (gcrypt.h)."""
GCRYPT_MODES = {"ecb": 1, "cbc": 3, "ctr": 6, "xts": 13}
GCRYPT_RUN = {"encrypt": "gcry_cipher_encrypt", "decrypt": "gcry_cipher_decrypt"}


@dataclass(frozen=True)
class Peer:
    """A library that was found; `call` measures one of its ciphers."""

    name: str
    """With its version: ``OpenSSL 3.0.19``."""
    library: Any

    def call(self, mode: str, direction: str, key_bits: int, size: int, space: Workspace) -> Call | None:
        """A native call for one message; None where the library has no such cipher."""
        raise NotImplementedError


class Libcrypto(Peer):
    """OpenSSL, or what else answers to its EVP interface."""

    def call(self, mode: str, direction: str, key_bits: int, size: int, space: Workspace) -> Call | None:
        """See `Peer.call`; the cipher is fetched and keyed here, outside what is timed."""
        name = f"EVP_aes_{key_bits}_{mode}"
        if not hasattr(self.library, name):
            return None
        library = self.library
        cipher, context = _pointer(library, name), _pointer(library, "EVP_CIPHER_CTX_new")
        key = os.urandom(key_bits // 8 * (2 if mode == "xts" else 1))
        init = library.EVP_CipherInit_ex
        init.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_char_p] * 2 + [ctypes.c_int]
        if init(context, cipher, None, key, bytes(16), direction != "decrypt") != 1:
            return None
        library.EVP_CIPHER_CTX_set_padding(ctypes.c_void_p(context), 0)
        entries = _entry(library.EVP_CipherInit_ex), _entry(library.EVP_CipherUpdate)
        return _call("peer_evp", context, *entries, size, space)


class Libgcrypt(Peer):
    """GnuPG's library."""

    def call(self, mode: str, direction: str, key_bits: int, size: int, space: Workspace) -> Call | None:
        """See `Peer.call`; the handle is opened and keyed here, outside what is timed."""
        if mode not in GCRYPT_MODES:
            return None
        library, handle = self.library, ctypes.c_void_p()
        if library.gcry_cipher_open(ctypes.byref(handle), GCRYPT_AES[key_bits], GCRYPT_MODES[mode], 0):
            return None
        key = os.urandom(key_bits // 8 * (2 if mode == "xts" else 1))
        if library.gcry_cipher_setkey(handle, key, ctypes.c_size_t(len(key))):
            return None
        starts = {"ctr": library.gcry_cipher_setctr, "ecb": None}
        start = starts.get(mode, library.gcry_cipher_setiv)
        run = getattr(library, GCRYPT_RUN.get(direction, "gcry_cipher_encrypt"))
        return _call("peer_gcrypt", handle.value or 0, _entry(start), _entry(run), size, space)


def found() -> list[Peer]:
    """The libraries that this machine has; none of them is needed."""
    peers: list[Peer] = []
    if crypto := _load("crypto"):
        crypto.OpenSSL_version.restype = ctypes.c_char_p
        version = crypto.OpenSSL_version(0).decode("ascii", "replace")
        peers.append(Libcrypto(" ".join(version.split()[:2]), crypto))
    if gcrypt := _load("gcrypt"):
        gcrypt.gcry_check_version.restype = ctypes.c_char_p
        peers.append(Libgcrypt(f"libgcrypt {gcrypt.gcry_check_version(None).decode('ascii')}", gcrypt))
    return peers


def _call(function: str, context: int, start: int, run: int, size: int, space: Workspace) -> Call:
    peer = ffi.new("struct peer *")
    peer.context, peer.start, peer.run = (ffi.cast("void *", value) for value in (context, start, run))
    start_from = iv()
    arguments = (pointer(peer), space.source, space.destination, size, pointer(start_from.data))
    return Call(address(function), arguments, (peer, start_from, space))


def _load(name: str) -> Any:
    path = find_library(name)
    try:
        return ctypes.CDLL(path) if path else None
    except OSError:
        return None


def _pointer(library: Any, function: str) -> int:
    """What a function without arguments returns, as an address."""
    entry = getattr(library, function)
    entry.restype = ctypes.c_void_p
    return int(entry() or 0)


def _entry(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0 if function else 0
