"""`aeskit info`: as text, as JSON, on other CPUs, and with packages missing."""

import json

import machines
import pytest
from click.testing import CliRunner

import aeskit
from aeskit import cli, cpu, implementations, info


def run(*arguments: str, **environment: str) -> str:
    unset = {"AESKIT_IMPLEMENTATION": None, "COLUMNS": None}
    result = CliRunner().invoke(cli.main, arguments, env=unset | environment)
    assert result.exit_code == 0, result.output
    return result.output


def test_text_fits_100_columns_and_is_plain():
    text = run("info")
    assert max(map(len, text.splitlines())) <= 100
    assert "\x1b" not in text
    assert cpu.detect().name in text
    for row in implementations.ALL:
        assert row.name in text
    for name in ("Python", "numpy", "galois", "cffi", "cryptography", "OpenSSL"):
        assert f"{name} " in text


def test_names_are_whole_in_80_columns():
    text = run("info", COLUMNS="80")
    assert [row.name for row in implementations.ALL if row.name not in text] == []


@pytest.mark.parametrize("columns", [40, 60, 80, 100])
def test_text_fits_the_columns_that_the_environment_says(columns):
    text = run("info", COLUMNS=str(columns))
    assert max(map(len, text.splitlines())) <= columns
    assert "should" in text
    assert "chosen" in text


def test_json():
    found = json.loads(run("info", "--json"))
    assert found["aeskit"] == aeskit.__version__
    assert set(found["cpu"]["features"]) == cpu.detect().features
    rows = {row["name"]: row for row in found["implementations"]}
    assert list(rows) == [row.name for row in implementations.ALL]
    for name, row in rows.items():
        assert row["can"] == (row["built"] and not row["missing"])
        assert row["chosen"] <= row["can"], name
    assert found["versions"]["cffi"]


def test_can_and_should_are_two_fields():
    """On Ice Lake the 512-bit variant can run, should not, and is chosen when asked for."""
    name = "xts_encrypt_vaes_avx512_512"
    for force, chosen in ((None, False), ("vaes_avx512_512", True)):
        found = info.gather(machines.ICE_LAKE_X, force)
        row = next(row for row in found["implementations"] if row["name"] == name)
        if not row["built"]:
            pytest.skip(f"not built here: {name}")
        assert (row["can"], row["should"], row["chosen"]) == (True, 1, chosen)


def test_a_choice_that_cannot_run_is_told_and_not_an_error(capsys):
    info.render(info.gather(machines.NO_AVX, "vaes_avx2"))
    text = " ".join(capsys.readouterr().out.split())
    assert "AESKIT_IMPLEMENTATION=vaes_avx2" in text
    assert "xts_encrypt_vaes_avx2 needs AVX, VAES, VPCLMULQDQ, AVX2: missing on this CPU (no AVX)" in text


def test_features_that_the_operating_system_holds_back(capsys):
    info.render(info.gather(machines.NO_ZMM_STATE))
    assert "not enabled by the operating system: AVX512F" in capsys.readouterr().out


def test_a_missing_extra_is_one_line_saying_what_to_install(monkeypatch, capsys):
    present = info._version
    absent = ("jupyterlab", "anywidget")
    monkeypatch.setattr(info, "_version", lambda name: "" if name in absent else present(name))
    info.render(info.gather())
    lines = capsys.readouterr().out.splitlines()
    assert "jupyterlab, anywidget: missing; pip install 'aeskit[lab]'" in lines


def test_version_and_help():
    assert run("--version").strip() == f"aeskit, version {aeskit.__version__}"
    assert "info" in run("--help")
