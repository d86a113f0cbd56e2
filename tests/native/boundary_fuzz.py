"""Anything at all at the native boundary, in a process of its own: run by test_fuzz.py.

Usage: boundary_fuzz.py NAME EXAMPLES. Each function below is a hypothesis test.
"""

import array
import faulthandler
import sys
import threading
from numbers import Integral
from pathlib import Path

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1]))
import machines
import peer

from aeskit import cbc, ctr, ecb, xts

REFUSALS = (ValueError, TypeError, BufferError)
KEY = bytes(range(64))
IV = bytes(range(100, 116))


def sets(mode):
    return st.sampled_from([None, *machines.runnable(mode)])


sizes = st.one_of(st.integers(0, 80), st.integers(0, 700), st.sampled_from([16, 32, 64, 128, 512, 520, 4096]))
buffers = st.one_of(
    sizes.map(bytes),
    sizes.map(bytearray),
    sizes.map(lambda size: memoryview(bytearray(size))),
    sizes.map(lambda size: memoryview(bytearray(2 * size))[::2]),
    sizes.map(lambda size: memoryview(bytearray(size))[::-1]),
    sizes.map(lambda size: np.zeros(size // 8)),
    sizes.map(lambda size: np.zeros((4, size // 4), np.uint8)[:, ::-1]),
    sizes.map(lambda size: np.zeros((size // 16, 4), np.uint32).T),
    sizes.map(lambda size: np.array([None] * (size // 8))),
    sizes.map(lambda size: array.array("d", bytes(size // 8 * 8))),
)
junk = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=40),
    st.lists(st.integers(0, 255), max_size=32),
    st.sampled_from([object(), bytes, np.float64(3), np.datetime64("now"), np.int32(-1), ..., {}]),
)
anything = st.one_of(buffers, buffers, junk)
blocks = st.one_of(st.just(IV), st.just(IV), anything)


@st.composite
def ciphers(draw, wild=False):
    """A cipher of any kind, its kind and its key; None for the cipher where a wild argument was refused."""
    kind = draw(st.sampled_from(["xts", "ctr", "cbc", "CS1", "CS2", "CS3", "ecb"]))
    mode = {"CS1": "cts", "CS2": "cts", "CS3": "cts"}.get(kind, kind)
    usual = KEY[: draw(st.sampled_from([32, 64] if kind == "xts" else [16, 24, 32]))]
    key = draw(st.one_of(st.just(usual), anything)) if wild else usual
    names = (
        st.one_of(sets(mode), st.text(max_size=9), st.just("xts_encrypt_aesni_avx")) if wild else sets(mode)
    )
    name = draw(names)
    try:
        if kind == "xts":
            return kind, xts.Cipher(key, implementation=name), key
        if kind == "ctr":
            return kind, ctr.Cipher(key, implementation=name), key
        if kind == "ecb":
            return kind, ecb.Cipher(key, implementation=name), key
        stealing = None if kind == "cbc" else kind
        return kind, cbc.Cipher(key, stealing=stealing, implementation=name), key
    except REFUSALS:
        return kind, None, key


def expected(kind, key, data, block):
    """What the peer encrypts."""
    key, data = bytes(memoryview(key)), bytes(memoryview(data))
    if kind == "ecb":
        return peer.ecb(key, data)
    if kind == "xts":
        if isinstance(block, Integral):
            block = int(block).to_bytes(16, "little")
        return peer.xts(key, bytes(block), data)
    block = bytes(memoryview(block))
    if kind == "ctr":
        return peer.ctr(key, block, data)
    return peer.cbc(key, block, data) if kind == "cbc" else peer.cts(key, block, data, kind)


def method(cipher, name):
    return getattr(cipher, name.replace("encrypt", "crypt") if isinstance(cipher, ctr.Cipher) else name)


@given(ciphers(wild=True), anything, blocks, anything)
def any_argument(made, data, block, destination):
    """A result equals the peer's; everything else is a refusal."""
    kind, cipher, key = made
    if cipher is None:
        return
    rest = [] if kind == "ecb" else [block]
    try:
        method(cipher, "encrypt_into")(data, destination, *rest)
        into = bytes(memoryview(destination))
        assert data is destination or into == method(cipher, "encrypt")(data, *rest)
    except REFUSALS:
        pass
    try:
        result = method(cipher, "encrypt")(data, *rest)
    except REFUSALS:
        return
    if len(bytes(memoryview(key))) != 48:
        assert result == expected(kind, key, data, block)


@given(ciphers(), st.data())
def any_destination(made, data):
    """Source and destination anywhere in one piece of memory: exactly the destination changes, or nothing."""
    kind, cipher, key = made
    length, room = data.draw(sizes), data.draw(sizes)
    room = data.draw(st.sampled_from([length, length, length, room]))
    start = data.draw(st.integers(4100, 4400))
    edges = st.sampled_from([0, 0, 1, 16, length - 1, length, length + 1])
    distance = data.draw(st.one_of(edges, edges, st.integers(0, 700)))
    into = start + data.draw(st.sampled_from([distance, -distance]))
    arena = bytearray(i * 31 & 255 for i in range(13000))
    before = bytes(arena)
    view = memoryview(arena)
    source, destination = view[start : start + length], view[into : into + room]
    block = [] if kind == "ecb" else [IV]
    try:
        method(cipher, "encrypt_into")(source, destination, *block)
    except REFUSALS:
        assert arena == before
        return
    assert length == room
    assert into == start or not (start < into + length and into < start + length) or not length
    assert arena[:into] + arena[into + length :] == before[:into] + before[into + length :]
    if len(bytes(memoryview(key))) != 48:
        assert arena[into : into + length] == expected(kind, key, before[start : start + length], IV)


@given(sets("xts"), anything, st.one_of(st.integers(-2, 2**64 + 2), junk), st.one_of(sizes, junk))
def any_sectors(name, data, first, size):
    cipher = xts.Cipher(KEY, implementation=name)
    try:
        result = cipher.encrypt_sectors(data, first, size)
    except REFUSALS:
        return
    whole = bytes(memoryview(data))
    pieces = [whole[i : i + int(size)] for i in range(0, len(whole), int(size))]
    assert result == b"".join(expected("xts", KEY, piece, first + i) for i, piece in enumerate(pieces))
    assert cipher.decrypt_sectors(result, first, size) == whole


@given(sets("xts"), sets("ctr"), st.lists(st.tuples(st.booleans(), anything), max_size=8))
def any_pieces(of_xts, of_ctr, pieces):
    """Refused pieces leave the message where it was."""
    unit, stream = xts.Cipher(KEY, implementation=of_xts).encrypt_unit(IV), ctr.Cipher(KEY[:16]).stream(IV)
    taken = {"xts": b"", "ctr": b""}
    results = {"xts": b"", "ctr": b""}
    for last, piece in pieces:
        for kind, call in (("xts", unit.finish if last else unit.update), ("ctr", stream.crypt)):
            try:
                results[kind] += call(piece)
                taken[kind] += bytes(memoryview(piece))
            except REFUSALS:
                pass
    assert (unit.position, stream.position) == (len(taken["xts"]), len(taken["ctr"]))
    assert results["ctr"] == peer.ctr(KEY[:16], IV, taken["ctr"])
    if taken["xts"]:
        assert results["xts"] == peer.xts(KEY, IV, taken["xts"])


@given(ciphers(), st.lists(st.tuples(st.integers(0, 40), sizes), min_size=2, max_size=6))
def many_threads(made, slices):
    """Threads with one cipher, each with its part of one bytearray, while another tries to resize it."""
    kind, cipher, _ = made
    arena = bytearray(i * 37 & 255 for i in range(6 * 5000))
    before, block, wrong = bytes(arena), [] if kind == "ecb" else [IV], []

    def work(number, offset, length):
        start = 5000 * number + offset
        part = memoryview(arena)[start : start + length]
        for _ in range(4):
            try:
                method(cipher, "encrypt_into")(before[start : start + length], part, *block)
            except REFUSALS:
                if part != before[start : start + length]:
                    wrong.append((number, "written"))
                return
            if part != method(cipher, "encrypt")(before[start : start + length], *block):
                wrong.append((number, "differs"))

    def resize():
        for _ in range(20):
            try:
                arena.append(0)
                arena.pop()
            except BufferError:
                pass

    threads = [threading.Thread(target=work, args=(i, *part)) for i, part in enumerate(slices)]
    threads.append(threading.Thread(target=resize))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


TESTS = (any_argument, any_destination, any_sectors, any_pieces, many_threads)


def main(name: str, examples: str) -> None:
    faulthandler.enable()
    test = next(test for test in TESTS if test.__name__ == name)
    checks = [HealthCheck.too_slow, HealthCheck.data_too_large]
    settings(
        max_examples=int(examples),
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=checks,
    )(test)()


if __name__ == "__main__":
    main(*sys.argv[1:])
