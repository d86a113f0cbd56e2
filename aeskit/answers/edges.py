"""The edges of every mode, as plans: what to encrypt, and in one sentence what it is there to catch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from hashlib import shake_128

from aeskit import bits
from aeskit.bits import BLOCK
from aeskit.models import ecb
from aeskit.vectors.test_vector import SECTOR_NUMBER

FLAGS = {
    "Tail": "A partial block at the end: every number of bytes, and stealing after any number of blocks.",
    "Remainder": "Whole blocks left over after the main loop's passes, and lanes of passes after the first.",
    "TweakMsb": "A tweak whose top bit is set at a known step, so that the doubling there must reduce.",
    "TweakCarry": "A tweak whose bit 63 is set at a known step, so that the doubling there carries over.",
    "TweakBytes": "A tweak of which one byte alone is set: all 16 bytes of the IV are read.",
    SECTOR_NUMBER: "The tweak is a data unit's number, little-endian, at the edges of integer sizes.",
    "DataUnits": "Several data units, the number advancing by one, with its carries.",
    "Carry32": "The counter carries out of its low 32 bits at a known block.",
    "Carry64": "The counter carries out of its low 64 bits at a known block.",
    "Carry128": "The counter passes from 2^128 - 1 to 0 at a known block.",
    "Carry": "The counter carries out of 8, 16 or 96 bits.",
    "LowBits": "The counter's low five bits at the start of a pass of 32, in each part of which they carry.",
    "Pieces": "The text in pieces: what one leaves behind is where the next begins.",
    "InPlace": "Made to be run in place: stolen or chained bytes must be read before they are written over.",
    "Key": "A key of zeros, ones or a single bit, for the key schedule.",
    "Chain": "The IV and the chain: zeros, ones, one bit.",
    "Order": "The order of the last two blocks, where CS1, CS2 and CS3 differ.",
    "Index": "An LRW index that carries, its changed bits in a run to the top.",
    "Text": "A text of zeros, ones or a single bit, for the rounds.",
    "BitLength": "A length that is no whole number of bytes.",
}
"""Flag to what its vectors are there to catch."""

LANES = range(17)
"""Blocks on which a carry is made to fall: each lane of passes of 4, 8 and 16."""

FIRST, LATE = 21, (40, 57)
"""The same in the first pass of 32 of a message that is longer, and in later passes."""

COUNTS = (*range(2, 34), 49, 65)
"""Whole blocks: every remainder of passes of 2, 4, 8 and 16, before and after a first
pass; and enough for four passes of 16, as loops that look ahead begin in earnest after three."""


@dataclass(frozen=True)
class Plan:
    """One vector before it is computed. Lengths are bytes; `bits` where they are none."""

    flag: str
    comment: str
    length: int
    key: bytes
    iv: bytes = b""
    pieces: tuple[int, ...] = ()
    unit: int | None = None
    bits: int | None = None
    text: bytes | None = None
    """Where it is not drawn."""


@dataclass
class Draw:
    """Keys and bytes, reproducible from the seed: the same vector whatever else is made."""

    mode: str
    seed: int
    key_bits: tuple[int, ...]
    turn: int = 0
    turns: int = 1
    """Where a mode has several forms: which this is, of how many, for edges that are divided among them."""

    def drawn(self, size: int, *what: object) -> bytes:
        """Bytes for a purpose."""
        return shake_128(repr((self.mode, self.seed, size, what)).encode()).digest(size)

    def key(self, number: int, *what: object) -> bytes:
        """A key, its size by turns."""
        size = self.key_bits[number % len(self.key_bits)] // 8
        return self.drawn(self.whole(size), "key", number, *what)

    def whole(self, size: int) -> int:
        """Bytes of a key whose AES key has `size`."""
        return {"xts": 2 * size, "lrw": size + BLOCK}.get(self.mode, size)

    def iv(self, *what: object) -> bytes:
        """A block."""
        return self.drawn(BLOCK, "iv", *what)


Edge = Callable[[Draw], Iterator[Plan]]


def tails(draw: Draw) -> Iterator[Plan]:
    """Every partial block after one block (CTR: and after none), and with every remainder."""
    least = 0 if draw.mode == "ctr" else 1
    for b in range(1, BLOCK):
        for m in {least, 1, 2 + b % 3}:
            length, key = BLOCK * m + b, draw.key(b, "tail", m)
            yield Plan("Tail", _tail(b, m), length, key, _iv(draw, "tail", b, m))
    for m in (*range(least, 2), *COUNTS):
        if m % draw.turns != draw.turn:
            continue
        for number in _sizes(draw, m) if m < 9 else (m,):
            # After a pass single bits of the length: each is what a test of a wrong mask misses.
            b = 1 << m % 4 if m > 8 else 1 + (m * 7 + number) % (BLOCK - 1)
            key, iv = draw.key(number, "tails", m), _iv(draw, "tails", m, number)
            yield Plan("Tail", _tail(b, m), BLOCK * m + b, key, iv)


def remainders(draw: Draw) -> Iterator[Plan]:
    """Whole blocks of every number up to two passes; few, and some more, with every key size."""
    for m in (1, *COUNTS):
        for number in _sizes(draw, m):
            key, iv = draw.key(number, "blocks", m), _iv(draw, "blocks", m)
            passes = f"{m} blocks: {m % 16} left over by passes of 16, {m % 8} by 8, {m % 4} by 4"
            yield Plan("Remainder", passes if m > 1 else "one block alone", BLOCK * m, key, iv)


def few(draw: Draw) -> Iterator[Plan]:
    """Whole blocks, up to a pass of 8: for modes that no code here runs side by side."""
    for m in range(1, 9):
        key, iv = draw.key(m, "blocks", m), _iv(draw, "blocks", m)
        yield Plan("Remainder", _blocks(m), BLOCK * m, key, iv)


def _sizes(draw: Draw, m: int) -> Iterable[int]:
    """Numbers of keys: of every size where code has a path for each, as for few blocks."""
    return range(len(draw.key_bits)) if m < 9 or m in (9, 16, 33) else (m,)


def keys(draw: Draw) -> Iterator[Plan]:
    """Zeros, ones, and a single bit in every word."""
    for size in (bits_ // 8 for bits_ in draw.key_bits):
        whole = draw.whole(size)
        for name, key in _extreme_keys(whole, size):
            length = 0 if draw.mode == "keys" else 2 * BLOCK
            yield Plan("Key", f"AES-{8 * size}: {name}", length, key, _iv(draw, "key", size, name))


def _extreme_keys(whole: int, size: int) -> Iterator[tuple[str, bytes]]:
    half = "both keys " if whole == 2 * size else "a key "
    yield f"{half}of zeros", bytes(whole)
    yield f"{half}of ones", b"\xff" * whole
    for at in range(0, size, 4):
        bit = bits.to_le(1 << (8 * at), size)
        yield (
            f"a single bit in word {at // 4}",
            bit + bytes(reversed(bit)) if whole == 2 * size else bit.ljust(whole, b"\x01"),
        )


def pieces(draw: Draw) -> Iterator[Plan]:
    """Splits at blocks, within passes and (CTR) within blocks."""
    splits: tuple[tuple[int, ...], ...] = ((16, 16), (64, 48), (128, 32), (16, 240, 32))
    if draw.mode == "ctr":
        splits += ((1, 15), (5, 27), (15, 1, 20), (16, 3, 13), (33, 31, 64), (130, 126))
    if draw.mode == "xts":
        splits += ((16, 17), (32, 31), (128, 33), (64, 64, 23))
    for number, sizes in enumerate(splits):
        sentence = f"in pieces of {', '.join(map(str, sizes[:-1]))} and {sizes[-1]} bytes"
        yield Plan(
            "Pieces", sentence, sum(sizes), draw.key(number, "pieces"), _iv(draw, "pieces", number), sizes
        )


def in_place(draw: Draw) -> Iterator[Plan]:
    """Lengths at which a byte of the source is read after one of the destination was written."""
    lengths = (33, 80, 271) if draw.mode in ("cbc", "ecb") else (17, 31, 47, 143, 271)
    for number, length in enumerate(lengths):
        length -= length % BLOCK if draw.mode in ("cbc", "ecb", "pcbc", "lrw") else 0
        key, iv = draw.key(number, "in place"), _iv(draw, "in place", number)
        yield Plan("InPlace", f"{length} bytes to be run in place", length, key, iv)


def bit_lengths(draw: Draw) -> Iterator[Plan]:
    """Lengths in bits."""
    base = 0 if draw.mode == "ctr" else 128
    for number, size in enumerate((1, 7, 9, 127, 130, 255)):
        length = base + size
        key, iv = draw.key(number, "bits"), _iv(draw, "bits", number)
        yield Plan("BitLength", f"{length} bits", (length + 7) // 8, key, iv, bits=length)


def tweak_steps(draw: Draw) -> Iterator[Plan]:
    """T_0 = x^(127 - j) or x^(63 - j): the top bit, or bit 63, is set at step j and nowhere before."""
    for flag, top in (("TweakMsb", 127), ("TweakCarry", 63)):
        for j in (*range(18), 31):
            key = draw.key(j, flag)
            iv = _tweak_iv(key, bits.to_le(1 << (top - j), BLOCK))
            sentence = f"bit {top} of T_{j} is set, by T_0 = x^{top - j}"
            yield Plan(flag, sentence, BLOCK * (j + 2), key, iv)
    for number, (flag, name, T) in enumerate(_full_tweaks()):
        key = draw.key(number, "full tweak")
        yield Plan(flag, name, BLOCK * 66, key, _tweak_iv(key, bits.to_le(T, BLOCK)))


def _full_tweaks() -> Iterator[tuple[str, str, int]]:
    ones, sixteen = (1 << 128) - 1, (1 << 16) - 1
    yield "TweakMsb", "T_0 of ones: each of the first 57 doublings reduces and carries", ones
    top = "T_0 with the bits 112 to 127 set: all that leave the top in 16 doublings"
    yield "TweakMsb", top, sixteen << 112
    across = "T_0 with the bits 48 to 63 set: all that cross the quadwords in 16 doublings"
    yield "TweakCarry", across, sixteen << 48
    yield "TweakCarry", "T_0 = 1: nothing leaves the top, bit 63 is set at T_63 alone", 1


def tweak_bytes(draw: Draw) -> Iterator[Plan]:
    """One byte of the IV set."""
    for at in range(BLOCK):
        iv = bytes(at) + b"\x80" + bytes(BLOCK - 1 - at)
        yield Plan("TweakBytes", f"byte {at} of the IV alone is set", 2 * BLOCK, draw.key(at, "byte"), iv)


def sectors(draw: Draw) -> Iterator[Plan]:
    """Numbers at the edges of integer sizes."""
    numbers = (0, 1, 0x7F, 0xFF, 0x100, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 32, (1 << 63) - 1, 1 << 63)
    for number, sector in enumerate((*numbers, (1 << 64) - 1, 0x0123456789ABCDEF)):
        key = draw.key(number, "sector")
        yield Plan(SECTOR_NUMBER, f"data unit {sector:#x}", 64, key, bits.to_le(sector, BLOCK))


def data_units(draw: Draw) -> Iterator[Plan]:
    """Three units, the number's carry in between."""
    for number, (first, size) in enumerate(((0, 32), (0xFFFFFFFF, 48), ((1 << 64) - 2, 33), (0x1234, 40))):
        key = draw.key(number, "units")
        yield Plan(
            "DataUnits",
            f"three data units of {size} bytes from {first:#x}",
            3 * size,
            key,
            bits.to_le(first, BLOCK),
            unit=8 * size,
        )


