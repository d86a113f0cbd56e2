"""A benchmark's cells, its rows, its tables and its file: their structure, never their times."""

import json

import machines
import pytest
from click.testing import CliRunner

from aeskit import _native, implementations
from aeskit.bench import cells, code, peers, table
from aeskit.bench.command import parse_sizes
from aeskit.cli import main
from aeskit.cpu import detect

needs_avx = pytest.mark.skipif(
    "aesni_avx" not in machines.runnable("ctr"),
    reason="needs AES and AVX, and a core built with the templates",
)


def bench(*arguments: str):
    return CliRunner().invoke(main, ["bench", "--passes", "5", *arguments])


def test_modes_of_whole_blocks_leave_other_sizes_out():
    rows = [implementations.named(name) for name in ("cbc_encrypt_aesni_avx", "ctr_crypt_aesni_avx")]
    made = table.cells(rows, [128], [1, 16, 1420])
    sizes = [(cell.implementation.mode, cell.size) for cell in made]
    assert sizes == [("cbc", 16), ("ctr", 1), ("ctr", 16), ("ctr", 1420)]


def test_sectors_of_xts_are_measured_in_batches_too():
    made = table.cells([implementations.named("xts_encrypt_aesni_avx")], [256], [256, 512])
    assert [cell.operation for cell in made] == ["xts encrypt", "xts encrypt", "xts encrypt, batch"]
    assert [cell.messages for cell in made] == [1, 1, cells.WORKLOADS["batch"]]


def test_xts_is_measured_without_the_encryption_of_its_iv_too():
    made = table.cells([implementations.named("xts_encrypt_aesni_avx")], [256], [64])
    assert [cell.operation for cell in made] == ["xts encrypt", "xts encrypt, IV encrypted"]
    space = cells.Workspace(64)
    flags = [cells.prepare(cell, space).arguments[-1] for cell in made]
    assert flags == [1, 0], "1: the tweak argument is the IV (xts.S)"


def test_sectors_in_a_row_take_the_place_of_batches():
    names = ("xts_encrypt_vaes_avx512_512", "xts_sectors_encrypt_vaes_avx512_512")
    made = table.cells([implementations.named(name) for name in names], [256], [256, 512, 1024, 4096])
    found = [(cell.implementation.name, cell.operation, cell.size) for cell in made]
    assert found[:4] == [(names[0], "xts encrypt", size) for size in (256, 512, 1024, 4096)]
    assert found.pop(4) == (names[0], "xts encrypt, IV encrypted", 4096)
    assert sorted(found[4:]) == [
        (names[1], "xts encrypt, batch", 512),
        (names[1], "xts encrypt, batch", 4096),
        (names[1], "xts encrypt, in sequence", 512),
        (names[1], "xts encrypt, in sequence", 1024),
    ]


def test_keys_are_expanded_once_a_key_size():
    made = table.cells([implementations.named("keys_expand_aesni")], [128, 256], [16, 64])
    assert [cell.size for cell in made] == [16, 32]


def test_buffers_lie_so_that_small_messages_do_not_alias():
    space = cells.Workspace(5000)
    assert space.source % cells.PAGE == 0
    assert space.destination % cells.PAGE == cells.DESTINATION
    assert space.destination >= space.source + 5000
    assert cells.pointer(cells.xts_key(256).data) % cells.PAGE == cells.KEY
    assert cells.KEY + _native.ffi.sizeof("struct xts_cipher") <= cells.DESTINATION


@needs_avx
@pytest.mark.parametrize("name", [row.name for row in implementations.ALL])
def test_every_implementation_of_this_cpu_can_be_measured(name):
    row = implementations.named(name)
    if missing := row.can(detect()):
        pytest.skip(f"{name} needs {', '.join(missing)}")
    space, size = cells.Workspace(512 * 256), 512 if row.mode == "xts_sectors" else 64
    workloads = {"xts": ("", "batch"), "xts_sectors": ("batch", "in sequence")}
    for workload in workloads.get(row.mode, ("",)):
        call = cells.prepare(cells.Cell(row, 256, size, workload), space)
        assert all(time >= 0 for time in call.times(1))


