"""What a call costs from Python: our ciphers beside `cryptography`, the interpreter's own time included.

A fresh message each time: bytes and a tweak, counter or IV in, bytes out. Our key is set beforehand, as the
face allows; `cryptography` takes the key and the tweak together.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from aeskit import cbc, ctr, xts
from aeskit._native import ffi
from aeskit.bench.cells import Cell, batch, pointer
from aeskit.bench.measure import PythonCall, Timed, measure
from aeskit.buffers import writable
from aeskit.implementations import beside

SIZES = (16, 512, 4096, 65536)
SECTOR = 4096
BATCHES = (65536, 1 << 18, 1 << 20)
SCALED = (1 << 25,)
"""So many bytes that the start of a thread does not count."""
PASS_NANOSECONDS = 300_000
"""Longer than native calls need: the interpreter's own code and data are to be in the caches."""
NATIVE = "native"
"""The same sectors by a call from C."""
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
    def time(self) -> str:
        """Microseconds in about four digits."""
        return f"{self.microseconds:.2f}" if self.microseconds < 100 else f"{self.microseconds:.0f}"

    @property
    def megabytes_a_second(self) -> float:
        """Bytes a microsecond."""
        return self.size / self.microseconds


Calls = Iterator[tuple[str, str, int, Timed]]


def run(passes: int, step: Callable[[], None] = lambda: None) -> list[PythonRow]:
    """Measure them all, interleaved; AES-256."""
    single, threaded = [*_messages(), *_batches(1, BATCHES)], [*_batches(1, SCALED), *_batches(2, SCALED)]
    figures = measure([call for *_, call in single], passes, step, nanoseconds=PASS_NANOSECONDS)
    figures += measure([call for *_, call in threaded], passes, one_cpu=False)
    calls = single + threaded
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
        peers = {
            "xts encrypt": partial(_encrypt, Cipher(algorithms.AES(xts_key), modes.XTS(start))),
            "ctr crypt": partial(_encrypt, Cipher(algorithms.AES(key), modes.CTR(start))),
            "cbc decrypt": partial(_decrypt, Cipher(algorithms.AES(key), modes.CBC(start))),
        }
        for operation, function in ours.items():
            yield operation, "aeskit", size, PythonCall(partial(function, data, start))
        for operation, function in peers.items():
            yield operation, peer, size, PythonCall(partial(function, data))


def _batches(threads: int, sizes: Sequence[int]) -> Calls:
    cipher = xts.Cipher(os.urandom(2 * KEY_BYTES))
    operation = f"xts sectors of {SECTOR}" + (f", {threads} threads" if threads > 1 else "")
    for size in sizes:
        source, destination = os.urandom(size), bytearray(size)
        call = partial(cipher.encrypt_sectors_into, source, destination, 0, SECTOR, threads=threads)
        yield operation, "aeskit", size, PythonCall(call)
        if size < min(SCALED):
            yield operation, NATIVE, size, _native(cipher, source, destination)


def _native(cipher: xts.Cipher, source: bytes, destination: bytearray) -> Timed:
    """The same batch, from and to the same places."""
    row = cipher.implementations[0]
    cell = Cell(beside(row, "xts_sectors") or row, 8 * KEY_BYTES, SECTOR, "batch")
    given, taken = ffi.from_buffer(source), writable(destination)
    return batch(cell, pointer(given), pointer(taken), len(source), (given, taken))


def _encrypt(cipher: Any, data: bytes) -> bytes:
    context = cipher.encryptor()
    return context.update(data) + context.finalize()


def _decrypt(cipher: Any, data: bytes) -> bytes:
    context = cipher.decryptor()
    return context.update(data) + context.finalize()
