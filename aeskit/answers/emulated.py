"""The native core's instruction sets as engines in the emulator: those too that this CPU does not have."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from aeskit.answers.engine import Call, Engine, Unsupported
from aeskit.implementations import choose
from aeskit.verify import cases, oracle
from aeskit.verify.differential import strayed
from aeskit.verify.emulated import EMULATED, EmulatedRunner
from aeskit.verify.layouts import Layout
from aeskit.verify.runner import SCHEDULE_BYTES, After, Fault
from aeskit.verify.runner import Call as NativeCall

_PLAIN, _IN_PLACE = Layout("out_of_place"), Layout("in_place", in_place=True)
_STEALING = {"": 0, "CS1": 1, "CS2": 2, "CS3": 3}


class Emulated(Engine):
    """One instruction set of the native core.

    A wild access, a byte written beside the result or a broken calling convention is a refusal.
    """

    def __init__(self, instruction_set: str, runner: EmulatedRunner) -> None:
        """Answer by `runner`, which several engines may share."""
        self.name, self._set, self._runner = f"{instruction_set} emulated", instruction_set, runner

    def crypt(self, call: Call) -> bytes:
        """Out of place, in one piece."""
        return self._text(call, _PLAIN)

    def layouts(self, call: Call, pieces: tuple[int, ...]) -> Iterator[tuple[str, bytes]]:
        """In place, and in the pieces that the vector asks for where every one but the last is whole."""
        yield "in place", self._text(call, _IN_PLACE)
        cuts = tuple(accumulate(pieces))[:-1]
        if cuts and all(cut % 16 == 0 for cut in cuts):
            yield "in pieces", self._text(call, Layout("split", cuts=cuts))

    def after(self, call: Call) -> bytes:
        """What the function writes back."""
        if call.mode == "xts" and len(call.data) % 16:
            raise Unsupported("nothing continues this message")
        return self._run(call, _PLAIN).iv

    def schedule(self, key: bytes) -> bytes:
        """KEYEXPANSION by AES-NI."""
        name = choose("keys", "expand", EMULATED).name
        after = self._native(NativeCall(name, "keys", b"", key, SCHEDULE_BYTES, b"", _PLAIN))
        return after.window[after.start : after.start + 16 * (len(key) // 4 + 7)]

    def _text(self, call: Call, layout: Layout) -> bytes:
        after = self._run(call, layout)
        return after.window[after.start : after.start + len(call.data)]

    def _run(self, call: Call, layout: Layout) -> After:
        if call.mode not in ("ecb", "cbc", "cts", "ctr", "xts"):
            raise Unsupported(f"no native {call.mode}")
        if call.bits is not None:
            raise Unsupported("a length that is no whole number of bytes: native code takes whole bytes")
        if call.down:
            raise Unsupported("a counter that goes down: native code counts up")
        if call.strict:
            raise Unsupported("what must be refused is refused at the boundary, not in these functions")
        if not cases.takes(call.mode, len(call.data)):
            raise ValueError(f"{call.mode} does not take {len(call.data)} bytes")
        direction = "crypt" if call.mode == "ctr" else call.direction
        name = choose(call.mode, direction, EMULATED, self._set).name
        context, stealing = oracle.context(call.mode, call.key), _STEALING[call.stealing]
        arguments = (call.data, len(call.data), call.iv, layout, stealing)
        return self._native(NativeCall(name, call.mode, context, *arguments))

    def _native(self, call: NativeCall) -> After:
        try:
            after = self._runner.call(call)
        except Fault as fault:
            raise ValueError(str(fault)) from None
        if wrong := strayed(call, after):
            raise ValueError(wrong)
        return after
