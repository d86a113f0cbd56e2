"""The GF(2) domain: the semantics table on ids of `gf2.Expressions` instead of bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from aeskit.machine import realigned
from aeskit.machine.addresses import Addresses
from aeskit.machine.counters import Carry, Counters, PairPredicate, Predicate, Unknown, Word, outside
from aeskit.machine.decode import Instruction
from aeskit.machine.errors import OutsideDomain, SecretDependence
from aeskit.machine.flags import undefined_carry, undefined_flags, undefined_result
from aeskit.machine.gf2 import CONSTANTS, Expressions, Plan, basis
from aeskit.machine.integers import Integers
from aeskit.machine.lanes import Lanes
from aeskit.machine.memory import Region
from aeskit.machine.numbers import Numbers
from aeskit.machine.places import Places
from aeskit.machine.pointers import Pointers
from aeskit.machine.semantics import Array, Entry, Kind, Scalar
from aeskit.machine.splits import Interval
from aeskit.machine.symbols import Symbols, xor_arrays

REMEMBERED = 80_000
"""Results of instructions that are kept: a run at another length meets the same sources again."""


class Symbolic:
    """Bytes are int64 ids, a general register an int or 8 ids, a flag 0, 1, an id or a question."""

    dtype = np.int64

    def __init__(
        self,
        expressions: Expressions | None = None,
        assumed: Mapping[Word, Interval] | None = None,
        public: frozenset[str] = frozenset(),
    ) -> None:
        """`assumed` are intervals of counters, `public` the inputs that a branch may depend on."""
        self.expressions = expressions or Expressions()
        self.counters = Counters(self.expressions, assumed or {}, public)
        self.numbers = Numbers()
        places = Places(self)
        self.address, self.placing, self.together = places.address, places.placing, places.together
        self.choose, self.misaligned, self.moved = places.choose, places.misaligned, places.moved
        self._lanes = Lanes(self)
        self._integers = Integers(self)
        self._plans: dict[Any, Plan] = {}
        self.stand_ins: dict[Word, int] = {}
        """Unknown lengths in addresses, and the number that stands for each."""
        self._remembered: dict[Any, Array] = {}
        self._integers_known: dict[Any, Any] = {}
        self._integers_public: frozenset[str] = frozenset()
        self.pointers: Pointers | None = None
        """What values are addresses, of which the code must not ask more than every address can tell."""
        self.aligned: realigned.Frames = ()
        """Stack pointers that this run has aligned."""
        self.stack: tuple[Region, Array] | None = None
        """The stack of the machine that runs, in a proof, and what it held at the call."""

    def context(self) -> Any:
        """All that answers hang on besides expressions."""
        return (
            frozenset(self.counters.assumed.items()),
            self.counters.public,
            frozenset(self.stand_ins.items()),
            () if self.pointers is None else self.pointers.context(),
        )

    # ---- Linear bodies

    def plan(self, key: Any, body: Callable[[Array], Array], size: int) -> Plan:
        """The maps of a body on uint8 (m, size), made once a key."""
        found = self._plans.get(key)
        if found is None:
            found = self._plans[key] = Plan(body(basis(size)))
        return found

    def substitute(self, data: Array, direction: str) -> Array:
        """Every byte through the S-box or its inverse."""
        out = [self.expressions.substitute(byte, direction) for byte in data.ravel().tolist()]
        return np.array(out, np.int64).reshape(data.shape)

    def xor(self, a: Array, b: Array) -> Array:
        """The sum of two arrays."""
        return xor_arrays(self.expressions, a, b)

    def doubled(self, word: Word) -> Word:
        """x + x: every bit one place up."""
        if all(byte < CONSTANTS for byte in word):
            value = 2 * int.from_bytes(bytes(word), "little") % (1 << 8 * len(word))
            return tuple(value.to_bytes(len(word), "little"))

        def shift(batch: Array) -> Array:
            out = np.left_shift(batch, 1)
            out[:, 1:] |= batch[:, :-1] >> 7
            return out

        plan = self.plan(("doubled", len(word)), shift, len(word))
        return tuple(plan(self.expressions, word))

    def shifted(self, word: Word, count: int) -> Word:
        """8 bytes shifted to the right."""

        def shift(batch: Array) -> Array:
            return (np.ascontiguousarray(batch).view("<u8") >> np.uint64(count)).view(np.uint8)

        return tuple(self.plan(("shifted", count), shift, len(word))(self.expressions, word))

    # ---- What the binder asks for

    def body(self, entry: Entry, instruction: Instruction) -> Callable[..., Any]:
        """The function that the binder calls with the sources and the immediates."""
        concrete = self.numbers.body(entry, instruction)
        symbolic = self._lanes.body(entry, instruction)

        def compute(*arguments: Any, **extra: Any) -> Any:
            if all(is_constant(a) for a in arguments):
                out = concrete(*[_uint8(a) for a in arguments], **extra)
                return out if out.dtype == np.bool_ else out.astype(np.int64)
            if entry.kind is Kind.NUMBERS:
                raise outside(instruction, "an operand that is not constant")
            return symbolic(*arguments, **extra)

        if entry.kind is Kind.MOVE and not entry.control:  # moving ids is moving bytes
            return entry.body
        if entry.kind is Kind.COMPARE:  # its answers hang on what is assumed
            return compute
        remembered, name = self._remembered, entry.name

        def run(*arguments: Any, **extra: Any) -> Any:
            key = (name, *[a if isinstance(a, int) else a.tobytes() for a in arguments], *extra.values())
            found = remembered.get(key)
            if found is None:
                if len(remembered) > REMEMBERED:
                    remembered.clear()
                found = remembered[key] = np.array(compute(*arguments, **extra))
            return found

        return run

    def test(self, entry: Entry, instruction: Instruction) -> Callable[..., tuple[Any, Any]]:
        """ZF and CF of a test."""

        def flags(*arguments: Array) -> tuple[Any, Any]:
            try:
                pair = entry.body(*[Symbols(a, self.expressions) for a in arguments])
            except ValueError as error:
                raise outside(instruction, str(error)) from None
            zero, carry = (self.is_zero(tuple(s.ids.ravel().tolist())) for s in pair)
            return zero, carry

        return flags

    def integer(self, entry: Scalar, bits: int, instruction: Instruction) -> Callable[..., Any]:
        """The function that gives (result, cf, of, (zf, sf, pf) or None)."""
        concrete, symbolic = (
            self.numbers.integer(entry, bits, instruction),
            self._integers.compute(entry, bits, instruction),
        )

        carries = entry.name in ("adc", "sbb", "rcl", "rcr")  # the carry may be the id of an unknown bit

        def fresh(*values: Any) -> Any:
            pointers = self.pointers
            operands = values[:2]  # the third is a carry or a count
            if pointers is not None and bits < 64 and entry.name in ("and", "test"):
                pointers.ask_low(operands)
            if pointers is None or not pointers.among(operands):
                return plainly(*values)
            pointers.take(entry.name, operands)
            compared = pointers.compared(entry.name, bits, operands)
            if compared is not None:
                unknown = Unknown("bits of an address")
                return 0, compared[0], unknown, (compared[1], unknown, unknown)
            if pointers.spoiled(entry.name, bits, operands):
                try:
                    result, cf, of, flags = symbolic(*[self.opaque(v) for v in values])
                except OutsideDomain:
                    what = "an address, whose bits hang on where the caller's memory lies,"
                    raise outside(instruction, what) from None
                never = entry.name == "or" and bits == 64 and pointers.not_zero(operands)
                return result, cf, of, (0, *flags[1:]) if never and flags else flags
            return pointers.flags(entry.name, operands, plainly(*values))

        def plainly(*values: Any) -> Any:
            known = all(type(v) is int for v in values)
            if known and not (carries and values[-1] >= CONSTANTS):
                return concrete(*values)
            return symbolic(*values)

        def compute(*values: Any) -> Any:
            lengths = self.pointers is not None and self.pointers.lengths
            if all(type(v) is int for v in values) or self.counters.assumed or lengths:
                return fresh(*values)
            key, remembered = (entry.name, bits, values), self._remembered_integers()
            found = remembered.get(key)
            if found is None:
                found = remembered[key] = fresh(*values)
            return found

        return self._defined(compute, entry, bits, instruction) if bits < 32 else compute

    @staticmethod
    def _defined(
        compute: Callable[..., Any], entry: Scalar, bits: int, instruction: Instruction
    ) -> Callable[..., Any]:
        """The same where a CPU may give another result, or another carry, than the body does."""
        reason = Unknown(f"a flag that {instruction.mnemonic} leaves undefined")

        def defined(*values: Any) -> Any:
            count = values[-1] if type(values[-1]) is int else 0
            if undefined_result(entry.name, bits, count):
                raise outside(instruction, "a result that the SDM leaves undefined")
            result, cf, of, flags = compute(*values)
            return result, reason if undefined_carry(entry.name, bits, count) else cf, of, flags

        return defined

    def _remembered_integers(self) -> dict[Any, Any]:
        """Results that hold where nothing is assumed of any counter, and these inputs are public."""
        if len(self._integers_known) > REMEMBERED or self._integers_public != self.counters.public:
            self._integers_known, self._integers_public = {}, self.counters.public
        return self._integers_known

    def number(self, value: Any, instruction: Instruction, what: str) -> int:
        """A value that must be known."""
        if type(value) is int:
            value = self.opaque(value) if what != "an address" else value
        if type(value) is int:
            return value
        raise SecretDependence(f"{what} depends on {self.depends(value)}: {instruction.where()}")

    def flag(self, value: Any, instruction: Instruction) -> int:
        """A flag that decides where the run goes."""
        if isinstance(value, Predicate | PairPredicate):
            return self._decide(value, instruction)
        if isinstance(value, Unknown):
            raise SecretDependence(f"a branch depends on {value.reason}: {instruction.where()}")
        if value >= CONSTANTS and self.is_public((value,)):
            return int(self.decided(self.counters.between((value,), 1, 1)))
        if value >= CONSTANTS:
            raise SecretDependence(f"a branch depends on {self.depends((value,))}: {instruction.where()}")
        return int(value)

    def _decide(self, question: Predicate | PairPredicate, instruction: Instruction) -> int:
        try:
            return int(self.counters.decide(question))
        except SecretDependence as error:
            raise SecretDependence(f"{error}: {instruction.where()}") from None

    def bit(self, value: Any, instruction: Instruction) -> Any:
        """A flag in a sum: 0, 1, the id of a byte whose bit 0 it is, or a carry that may stay undecided."""
        if isinstance(value, Carry) and instruction.mnemonic == "adc" and self.is_public(value.word):
            answer = self.counters.decided(value)
            return value if answer is None else int(answer)
        if isinstance(value, Predicate | PairPredicate):
            return self._decide(value, instruction)
        if isinstance(value, Unknown):
            raise outside(instruction, f"a flag that depends on {value.reason}")
        return int(value)

    def select(self, flag: Any, yes: Any, no: Any, size: int, instruction: Instruction) -> Any:
        """`yes` if the flag is set, else `no`; where it is an unknown bit: no XOR (bit AND (yes XOR no))."""
        bit = self.bit(flag, instruction)
        if bit < CONSTANTS:
            return yes if bit else no
        a, b = self.to_bytes(yes, size), self.to_bytes(no, size)
        mask = Symbols(np.array([self.expressions.map(0xFF, bit)], np.int64), self.expressions)
        try:
            chosen = mask & Symbols(self.xor(a, b), self.expressions)
        except ValueError:
            raise outside(instruction, "a choice between values that are not constant") from None
        return self.from_bytes(self.xor(b, chosen.ids))

    def undefined(self, instruction: Instruction) -> tuple[tuple[str, Any], ...]:
        """Flags that an instruction leaves undefined: each CPU may set them as it likes."""
        reason = Unknown(f"a flag that {instruction.mnemonic} leaves undefined")
        return tuple((name, reason) for name in undefined_flags(instruction.code))

    def effective(self, binder: Any, operand: Any) -> Callable[[], Any]:
        """What lea computes."""
        return self._integers.effective(binder, operand)

    # ---- Questions

    def decided(self, question: Predicate | bool) -> bool:
        """A question's answer under the assumptions."""
        return self.counters.decide_either(question)

    def is_zero(self, word: Word) -> Any:
        """Whether a word is 0, as a flag."""
        flags = [self.expressions.varying(byte) for byte in word]
        if any(byte & 0xFF & ~vary for byte, vary in zip(word, flags, strict=True)):
            return 0
        if not any(flags):
            return 1
        if self.counters.names(word) <= self.counters.public | self.counters.layout:
            return self.counters.zero(word)
        places = [(byte, vary) for byte, vary in zip(word, flags, strict=True) if vary]
        if len(places) == 1 and places[0][1].bit_count() == 1:
            byte, vary = places[0]
            return self.expressions.map(1 << 8 * (vary.bit_length() - 1), byte ^ vary)
        return Unknown(f"whether a value of {self.depends(word)} is zero")

    def is_public(self, word: Word) -> bool:
        """Whether a word depends on public inputs alone."""
        return self.counters.names(word) <= self.counters.public

    def depends(self, value: Any) -> str:
        """The names of the inputs that a value depends on."""
        return ", ".join(sorted(self.counters.names(tuple(value)))) or "nothing"

    # ---- Integers and bytes

    def watch(self, addresses: Addresses) -> Pointers:
        """From now on these numbers are addresses; what was said of the same ones before holds on."""
        if self.pointers is None or self.pointers.addresses != addresses:
            self.pointers = Pointers(self, addresses)
        return self.pointers

    def opaque(self, value: Any) -> Any:
        """An address as 8 unknown bytes, which `from_bytes` knows again; any other value as it is."""
        return value if self.pointers is None else self.pointers.opaque(value)

    def to_bytes(self, value: Any, size: int) -> Array:
        """An int or a tuple of ids as `size` ids; of an address they are unknown."""
        return self.plain_bytes(self.opaque(value), size)

    def plain_bytes(self, value: Any, size: int) -> Array:
        """The same, an address as the number that it is."""
        if type(value) is int:
            return self.numbers.to_bytes(value, size).astype(np.int64)
        return np.array(value[:size], np.int64)

    def from_bytes(self, data: Array) -> Any:
        """Ids as an int if all are constant, else as a tuple of 8."""
        if (data < CONSTANTS).all():
            return int.from_bytes(data.astype(np.uint8).tobytes(), "little")
        ids = (*data.tolist(), *[0] * (8 - len(data)))
        return ids if self.pointers is None else self.pointers.known(ids)

    def part(self, value: Any, start: int, size: int) -> Any:
        """`size` bytes of a value from byte `start`."""
        value = self.opaque(value)
        if type(value) is int:
            return self.numbers.part(value, start, size)
        return self.from_bytes(np.array(value[start : start + size], np.int64))

    def insert(self, value: Any, start: int, size: int, part: Any) -> Any:
        """A value with `size` bytes from byte `start` replaced."""
        out = self.to_bytes(value, 8)
        out[start : start + size] = self.to_bytes(part, 8)[:size]
        return self.from_bytes(out)

    def extend(self, value: Any, size: int, to: int) -> Any:
        """Sign-extend from `size` to `to` bytes."""
        value = self.opaque(value)
        if type(value) is int:
            return self.numbers.extend(value, size, to)
        sign = self.expressions.map(0xFF << 56, value[size - 1])
        return self.from_bytes(np.array([*value[:size], *[sign] * (to - size)], np.int64))

    def array(self, data: bytes | bytearray) -> Array:
        """Constants as ids."""
        return np.frombuffer(bytes(data), np.uint8).astype(np.int64)


def is_constant(value: Any) -> bool:
    """Whether an argument of a body is an immediate or an array of constants."""
    return isinstance(value, int) or bool((value < CONSTANTS).all())


def _uint8(value: Any) -> Any:
    return value if isinstance(value, int) else value.astype(np.uint8)
