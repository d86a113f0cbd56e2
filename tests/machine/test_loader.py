"""Files as images: relocations, symbols, lines; broken files end in a clear error."""

import contextlib
import io
import struct
import subprocess
from itertools import pairwise

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given, settings
from hypothesis import strategies as st

from aeskit.machine.assemble import INCLUDES, assemble
from aeskit.machine.decode import decode
from aeskit.machine.errors import LoadError, MachineError
from aeskit.machine.loader import MAX_STRINGS, from_bytes, load

SOURCE = """
#include <linux/linkage.h>
#include <asm/frame.h>
.section .rodata
.p2align 4
table: .octa 0x0f0e0d0c0b0a09080706050403020100
pointer: .quad table
.text
SYM_FUNC_START(f)
    FRAME_BEGIN
    movdqa table(%rip), %xmm0
    lea pointer(%rip), %rax
    call g
    FRAME_END
    RET
SYM_FUNC_END(f)
SYM_FUNC_START_LOCAL(g)
    ret
SYM_FUNC_END(g)
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("load") / "unit.S"
    path.write_text(SOURCE)
    return path


@pytest.fixture(scope="module")
def object_bytes(source):
    return assemble(source)


def test_sections_symbols_and_lines(source):
    image = load(source)
    assert set(image.functions) == {"f", "g"}
    assert {s.name: s.permissions for s in image.sections} == {".text": "rx", ".rodata": "r"}
    rodata = next(s for s in image.sections if s.name == ".rodata")
    stored = rodata.data[image.symbols["pointer"] - rodata.address :][:8]
    assert int.from_bytes(stored, "little") == image.symbols["table"]
    first = decode(image, image.symbols["f"])
    assert first.line == "unit.S:11"
    assert first.operands[1].displacement == image.symbols["table"]


def test_a_library_is_mapped_as_the_loader_would(source, tmp_path):
    library = tmp_path / "unit.so"
    command = [
        "cc",
        "-shared",
        "-nostdlib",
        "-x",
        "assembler-with-cpp",
        "-I",
        INCLUDES,
        source,
        "-o",
        library,
    ]
    subprocess.run(command, check=True)
    image = load(library)
    assert decode(image, image.symbols["f"]).mnemonic == "movdqa"
    segment = next(s for s in image.sections if s.address <= image.symbols["pointer"] < s.end)
    stored = segment.data[image.symbols["pointer"] - segment.address :][:8]
    assert int.from_bytes(stored, "little") == image.symbols["table"]


@pytest.mark.parametrize(("option", "rights"), [("relro", ["r", "rw"]), ("norelro", ["rw", "rw"])])
def test_what_the_loader_protects_of_a_library_is_constant(tmp_path, option, rights):
    source, library = tmp_path / "unit.S", tmp_path / "unit.so"
    source.write_text(
        '.section .data.rel.ro, "aw"\npointer: .quad table\n.data\nstate: .quad 7\ntable: .quad 5\n'
        ".text\n.globl f\n.type f, @function\nf: ret\n.size f, 1\n"
    )
    subprocess.run(["cc", "-shared", "-nostdlib", f"-Wl,-z,{option}", source, "-o", library], check=True)
    image = load(library)
    places = [image.symbols[name] for name in ("pointer", "state")]
    sections = [next(s for s in image.sections if s.address <= place < s.end) for place in places]
    assert [section.permissions for section in sections] == rights
    stored = sections[0].data[places[0] - sections[0].address :][:8]
    assert int.from_bytes(stored, "little") == image.symbols["table"]


def test_the_page_in_which_the_protected_ends_is_not_protected(tmp_path):
    """glibc's loader rounds both ends down."""
    source, library = tmp_path / "unit.S", tmp_path / "unit.so"
    source.write_text('.section .data.rel.ro, "aw"\npointer: .quad f\n.text\n.globl f\nf: ret\n')
    subprocess.run(["cc", "-shared", "-nostdlib", "-Wl,-z,relro", source, "-o", library], check=True)
    data = bytearray(library.read_bytes())
    begin, count = struct.unpack_from("<Q", data, 32)[0], struct.unpack_from("<H", data, 56)[0]
    (at,) = [begin + 56 * n for n in range(count) if data[begin + 56 * n :][:4] == b"\x52\xe5\x74\x64"]
    rights = []
    for less in (0, 8):
        size = struct.unpack_from("<Q", data, at + 40)[0] - less
        struct.pack_into("<Q", data, at + 40, size)
        image = from_bytes(bytes(data))
        place = image.symbols["pointer"]
        rights += [s.permissions for s in image.sections if s.address <= place < s.end]
    assert rights == ["r", "rw"]


