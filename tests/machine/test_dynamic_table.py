"""A library whose sections tell other relocations than its loader makes is refused."""

import shutil
import struct
import subprocess

import pytest

from aeskit.machine.dynamic_table import check
from aeskit.machine.elf import RELA, Elf
from aeskit.machine.errors import LoadError

POINTER = """.globl f
f: mov p(%rip), %rax
ret
.section .data.rel.ro, "aw"
.p2align 3
p: .quad x
.section .rodata
x: .byte 0
"""
SECTION_OFFSETS, TYPE, OFFSET, LINK = 40, 4, 24, 40
"""e_shoff in the header; sh_type, sh_offset and sh_link in a section's."""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    (folder / "p.S").write_text(POINTER)
    out = folder / "p.so"
    gcc = shutil.which("gcc") or "cc"
    subprocess.run([gcc, "-shared", "-nostdlib", "-o", out, folder / "p.S"], check=True)
    return out.read_bytes()


def header(data, name):
    """Where the header of a section lies."""
    begin = struct.unpack_from("<Q", data, SECTION_OFFSETS)[0]
    return begin + 64 * [s.name for s in Elf(data, "p.so").sections].index(name)


def changed(data, name, field, form, value):
    out = bytearray(data)
    struct.pack_into(form, out, header(data, name) + field, value)
    return bytes(out)


def test_what_a_linker_writes_is_taken(library):
    elf = Elf(library, "p.so")
    check(elf)
    assert any(section.type == RELA for section in elf.sections)


def test_relocations_that_no_section_lists_are_told(library):
    hidden = changed(library, ".rela.dyn", TYPE, "<I", 1)
    with pytest.raises(LoadError, match="that no section lists"):
        check(Elf(hidden, "p.so"))


def test_relocations_that_no_loader_applies_are_told(library):
    elsewhere = changed(library, ".rela.dyn", OFFSET, "<Q", 64)
    with pytest.raises(LoadError, match=r"in \.rela\.dyn that no loader applies"):
        check(Elf(elsewhere, "p.so"))


def test_names_where_no_loader_looks_are_told(library):
    names = [section.name for section in Elf(library, "p.so").sections]
    for name in (".rela.dyn", ".dynsym"):
        other = changed(
            library, name, LINK, "<I", names.index(".symtab" if name == ".rela.dyn" else ".strtab")
        )
        with pytest.raises(LoadError, match="where no loader looks"):
            check(Elf(other, "p.so"))
    elsewhere = changed(library, ".dynsym", OFFSET, "<Q", 64)
    with pytest.raises(LoadError, match=r"in \.dynsym, where no loader looks"):
        check(Elf(elsewhere, "p.so"))
