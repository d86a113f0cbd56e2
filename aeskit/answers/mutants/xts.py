"""Faulty XTS: the field, the tweak, the tail, the layouts."""

from __future__ import annotations

from collections.abc import Callable

from aeskit.answers.engine import BLOCK, Call
from aeskit.answers.mutants.base import Mutant, Run, aes, fixed, mutant, remainders, right, right_after
from aeskit.bits import from_be, from_le, reverse_bits, to_be, to_le, xor

Sequence = Callable[[int, int], list[int]]
"""From T_0 and a count to the tweaks, as little-endian integers."""

_TOP, _MASK = 127, (1 << 128) - 1


def double(T: int, constant: int = 0x87) -> int:
    """T ⊗ α (IEEE 1619-2018, 5.2)."""
    return (T << 1) & _MASK ^ (constant if T >> _TOP else 0)


def doubling(step: Callable[[int, int], int]) -> Sequence:
    """The sequence whose T_j+1 is `step` of T_j and j."""

    def sequence(T: int, count: int) -> list[int]:
        found = [T]
        for j in range(count - 1):
            found.append(step(found[-1], j))
        return found

    return sequence


RIGHT = doubling(lambda T, j: double(T))


def xts(
    call: Call,
    sequence: Sequence = RIGHT,
    *,
    iv: Callable[[bytes], bytes] = bytes,
    keys: Callable[[bytes, bytes], tuple[bytes, bytes]] = lambda K1, K2: (K1, K2),
    swap: bool = False,
    misread: Callable[[int, int], bool] = lambda m, b: False,
    tail: Callable[[bytes, bytes], bytes] = lambda tail, stolen: tail,
) -> bytes:
    """XTS with a place for every fault; without one it is right.

    `swap` exchanges the last two tweaks; `misread` says of m whole blocks and a tail of b bytes whether the
    tail's last byte is read wrong; `tail` is what is read as the tail, of it and of what was stolen.
    """
    half = len(call.key) // 2
    K1, K2 = keys(call.key[:half], call.key[half:])
    m, b = divmod(len(call.data), BLOCK)
    T = [to_le(value, BLOCK) for value in sequence(from_le(aes(K2, True, iv(call.iv))), m + 1)]
    whole = m - 1 if b else m
    mask = b"".join(T[:whole])
    body = call.data[: BLOCK * whole]
    result = xor(aes(K1, call.forward, xor(body, mask)), mask) if whole else b""
    if not b:
        return result
    first, second = (T[m - 1], T[m]) if call.forward != swap else (T[m], T[m - 1])

    def one(block: bytes, mask: bytes) -> bytes:
        return xor(aes(K1, call.forward, xor(block, mask)), mask)

    stolen = one(call.data[BLOCK * whole : BLOCK * m], first)
    read = tail(call.data[BLOCK * m :], stolen[:b])
    if misread(m, b):
        read = read[:-1] + bytes([read[-1] ^ 0x10])
    last = one(read + stolen[b:], second)
    return result + last + stolen[:b]


def mutants() -> list[Mutant]:
    """Every fault of XTS."""
    found = remainders("xts", right)
    found += [_field(*fault) for fault in _field_faults()]
    found += _tweak() + _tail() + _layouts()
    return found


def _field(family: str, name: str, sequence: Sequence) -> Mutant:
    return mutant("xts", family, name, run=lambda call: xts(call, sequence))


def _field_faults() -> list[tuple[str, str, Sequence]]:
    found: list[tuple[str, str, Sequence]] = []
    for constant in (0x00, 0x86, 0x85, 0x83, 0x07, 0x1B, 0xE1, 0x8700):
        step = doubling(fixed(lambda T, j, c: double(T, c), constant))
        found.append(("field", f"the reduction is {constant:#x}", step))
    for bit in (31, 63, 95):
        lost = doubling(fixed(lambda T, j, bit: double(T) & ~((T >> bit & 1) << (bit + 1)), bit))
        found.append(("field", f"the bit {bit} is not carried to {bit + 1}", lost))
    for j in range(17):
        step = doubling(fixed(lambda T, at, j: double(T, 0x87 if at != j else 0), j))
        found.append(("field", f"no reduction from T_{j} to T_{j + 1}", step))
    for j in range(17):
        step = doubling(
            fixed(lambda T, at, j: double(T) & ~((T >> 63 & 1) << 64) if at == j else double(T), j)
        )
        found.append(("field", f"no carry over the quadwords from T_{j} to T_{j + 1}", step))
    for k in (2, 4, 8, 16):
        found += _wide(k)
    reversed_ = doubling(lambda T, j: _other(T, lambda block: reverse_bits(block)))
    found.append(("field", "the bits of GHASH", reversed_))
    found.append(("field", "the bytes of LRW", doubling(lambda T, j: from_le(to_be(_be(T), BLOCK)))))
    return found


def _wide(k: int) -> list[tuple[str, str, Sequence]]:
    """A register of k tweaks at once times α^k: each of the bits that leave the top is lost once."""

    def product(T: int, lost: int) -> int:
        """T ⊗ α^k without the reduction of the bit 128 + lost."""
        over, low = T >> (128 - k), (T << k) & _MASK
        for bit in range(k):
            if over >> bit & 1 and bit != lost:
                low ^= 0x87 << bit
        return low & _MASK

    def sequence(T: int, count: int, lost: int) -> list[int]:
        found = RIGHT(T, min(k, count))
        while len(found) < count:
            found.append(product(found[-k], lost))
        return found

    return [
        (
            "wide multiply",
            f"times α^{k}: the bit {bit} that leaves is not reduced",
            fixed(lambda T, n, b: sequence(T, n, b), bit),
        )
        for bit in range(k)
    ]