def test_what_cannot_be_loaded_says_why(tmp_path):
    with pytest.raises(LoadError, match="cannot be read: No such file"):
        load(tmp_path / "none.o")
    with pytest.raises(LoadError, match="must be an ELF file"):
        from_bytes(b"MZ\x90\x00")
    with pytest.raises(LoadError, match="bitcode: compile without -flto"):
        from_bytes(b"BC\xc0\xde" + bytes(60))
    with pytest.raises(LoadError, match="not an archive: take an object file out"):
        from_bytes(b"!<arch>\n")
    with pytest.raises(LoadError, match="not an empty file"):
        from_bytes(b"")
    (tmp_path / "bad.S").write_text("frobnicate %rax\n")
    with pytest.raises(LoadError, match="does not assemble"):
        load(tmp_path / "bad.S")


def test_an_object_of_the_compilers_own_form_says_how_to_compile_it(tmp_path):
    source = tmp_path / "f.c"
    source.write_text("int f(int x) { return x + 1; }\n")
    for options, has_code in ((["-flto"], False), (["-flto", "-ffat-lto-objects"], True)):
        command = ["gcc", "-c", "-O2", *options, str(source), "-o", str(tmp_path / "f.o")]
        subprocess.run(command, check=True)
        if has_code:
            assert "f" in load(tmp_path / "f.o").symbols
        else:
            with pytest.raises(LoadError, match="compile without -flto, or with -ffat-lto-objects"):
                load(tmp_path / "f.o")


def test_a_function_that_the_loader_chooses_is_told_as_such(tmp_path):
    source = tmp_path / "f.S"
    source.write_text(".globl f, g\n.type f, @gnu_indirect_function\nf: ret\ng: jmp f\njmp h\n")
    image = load(source)
    for name in ("f", "h"):
        with pytest.raises(LoadError, match=rf"f\.S only names {name}, which is .*\(IFUNC\)"):
            image.address_of(name)
    assert image.address_of("g")


@settings(max_examples=150, deadline=None, derandomize=True)
@given(
    changes=st.lists(
        st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), min_size=1, max_size=8
    ),
    length=st.one_of(st.just(1.0), st.floats(0, 1)),
)
def test_broken_files_end_in_an_error_or_an_image(object_bytes, changes, length):
    broken = bytearray(object_bytes)
    for place, value in changes:
        broken[int(place * len(broken))] = value
    with contextlib.suppress(MachineError):
        image = from_bytes(bytes(broken[: int(length * len(broken))]))
        address = image.address_of("f")
        for _ in range(20):
            address = decode(image, address).following


EXTREMES = (
    0,
    1,
    3,
    0xFFFF,
    (1 << 31) - 1,
    1 << 31,
    (1 << 32) - 1,
    1 << 40,
    (1 << 63) - 1,
    1 << 63,
    (1 << 64) - 8,
)
EHDR = ((16, 2), (18, 2), (32, 8), (40, 8), (54, 2), (56, 2), (58, 2), (60, 2), (62, 2))
SHDR = ((0, 4), (4, 4), (8, 8), (24, 8), (32, 8), (40, 4), (44, 4), (48, 8), (56, 8))
SYM, RELA = ((0, 4), (4, 1), (6, 2), (8, 8)), ((0, 8), (8, 4), (12, 4), (16, 8))
PHDR = ((0, 4), (4, 4), (8, 8), (16, 8), (32, 8), (40, 8))
"""Place and bytes of the fields of headers, symbols, relocations and segments (gABI, chapters 4 and 5)."""