def carries(draw: Draw) -> Iterator[Plan]:
    """Carries at 32, 64 and 128 bits on every lane; at 8, 16 and 96 once."""
    for width in (32, 64, 128):
        ones = (1 << width) - 1
        for j in (*LANES, FIRST, *LATE):
            drawn = bits.from_be(draw.iv("carry", width, j))
            first = (drawn | ones) - j
            into = "0" if width == 128 else f"bit {width}"
            sentence = f"the step from block {j} to {j + 1} carries out of {width} bits into {into}"
            yield Plan(
                f"Carry{width}",
                sentence,
                BLOCK * {FIRST: 35}.get(j, 66 if j in LATE else j + 3) - j % 5,
                draw.key(j, width),
                bits.to_be(first, BLOCK),
            )
        # The last block is the last before the carry, or the first after it: what continues tells.
        for name, back, blocks in (("before", 7, 8), ("after", 7, 9), ("before", 0, 1)):
            first = (bits.from_be(draw.iv("boundary", width, name)) | ones) - back
            sentence = f"the last block is the one {name} the carry out of {width} bits"
            yield Plan(
                f"Carry{width}",
                sentence,
                BLOCK * blocks,
                draw.key(back, name, width),
                bits.to_be(first, BLOCK),
            )
    for width in (8, 16, 96):
        first = bits.from_be(draw.iv("carry", width)) | ((1 << width) - 1)
        yield Plan(
            "Carry",
            f"the second block carries out of {width} bits",
            48,
            draw.key(width, "carry"),
            bits.to_be(first, BLOCK),
        )


