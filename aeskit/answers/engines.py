"""The engines at hand: the model, `cryptography`, and each instruction set of the native core."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import Any

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

import aeskit as faces
import aeskit.cbc
import aeskit.ctr
import aeskit.ecb
import aeskit.xts
from aeskit import implementations, keys
from aeskit._native import ffi, lib
from aeskit.answers.engine import Call, Engine, Unsupported, counting_down
from aeskit.bits import from_le, xor
from aeskit.cpu import detect
from aeskit.implementations import INSTRUCTION_SETS, MissingFeature, choose
from aeskit.models import aes, bit_lengths, cbc, ctr, cts, ecb, lrw, pcbc, xts
from aeskit.models.arithmetic import choose as arithmetic
from aeskit.trace import Note
from aeskit.verify import peer

_BULK = 4096
"""Bytes from which numpy is faster than plain integers."""


class Model(Engine):
    """The executable standards."""

    name = "model"

    def __init__(self, note: Note | None = None) -> None:
        """Tell `note` of every step."""
        self._note = note

    def crypt(self, call: Call) -> bytes:
        """By the mode's own file; lengths in bits by `bit_lengths`."""
        if call.strict and call.mode == "xts" and _equal_halves(call.key):
            raise Unsupported("has no rule against equal key halves, which IEEE 1619, annex B uses")
        if call.down:
            return counting_down(self, call)
        if call.bits is not None:
            return self._bits(call)
        bulk = len(call.data) >= _BULK and call.mode != "cbc"
        options: Any = {"form": "numpy" if bulk else "plain", "note": self._note}
        if call.mode == "ecb":
            return (ecb.encrypt if call.forward else ecb.decrypt)(call.key, call.data, **options)
        if call.mode == "ctr":
            return ctr.crypt(call.key, call.iv, call.data, **options)
        if call.mode == "cts":
            run = cts.encrypt if call.forward else cts.decrypt
            return run(call.key, call.iv, call.data, call.stealing, **options)  # type: ignore[arg-type]
        if call.mode == "xts":
            unit = xts.encrypt if call.forward else xts.decrypt
            return unit(call.key, call.iv, call.data, max_blocks=None, **options)
        room = {"cbc": cbc, "lrw": lrw, "pcbc": pcbc}[call.mode]
        function: Callable[..., bytes] = room.encrypt if call.forward else room.decrypt
        return function(call.key, call.iv, call.data, **options)

    def after(self, call: Call) -> bytes:
        """By the mode's own rule."""
        if call.mode == "ctr" and not call.down:
            return ctr.next_counter(call.iv, len(call.data))
        ciphertext = self.crypt(call) if call.forward else call.data
        if call.mode == "cbc":
            return cbc.next_iv(call.iv, ciphertext)
        if call.mode == "cts":
            return cts.next_iv(ciphertext, call.stealing)  # type: ignore[arg-type]
        if call.mode == "xts" and len(call.data) % 16 == 0:
            a = arithmetic("plain")
            T = ecb.encrypt(call.key[len(call.key) // 2 :], call.iv)
            return bytes(xts.next_tweak(a, T, len(call.data) // 16))
        raise Unsupported(f"has no rule for what continues {call.mode}")

    def schedule(self, key: bytes) -> bytes:
        """KEYEXPANSION."""
        return b"".join(aes.key_expansion(arithmetic("plain"), key))

    def stepper(self, call: Call) -> Callable[[bytes, bytes], bytes]:
        """The key expanded once."""
        a = arithmetic("plain")
        w = aes.key_expansion(a, call.key)
        if call.mode == "ecb":
            one = a.encrypt if call.forward else a.decrypt
            return lambda iv, block: one(w, block)
        if call.mode == "cts":
            stolen: Any = cts.encrypt_message if call.forward else cts.decrypt_message
            return lambda iv, text: stolen(a, w, iv, text, call.stealing)
        message = cbc.encrypt_message if call.forward else cbc.decrypt_message
        return lambda iv, block: message(a, w, iv, block)

    def _bits(self, call: Call) -> bytes:
        key, iv, data, size = call.key, call.iv, call.data, call.bits or 0
        if call.mode == "ctr":
            return bit_lengths.ctr_crypt(key, iv, data, size)
        if call.mode == "xts":
            unit = bit_lengths.xts_encrypt if call.forward else bit_lengths.xts_decrypt
            return unit(key, iv, data, size)
        if call.mode == "cts":
            run = bit_lengths.cts_encrypt if call.forward else bit_lengths.cts_decrypt
            return run(key, iv, data, size, call.stealing)  # type: ignore[arg-type]
        raise Unsupported(f"{call.mode} has no lengths in bits")


class Peer(Engine):
    """`cryptography`, composed of its ECB and CBC where it lacks the mode."""

    name = "cryptography"

    def crypt(self, call: Call) -> bytes:
        """By `aeskit.verify.peer`."""
        return counting_down(self, call) if call.down else self._answer(call)[0]

    def after(self, call: Call) -> bytes:
        """By `aeskit.verify.peer`."""
        after = None if call.down else self._answer(call)[1]
        if after is None:
            raise Unsupported("nothing continues this message")
        return after

    def stepper(self, call: Call) -> Callable[[bytes, bytes], bytes]:
        """ECB contexts that stay; CBC's XOR beside them."""
        if call.mode == "cts":
            return super().stepper(call)
        cipher: Any = Cipher(algorithms.AES(call.key), modes.ECB())
        update = (cipher.encryptor() if call.forward else cipher.decryptor()).update
        if call.mode == "ecb":
            return lambda iv, block: update(block)
        if call.forward:
            return lambda iv, block: update(xor(iv, block))
        return lambda iv, block: xor(iv, update(block))

    def _answer(self, call: Call) -> peer.Answer:
        if call.mode not in ("ecb", "cbc", "cts", "ctr", "xts"):
            raise Unsupported(f"has no {call.mode}")
        if call.bits is not None:
            raise Unsupported("takes whole bytes alone")
        if call.strict and call.mode == "xts" and _equal_halves(call.key):
            raise Unsupported("is not asked for equal key halves: the peer composes them")
        return peer.answer(call.mode, call.direction, call.key, call.iv, call.data, call.stealing)


class Native(Engine):
    """One instruction set of the native core, through the face that Python programs use."""

    def __init__(self, name: str) -> None:
        """Answer with an instruction set, or with that of an implementation's full name."""
        self.name = name
        self._cipher = lru_cache(maxsize=64)(self._make)

    def crypt(self, call: Call) -> bytes:
        """Out of place, in one piece."""
        cipher = self._ready(call)
        method = getattr(cipher, "crypt" if call.mode == "ctr" else call.direction)
        return method(call.data) if call.mode == "ecb" else method(call.data, call.iv)

    def layouts(self, call: Call, pieces: tuple[int, ...]) -> Iterator[tuple[str, bytes]]:
        """In place, and in the pieces that the vector asks for."""
        cipher, buffer = self._ready(call), bytearray(call.data)
        method = getattr(cipher, "crypt_into" if call.mode == "ctr" else f"{call.direction}_into")
        method(buffer, buffer, *([] if call.mode == "ecb" else [call.iv]))
        yield "in place", bytes(buffer)
        if pieces:
            yield "in pieces", b"".join(self._pieces(cipher, call, pieces))

    def batch(self, call: Call, size: int) -> Iterator[tuple[str, bytes]]:
        """All data units at once, where their numbers are below 2^64."""
        first, cipher = from_le(call.iv), self._ready(call)
        if first + len(call.data) // size <= 1 << 64:
            yield "as sectors", getattr(cipher, f"{call.direction}_sectors")(call.data, first, size)

    def after(self, call: Call) -> bytes:
        """What the function writes back, asked for as the boundary does."""
        if call.mode == "xts":
            return self._next_tweak(call)
        cipher = self._ready(call)
        at = 0 if call.forward else -1
        iv, out = ffi.new("uint8_t[16]", call.iv), ffi.new("uint8_t[]", len(call.data) or 1)
        function = getattr(lib, cipher.implementations[at].name)
        stealing = [faces.cbc.STEALING[call.stealing]] if call.mode == "cts" else []
        function(cipher._key, call.data, out, len(call.data), iv, *stealing)
        return bytes(ffi.buffer(iv))

    def schedule(self, key: bytes) -> bytes:
        """KEYEXPANSION by AES-NI."""
        return b"".join(keys.expand(key).encrypt)

    def _next_tweak(self, call: Call) -> bytes:
        """The encrypted tweak that a data unit in pieces carries on."""
        unit = getattr(self._ready(call), f"{call.direction}_unit")(call.iv)
        if not call.data or len(call.data) % 16:
            raise Unsupported("nothing continues this message")
        unit.update(call.data)
        return bytes(ffi.buffer(unit._state.tweak))

    def _pieces(self, cipher: Any, call: Call, sizes: tuple[int, ...]) -> Iterator[bytes]:
        bounds = list(pairwise([0, *accumulate(sizes)]))
        if call.mode == "ctr":
            stream = cipher.stream(call.iv)
            yield from (stream.crypt(call.data[begin:end]) for begin, end in bounds)
        elif call.mode == "xts":
            unit = getattr(cipher, f"{call.direction}_unit")(call.iv)
            *first, (begin, end) = bounds
            yield from (unit.update(call.data[start:stop]) for start, stop in first)
            yield unit.finish(call.data[begin:end])
        elif call.mode == "cbc":
            yield from self._chain(cipher, call, bounds)
        else:
            raise Unsupported(f"{call.mode} takes no pieces")

    def _chain(self, cipher: Any, call: Call, bounds: list[tuple[int, int]]) -> Iterator[bytes]:
        iv = call.iv
        for begin, end in bounds:
            piece = call.data[begin:end]
            result = getattr(cipher, call.direction)(piece, iv)
            iv = (iv + (result if call.forward else piece))[-16:]
            yield result

    def _ready(self, call: Call) -> Any:
        if call.mode not in ("ecb", "cbc", "cts", "ctr", "xts"):
            raise Unsupported(f"no native {call.mode}")
        if call.bits is not None:
            raise Unsupported("a length that is no whole number of bytes: native code takes whole bytes")
        if call.down:
            raise Unsupported("a counter that goes down: native code counts up")
        return self._cipher(call.mode, call.key, call.stealing, call.strict)

    def _make(self, mode: str, key: bytes, stealing: str, strict: bool) -> Any:
        if mode == "xts":
            return faces.xts.Cipher(
                key, implementation=self.name, allow_equal_halves=not strict, allow_long_units=not strict
            )
        if mode in ("cbc", "cts"):
            return faces.cbc.Cipher(key, stealing=stealing or None, implementation=self.name)
        room: Any = faces.ctr if mode == "ctr" else faces.ecb
        return room.Cipher(key, implementation=self.name)


def emulated(names: tuple[str, ...]) -> list[Engine]:
    """Those instruction sets in the emulator, all without names; ValueError for a name that is none.

    EmulatorMissing, a RuntimeError, says what to install.
    """
    from aeskit.answers.emulated import Emulated
    from aeskit.verify.emulated import EmulatedRunner

    wanted = [name for name in names if name != "all"] or INSTRUCTION_SETS
    for name in wanted:
        if name not in INSTRUCTION_SETS:
            raise ValueError(f'the emulator runs one of {", ".join(INSTRUCTION_SETS)}, not "{name}"')
    runner = EmulatedRunner()
    return [Emulated(name, runner) for name in wanted]


def select(names: tuple[str, ...]) -> tuple[list[Engine], dict[str, str]]:
    """The engines of those names (``all``, ``model``, ``cryptography``, an instruction set, a full name).

    Without names: all. Also what is left out of ``all``: name to what is missing. ValueError for a name that
    nobody has, or that this CPU cannot run.
    """
    found: dict[str, Engine] = {}
    missing: dict[str, str] = {}
    for name in names or ("all",):
        if name != "all":
            found[name] = _one(name)
            continue
        found |= {"model": Model(), "cryptography": Peer()}
        for instruction_set in INSTRUCTION_SETS:
            try:
                found[instruction_set] = _one(instruction_set)
            except MissingFeature as error:
                missing[instruction_set] = str(error)
    return list(found.values()), missing


def _one(name: str) -> Engine:
    if name in ("model", "cryptography"):
        return Model() if name == "model" else Peer()
    if name not in INSTRUCTION_SETS:
        row = implementations.named(name)
        choose(row.mode, row.direction, detect(), force=name)
        return Native(row.instruction_set)
    choose("xts", "encrypt", detect(), force=name)
    return Native(name)


def _equal_halves(key: bytes) -> bool:
    return key[: len(key) // 2] == key[len(key) // 2 :]
