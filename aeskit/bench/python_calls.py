"""What a call costs from Python: our ciphers beside `cryptography`, the interpreter's own time included.

A fresh message each time: bytes and a tweak, counter or IV in, bytes out. Our key is set beforehand, as the
face allows; `cryptography` takes the key and the tweak together.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from aeskit import cbc, ctr, xts
from aeskit.bench.measure import PythonCall, measure

SIZES = (16, 512, 4096, 65536)
SECTOR = 4096
BATCHES = (65536, 1 << 18, 1 << 20)
KEY_BYTES = 32


@dataclass(frozen=True)
class PythonRow:
    """One kind of call, by us or by `cryptography`."""

    operation: str
    name: str
    size: int
    microseconds: float
    noisy: bool

    @property
    def megabytes_a_second(self) -> float:
        """Bytes a microsecond."""
        return self.size / self.microseconds


Calls = Iterator[tuple[str, str, int, Callable[[], object]]]


def run(passes: int, step: Callable[[], None] = lambda: None) -> list[PythonRow]:
    """Measure them all, interleaved; AES-256."""
    calls = [*_messages(), *_batches()]
    figures = measure([PythonCall(function) for *_, function in calls], passes, step)
    return [
        PythonRow(operation, name, size, figure.cycles / figure.gigahertz / 1000, figure.noisy)
        for (operation, name, size, _), figure in zip(calls, figures, strict=True)
    ]


def _messages() -> Calls:
    peer, start = f"cryptography {version('cryptography')}", os.urandom(16)
    key, xts_key = os.urandom(KEY_BYTES), os.urandom(2 * KEY_BYTES)
    ours = {
        "xts encrypt": xts.Cipher(xts_key).encrypt,
        "ctr crypt": ctr.Cipher(key).crypt,
        "cbc decrypt": cbc.Cipher(key).decrypt,
    }
    for size in SIZES:
        data = os.urandom(size)
        for operation, function in ours.items():
            yield operation, "aeskit", size, _bound(function, data, start)
        yield (
            "xts encrypt",
            peer,
            size,
            _bound(_encrypt, Cipher(algorithms.AES(xts_key), modes.XTS(start)), data),
        )
        yield "ctr crypt", peer, size, _bound(_encrypt, Cipher(algorithms.AES(key), modes.CTR(start)), data)
        yield "cbc decrypt", peer, size, _bound(_decrypt, Cipher(algorithms.AES(key), modes.CBC(start)), data)


def _batches() -> Calls:
    cipher = xts.Cipher(os.urandom(2 * KEY_BYTES))
    for size in BATCHES:
        source, destination = os.urandom(size), bytearray(size)
        call = _bound(cipher.encrypt_sectors_into, source, destination, 0, SECTOR)
        yield f"xts encrypt, {SECTOR}-byte sectors", "aeskit", size, call


def _bound(function: Callable[..., object], *arguments: object) -> Callable[[], object]:
    return lambda: function(*arguments)


def _encrypt(cipher: Any, data: bytes) -> bytes:
    context = cipher.encryptor()
    return context.update(data) + context.finalize()


def _decrypt(cipher: Any, data: bytes) -> bytes:
    context = cipher.decryptor()
    return context.update(data) + context.finalize()