def _be(T: int) -> int:
    value = from_be(to_le(T, BLOCK))
    return (value << 1) & _MASK ^ (0x87 if value >> _TOP else 0)


def _other(T: int, turn: Callable[[bytes], bytes]) -> int:
    """Double with the bits of every byte the other way round: the high bit of byte 0 is x^0."""
    value = from_le(turn(to_le(T, BLOCK)))
    return from_le(turn(to_le(double(value), BLOCK)))


def _tweak() -> list[Mutant]:
    ivs: dict[str, Callable[[bytes], bytes]] = {
        "only the low 8 bytes of the IV": lambda iv: iv[:8] + bytes(8),
        "only the low 4 bytes of the IV": lambda iv: iv[:4] + bytes(12),
        "the IV's bytes in reverse": lambda iv: iv[::-1],
        "the bytes of the number in reverse": lambda iv: iv[:8][::-1] + iv[8:],
        "the high 8 bytes of the IV first": lambda iv: iv[8:] + iv[:8],
        "the number's sign is extended": lambda iv: iv[:8] + (b"\xff" if iv[7] & 0x80 else b"\0") * 8,
        "the low 4 bytes' sign is extended": lambda iv: (
            iv[:4] + (b"\xff" * 4 if iv[3] & 0x80 else iv[4:8]) + iv[8:]
        ),
    }
    ivs |= {
        f"byte {at} of the IV is not read": fixed(lambda iv, at: iv[:at] + b"\0" + iv[at + 1 :], at)
        for at in range(16)
    }
    found = [
        mutant("xts", "tweak", name, run=fixed(lambda call, f: xts(call, iv=f), f)) for name, f in ivs.items()
    ]
    keys: dict[str, Callable[[bytes, bytes], tuple[bytes, bytes]]] = {
        "the keys change places": lambda K1, K2: (K2, K1),
        "the data key for both": lambda K1, K2: (K1, K1),
        "the tweak key for both": lambda K1, K2: (K2, K2),
        "the tweak key of AES-192 as AES-128": lambda K1, K2: (K1, K2[:16] if len(K2) == 24 else K2),
    }
    found += [
        mutant("xts", "keys", name, run=fixed(lambda call, f: xts(call, keys=f), f))
        for name, f in keys.items()
    ]
    return found


def _tail() -> list[Mutant]:
    def stealing(wrong: Callable[[int, int], bool]) -> Run:
        return lambda call: xts(call, misread=wrong)

    def swapped(wrong: Callable[[Call], bool]) -> Run:
        return lambda call: xts(call, swap=wrong(call))

    found = [
        mutant(
            "xts",
            "stealing",
            "decryption takes the last two tweaks in order",
            run=swapped(lambda c: not c.forward),
        ),
        mutant(
            "xts",
            "stealing",
            "encryption takes the last two tweaks in reverse",
            run=swapped(lambda c: c.forward),
        ),
    ]
    for b in range(1, BLOCK):
        found.append(
            mutant(
                "xts",
                "stealing",
                f"a tail of {b} after one block",
                run=stealing(fixed(lambda m, n, b: n == b and m == 1, b)),
            )
        )
        found.append(
            mutant(
                "xts",
                "stealing",
                f"a tail of {b} after more blocks",
                run=stealing(fixed(lambda m, n, b: n == b and m > 1, b)),
            )
        )
    for s in (4, 8, 16):
        for k in range(s):
            wrong = stealing(fixed(lambda m, n, s, k: m % s == k and m > s, s, k))
            found.append(
                mutant("xts", "stealing", f"any tail with {k} blocks after passes of {s}", run=wrong)
            )
            late = swapped(
                fixed(
                    lambda c, s, k: (
                        not c.forward and len(c.data) // BLOCK % s == k and len(c.data) > BLOCK * s
                    ),
                    s,
                    k,
                )
            )
            found.append(
                mutant(
                    "xts",
                    "stealing",
                    f"the last tweaks in order with {k} blocks after passes of {s}",
                    run=late,
                )
            )
    return found


def _layouts() -> list[Mutant]:
    def overwritten(call: Call) -> bytes:
        return xts(call, tail=lambda tail, stolen: stolen)

    def in_pieces(call: Call, pieces: tuple[int, ...], wrong: Callable[[int], int]) -> bytes:
        """Each piece goes on from T_j, where `wrong` of the right j is taken."""
        result, at = b"", 0
        for size in pieces:
            blocks = wrong(at // BLOCK)
            skip = fixed(lambda T, count, n: RIGHT(T, n + count)[n:], blocks)
            piece = Call(call.mode, call.direction, call.key, call.iv, call.data[at : at + size])
            result, at = result + xts(piece, skip), at + size
        return result

    found = [
        mutant(
            "xts", "in place", "the tail is read after the stolen bytes were written", in_place=overwritten
        )
    ]
    faults = {
        "each piece begins at T_0": lambda j: 0,
        "each piece begins one tweak early": lambda j: max(j - 1, 0),
        "each piece begins one tweak late": lambda j: j + 1 if j else 0,
        "a piece after a whole pass of 8 begins anew": lambda j: 0 if j and j % 8 == 0 else j,
    }
    for name, wrong in faults.items():
        run = fixed(lambda call, pieces, wrong: in_pieces(call, pieces, wrong), wrong)
        found.append(mutant("xts", "pieces", name, pieces=run))
    found.append(
        mutant(
            "xts",
            "what continues",
            "the tweak that was used last",
            after=lambda call: _before(right_after(call)),
        )
    )
    return found


def _before(T: bytes | None) -> bytes:
    value = from_le(T or bytes(BLOCK))
    if value & 1:
        value ^= 1 << 128 | 0x87
    return to_le(value >> 1, BLOCK)
