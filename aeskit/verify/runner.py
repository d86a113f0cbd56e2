"""How a function is called: `Call` in, `After` out. `Runner` is the one thing that an engine implements.

`NativeRunner` calls the real code in this process, between guard pages: a wild access kills the process, so
whoever calls it sits in a child that can be spared. An emulator raises `Fault` instead.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import shake_128
from itertools import pairwise
from typing import Any, Protocol

from aeskit._native import ffi, lib
from aeskit.verify.cases import has_two_keys
from aeskit.verify.guard import Arena
from aeskit.verify.layouts import Layout

FIRST, UPDATE = 1, 2
"""Flags of an XTS function: the tweak argument is the IV; write the next tweak back."""

MARGIN = 64
"""Bytes beside the destination that are watched; fewer where a guard page stands."""

SCHEDULE_BYTES = 496
"""Of one AES key (`struct aes_key`)."""


class Fault(Exception):
    """The function touched memory that it must not, or never came back; the text says which."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call, or one message in as many calls as the layout has pieces."""

    function: str
    mode: str
    context: bytes
    """The key's schedules as native/prototypes.h lays them out."""
    source: bytes
    size: int
    """Bytes of the destination."""
    iv: bytes
    layout: Layout
    stealing: int = 0

    def pieces(self) -> list[tuple[int, int, int]]:
        """Begin, end, and for XTS the flags of each piece."""
        bounds = [0, *self.layout.cuts, len(self.source)]
        return [
            (begin, end, (0 if begin else FIRST) | (UPDATE if self.updates else 0))
            for begin, end in pairwise(bounds)
        ]

    def last(self, flags: int) -> list[int]:
        """The 32-bit argument at the end of those functions that have one."""
        last = {
            "xts": flags,
            "cts": self.stealing,
            "cbc_streams": self.messages,
            "xts_sectors": self.messages,
        }
        return [last[self.mode]] if self.mode in last else []

    @property
    def messages(self) -> int:
        """How many messages lie in the source; each has an IV, each of sectors in a row a tweak and an IV."""
        each = {"cbc_streams": 16, "xts_sectors": 32}.get(self.mode)
        return len(self.iv) // each if each else 1

    @property
    def updates(self) -> bool:
        """Whether the tweak, counter or IV must be written back: XTS in one piece in place does not ask."""
        return self.mode != "xts" or bool(self.layout.cuts) or not self.layout.in_place


@dataclass(frozen=True, slots=True)
class After:
    """What the memory holds after a call."""

    window: bytes
    """The destination with up to MARGIN bytes before and after."""
    start: int
    """Where in the window the destination begins."""
    source: bytes
    """Empty where source and destination are one."""
    iv: bytes
    context: bytes


class Runner(Protocol):
    """An engine that runs functions by name."""

    def call(self, call: Call) -> After:
        """Run it: destination and margins filled with `canary` before. Raises `Fault` if it can tell."""
        ...


_CANARY = shake_128(b"canary").digest(1 << 16)


def canary(size: int) -> bytes:
    """What a window of `size` bytes holds before the call."""
    return _CANARY[:size] if size <= len(_CANARY) else shake_128(b"canary").digest(size)


class NativeRunner:
    """The functions of the native core, called through cffi."""

    def __init__(self) -> None:
        """Map the memory for messages up to 8 KiB; it grows when a longer one comes."""
        self._messages = (Arena(8192), Arena(8192))
        self._iv, self._context = Arena(1), Arena(1)

    def function(self, name: str) -> Callable[..., Any]:
        """What to call by that name; a test puts faulty code in its place."""
        return getattr(lib, name)

    def call(self, call: Call) -> After:
        """See `Runner.call`."""
        layout, size, edge = call.layout, call.size, call.layout.edge
        self._grow(max(size, len(call.source)) + 4 * MARGIN)
        source, destination = self._messages
        if layout.in_place:
            destination = source
        s = source.place(edge, len(call.source), layout.source)
        d = (
            s
            if layout.in_place
            else destination.place(edge, size, layout.destination & self._alignment(call))
        )
        low, high = max(d - MARGIN, 0), min(d + size + MARGIN, destination.size)
        destination.view[low:high] = canary(high - low)
        source.view[s : s + len(call.source)] = call.source
        iv = self._iv.place(edge, len(call.iv), layout.iv)
        context = self._context.place(edge, len(call.context), layout.context)
        self._iv.view[iv : iv + len(call.iv)] = call.iv
        self._context.view[context : context + len(call.context)] = call.context
        self._run(call, source.pointer + s, destination.pointer + d, self._iv.pointer + iv, context)
        return After(
            destination.view[low:high],
            d - low,
            b"" if layout.in_place else source.view[s : s + len(call.source)],
            self._iv.view[iv : iv + len(call.iv)],
            self._context.view[context : context + len(call.context)],
        )

    def _run(self, call: Call, source: Any, destination: Any, iv: Any, context: int) -> None:
        function, pointer = self.function(call.function), self._context.pointer + context
        if call.mode == "keys":
            function(ffi.cast("struct aes_key *", destination), source, len(call.source))
            return
        key = ffi.cast("struct xts_key *" if has_two_keys(call.mode) else "struct aes_key *", pointer)
        for begin, end, flags in call.pieces():
            arguments = [key, source + begin, destination + begin, (end - begin) // call.messages]
            if call.mode != "ecb":
                arguments.append(iv)
            function(*arguments, *call.last(flags))

    @staticmethod
    def _alignment(call: Call) -> int:
        """A mask: a schedule that is written is a C structure of 4-byte alignment."""
        return ~3 if call.mode == "keys" else ~0

    def _grow(self, size: int) -> None:
        if size > self._messages[0].size:
            self._messages = (Arena(size), Arena(size))
