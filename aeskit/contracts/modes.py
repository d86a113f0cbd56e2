"""What the functions of each mode promise, in the arithmetic of the models."""

from __future__ import annotations

from collections.abc import Callable

from aeskit.bits import BLOCK
from aeskit.contracts.call import ANY, Blocks, Call, String, UInt32
from aeskit.models import aes, cbc, ctr, cts, ecb, xts

FIRST, UPDATE = 1, 2
"""Flags of an XTS function: encrypt the IV; write the next tweak back."""


# ---- XTS ------------------------------------------------------------------------------------------------


def _xts_body(call: Call, direction: str, w: list[String], T: String) -> String:
    body = xts.encrypt_data_unit if direction == "encrypt" else xts.decrypt_data_unit
    return body(call.a, w, T, call.source_data, call.note)


def _advanced(call: Call, T: String, blocks: int | None = None) -> String:
    return xts.next_tweak(call.a, T, call.length // BLOCK if blocks is None else blocks)


def _carry_tweak(call: Call, name: str, T: String, K2: list[String] | None) -> None:
    """The rest's tweak is T ⊗ α^k; where the function encrypts an IV, the IV that gives this."""

    def after(blocks: int) -> String:
        later = _advanced(call, T, blocks)
        return later if K2 is None else call.a.decrypt(K2, later)

    call.carries(name, after)


def xts_two_schedules(direction: str, flags: int) -> Callable[[Call], None]:
    """Context (tweak schedule at 0, data schedule at 496), source, destination, length, tweak, flags."""

    def setup(call: Call) -> None:
        K1, K2 = call.round_keys("K1"), call.round_keys("K2")
        context = call.readable("context", call.schedule(K2, "K2"), call.schedule(K1, "K1"))
        source, destination = call.data()
        given = call.unknown("tweak", BLOCK)
        tweak = call.writable("tweak", given)
        T = xts.first_tweak(call.a, K2, given, call.note) if flags & FIRST else given
        _carry_tweak(call, "tweak", T, K2 if flags & FIRST else None)
        call.arguments(context, source, destination, call.length, tweak, UInt32(flags))
        call.must(destination, _xts_body(call, direction, K1, T))
        if flags & UPDATE:
            call.must(tweak, _advanced(call, T))

    return setup


def xts_sectors(direction: str, count: int) -> Callable[[Call], None]:
    """Context, source, destination, bytes of each of `count` sectors, tweaks, and their number.

    At the tweaks lie those of the sectors, encrypted, and behind them as many IVs, to be encrypted there.
    """

    def setup(call: Call) -> None:
        a, size = call.a, call.length // count
        K1, K2 = call.round_keys("K1"), call.round_keys("K2")
        context = call.readable("context", call.schedule(K2, "K2"), call.schedule(K1, "K1"))
        source, destination = call.data()
        ready = [call.unknown(f"T{i}", BLOCK) for i in range(count)]
        ivs = [call.unknown(f"iv{i}", BLOCK) for i in range(count)]
        tweaks = call.writable("tweaks", a.join(*ready, *ivs))
        call.arguments(context, source, destination, size, tweaks, UInt32(count))
        body = xts.encrypt_data_unit if direction == "encrypt" else xts.decrypt_data_unit
        parts = [a.part(call.source_data, size * i, size * (i + 1)) for i in range(count)]
        call.must(
            destination,
            a.join(*(body(a, K1, T, part, call.note) for T, part in zip(ready, parts, strict=True))),
        )
        call.must(tweaks, a.join(*ready, *(xts.first_tweak(a, K2, iv, call.note) for iv in ivs)))

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
        _carry_tweak(call, "tweak", T, None)
        tweak = call.writable("tweak", T)
        call.arguments(key, source, destination, call.length, tweak)
        call.must(destination, _xts_body(call, direction, K1, T))
        call.must(tweak, _advanced(call, T) if call.length % BLOCK == 0 else ANY)

    return setup


def xts_library(direction: str) -> Callable[[Call], None]:
    """In, out, length, data key, tweak key, IV; a schedule a direction, the number of rounds behind it."""

    def setup(call: Call) -> None:
        K1, K2 = call.round_keys("K1"), call.round_keys("K2")
        key1 = call.readable("key1", call.library_schedule(K1, "K1", direction == "decrypt"), aligned=False)
        key2 = call.readable("key2", call.library_schedule(K2, "K2"), aligned=False)
        source, destination = call.data()
        iv = call.unknown("iv", BLOCK)
        T = xts.first_tweak(call.a, K2, iv, call.note)
        _carry_tweak(call, "iv", T, K2)
        call.arguments(source, destination, call.length, key1, key2, call.readable("iv", iv, aligned=False))
        call.must(destination, _xts_body(call, direction, K1, T))

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
    call.carries("counter", lambda k: call.a.block(call.a.counters(T, k + 1), k))
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
    counter = call.readable("counter", given, aligned=False)
    call.carries("counter", lambda k: a.join(call.add(a.part(given, 0, 8), k), a.part(given, 8, 16)))
    call.arguments(call.readable("key", call.schedule(K)), source, destination, call.length, counter)
    call.must(destination, ctr.crypt_message(a, K, given[::-1], call.source_data, call.note))


def ctr_32(call: Call) -> None:
    """In, out, blocks, key, IV whose last 4 bytes are a big-endian counter, modulo 2^32."""
    K, a = call.round_keys(), call.a
    source, destination = call.data()
    given = call.unknown("counter", BLOCK, public=True)
    blocks = call.length // BLOCK
    key = call.readable("key", call.library_schedule(K), aligned=False)
    iv = call.readable("iv", given, aligned=False)
    call.arguments(source, destination, Blocks(blocks), key, iv)
    fixed, low = a.part(given, 0, 12), a.part(given, 12, 16)[::-1]
    call.carries("counter", lambda k: a.join(fixed, call.add(low, k)[::-1]))
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
        call.carries("iv", lambda k: a.block(chain, k))
        call.must(iv, a.part(chain, call.length, call.length + BLOCK))

    return setup


def cbc_streams(count: int) -> Callable[[Call], None]:
    """Key, source, destination, length of each of `count` messages in a row, their IVs, and their number."""

    def setup(call: Call) -> None:
        K, a, size = call.round_keys(), call.a, call.length // count
        source, destination = call.data()
        given = call.unknown("ivs", BLOCK * count)
        ivs = call.writable("ivs", given)
        key = call.readable("key", call.schedule(K))
        call.arguments(key, source, destination, size, ivs, UInt32(count))
        messages = [
            cbc.encrypt_message(
                a,
                K,
                a.part(given, BLOCK * i, BLOCK * (i + 1)),
                a.part(call.source_data, size * i, size * (i + 1)),
                call.note,
            )
            for i in range(count)
        ]
        call.must(destination, a.join(*messages))
        last = [a.part(message, size - BLOCK, size) for message in messages]
        call.must(ivs, a.join(*last) if size else given)

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
        call.carries("iv", lambda k: _last_of_chain(call, K, given, direction, k))
        ciphertext = out if direction == "encrypt" else call.source_data
        d = cts.tail(call.length)
        end = call.length - (d if call.length > BLOCK and cts.exchanged(d, form) else 0)
        call.must(iv, a.part(ciphertext, end - BLOCK, end))

    return setup


def _last_of_chain(call: Call, K: list[String], iv: String, direction: str, blocks: int) -> String:
    """C_k of CBC: the chain before the last two blocks is plain."""
    data = call.a.part(call.source_data, 0, BLOCK * blocks)
    chain = cbc.encrypt_message(call.a, K, iv, data) if direction == "encrypt" else data
    return call.a.block(chain, blocks - 1)


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
    call.must(schedule, call.schedule(aes.key_expansion(call.a, key, call.note), zeros=True))
