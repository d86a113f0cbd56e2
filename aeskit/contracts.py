"""Contracts: what a function's arguments mean, what must hold after it, what it may change.

A contract is a short function that sets up one call: it names the unknown inputs, lays out the buffers, gives
the arguments and says what each buffer must hold afterwards, in the arithmetic of the models. So one contract
serves proofs, where inputs are expressions, and runs, where they are numbers. A new one in a few lines:

    def xor_block(call):
        block = call.unknown("block", 16)
        target = call.writable("target", call.unknown("old", 16))
        call.arguments(call.readable("source", block), target)
        call.must(target, block)

    COPY = Contract("copy", "16 bytes from source to target", xor_block, key_sizes=(0,))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from aeskit.bits import BLOCK
from aeskit.models import aes, cbc, ctr, cts, ecb, xts
from aeskit.models.arithmetic import Arithmetic
from aeskit.trace import Note

String = Any
"""A string of the call's arithmetic: uint8 or ids, one-dimensional."""

FIRST, UPDATE = 1, 2
"""Flags of an XTS function: encrypt the IV; write the next tweak back."""


@dataclass
class Buffer:
    """Memory that the caller passes: nothing outside it may be touched."""

    name: str
    data: String
    writable: bool
    expected: String | None = None
    """What it must hold afterwards; None for unchanged."""
    aligned: bool = True
    """At a multiple of 64; else at an odd address."""


@dataclass(frozen=True)
class UInt32:
    """A 32-bit argument: the upper half of its register is undefined."""

    value: int


class Call:
    """One call of a function: what a contract fills in."""

    def __init__(
        self,
        arithmetic: Arithmetic[Any],
        unknown: Callable[[str, int], String],
        add: Callable[[String, int], String],
        length: int,
        key_size: int,
        in_place: bool = False,
    ) -> None:
        """`unknown` gives an input's string, `add` the sum of a little-endian word and a number.

        `length` is the data's, `key_size` a key's, both in bytes.
        """
        self.a, self._unknown, self.add = arithmetic, unknown, add
        self.length, self.key_size, self.in_place = length, key_size, in_place
        self.buffers: list[Buffer] = []
        self.registers: list[Buffer | UInt32 | int] = []
        self.public: set[str] = set()
        self.assumed: list[tuple[String, int, int]] = []
        self.source_data: String = None
        self.on_public: Callable[[str], None] = lambda name: None
        """Hears the name of every public input before it is used."""
        self.note: Note | None = None
        """Hears every value that the models name."""

    # ---- Inputs

    def unknown(self, name: str, size: int, public: bool = False) -> String:
        """`size` bytes of any value; a branch or address may depend on them only if they are public."""
        if public:
            self.public.add(name)
            self.on_public(name)
        return self._unknown(name, size)

    def assume(self, word: String, low: int, high: int) -> None:
        """Only calls are meant whose little-endian integer `word` lies from `low` to `high`."""
        self.assumed.append((word, low, high))

    def round_keys(self, name: str = "K") -> list[String]:
        """The round keys of a key of `key_size` bytes, each unknown: so for every key."""
        return [self.unknown(f"{name}[{r}]", BLOCK) for r in range(aes.ROUNDS[self.key_size] + 1)]

    def schedule(self, w: Sequence[String]) -> String:
        """496 bytes: 240 for CIPHER, 240 for EQINVCIPHER in the order of use, the key length as 32 bits."""
        a = self.a
        rest = a.string(bytes(240 - BLOCK * len(w)))
        inverse = aes.key_expansion_eic(a, list(w))[::-1]
        return a.join(*w, rest, *inverse, rest, a.string(self.key_size.to_bytes(BLOCK, "little")))

    def library_schedule(self, w: Sequence[String], inverse: bool = False) -> String:
        """244 bytes: the round keys of one direction in 240, then the number of middle rounds as 32 bits."""
        a = self.a
        keys = aes.key_expansion_eic(a, list(w))[::-1] if inverse else list(w)
        rest = a.string(bytes(240 - BLOCK * len(w)))
        return a.join(*keys, rest, a.string((len(w) - 2).to_bytes(4, "little")))

    # ---- Memory

    def readable(self, name: str, *strings: String, aligned: bool = True) -> Buffer:
        """A buffer that the function may read."""
        return self._add(Buffer(name, self.a.join(*strings), False, aligned=aligned))

    def writable(self, name: str, string: String, aligned: bool = False) -> Buffer:
        """A buffer that it may write as well; without `must` it must leave it as it was."""
        return self._add(Buffer(name, string, True, aligned=aligned))

    def data(self) -> tuple[Buffer, Buffer]:
        """Source and destination of `length` unknown bytes; in place they are one buffer."""
        self.source_data = self.unknown("data", self.length)
        if self.in_place:
            both = self.writable("data", self.source_data)
            return both, both
        source = self.readable("source", self.source_data, aligned=False)
        return source, self.writable("destination", self.unknown("old destination", self.length))

    def _add(self, buffer: Buffer) -> Buffer:
        self.buffers.append(buffer)
        return buffer

    # ---- What is asked

    def arguments(self, *values: Buffer | UInt32 | int) -> None:
        """The integer arguments in order (System V AMD64: rdi, rsi, rdx, rcx, r8, r9, then the stack)."""
        self.registers = list(values)

    def must(self, buffer: Buffer, expected: String) -> None:
        """After the call `buffer` holds `expected`."""
        buffer.expected = expected


