"""Unwind tables held against runs: right ones, and each way to be wrong."""

import subprocess

import pytest

from aeskit.machine.events import lanes
from aeskit.machine.loader import load
from aeskit.machine.memory import Memory
from aeskit.machine.run import Machine
from aeskit.verify.calls import Given, prepare
from aeskit.verify.proving import proofs
from aeskit.verify.review import unwind

RIGHT = """
 push %rbx
 .cfi_adjust_cfa_offset 8
 .cfi_rel_offset %rbx, 0
 sub $32, %rsp
 .cfi_adjust_cfa_offset 32
 mov $1, %ebx
 add $32, %rsp
 .cfi_adjust_cfa_offset -32
 pop %rbx
 .cfi_adjust_cfa_offset -8
 .cfi_restore %rbx
"""
FRAME = """
 push %rbp
 .cfi_def_cfa_offset 16
 .cfi_offset %rbp, -16
 mov %rsp, %rbp
 .cfi_def_cfa_register %rbp
 sub $64, %rsp
 and $-32, %rsp
 leave
 .cfi_def_cfa %rsp, 8
"""

COMPUTED = """
 mov %rsp, %r11
 .cfi_def_cfa_register %r11
 sub $160, %rsp
 and $-64, %rsp
 mov %r11, 80(%rsp)
 .cfi_escape 0x0f, 6, 0x77, 0xd0, 0, 0x06, 0x23, 8
 mov $1, %r11d
 mov 80(%rsp), %rsp
 .cfi_def_cfa %rsp, 8
"""  # DW_OP_breg7 80, DW_OP_deref, DW_OP_plus_uconst 8

EXPRESSED = COMPUTED.replace(
    " mov $1, %r11d",
    """ push %rbx
 .cfi_escape 0x0f, 6, 0x77, 0xd8, 0, 0x06, 0x23, 8
 .cfi_escape 0x10, 3, 2, 0x77, 0
 mov $1, %ebx
 pop %rbx
 .cfi_restore %rbx
 .cfi_escape 0x0f, 6, 0x77, 0xd0, 0, 0x06, 0x23, 8""",
)  # DW_CFA_expression of rbx, DW_OP_breg7 0


def followed(tmp_path, body, start=".cfi_startproc", end=".cfi_endproc", linked=()):
    source = tmp_path / "f.S"
    other = ".globl g\n.type g, @function\ng: .cfi_startproc\n push %rax\n pop %rax\n ret\n.cfi_endproc\n"
    text = f".globl f\n.type f, @function\nf: {start}\n{body}\n ret\n {end}\n.size f, .-f\n"
    source.write_text(f"{other}{text}")
    if linked:
        subprocess.run(["cc", "-nostdlib", *linked, source, "-o", tmp_path / "f"], check=True)
    image = load(tmp_path / "f" if linked else source)
    table = unwind.read(image, image.symbols["f"])
    machine = Machine(image, Memory([]))
    machine.state.gpr[3], machine.state.gpr[5] = 0x1234, 0x5678
    unwind.follow(table, lanes(machine, "f"))
    return table


LINKED = ((), ("-shared",), ("-static", "-no-pie", "-Wl,--entry=f"), ("-shared", "-s"))


@pytest.mark.parametrize("linked", LINKED)
@pytest.mark.parametrize("body", ["nop", RIGHT, FRAME, COMPUTED, EXPRESSED])
def test_a_right_table_holds(tmp_path, body, linked):
    table = followed(tmp_path, body, linked=linked)
    assert table.rows
    assert table.checked > 1
    assert table.wrong == {}


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("push %rax\nnop\npop %rax", ["the frame is at rsp+16, not +8"] * 2),
        (RIGHT.replace(".cfi_rel_offset %rbx, 0", ""), ["rbx is changed, and the table does not say"]),
        (RIGHT.replace("%rbx, 0", "%rbx, 8"), ["the caller's rbx is not at -8 from the frame"]),
        (FRAME.replace(".cfi_def_cfa %rsp, 8", ""), ["the frame is at rbp"]),
        (COMPUTED.replace("0x23, 8", "0x23, 16"), ["the frame is computed as +8 bytes from where it is"] * 2),
        (EXPRESSED.replace("2, 0x77, 0", "2, 0x77, 8"), ["the caller's rbx is not at "]),
    ],
)
@pytest.mark.parametrize("linked", LINKED)
def test_a_wrong_table_is_told_with_what_must_be(tmp_path, body, told, linked):
    wrong = list(followed(tmp_path, body, linked=linked).wrong.values())
    assert len(wrong) >= len(told)
    assert all(one.startswith(text) for one, text in zip(wrong, told, strict=False))


FRAMES = {
    "xts_encrypt_aesni_avx": 333,
    "cbc_streams_encrypt_aesni_avx": 16 * 18 * 17,
    "cts_decrypt_aesni_avx": 77,
}


@pytest.mark.parametrize("name", FRAMES)
def test_our_functions_with_frames_have_right_tables(name):
    """At every instruction that a call reaches, its subroutines' apart."""
    target = proofs.own([name])[-1]
    prepared = prepare(target.image(), name, target.promise(), Given(FRAMES[name]))
    table = unwind.read(prepared.image, prepared.image.symbols[name])
    unwind.follow(table, lanes(prepared.machine(), name))
    assert table.wrong == {}
    assert table.checked > 50


def test_no_table_covers_the_function(tmp_path):
    table = followed(tmp_path, "push %rax\npop %rax", "", "")
    assert (table.rows, table.missing, table.checked) == ([], "", 0)


def test_a_broken_table_is_told(tmp_path):
    source = tmp_path / "f.S"
    source.write_text(".globl f\nf: .cfi_startproc\nnop\nret\n.cfi_endproc\n")
    image = load(source)
    section = next(section for section in image.sections if section.name == ".eh_frame")
    assert image.unwind == (section.address, len(section.data))
    told = []
    for at in range(len(section.data)):
        kept, section.data[at] = section.data[at], section.data[at] ^ 0xFF
        told.append(unwind.read(image, image.symbols["f"]).missing)
        section.data[at] = kept
    kept, section.data[4:8] = section.data[4:8], (4).to_bytes(4, "little")  # an entry that is its own CIE
    told.append(unwind.read(image, image.symbols["f"]).missing)
    assert told[-1]
    section.data[4:8] = kept
    del section.data[20:]
    told.append(unwind.read(image, image.symbols["f"]).missing)
    assert len([text for text in told if text.startswith(".eh_frame is broken: ")]) > 10
    assert told[-1]