def fields(data):
    """Every field of a file that says how much there is, or where."""
    yield from EHDR
    for header in range(64, 64 + 56 * int.from_bytes(data[56:58], "little"), 56):
        yield from ((header + at, size) for at, size in PHDR)
    begin, count = int.from_bytes(data[40:48], "little"), int.from_bytes(data[60:62], "little")
    for header in range(begin, begin + 64 * count, 64):
        yield from ((header + at, size) for at, size in SHDR)
        kind = int.from_bytes(data[header + 4 : header + 8], "little")
        start, room = (int.from_bytes(data[header + at : header + at + 8], "little") for at in (24, 32))
        for entry in range(start, start + room, 24):
            yield from ((entry + at, size) for at, size in {2: SYM, 11: SYM, 4: RELA}.get(kind, ()))


@pytest.mark.parametrize("linked", [False, True])
def test_every_field_at_its_extremes_ends_in_an_error_or_an_image(object_bytes, tmp_path, linked):
    data, tried = object_bytes, 0
    if linked:
        (tmp_path / "unit.o").write_bytes(data)
        subprocess.run(["ld", "-shared", "-o", tmp_path / "unit.so", tmp_path / "unit.o"], check=True)
        data = (tmp_path / "unit.so").read_bytes()
    for at, size in fields(data):
        for value in {value % (1 << 8 * size) for value in EXTREMES}:
            broken = bytearray(data)
            broken[at : at + size] = value.to_bytes(size, "little")
            with contextlib.suppress(MachineError):
                image = from_bytes(bytes(broken))
                decode(image, image.address_of("f"))
            tried += 1
    assert tried > 2000


def test_a_section_s_name_is_no_command_to_the_terminal(tmp_path):
    source = tmp_path / "unit.S"
    source.write_text('.section ".data.odd", "a"\n.quad 1\n')
    data = bytearray(assemble(source).replace(b".data.odd", b".da\x1b[2\nta"))
    elf = ELFFile(io.BytesIO(bytes(data)))
    number = next(n for n, section in enumerate(elf.iter_sections()) if section.name.startswith(".da\x1b"))
    at = elf["e_shoff"] + number * elf["e_shentsize"] + 32  # sh_size
    data[at : at + 8] = (1 << 20).to_bytes(8, "little")
    with pytest.raises(LoadError) as refused:
        from_bytes(bytes(data))
    assert str(refused.value) == "object: section .da\ufffd[2\ufffdta ends behind the file"


def assembled(folder, source, name="unit"):
    path = folder / f"{name}.S"
    path.write_text(source)
    return path


ALIGNED = """
.section .rodata.one, "a"
one: .byte 1
.section .rodata.eight, "a"
.balign 8
eight: .quad 1
.section .rodata.all, "a"
.balign 64
all: .quad 1
.text
.balign 16
f: ret
"""


def test_no_section_is_better_aligned_than_it_asks(tmp_path):
    symbols = load(assembled(tmp_path, ALIGNED)).symbols
    alignment = {name: address & -address for name, address in symbols.items()}
    assert alignment == {"one": 1, "eight": 8, "all": 64, "f": 16}


MERGED = """
.section .rodata.cst16, "aM", @progbits, 16
.balign 16
.Lpad: .quad 1, 2
first: .quad 3, 4
second: .quad 5, 6
end:
.section .rodata, "a"
.quad second, .Lpad
.text
f:
movdqu first(%rip), %xmm0
movdqu .Lpad+8(%rip), %xmm0
lea end(%rip), %rax
ret
"""


def test_constants_that_a_linker_merges_lie_apart(tmp_path):
    """It keeps one of those that are equal, in any order: what lies behind one is another file's."""
    image = load(assembled(tmp_path, MERGED))
    parts = [bytes(s.data) for s in image.sections if s.name == ".rodata.cst16"]
    assert [int.from_bytes(part[:8], "little") for part in parts] == [1, 3, 5]
    starts = [s.address for s in image.sections if s.name == ".rodata.cst16"]
    assert starts[1] == image.symbols["first"]
    assert starts[2] == image.symbols["second"]
    assert all(b - a >= 16 + 64 and a % 32 == 16 for a, b in pairwise(starts))
    at = image.symbols["f"]
    one = decode(image, at)
    assert one.operands[1].displacement == starts[1]
    two = decode(image, one.following)
    assert two.operands[1].displacement == starts[0] + 8
    (rodata,) = [s.data for s in image.sections if s.name == ".rodata"]
    assert [int.from_bytes(rodata[i : i + 8], "little") for i in (0, 8)] == [starts[2], starts[0]]


