"""CPUID leaves as the SDM and the APM lay them out, and the state that the operating system enables."""

import pytest

from aeskit import cpu

AVX_STATE, AVX512_STATE = 0b111, 0b1110_0111


def registers(text: str) -> tuple[int, int, int, int]:
    raw = text.encode().ljust(16, b"\0")
    a, b, c, d = (int.from_bytes(raw[i : i + 4], "little") for i in range(0, 16, 4))
    return a, b, c, d


def leaves(signature: int, brand: str = "A  Brand @ 2 GHz", ecx1: int = 1 << 25 | 1 << 28):
    """An imagined Intel CPU with AES, AVX and every bit of leaf 7 set."""
    table = {
        0: (7, *(int.from_bytes(part, "little") for part in (b"Genu", b"ntel", b"ineI"))),
        1: (signature, 0, ecx1, 1 << 26),
        7: (0, 0xFFFF_FFFF, 0xFFFF_FFFF, 0),
        0x8000_0000: (0x8000_0004, 0, 0, 0),
        **{0x8000_0002 + i: registers(brand[16 * i : 16 * i + 16]) for i in range(3)},
    }
    return lambda leaf, subleaf: table.get(leaf, (0, 0, 0, 0))


# Signatures of leaf 1 as published: Skylake-SP 0x50654, Ice Lake-SP 0x606A6, Zen 3 (Vermeer) 0xA20F12.
@pytest.mark.parametrize(
    ("signature", "expected"),
    [(0x50654, (6, 0x55, 4)), (0x606A6, (6, 0x6A, 6)), (0xA20F12, (0x19, 0x21, 2))],
)
def test_family_model_stepping(signature, expected):
    found = cpu.from_cpuid(leaves(signature), AVX512_STATE)
    assert (found.family, found.model, found.stepping) == expected
    assert (found.vendor, found.name) == ("GenuineIntel", "A Brand @ 2 GHz")


@pytest.mark.parametrize(
    ("state", "present", "held_back"),
    [
        (AVX512_STATE, {"AES", "AVX", "VAES", "AVX512F", "BMI2"}, set()),
        (AVX_STATE, {"AES", "AVX", "VAES", "BMI2"}, {"AVX512F", "AVX512BW", "AVX512VL"}),
        (0b1100_0111, {"AES", "AVX", "VAES"}, {"AVX512F"}),  # zmm without the mask registers
        (0b0000_0011, {"AES", "BMI2"}, {"AVX", "AVX2", "VAES", "VPCLMULQDQ", "AVX512F"}),
        (0, {"AES", "BMI2"}, {"AVX", "AVX512F"}),
    ],
)
def test_features_need_their_register_state(state, present, held_back):
    found = cpu.from_cpuid(leaves(0x606A6), state)
    assert present <= found.features
    assert held_back <= found.disabled
    assert not found.features & found.disabled


def test_a_feature_whose_state_is_off_is_explained():
    found = cpu.from_cpuid(leaves(0x606A6), AVX_STATE)
    assert found.missing(("AES", "AVX512F")) == ("AVX512F",)
    assert found.explain(("AVX512F",)) == "AVX512F (not enabled by the operating system)"


def test_another_architecture_has_no_features():
    found = cpu.from_cpuid(lambda leaf, subleaf: (0, 0, 0, 0), 0)
    assert found.features == found.disabled == frozenset()
    assert found.vendor == ""
    assert found.name


@pytest.mark.parametrize("model", [0x55, 0x6A, 0x6C, 0x7D, 0x7E, 0x9D, 0x8C, 0x8D])
def test_models_whose_clock_drops(model):
    assert cpu.CPU("", "GenuineIntel", 6, model).drops_clock
    assert not cpu.CPU("", "AuthenticAMD", 6, model).drops_clock
    assert not cpu.CPU("", "GenuineIntel", 15, model).drops_clock


def test_sapphire_rapids_keeps_its_clock():
    assert not cpu.CPU("", "GenuineIntel", 6, 0x8F).drops_clock


def test_this_cpu_agrees_with_the_kernel():
    names = {"AES": "aes", "SSE4.1": "sse4_1", "SSE2": "sse2"}
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            flags = next(line for line in file if line.startswith("flags")).split(":")[1].split()
    except (OSError, StopIteration):
        pytest.skip("needs /proc/cpuinfo with a line of flags")
    expected = {name for name in cpu.FEATURES if names.get(name, name.lower()) in flags}
    assert cpu.detect().features == expected
