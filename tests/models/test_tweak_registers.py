"""The register sequences are products in the field: over the whole basis, for a linear map a proof."""

import numpy as np
import pytest

from aeskit.models import gf128, tweak_registers
from aeskit.trace import Recorder

BASIS = [(1 << bit).to_bytes(16, "little") for bit in range(128)]


def registers(size: int) -> list[bytes]:
    data = b"".join(BASIS)
    return [data[start : start + size] for start in range(0, len(data), size)]


@pytest.mark.parametrize("size", tweak_registers.REGISTERS)
def test_doubling_is_the_product_with_x(size):
    got = b"".join(tweak_registers.double(register) for register in registers(size))
    assert got == b"".join(gf128.double(1 << bit).to_bytes(16, "little") for bit in range(128))


@pytest.mark.parametrize("k", [1, 4, 7, 8, 16, 24, 32, 56, 63])
def test_the_carry_less_multiply_is_the_product_with_x_to_the_k(k):
    blocks = np.frombuffer(b"".join(BASIS), np.uint8).reshape(-1, 16)
    got = b"".join(tweak_registers.multiply(register, k) for register in registers(64))
    assert got == gf128.mul_x(blocks, k).tobytes()


def test_the_sequences_are_linear():
    left, right = bytes(range(64)), bytes(range(200, 136, -1))
    both = bytes(a ^ b for a, b in zip(left, right, strict=True))
    for run in (
        tweak_registers.double,
        lambda t: tweak_registers.multiply(t, 4),
        lambda t: tweak_registers.multiply(t, 8),
    ):
        assert run(both) == bytes(a ^ b for a, b in zip(run(left), run(right), strict=True))


def test_each_instruction_is_noted_with_what_it_sets():
    recorder = Recorder()
    top = bytes(7) + b"\x80" + bytes(7) + b"\x80"
    result = tweak_registers.double(top, recorder.note)
    assert [step.text.split()[0] for step in recorder.steps] == [
        "vpshufd",
        "vpsrad",
        "vpand",
        "vpaddq",
        "vpxor",
    ]
    values = [next(iter(step.values.values())).hex() for step in recorder.steps]
    assert values == [
        "00000080000000000000008000000000",
        "ffffffff00000000ffffffff00000000",
        "87000000000000000100000000000000",
        "00000000000000000000000000000000",
        "87000000000000000100000000000000",
    ]
    assert result.hex() == values[-1]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: tweak_registers.double(bytes(15)), "a register must have 16, 32 or 64 bytes, not 15"),
        (lambda: tweak_registers.multiply(bytes(16), 0), "k must be 1 to 63, not 0"),
        (lambda: tweak_registers.multiply(bytes(16), 64), "k must be 1 to 63, not 64"),
    ],
)
def test_bad_input(call, message):
    with pytest.raises(ValueError, match=message):
        call()
