"""Every native XTS function as it is called: flags, pieces, in place; and its code as the registry has it."""

from itertools import pairwise
from pathlib import Path

import machines
import peer
import pytest

from aeskit import _native
from aeskit import implementations as registry

FIRST, UPDATE = 1, 2
KEYS = {size: bytes(range(1, size + 1)) for size in (32, 48, 64)}
TWEAK = bytes(range(100, 116))
DATA = bytes(i * 7 + i // 256 & 255 for i in range(2100))
LENGTHS = [*range(16, 290), *(512 * k + more for k in (1, 2) for more in range(-47, 48)), 2100]

FUNCTIONS = [row for row in registry.ALL if row.mode == "xts"]
RUNNABLE = [row for row in FUNCTIONS if row.instruction_set in machines.runnable("xts")]

functions = pytest.mark.parametrize("row", RUNNABLE, ids=lambda row: row.name)
key_sizes = pytest.mark.parametrize("size", KEYS)


def expand(key):
    context = _native.ffi.new("struct xts_key *")
    half = len(key) // 2
    for schedule, part in ((context.tweak, key[half:]), (context.data, key[:half])):
        _native.lib.keys_expand_aesni(_native.ffi.addressof(schedule), part, half)
    return context


def call(row, key, tweak, data, flags, in_place=False):
    """The output, the tweak argument afterwards."""
    source = _native.ffi.new(f"uint8_t[{len(data)}]", data)
    destination = source if in_place else _native.ffi.new("uint8_t[]", len(data))
    argument = _native.ffi.new("uint8_t[16]", tweak)
    getattr(_native.lib, row.name)(expand(key), source, destination, len(data), argument, flags)
    return bytes(destination), bytes(argument)


def tweaks(key, count):
    """T_0 to T_(count - 1), doubled as integers (IEEE 1619-2018, 5.2)."""
    value = int.from_bytes(peer.ecb(key[len(key) // 2 :], TWEAK), "little")
    for _ in range(count):
        yield value.to_bytes(16, "little")
        value = value << 1 ^ (value >> 127) * (1 << 128 | 0x87)


def mixed(left, right):
    return bytes(a ^ b for a, b in zip(left, right, strict=True))


def definition(key, data, direction):
    """IEEE 1619-2018, 5.3.2 and 5.4.2, with `cryptography` for AES: for 192 bits, which it has not in XTS."""
    whole, tail = divmod(len(data), 16)
    masks = list(tweaks(key, whole + 1))
    if tail and direction == "decrypt":
        masks[-2:] = masks[:-3:-1]
    blocks = [data[16 * i : 16 * i + 16] for i in range(whole)]

    def one(block, mask):
        return mixed(peer.ecb(key[: len(key) // 2], mixed(block, mask), direction), mask)

    output = [one(block, mask) for block, mask in zip(blocks, masks, strict=False)]
    if tail:
        last = output.pop()
        output += [one(data[16 * whole :] + last[tail:], masks[whole]), last[:tail]]
    return b"".join(output)


@functions
@key_sizes
def test_every_length(row, size):
    key = KEYS[size]
    for length in LENGTHS if size == 64 else LENGTHS[:: 3 if size == 32 else 11]:
        data = DATA[:length]
        if size == 48:
            expected = definition(key, data, row.direction)
        else:
            expected = peer.xts(key, TWEAK, data, row.direction)
        for in_place in (False, True):
            output, tweak = call(row, key, TWEAK, data, FIRST, in_place)
            assert output == expected, length
            assert tweak == TWEAK


def test_the_definition_is_the_peers():
    for length in (16, 31, 32, 47, 100):
        for direction in ("encrypt", "decrypt"):
            data = DATA[:length]
            assert definition(KEYS[64], data, direction) == peer.xts(KEYS[64], TWEAK, data, direction)


@functions
@key_sizes
def test_the_tweak_after_the_last_whole_block_is_written_back(row, size):
    expected = list(tweaks(KEYS[size], 131))
    for length in (*range(16, 700, 16), 17, 31, 33, 127, 129, 257, 511, 513, 2079):
        _, tweak = call(row, KEYS[size], TWEAK, DATA[:length], FIRST | UPDATE)
        assert tweak == expected[length // 16], length


@functions
def test_a_message_in_pieces(row):
    key = KEYS[64]
    for total in (48, 63, 400, 1000, 2100):
        expected = peer.xts(key, TWEAK, DATA[:total], row.direction)
        for first in (16, 32, 144, 256, 512):
            if first > total - 16:
                continue
            head, tweak = call(row, key, TWEAK, DATA[:first], FIRST | UPDATE)
            rest, _ = call(row, key, tweak, DATA[first:total], UPDATE)
            assert head + rest == expected


@functions
def test_a_short_message_changes_nothing(row):
    for length in range(16):
        assert call(row, KEYS[64], TWEAK, DATA[:length], FIRST | UPDATE, True) == (DATA[:length], TWEAK)


# What every x86-64 CPU has, as iced-x86 calls it.
BASE = {"INTEL8086", "INTEL386", "X64", "CMOV", "CET_IBT", "MULTIBYTENOP"}
KEPT = {"RBX", "RBP", "R12", "R13", "R14", "R15"}


@pytest.fixture(scope="module")
def image():
    pytest.importorskip("elftools", reason="needs pyelftools: pip install aeskit[disasm]")
    from aeskit.machine.loader import load

    return load(Path(__file__).parents[2] / "native" / "xts.S")


@pytest.fixture(params=FUNCTIONS, ids=lambda row: row.name)
def code(request, image):
    """A registry row, iced-x86, and the function's instructions."""
    iced = pytest.importorskip("iced_x86", reason="needs iced-x86: pip install aeskit[disasm]")
    row = request.param
    text = image.code_at(image.address_of(row.name), image.functions[row.name])
    return row, iced, list(iced.Decoder(64, text))


def names(constants):
    return {value: name for name, value in vars(constants).items() if isinstance(value, int)}


def touching(iced, instructions, kept):
    """The instructions that touch each of the 64-bit registers `kept`, or a part of it."""
    factory, registers = iced.InstructionInfoFactory(), names(iced.Register)
    found = {}
    for one in instructions:
        used = [iced.RegisterExt.full_register(use.register) for use in factory.info(one).used_registers()]
        for name in {registers[register] for register in used} & kept:
            found.setdefault(name, []).append(one)
    return found


def test_the_code_needs_what_the_registry_says(code):
    row, iced, instructions = code
    features = names(iced.CpuidFeature)
    used = {features[feature] for one in instructions for feature in one.cpuid_features()} - BASE
    assert used <= set(row.needs)


def test_the_code_keeps_the_calling_convention(code):
    row, iced, instructions = code
    assert instructions[0].mnemonic == iced.Mnemonic.ENDBR64
    assert sum(one.len for one in instructions) < 6 * 1024
    registers = names(iced.Register)
    for name, uses in touching(iced, instructions, KEPT).items():
        saved, restored = uses[0], uses[-1]
        assert (saved.mnemonic, registers[saved.op0_register]) == (iced.Mnemonic.PUSH, name)
        assert (restored.mnemonic, registers[restored.op0_register]) == (iced.Mnemonic.POP, name)
    before_return = [a for a, b in pairwise(instructions) if b.mnemonic == iced.Mnemonic.RET]
    assert before_return
    if row.vl > 16:
        assert {one.mnemonic for one in before_return} == {iced.Mnemonic.VZEROUPPER}