def low_bits(draw: Draw) -> Iterator[Plan]:
    """Passes of 32 whose counter's low five bits carry within each 64 bytes, and in none."""
    for low in (0, *range(2, 32, 4)):
        first = bits.from_be(draw.iv("low bits", low)) & ~31 | low
        sentence = f"33 blocks from a counter whose low five bits are {low}"
        yield Plan("LowBits", sentence, BLOCK * 33, draw.key(low // 4, "low"), bits.to_be(first, BLOCK))


def indices(draw: Draw) -> Iterator[Plan]:
    """LRW: the index is a 128-bit big-endian number that may be all ones, and then goes on at 0."""
    for number, ones in enumerate((8, 31, 32, 63, 64, 127, 128)):
        for j in (0, 3):
            index = bits.to_be((1 << ones) - 1 - j, BLOCK)
            sentence = f"the index passes 2^{ones} - 1 after block {j}"
            yield Plan("Index", sentence, BLOCK * (j + 3), draw.key(number, "index", j), index)


def chains(draw: Draw) -> Iterator[Plan]:
    """IVs of zeros, ones and a bit."""
    for number, (name, iv) in enumerate(
        (("zeros", bytes(16)), ("ones", b"\xff" * 16), ("its last bit", bytes(15) + b"\x01"))
    ):
        yield Plan("Chain", f"an IV of {name}", 3 * BLOCK, draw.key(number, "chain"), iv)


def orders(draw: Draw) -> Iterator[Plan]:
    """Whole blocks, where CS2 is CS1 and CS3 is not; one block, where nothing is stolen."""
    for number, length in enumerate((16, 17, 32, 33, 48, 64, 65, 144)):
        name = "one block: plain CBC" if length == 16 else f"the last two blocks at {length} bytes"
        yield Plan("Order", name, length, draw.key(number, "order"), _iv(draw, "order", length))
    for m in range(draw.turn + 1, 9, draw.turns):
        for number in range(len(draw.key_bits)):
            key, iv = draw.key(number, "orders", m), _iv(draw, "orders", m, number)
            yield Plan("Order", f"whole blocks: {m}", BLOCK * m, key, iv)


def texts(draw: Draw) -> Iterator[Plan]:
    """Texts of zeros, ones and each single bit, over a few blocks."""
    for size in (bits_ // 8 for bits_ in draw.key_bits):
        key = draw.drawn(size, "text key")
        yield Plan("Text", "blocks of zeros and of ones", 32, key, text=bytes(16) + b"\xff" * 16)
        single = b"".join(bits.to_le(1 << bit, BLOCK) for bit in range(0, 128, 8))
        yield Plan("Text", "a single bit in each byte of a block", len(single), key, text=single)
    every = bytes(range(256))
    yield Plan(
        "Text", "every entry of the S-box in the first round", 256, bytes(draw.key_bits[0] // 8), text=every
    )


def _iv(draw: Draw, *what: object) -> bytes:
    return b"" if draw.mode in ("ecb", "keys") else draw.iv(*what)


def _tweak_iv(key: bytes, T: bytes) -> bytes:
    """The IV whose encryption under K2 is T."""
    return ecb.decrypt(key[len(key) // 2 :], T, form="plain")


def _tail(b: int, m: int) -> str:
    return f"a tail of {b} byte{'s' if b > 1 else ''} after {_blocks(m)}"


def _blocks(m: int) -> str:
    return {0: "nothing", 1: "one block"}.get(m, f"{m} blocks")


_WHOLE: dict[str, Edge] = {"remainder": remainders, "keys": keys, "in-place": in_place}
EDGES: dict[str, dict[str, Edge]] = {
    "xts": _WHOLE
    | {"tail": tails, "msb": tweak_steps, "bytes": tweak_bytes, "sector": sectors, "units": data_units}
    | {"pieces": pieces, "bits": bit_lengths},
    "ctr": _WHOLE
    | {"tail": tails, "carry": carries, "low-bits": low_bits, "pieces": pieces, "bits": bit_lengths},
    "cbc": _WHOLE | {"chain": chains, "pieces": pieces},
    "cts": {
        "tail": tails,
        "order": orders,
        "keys": keys,
        "in-place": in_place,
        "chain": chains,
        "bits": bit_lengths,
    },
    "ecb": _WHOLE | {"text": texts},
    "keys": {"keys": keys},
    "lrw": {"index": indices, "remainder": few, "keys": keys},
    "pcbc": {"remainder": few, "keys": keys, "chain": chains},
}
"""Mode to its edges by the names that `make` takes."""
