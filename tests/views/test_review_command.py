"""`aeskit review` on the command line: files, exit status, messages."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from aeskit.cli import main

pytest.importorskip("iced_x86", reason="decoding needs iced-x86")

SAMPLES = Path(__file__).parents[1] / "verify" / "samples"
QUICK = ("--lengths", "16", "--key-bits", "128", "--workers", "1", "--no-cache")


def run(*arguments):
    return CliRunner().invoke(main, ["review", *map(str, arguments)])


def test_a_file_is_reviewed_into_text_page_and_json(tmp_path):
    done = run(
        SAMPLES / "clobbers_rbx.S",
        *QUICK,
        "--function",
        "clobbers_rbx_xts_encrypt",
        "--html",
        tmp_path / "r.html",
        "--json",
        tmp_path / "r.json",
        "--cycles",
    )
    assert done.exit_code == 1, done.output
    assert done.stdout.startswith("clobbers_rbx_xts_encrypt: 1 thing wrong: ABI; not checked: ")
    raw = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert "does not keep the ABI" in raw["functions"][0]["lines"][-1]["evidence"]
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "clobbers_rbx_xts_encrypt" in page
    assert str(SAMPLES) not in page


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--function", "no"), "has no symbol no; it has library_sse_block, library_sse_xts_encrypt"),
        (("--contract", "no"), "contract must be one of"),
        (("--lengths", "x"), "lengths must be numbers and ranges like 16-1100, not 'x'"),
    ],
)
def test_misuse_is_told(arguments, words):
    done = run(SAMPLES / "library_sse.S", *arguments)
    assert done.exit_code == 2
    assert words in " ".join(done.output.split())


def test_a_function_without_a_contract_is_not_called_good(tmp_path):
    path = tmp_path / "endless.S"
    path.write_text(".globl f\n.type f, @function\nf: jmp f\n.size f, . - f\n")
    done = run(path, *QUICK)
    assert done.exit_code == 1
    assert "not held against anything: no contract fits" in done.stdout


def test_a_file_that_is_none_is_told(tmp_path):
    path = tmp_path / "a.o"
    path.write_bytes(b"")
    done = run(path)
    assert done.exit_code == 2
    assert "must be an ELF file" in done.output


def test_symbols_are_not_read_as_markup(tmp_path, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    name, path = "[bold]x[/nope]", tmp_path / "names.S"
    path.write_text(f'.globl "{name}"\n.type "{name}", @function\n"{name}": ret\n.size "{name}", 1\n')
    done = run(path, *QUICK, "--contract", "ecb_encrypt")
    assert done.exit_code == 1
    assert done.stdout.startswith(f"{name}: ") or name in done.stdout


CONTRACT = """
from aeskit.contracts import Contract


def setup(call):
    source, target = call.data()
    call.arguments(source, target, call.length)
    call.must(target, call.source_data)


MINE = Contract("copy", "source to target", setup, multiple=16, key_sizes=(16,))
"""
COPY = """.intel_syntax noprefix
.globl f
.type f, @function
f: test rdx, rdx
jz 3f
cmp rdx, 1048576
{}
2: movups xmm0, [rdi]
movups [rsi], xmm0
add rdi, 16
add rsi, 16
sub rdx, 16
jnz 2b
3: ret
.size f, . - f
"""


@pytest.mark.parametrize(("jump", "status"), [("jae 3f", 1), ("", 0)])
def test_a_loop_that_is_not_closed_is_no_good_review(tmp_path, jump, status):
    (tmp_path / "copy.S").write_text(COPY.format(jump))
    (tmp_path / "copy.py").write_text(CONTRACT)
    mine = ("--contract", "MINE", "--contract-file", tmp_path / "copy.py")
    done = run(tmp_path / "copy.S", *QUICK, *mine, "--every-length")
    assert done.exit_code == status, done.output
    said = " ".join(done.stdout.split())
    if status:
        assert "the main loop is not closed" in said
        assert "copy, out of place: not closed for every length: at 1048576 bytes and more" in said
