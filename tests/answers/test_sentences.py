"""Every vector's one sentence is true: read here without its plan, AES by `cryptography`."""

import re

import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from aeskit import data
from aeskit.answers.edges import EDGES
from aeskit.answers.make import make
from aeskit.vectors import read

OURS = data.folder("vectors") / "ours"
ONES = b"\xff" * 16


def tweaks(vector):
    """T_0 to the last as integers, the top bit of byte 15 highest."""
    key = vector.key[len(vector.key) // 2 :]
    T = int.from_bytes(Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(vector.iv), "little")
    found = []
    for _ in range(-(-vector.length // 16)):
        found.append(T)
        T = (T << 1) % 2**128 ^ (0x87 if T >> 127 else 0)
    return found


def counters(vector):
    first = int.from_bytes(vector.iv, "big")
    return [(first + number) % 2**128 for number in range(-(-vector.length // 16))]


def aes_key(vector):
    size = {"xts": len(vector.key) // 2, "lrw": len(vector.key) - 16}.get(vector.mode, len(vector.key))
    return vector.key[:size]


def tail(vector, size, after):
    named = {"nothing": 0, "one block": 1}
    blocks = named[after] if after in named else int(after.split()[0])
    return vector.length == 16 * blocks + int(size) and 1 <= int(size) <= 15


def remainder(vector, blocks, *rest):
    sizes = (16, 8, 4)
    return vector.length == 16 * int(blocks) and all(
        int(blocks) % size == int(left) for size, left in zip(sizes, rest, strict=False)
    )


def single_bit(vector, bits, word):
    key = aes_key(vector)
    at = 4 * int(word)
    others = key[:at] + key[at + 4 :]
    return 8 * len(key) == int(bits) and key[at : at + 4].hex().strip("0") in set("1248") and not any(others)


def all_of(byte):
    def true(vector, bits, which):
        size = len(vector.key) if vector.mode in ("xts", "lrw") else int(bits) // 8
        return vector.key == bytes([byte]) * size and 8 * len(aes_key(vector)) == int(bits)

    return true


def first_set(vector, bit, step, power):
    found = tweaks(vector)
    before = [T >> int(bit) & 1 for T in found[: int(step)]]
    return found[0] == 1 << int(power) and found[int(step)] >> int(bit) & 1 and not any(before)


def doublings(vector, steps):
    both = [T >> 127 and T >> 63 & 1 for T in tweaks(vector)]
    return tweaks(vector)[0] == 2**128 - 1 and all(both[: int(steps)]) and not both[int(steps)]


def bits_set(low, high, top):
    def true(vector, *_):
        found = tweaks(vector)
        return found[0] == sum(1 << bit for bit in range(low, high + 1)) and all(
            T >> top & 1 for T in found[:16]
        )

    return true


def carry(vector, j, after, width, into):
    values, low = counters(vector), 2 ** int(width)
    before, then = values[int(j)], values[int(after)]
    reached = then == 0 if into == "0" else (before ^ then) >> int(into[4:]) & 1
    alone = [value for value in values if value % low == low - 1] == [before]
    return then % low == 0 and reached and alone and into in ("0", f"bit {width}")


def boundary(vector, which, width):
    values, low = counters(vector), 2 ** int(width)
    return values[-1] % low == {"before": low - 1, "after": 0}[which] and vector.length % 16 == 0


def index(vector, power, block):
    first = int.from_bytes(vector.iv, "big")
    return first + int(block) == 2 ** int(power) - 1 and vector.length > 16 * (int(block) + 1)


def units(vector, size, first):
    bytes_ = int(size)
    number = int.from_bytes(vector.iv, "little")
    return vector.unit_bits == 8 * bytes_ and vector.length == 3 * bytes_ and number == int(first, 16)


def pieces(vector, sizes):
    return vector.pieces == tuple(int(size) for size in re.findall(r"\d+", sizes))


def whole(vector, blocks):
    return vector.length == 16 * int(blocks)


TRUE = {
    r"one block(?: alone|: plain CBC)?": lambda vector: vector.length == 16,
    r"(\d+) blocks": whole,
    r"(\d+) blocks: (\d+) left over by passes of 16, (\d+) by 8, (\d+) by 4": remainder,
    r"whole blocks: (\d+)": whole,
    r"a tail of (\d+) bytes? after (nothing|one block|\d+ blocks)": tail,
    r"AES-(\d+): (both keys|a key) of zeros": all_of(0),
    r"AES-(\d+): (both keys|a key) of ones": all_of(0xFF),
    r"AES-(\d+): a single bit in word (\d)": single_bit,
    r"(\d+) bytes to be run in place": lambda vector, size: vector.length == int(size),
    r"bit (127|63) of T_(\d+) is set, by T_0 = x\^(\d+)": first_set,
    r"T_0 of ones: each of the first (\d+) doublings reduces and carries": doublings,
    r"T_0 with the bits 112 to 127 set: all that leave the top in 16 doublings": bits_set(112, 127, 127),
    r"T_0 with the bits 48 to 63 set: all that cross the quadwords in 16 doublings": bits_set(48, 63, 63),
    r"T_0 = 1: nothing leaves the top, bit 63 is set at T_(\d+) alone": lambda vector, step: (
        tweaks(vector) == [1 << number for number in range(66)] and int(step) == 63
    ),
    r"byte (\d+) of the IV alone is set": lambda vector, at: (
        [number for number, byte in enumerate(vector.iv) if byte] == [int(at)]
    ),
    r"data unit (0x[0-9a-f]+)": lambda vector, number: int.from_bytes(vector.iv, "little") == int(number, 16),
    r"three data units of (\d+) bytes from (0x[0-9a-f]+)": units,
    r"in pieces of ([\d, ]+ and \d+) bytes": pieces,
    r"(\d+) bits": lambda vector, bits: vector.bits == int(bits) and int(bits) % 8 > 0,
    r"the step from block (\d+) to (\d+) carries out of (\d+) bits into (bit \d+|0)": carry,
    r"the last block is the one (before|after) the carry out of (\d+) bits": boundary,
    r"the second block carries out of (\d+) bits": lambda vector, width: (
        counters(vector)[1] % 2 ** int(width) == 0 and counters(vector)[0] % 2 ** int(width) != 0
    ),
    r"33 blocks from a counter whose low five bits are (\d+)": lambda vector, low: (
        vector.length == 33 * 16 and counters(vector)[0] % 32 == int(low)
    ),
    r"an IV of zeros": lambda vector: vector.iv == bytes(16),
    r"an IV of ones": lambda vector: vector.iv == ONES,
    r"an IV of its last bit": lambda vector: vector.iv == bytes(15) + b"\x01",
    r"the last two blocks at (\d+) bytes": lambda vector, size: vector.length == int(size),
    r"the index passes 2\^(\d+) - 1 after block (\d+)": index,
    r"blocks of zeros and of ones": lambda vector: vector.plaintext == bytes(16) + ONES,
    r"a single bit in each byte of a block": lambda vector: (
        [vector.plaintext[at : at + 16] for at in range(0, 256, 16)]
        == [bytes(at) + b"\x01" + bytes(15 - at) for at in range(16)]
    ),
    r"every entry of the S-box in the first round": lambda vector: (
        {x ^ y for x, y in zip(vector.plaintext, 16 * vector.key[:16], strict=True)} == set(range(256))
    ),
}


def carries(width):
    def true(vector):
        return any(value % 2**width == 2**width - 1 for value in counters(vector))

    return true


FLAGS = {
    "TweakMsb": lambda vector: any(T >> 127 for T in tweaks(vector)[:-1]),
    "TweakCarry": lambda vector: any(T >> 63 & 1 for T in tweaks(vector)[:-1]),
    "Carry32": carries(32),
    "Carry64": carries(64),
    "Carry128": carries(128),
    "Tail": lambda vector: vector.length % 16 > 0 and vector.bits is None,
    "Remainder": lambda vector: vector.length % 16 == 0 and vector.bits is None,
    "Pieces": lambda vector: len(vector.pieces) > 1,
    "DataUnits": lambda vector: vector.unit_bits is not None,
    "BitLength": lambda vector: vector.bits is not None,
    "SectorNumber": lambda vector: vector.iv[8:] == bytes(8),
}


def untrue(vectors):
    for vector in vectors:
        found = [
            (true, match)
            for pattern, true in TRUE.items()
            if (match := re.fullmatch(pattern, vector.comment))
        ]
        (flag,) = vector.flags
        true = FLAGS.get(flag, lambda vector: True)(vector)
        if not true or len(found) != 1 or not found[0][0](vector, *found[0][1].groups()):
            yield f"{vector.name}: {vector.comment}"


@pytest.mark.parametrize("mode", EDGES)
def test_the_published_sets(mode):
    assert list(untrue(read(OURS / f"{mode}.json"))) == []


@pytest.mark.parametrize("mode", EDGES)
@pytest.mark.parametrize(("seed", "key_bits"), [(1, (192,)), (2, (256, 128))])
def test_other_seeds_and_key_sizes(mode, seed, key_bits):
    for edge in EDGES[mode]:
        made = make(mode, edges=[edge], seed=seed, key_bits=key_bits)
        assert list(untrue(made)) == []
        assert {vector.key_bits for vector in made} <= set(key_bits)