STRINGS = """
.section .rodata.str1.1, "aMS", @progbits, 1
first: .string "ab"
second: .string "zab"
.section .rodata.str2.2, "aMS", @progbits, 2
wide: .short 0x100, 0x61, 0
wider: .short 0x62, 0
.text
f:
movzbl first+1(%rip), %eax
ret
"""


def test_strings_that_a_linker_merges_lie_apart(tmp_path):
    """One that is another's end is stored once: what lies before and behind one is not known."""
    image = load(assembled(tmp_path, STRINGS))
    parts = {s.address: bytes(s.data) for s in image.sections if ".str" in s.name}
    wanted = {"first": b"ab\0", "second": b"zab\0", "wide": b"\0\1a\0\0\0", "wider": b"b\0\0\0"}
    assert {name: parts[image.symbols[name]] for name in wanted} == wanted
    assert len(parts) == 4
    assert all(b - a > 64 for a, b in pairwise(sorted(parts)))
    assert decode(image, image.symbols["f"]).operands[1].displacement == image.symbols["first"] + 1


def test_strings_too_many_to_be_placed_apart_are_not_read(tmp_path):
    source = '.section .rodata.str1.1, "aMS", @progbits, 1\n' + '.string "a"\n' * (MAX_STRINGS + 1)
    (section,) = [s for s in load(assembled(tmp_path, source)).sections if ".str" in s.name]
    assert "r" not in section.permissions


def test_a_name_that_stands_for_two_functions_is_told_and_a_global_one_goes_first(tmp_path):
    for name, visible in (("a", ""), ("b", ""), ("c", ".globl g")):
        source = f".text\n.type f, @function\n.type g, @function\n{visible}\nf: nop\ng: ret\n"
        path = assembled(tmp_path, source, name)
        (tmp_path / f"{name}.o").write_bytes(assemble(path))
    objects = [str(tmp_path / f"{name}.o") for name in "abc"]
    subprocess.run(["ld", "-r", "-o", str(tmp_path / "all.o"), *objects], check=True)
    image = load(tmp_path / "all.o")
    with pytest.raises(LoadError, match=r"all\.o has several symbols called f"):
        image.address_of("f")
    text = next(s for s in image.sections if s.name == ".text")
    assert image.address_of("g") == text.address + 2 * 2 + 1


def test_a_function_that_the_loader_chooses_is_not_taken_for_its_chooser(tmp_path):
    source = ".text\n.globl f\n.type f, @gnu_indirect_function\nf: ret\n.globl g\ng: call f\nret\n"
    image = load(assembled(tmp_path, source))
    assert "f" not in image.symbols
    with pytest.raises(LoadError, match="f is called, but"):
        decode(image, decode(image, image.address_of("g")).operands[0].address)


def test_a_file_with_threads_own_data_is_loaded_and_tells_no_place_of_them(tmp_path):
    lines = ["movq x@gottpoff(%rip), %rax", "leaq x@tlsgd(%rip), %rdi", "movq $x@tpoff, %rax"]
    source = '.section .tbss, "awT", @nobits\nx: .zero 8\n.text\nf:\n' + "\n".join([*lines, "ret\n"])
    image = load(assembled(tmp_path, source))
    at, places = image.address_of("f"), []
    for _ in lines:
        one = decode(image, at)
        operand = one.operands[1]
        places.append(operand.value if hasattr(operand, "value") else operand.displacement)
        at = one.following
    assert [image.externals[place] for place in places] == [
        f"what a relocation of type {kind} stands for" for kind in (22, 19, 23)
    ]
