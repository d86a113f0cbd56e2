"""Faulty CTR: the carry on every lane, the partial block, what continues."""

from __future__ import annotations

from collections.abc import Callable

from aeskit.answers.engine import BLOCK, Call
from aeskit.answers.mutants.base import Mutant, aes, fixed, mutant, remainders, right, right_after, spoiled
from aeskit.bits import from_be, from_le, to_be, to_le, xor

Counters = Callable[[int, int], list[int]]
"""From the first counter and a count to the counters, as 128-bit integers."""

_MASK = (1 << 128) - 1


def ctr(call: Call, counters: Counters, data: bytes | None = None, counter: int | None = None) -> bytes:
    """CTR with any sequence of counters; `data` and `counter` in place of the call's."""
    data = call.data if data is None else data
    first = from_be(call.iv) if counter is None else counter
    values = counters(first, -(-len(data) // BLOCK))
    stream = aes(call.key, True, b"".join(to_be(value & _MASK, BLOCK) for value in values))
    return xor(data, stream[: len(data)])


def plain(first: int, count: int) -> list[int]:
    """The right counters."""
    return [(first + j) & _MASK for j in range(count)]


def mutants() -> list[Mutant]:
    """Every fault of CTR."""
    found = remainders("ctr", right) + [_counters(*fault) for fault in _carries()]
    return found + _partial() + _continued()


def _counters(family: str, name: str, counters: Counters) -> Mutant:
    return mutant("ctr", family, name, run=lambda call: ctr(call, counters))


def _carries() -> list[tuple[str, str, Counters]]:
    found: list[tuple[str, str, Counters]] = []
    for width in (8, 16, 32, 64, 96):
        wrap = fixed(lambda first, count, w: [_within(first, j, w) for j in range(count)], width)
        found.append(("carry", f"the counter has {width} bits", wrap))
    for width in (32, 64):
        for s in (4, 8, 16):
            for k in range(1, s):  # lane 0 adds nothing
                lost = fixed(lambda first, count, w, s, k: _lane(first, count, w, s, k), width, s, k)
                found.append(("carry", f"lane {k} of {s} loses the carry at {width} bits", lost))
            pass_ = fixed(lambda first, count, w, s: _pass(first, count, w, s), width, s)
            found.append(("carry", f"a pass of {s} loses the carry at {width} bits", pass_))
            exact = fixed(lambda first, count, w, s: _pass(first, count, w, s, exact=True), width, s)
            found.append(("carry", f"a pass of {s} that ends at 0 in {width} bits loses it", exact))
            late = fixed(lambda first, count, w, s: _pass(first, count, w, s, after=2 * s), width, s)
            found.append(("carry", f"a pass of {s} after the second loses the carry at {width} bits", late))
    for width in (32, 64):
        early = fixed(lambda first, count, w: [_early(first, j, w) for j in range(count)], width)
        found.append(("carry", f"the carry at {width} bits comes one block early", early))
        late = fixed(lambda first, count, w: [_late(first, j, w) for j in range(count)], width)
        found.append(("carry", f"the carry at {width} bits comes one block late", late))
    top = lambda first, count: [min(first + j, _MASK) for j in range(count)]  # noqa: E731
    found.append(("carry", "the counter stays at its end, 2^128 - 1", top))
    found.append(
        ("carry", "the counter goes on at 1 after its end", lambda f, n: [(f + j) % _MASK for j in range(n)])
    )
    little = lambda first, count: [_little(first, j) for j in range(count)]  # noqa: E731
    found.append(("counter", "the counter is little-endian", little))
    found.append(("counter", "the counter begins one block late", lambda f, n: plain(f + 1, n)))
    found.append(("counter", "the counter does not move", lambda f, n: [f] * n))
    return found


def _within(first: int, j: int, width: int) -> int:
    """first + j without a carry out of the low `width` bits."""
    low = (1 << width) - 1
    return first & ~low | (first + j) & low


def _lane(first: int, count: int, width: int, s: int, lane: int) -> list[int]:
    """Lane `lane` of each pass of s is its pass's first counter plus the lane, without the carry."""
    return [_within(first + j - j % s, lane, width) if j % s == lane else first + j for j in range(count)]


def _pass(first: int, count: int, width: int, s: int, exact: bool = False, after: int = 0) -> list[int]:
    """Each pass's first counter is the one before plus s, without the carry.

    With `exact` only where it ends at 0; the blocks up to `after` are right.
    """
    found, base, low = [], first, (1 << width) - 1
    for j in range(count):
        if j and j % s == 0:
            following = base + s
            carried = following >> width != base >> width
            lost = carried and j > after and (not exact or following & low == 0)
            base = _within(base, s, width) if lost else following
        found.append(base + j % s)
    return found


def _early(first: int, j: int, width: int) -> int:
    value, low = first + j, (1 << width) - 1
    return value + (1 << width) if j and value & low == low else value


def _late(first: int, j: int, width: int) -> int:
    value, low = first + j, (1 << width) - 1
    return value - (1 << width) if j and value & low == 0 else value


def _little(first: int, j: int) -> int:
    return from_be(to_le((from_le(to_be(first, BLOCK)) + j) & _MASK, BLOCK))


def _partial() -> list[Mutant]:
    def cut(wrong: Callable[[int, int], bool]) -> Callable[[Call], bytes]:
        def faulty(call: Call) -> bytes:
            result, (m, b) = right(call), divmod(len(call.data), BLOCK)
            return spoiled(result, m, b - 1) if b and wrong(m, b) else result

        return faulty

    found = []
    for b in range(1, BLOCK):
        alone, after = (
            cut(fixed(lambda m, n, b: n == b and not m, b)),
            cut(fixed(lambda m, n, b: n == b and m > 0, b)),
        )
        found.append(mutant("ctr", "partial block", f"{b} bytes and nothing else", run=alone))
        found.append(mutant("ctr", "partial block", f"{b} bytes after whole blocks", run=after))
    for s in (4, 8, 16):
        for k in range(s):
            late = cut(fixed(lambda m, n, s, k: m % s == k and m >= s, s, k))
            found.append(
                mutant("ctr", "partial block", f"any, with {k} blocks after passes of {s}", run=late)
            )
    return found


def _continued() -> list[Mutant]:
    def in_pieces(call: Call, pieces: tuple[int, ...], wrong: Callable[[int], int]) -> bytes:
        """Each piece goes on in the keystream at `wrong` of the right byte."""
        result, at = b"", 0
        for size in pieces:
            skip, block = wrong(at) % BLOCK, wrong(at) // BLOCK
            padded = bytes(skip) + call.data[at : at + size]
            result += ctr(call, plain, padded, from_be(call.iv) + block)[skip:]
            at += size
        return result

    found = []
    faults = {
        "each piece begins at the first counter": lambda at: 0,
        "each piece begins with a fresh block": lambda at: -(-at // BLOCK) * BLOCK,
        "a piece within a block takes it from its beginning": lambda at: at // BLOCK * BLOCK,
        "a piece within a block loses a byte of it": lambda at: at + 1 if at % BLOCK else at,
        "a piece at a block's end takes the block again": lambda at: (
            at - BLOCK if at and at % BLOCK == 0 else at
        ),
    }
    for name, wrong in faults.items():
        run = fixed(lambda call, pieces, wrong: in_pieces(call, pieces, wrong), wrong)
        found.append(mutant("ctr", "pieces", name, pieces=run))

    def moved(change: Callable[[Call, int], int]) -> Callable[[Call], bytes]:
        return lambda call: to_be(change(call, from_be(right_after(call) or call.iv)) & _MASK, BLOCK)

    afters: dict[str, Callable[[Call, int], int]] = {
        "a partial block is not counted": lambda call, value: value - (len(call.data) % BLOCK > 0),
        "one block too many after whole blocks": lambda call, value: value + (len(call.data) % BLOCK == 0),
        "no carry out of 32 bits": lambda call, value: _kept(call, value, 32),
        "no carry out of 64 bits": lambda call, value: _kept(call, value, 64),
    }
    for name, change in afters.items():
        found.append(mutant("ctr", "what continues", name, after=moved(change)))
    return found


def _kept(call: Call, value: int, width: int) -> int:
    """The low `width` bits moved, the others as they were."""
    low = (1 << width) - 1
    return from_be(call.iv) & ~low | value & low
