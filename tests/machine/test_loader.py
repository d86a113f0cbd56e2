"""Files as images: relocations, symbols, lines; broken files end in a clear error."""

import contextlib
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aeskit.machine.assemble import INCLUDES, assemble
from aeskit.machine.decode import decode
from aeskit.machine.errors import LoadError, MachineError
from aeskit.machine.loader import from_bytes, load

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


def test_what_cannot_be_loaded_says_why(tmp_path):
    with pytest.raises(LoadError, match="cannot be read: No such file"):
        load(tmp_path / "none.o")
    with pytest.raises(LoadError, match="must be an ELF file"):
        from_bytes(b"MZ\x90\x00")
    (tmp_path / "bad.S").write_text("frobnicate %rax\n")
    with pytest.raises(LoadError, match="does not assemble"):
        load(tmp_path / "bad.S")


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
