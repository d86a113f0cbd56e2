"""The registry: the rows, what CPUs can run, what is chosen and what a forced choice says."""

import dataclasses

import machines
import pytest

from aeskit import implementations as registry
from aeskit.implementations import MissingFeature, UnknownImplementation, choose


def built(mode: str) -> None:
    missing = [row.name for row in registry.ALL if row.mode == mode and not row.built]
    if missing:
        pytest.skip(f"not built here: {', '.join(missing)}")


def test_names_say_mode_direction_and_instruction_set():
    for row in registry.ALL:
        assert row.name == f"{row.mode}_{row.direction}_{row.instruction_set}"
    assert len({row.name for row in registry.ALL}) == len(registry.ALL)


def test_rows_of_xts():
    rows = {
        row.instruction_set: row for row in registry.ALL if (row.mode, row.direction) == ("xts", "encrypt")
    }
    avx512 = ("AES", "AVX", "VAES", "VPCLMULQDQ", "AVX2", "AVX512F", "AVX512BW", "AVX512VL", "BMI2")
    assert {name: (row.vl, row.needs, row.preference) for name, row in rows.items()} == {
        "aesni_avx": (16, avx512[:2], 500),
        "vaes_avx2": (32, avx512[:5], 600),
        "vaes_avx512_256": (32, avx512, 700),
        "vaes_avx512_512": (64, avx512, 800),
    }


@pytest.mark.parametrize(
    ("cpu", "expected"),
    [
        (machines.SKYLAKE_X, "aesni_avx"),  # it has AVX-512 but no VAES
        (machines.ICE_LAKE_X, "vaes_avx512_256"),
        (machines.SAPPHIRE_RAPIDS, "vaes_avx512_512"),
        (machines.ZEN_3, "vaes_avx2"),
        (machines.ZEN_4, "vaes_avx512_512"),
        (machines.NO_ZMM_STATE, "vaes_avx2"),
    ],
    ids=lambda value: getattr(value, "name", value),
)
@pytest.mark.parametrize("direction", ["encrypt", "decrypt"])
def test_choice_of_xts(cpu, expected, direction):
    built("xts")
    assert choose("xts", direction, cpu).name == f"xts_{direction}_{expected}"


def test_cpus_whose_clock_drops_can_still_be_asked():
    built("xts")
    row = choose("xts", "encrypt", machines.ICE_LAKE_X, "vaes_avx512_512")
    assert row.instruction_set == "vaes_avx512_512"
    assert row.can(machines.ICE_LAKE_X) == ()
    assert row.should(machines.ICE_LAKE_X) == 1
    assert row.should(machines.ZEN_4) == 800


@pytest.mark.parametrize("force", ["vaes_avx512_512", "xts_encrypt_vaes_avx512_512"])
def test_a_missing_feature_is_named(force):
    built("xts")
    with pytest.raises(MissingFeature, match=r"needs AVX512F, AVX512BW, AVX512VL: .*\(Zen 3\)"):
        choose("xts", "encrypt", machines.ZEN_3, force)
    with pytest.raises(MissingFeature, match=r"AVX512F \(not enabled by the operating system\)"):
        choose("xts", "encrypt", machines.NO_ZMM_STATE, force)


def test_no_implementation_can_run():
    built("xts")
    with pytest.raises(MissingFeature, match="xts_encrypt_aesni_avx needs AVX: missing"):
        choose("xts", "encrypt", machines.NO_AVX)
    with pytest.raises(MissingFeature, match="keys_expand_aesni needs AES: missing"):
        choose("keys", "expand", machines.NO_AES)


@pytest.mark.parametrize("force", ["vaes", "xts", "", "xts_encrypt_vaes_avx3"])
def test_an_unknown_name_lists_those_known(force):
    with pytest.raises(UnknownImplementation, match=r"known are aesni_avx, .*xts_encrypt_vaes_avx512_256"):
        choose("xts", "encrypt", machines.ZEN_3, force)
    with pytest.raises(UnknownImplementation, match="there is no implementation") as raised:
        registry.named(force)
    assert len(str(raised.value)) < 160


def test_a_name_that_is_nearly_one_is_told_which():
    with pytest.raises(UnknownImplementation, match=r"xts_encrypt_avx2': is it .*xts_encrypt_vaes_avx2"):
        registry.named("xts_encrypt_avx2")
    with pytest.raises(UnknownImplementation, match=r"'rubbish': `aeskit info` lists them"):
        registry.named("rubbish")


@pytest.mark.parametrize(
    ("mode", "force", "applies"),
    [
        ("xts", "xts_encrypt_aesni_avx", True),
        ("ctr", "xts_encrypt_aesni_avx", False),
        ("cts", "cbc_decrypt_aesni_avx", True),
        ("cbc", "cts_decrypt_aesni_avx", True),
        ("ctr", "aesni_avx", True),
        ("ctr", "a mistake", True),
    ],
)
def test_a_full_name_in_the_environment_is_for_its_own_mode(mode, force, applies, monkeypatch):
    built("ctr")
    assert registry.for_mode(mode, force) == (force if applies else None)
    monkeypatch.setenv(registry.VARIABLE, "xts_encrypt_aesni_avx")
    (chosen,) = registry.for_cipher("ctr", "crypt", implementation=None)
    assert chosen == choose("ctr", "crypt")
    with pytest.raises(UnknownImplementation, match="is an implementation of xts, not of ctr"):
        registry.for_cipher("ctr", "crypt", implementation="xts_encrypt_aesni_avx")


def test_one_name_does_for_both_directions_but_not_for_another_mode():
    built("xts")
    name = "xts_encrypt_aesni_avx"
    assert choose("xts", "encrypt", machines.ZEN_3, name) == registry.named(name)
    assert choose("xts", "decrypt", machines.ZEN_3, name).name == "xts_decrypt_aesni_avx"
    with pytest.raises(UnknownImplementation, match=f"{name} is an implementation of xts, not of ctr"):
        choose("ctr", "crypt", machines.ZEN_3, name)


def test_cbc_encryption_has_one_set_and_falls_back_to_it():
    built("cbc")
    assert choose("cbc", "encrypt", machines.ZEN_3, "vaes_avx2").name == "cbc_encrypt_aesni_avx"
    assert choose("cbc", "decrypt", machines.ZEN_3, "vaes_avx2").name == "cbc_decrypt_vaes_avx2"
    with pytest.raises(UnknownImplementation):
        choose("cbc", "encrypt", machines.ZEN_3, "cbc_encrypt_vaes_avx2")


def test_unknown_mode_or_direction():
    with pytest.raises(ValueError, match="no mode 'gcm' with a direction 'encrypt'"):
        choose("gcm", "encrypt")
    with pytest.raises(ValueError, match="no mode 'ctr' with a direction 'encrypt'"):
        choose("ctr", "encrypt")


def test_the_environment_is_read_when_asked(monkeypatch):
    monkeypatch.delenv(registry.VARIABLE, raising=False)
    assert registry.requested() is None
    monkeypatch.setenv(registry.VARIABLE, "")
    assert registry.requested() is None
    monkeypatch.setenv(registry.VARIABLE, "vaes_avx2")
    assert registry.requested() == "vaes_avx2"


def test_a_row_whose_function_is_missing_is_not_built():
    row = dataclasses.replace(registry.ALL[0], name="keys_expand_nothing")
    assert not row.built
    with pytest.raises(MissingFeature, match="keys_expand_nothing is not built here"):
        _ = row.function
