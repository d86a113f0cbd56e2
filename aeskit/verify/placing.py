"""Where a call's buffers lie in an address space of their own, and what the functions are given."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from aeskit.verify.differential import Expected
from aeskit.verify.runner import MARGIN, After, Call, canary

RUBBISH = 0xDEAD_BEEF << 32
"""In the upper halves of 32-bit arguments, which no function may look at; at odd addresses they are clear."""


@dataclass(frozen=True)
class Arena:
    """Mapped memory with nothing before and nothing behind it."""

    address: int
    size: int

    def place(self, edge: str, size: int, offset: int) -> int:
        """The address of a buffer of `size` bytes, as `guard.Arena.place` lays it."""
        inside = {"end": self.size - size, "begin": 0}.get(edge, 64 + offset)
        return self.address + inside


@dataclass(frozen=True)
class Placed:
    """Addresses of a call's buffers; the window is the destination with what is watched beside it."""

    source: int
    destination: int
    window: tuple[int, int]
    iv: int
    context: int

    def before(self, call: Call) -> tuple[tuple[int, bytes], ...]:
        """Address and bytes of all that memory holds before the call."""
        low, high = self.window
        window, source = (low, canary(high - low)), (self.source, call.source)
        return window, source, (self.iv, call.iv), (self.context, call.context)

    def behind(self, call: Call, expected: Expected) -> Iterator[tuple[int, bytes]]:
        """Address and bytes of all that memory must hold after it: what `differential.examine` compares."""
        low, high = self.window
        before, start = canary(high - low), self.destination - low
        if expected.text is not None:
            text = expected.text
        else:
            text = call.source if call.layout.in_place else before[start : start + call.size]
        yield self.destination, text
        yield low, before[:start]
        yield self.destination + call.size, before[start + call.size :]
        if not call.layout.in_place:
            yield self.source, call.source
        yield self.context, call.context
        wanted = expected.iv if call.updates else call.iv
        if wanted is not None:
            yield self.iv, wanted

    def arguments(self, call: Call) -> list[list[int]]:
        """What each call of a message is given, in the order of native/prototypes.h."""
        upper = 0 if call.layout.source % 2 else RUBBISH
        if call.mode == "keys":
            return [[self.destination, self.source, len(call.source) | upper]]
        calls = []
        for begin, end, flags in call.pieces():
            size = (end - begin) // call.messages
            arguments = [self.context, self.source + begin, self.destination + begin, size]
            if call.mode != "ecb":
                arguments.append(self.iv)
            calls.append(arguments + [value | upper for value in call.last(flags)])
        return calls

    def after(self, call: Call, read: Callable[[int, int], bytes]) -> After:
        """What memory holds after the call; `read` is given address and size."""
        low, high = self.window
        return After(
            read(low, high - low),
            self.destination - low,
            b"" if call.layout.in_place else read(self.source, len(call.source)),
            read(self.iv, len(call.iv)),
            read(self.context, len(call.context)),
        )


@dataclass(frozen=True)
class Arenas:
    """Memory for the buffers of a call."""

    source: Arena
    destination: Arena
    iv: Arena
    context: Arena

    def place(self, call: Call) -> Placed:
        """Lay the buffers of a call as its layout asks."""
        layout, size, edge = call.layout, call.size, call.layout.edge
        arena = self.source if layout.in_place else self.destination
        s = self.source.place(edge, len(call.source), layout.source)
        alignment = ~3 if call.mode == "keys" else ~0
        d = s if layout.in_place else arena.place(edge, size, layout.destination & alignment)
        window = max(d - MARGIN, arena.address), min(d + size + MARGIN, arena.address + arena.size)
        iv = self.iv.place(edge, len(call.iv), layout.iv)
        return Placed(s, d, window, iv, self.context.place(edge, len(call.context), layout.context))