@needs_avx
def test_a_run_as_a_table_and_as_a_file(tmp_path):
    file = tmp_path / "figures.json"
    names = "aesni_avx"
    result = bench(
        "xts", "ctr", "--implementations", names, "--sizes", "16,512", "--goals", "--json", str(file)
    )
    assert result.exit_code == 0, result.output
    for words in ("the limit of this CPU", "xts encrypt, batch, AES-256", "ctr crypt", "goals met"):
        assert words in result.output
    run = json.loads(file.read_text(encoding="utf-8"))
    assert next(limit["width"] for limit in run["limits"]) == "xmm"
    assert {(row["operation"], row["size"]) for row in run["rows"]} >= {
        ("ctr crypt", 16),
        ("xts decrypt", 512),
    }
    for row in run["rows"]:
        assert row["bytes_a_cycle"] == pytest.approx(row["size"] / row["cycles"])
        assert row["ours"]


@needs_avx
def test_code_sizes_are_those_of_the_symbols():
    pytest.importorskip("elftools", reason="needs pyelftools")
    pytest.importorskip("iced_x86", reason="needs iced-x86")
    found = code.sizes()
    names = {row.name for row in implementations.ALL if row.built}
    assert names <= set(found)
    assert all(0 < found[name] <= 6144 for name in names), "no function is over 6 KB"


@needs_avx
def test_code_sizes_have_the_subroutines_in():
    pytest.importorskip("elftools", reason="needs pyelftools")
    pytest.importorskip("iced_x86", reason="needs iced-x86")
    alone = {name: len(one.code) for name, one in code.functions().items()}
    body, name = "cbc_decrypt_blocks_aesni_avx", "cbc_decrypt_aesni_avx"
    assert code.functions()[name].calls >= {body}
    assert code.sizes()[name] == alone[name] + alone[body]
    assert code.sizes()["ctr_crypt_aesni_avx"] == alone["ctr_crypt_aesni_avx"]


@pytest.mark.parametrize("text", ["x", "0", "16,,-1", "99999999"])
def test_a_size_that_is_none_is_refused(text):
    with pytest.raises(ValueError, match="a size must be a whole number of bytes from 1 to 16777216, not"):
        parse_sizes(text)


@needs_avx
@pytest.mark.parametrize(("mode", "size"), [("xts", "8"), ("ecb", "17,33"), ("cbc", "8")])
def test_sizes_that_no_mode_asked_for_takes_are_refused(mode, size):
    result = bench(mode, "--sizes", size)
    assert result.exit_code == 1
    assert f"a size must be one that {mode} takes, not {size.replace(',', ', ')}" in result.output


@needs_avx
def test_a_machine_without_peers_is_told_so(monkeypatch):
    monkeypatch.setattr(peers, "found", list)
    result = bench("ctr", "--sizes", "64", "--implementations", "aesni_avx", "--peers")
    assert result.exit_code == 0
    assert "neither libcrypto nor libgcrypt is on this machine" in result.output


@needs_avx
def test_where_nothing_measured_has_a_goal_that_is_said():
    result = bench("ctr", "--sizes", "64", "--key-bits", "128", "--implementations", "aesni_avx", "--goals")
    assert result.exit_code == 0
    assert "nothing measured has one; they are for AES-256" in result.output


def test_an_implementation_of_another_mode_is_refused():
    result = bench("xts", "--implementations", "ctr_crypt_vaes_avx2")
    assert result.exit_code == 1
    assert "no implementation asked for (ctr_crypt_vaes_avx2 of xts) can run on this CPU" in result.output


def test_an_unknown_implementation_is_refused():
    result = bench("--implementations", "vaes_avx3")
    assert result.exit_code == 1
    assert "there is no implementation 'vaes_avx3'" in result.output