@dataclass(frozen=True)
class Contract:
    """What a function promises: `setup` fills in a `Call`."""

    name: str
    title: str
    setup: Callable[[Call], None]
    minimum: int = 0
    """The shortest length, in bytes."""
    multiple: int = 1
    """Lengths are multiples of this."""
    key_sizes: tuple[int, ...] = (16, 24, 32)
    in_place: bool = True
    """Whether source and destination may be one buffer."""
    has_length: bool = True
    notes: tuple[str, ...] = field(default=())

    def lengths(self, first: int, last: int) -> list[int]:
        """The lengths from `first` to `last` that it allows."""
        if not self.has_length:
            return [0]
        return [n for n in range(max(first, self.minimum), last + 1) if n % self.multiple == 0]


# ---- XTS ------------------------------------------------------------------------------------------------


def _xts_body(call: Call, direction: str, w: list[String], T: String) -> String:
    body = xts.encrypt_data_unit if direction == "encrypt" else xts.decrypt_data_unit
    return body(call.a, w, T, call.source_data, call.note)


def _advanced(call: Call, T: String) -> String:
    for _ in range(call.length // BLOCK):
        T = call.a.mul_alpha(T)
    return T


def xts_two_schedules(direction: str, flags: int) -> Callable[[Call], None]:
    """Context (tweak schedule at 0, data schedule at 496), source, destination, length, tweak, flags."""

    def setup(call: Call) -> None:
        K1, K2 = call.round_keys("K1"), call.round_keys("K2")
        context = call.readable("context", call.schedule(K2), call.schedule(K1))
        source, destination = call.data()
        given = call.unknown("tweak", BLOCK)
        tweak = call.writable("tweak", given)
        T = xts.first_tweak(call.a, K2, given, call.note) if flags & FIRST else given
        call.arguments(context, source, destination, call.length, tweak, UInt32(flags))
        call.must(destination, _xts_body(call, direction, K1, T))
        if flags & UPDATE:
            call.must(tweak, _advanced(call, T))

    return setup


def xts_one_schedule(direction: str) -> Callable[[Call], None]:
    """Data schedule, source, destination, length, encrypted tweak, which is written back advanced.

    What is written back has a meaning where the length is a multiple of 16.
    """

    def setup(call: Call) -> None:
        K1 = call.round_keys("K1")
        key = call.readable("key", call.schedule(K1))
        source, destination = call.data()
        T = call.unknown("tweak", BLOCK)
        tweak = call.writable("tweak", T)
        call.arguments(key, source, destination, call.length, tweak)
        call.must(destination, _xts_body(call, direction, K1, T))
        call.must(tweak, _advanced(call, T) if call.length % BLOCK == 0 else ANY)

    return setup


def xts_library(direction: str) -> Callable[[Call], None]:
    """In, out, length, data key, tweak key, IV; a schedule a direction, the number of rounds behind it."""

    def setup(call: Call) -> None:
        K1, K2 = call.round_keys("K1"), call.round_keys("K2")
        key1 = call.readable("key1", call.library_schedule(K1, inverse=direction == "decrypt"))
        key2 = call.readable("key2", call.library_schedule(K2))
        source, destination = call.data()
        iv = call.unknown("iv", BLOCK)
        call.arguments(source, destination, call.length, key1, key2, call.readable("iv", iv, aligned=False))
        call.must(destination, _xts_body(call, direction, K1, xts.first_tweak(call.a, K2, iv, call.note)))

    return setup


def encrypt_iv(call: Call) -> None:
    """Tweak schedule, IV: the IV is encrypted in place."""
    K2 = call.round_keys("K2")
    iv = call.unknown("iv", BLOCK)
    target = call.writable("iv", iv)
    call.arguments(call.readable("key", call.schedule(K2)), target)
    call.must(target, xts.first_tweak(call.a, K2, iv, call.note))


# ---- CTR ------------------------------------------------------------------------------------------------


def ctr_128(call: Call) -> None:
    """Key, source, destination, length, counter (128 bits, big-endian), which is written back advanced."""
    K = call.round_keys()
    source, destination = call.data()
    T = call.unknown("counter", BLOCK, public=True)
    counter = call.writable("counter", T)
    call.arguments(call.readable("key", call.schedule(K)), source, destination, call.length, counter)
    call.must(destination, ctr.crypt_message(call.a, K, T, call.source_data, call.note))
    blocks = -(-call.length // BLOCK)
    call.must(counter, call.a.block(call.a.counters(T, blocks + 1), blocks))


def ctr_64(call: Call) -> None:
    """Key, source, destination, length, two quadwords: the counter block from its low end.

    The caller splits a message where the low quadword would wrap.
    """
    K, a = call.round_keys(), call.a
    source, destination = call.data()
    given = call.unknown("counter", BLOCK, public=True)
    blocks = -(-call.length // BLOCK)
    call.assume(a.part(given, 0, 8), 0, (1 << 64) - max(blocks, 1))
    counter = call.readable("counter", given)
    call.arguments(call.readable("key", call.schedule(K)), source, destination, call.length, counter)
    call.must(destination, ctr.crypt_message(a, K, given[::-1], call.source_data, call.note))


def ctr_32(call: Call) -> None:
    """In, out, blocks, key, IV whose last 4 bytes are a big-endian counter, modulo 2^32."""
    K, a = call.round_keys(), call.a
    source, destination = call.data()
    given = call.unknown("counter", BLOCK, public=True)
    blocks = call.length // BLOCK
    key, iv = call.readable("key", call.library_schedule(K)), call.readable("iv", given, aligned=False)
    call.arguments(source, destination, blocks, key, iv)
    fixed, low = a.part(given, 0, 12), a.part(given, 12, 16)[::-1]
    T = [a.join(fixed, call.add(low, j)[::-1]) for j in range(blocks)]
    stream = [a.encrypt(K, T_j, call.note, f"T_{j}") for j, T_j in enumerate(T, 1)]
    call.must(destination, a.xor(call.source_data, a.join(*stream)))


# ---- CBC, with and without stealing, ECB, key expansion -------------------------------------------------


def cbc_chain(direction: str) -> Callable[[Call], None]:
    """Key, source, destination, length, IV, which becomes the last ciphertext block."""

    def setup(call: Call) -> None:
        K, a = call.round_keys(), call.a
        source, destination = call.data()
        given = call.unknown("iv", BLOCK)
        iv = call.writable("iv", given)
        call.arguments(call.readable("key", call.schedule(K)), source, destination, call.length, iv)
        body = cbc.encrypt_message if direction == "encrypt" else cbc.decrypt_message
        out = body(a, K, given, call.source_data, call.note)
        call.must(destination, out)
        chain = a.join(given, out if direction == "encrypt" else call.source_data)
        call.must(iv, a.part(chain, call.length, call.length + BLOCK))

    return setup


def cbc_stealing(direction: str, stealing: int) -> Callable[[Call], None]:
    """Key, source, destination, length, IV, which becomes C_n, and the form 1, 2 or 3."""

    def setup(call: Call) -> None:
        K, a = call.round_keys(), call.a
        source, destination = call.data()
        given = call.unknown("iv", BLOCK)
        iv = call.writable("iv", given)
        key = call.readable("key", call.schedule(K))
        call.arguments(key, source, destination, call.length, iv, UInt32(stealing))
        form = cts.STEALING[stealing - 1]
        body = cts.encrypt_message if direction == "encrypt" else cts.decrypt_message
        out = body(a, K, given, call.source_data, form, call.note)
        call.must(destination, out)
        ciphertext = out if direction == "encrypt" else call.source_data
        d = cts.tail(call.length)
        end = call.length - (d if call.length > BLOCK and cts.exchanged(d, form) else 0)
        call.must(iv, a.part(ciphertext, end - BLOCK, end))

    return setup


def ecb_blocks(direction: str) -> Callable[[Call], None]:
    """Key, source, destination, length."""

    def setup(call: Call) -> None:
        K = call.round_keys()
        source, destination = call.data()
        call.arguments(call.readable("key", call.schedule(K)), source, destination, call.length)
        body = ecb.encrypt_message if direction == "encrypt" else ecb.decrypt_message
        call.must(destination, body(call.a, K, call.source_data, call.note))

    return setup


def key_expansion(call: Call) -> None:
    """Schedule, key, key length in bytes: both directions' round keys, what a shorter key lacks is zero."""
    key = call.unknown("key", call.key_size)
    schedule = call.writable("schedule", call.unknown("old schedule", 496), aligned=True)
    call.arguments(schedule, call.readable("key", key, aligned=False), UInt32(call.key_size))
    call.must(schedule, call.schedule(aes.key_expansion(call.a, key, call.note)))


ANY: Any = object()
"""As an expectation: the buffer may hold anything."""


def _all() -> dict[str, Contract]:
    found = [
        Contract("xts_iv", "encrypt an XTS IV in place", encrypt_iv, has_length=False),
        Contract("ctr", "CTR, 128-bit big-endian counter, written back", ctr_128),
        Contract("ctr64", "CTR, counter of two quadwords, the low one does not wrap", ctr_64, minimum=1),
        Contract(
            "ctr32", "CTR of a library: 32-bit big-endian counter, whole blocks", ctr_32, multiple=BLOCK
        ),
        Contract("keys", "key expansion, both directions", key_expansion, has_length=False),
    ]
    for d in ("encrypt", "decrypt"):
        for flags, what in ((0, "piece"), (1, "first"), (2, "update"), (3, "first_update")):
            title = f"XTS {d}ion, two schedules, flags {flags}"
            found.append(Contract(f"xts_{d}_{what}", title, xts_two_schedules(d, flags), minimum=BLOCK))
        found += [
            Contract(f"xts_{d}_tweak", f"XTS {d}ion, encrypted tweak", xts_one_schedule(d), minimum=BLOCK),
            Contract(f"xts_{d}_library", f"XTS {d}ion of a library", xts_library(d), minimum=BLOCK),
            Contract(f"cbc_{d}", f"CBC {d}ion", cbc_chain(d), multiple=BLOCK),
            Contract(f"ecb_{d}", f"ECB {d}ion", ecb_blocks(d), multiple=BLOCK),
        ]
        for form in (1, 2, 3):
            title = f"CBC-CS{form} {d}ion"
            found.append(Contract(f"cts_{d}_cs{form}", title, cbc_stealing(d, form), minimum=BLOCK))
    return {contract.name: contract for contract in found}


ALL = _all()
"""Every contract that is known, by name."""


def of(function: str) -> list[Contract]:
    """The contracts of one of our own functions, by its name; empty for another's."""
    words = function.split("_")
    stem, own = "_".join(words[:2]), "_".join(words[2:])
    if own not in ("aesni", "aesni_avx", "vaes_avx2", "vaes_avx512_256", "vaes_avx512_512"):
        return []
    if words[0] == "xts":
        return [ALL[f"{stem}_{what}"] for what in ("first", "piece", "update", "first_update")]
    if words[0] == "cts":
        return [ALL[f"{stem}_cs{form}"] for form in (1, 2, 3)]
    name = {"ctr_crypt": "ctr", "keys_expand": "keys"}.get(stem, stem)
    return [ALL[name]] if name in ALL else []
