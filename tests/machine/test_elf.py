"""Files made to hurt end in a clear sentence; some of the large ones took minutes, or all memory."""

import struct
import zlib

import pytest

from aeskit.machine import lines, relocate
from aeskit.machine.errors import LoadError, MachineError
from aeskit.machine.loader import BASE, from_bytes
from aeskit.machine.run import RETURN, STACK_TOP, Machine

ALLOC, EXECUTE, MERGE, COMPRESSED = 2, 4, 0x10, 0x800
PROGBITS, SYMTAB, STRTAB, RELA, NOBITS, REL, RELR = 1, 2, 3, 4, 8, 9, 19


def section(name, kind, content=b"", flags=0, **more):
    return {"name": name, "type": kind, "content": content, "flags": flags, **more}


def symbol(name, where=1, value=0, info=0x12, size=1):
    return struct.pack("<IBBHQQ", name, info, 0, where, value, size)


def relocation(offset, kind, number, addend=0):
    return struct.pack("<QIIq", offset, kind, number, addend)


def file(*sections, kind=1, segments=(), **header):
    """An ELF file: section 0, then `sections`, the last of which may be the table of their names."""
    letters = b"\0" + b"".join(one["name"].encode() + b"\0" for one in sections) + b".shstrtab\0"
    every = [*sections, section(".shstrtab", STRTAB, letters)]
    programs = b"".join(struct.pack("<IIQQQQQQ", *row) for row in segments)
    body, rows, name = bytearray(programs), [bytes(64)], 1
    for one in every:
        offset, size = 64 + len(body), one.get("size", len(one["content"]))
        body += one["content"]
        address, link, info = one.get("address", 0), one.get("link", 0), one.get("info", 0)
        more = (address, offset, size, link, info, one.get("align", 1), one.get("entry", 0))
        rows.append(struct.pack("<IIQQQQIIQQ", name, one["type"], one["flags"], *more))
        name += len(one["name"]) + 1
    numbers = {"shoff": 64 + len(body), "phentsize": 56, "phnum": len(segments)}
    numbers |= {"shentsize": 64, "shnum": len(rows), "shstrndx": len(rows) - 1} | header
    tail = [numbers[key] for key in ("phentsize", "phnum", "shentsize", "shnum", "shstrndx")]
    head = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    head += struct.pack("<HHIQQQIHHHHHH", kind, 62, 1, 0, 64, numbers["shoff"], 0, 64, *tail)
    return head + body + b"".join(rows)


TEXT = section(".text", PROGBITS, b"\xc3" * 16, ALLOC | EXECUTE)
NAMES = section(".strtab", STRTAB, b"\0f\0g\0")


def table(rows, **more):
    return section(".symtab", SYMTAB, b"".join(rows), link=3, entry=24, **more)


def relocations(rows, kind=RELA, entry=24, **more):
    return section(".rela.text", kind, b"".join(rows), **{"link": 2, "info": 1, "entry": entry} | more)


def test_the_least_file_is_loaded():
    image = from_bytes(file(TEXT, table([symbol(0, 0, 0, 0), symbol(1, value=3)]), NAMES))
    assert image.symbols == {"f": image.sections[0].address + 3}
    assert image.functions == {"f": 1}
    assert bytes(image.sections[0].data) == b"\xc3" * 16


FAR = (1 << 63, (1 << 64) - 8, 1 << 40)

BROKEN = {
    "sections without a size": (file(TEXT, shentsize=0), "section headers of 64 bytes, not 0"),
    "programs without a size": (file(TEXT, phnum=65000, phentsize=0), "program headers of 56 bytes, not 0"),
    "65534 segments": (file(TEXT, phnum=65534), "65534 program headers, more than"),
    "sections without an end": (
        file(TEXT, shnum=0)[:-192] + struct.pack("<IIQQQQIIQQ", 0, 0, 0, 0, 0, 1 << 62, 0, 0, 0, 0) * 3,
        f"has {1 << 62} sections, more than",
    ),
    "a table of sections behind the end": (file(TEXT, shnum=9), "section headers behind its end"),
    "an alignment of no power of two": (file({**TEXT, "align": 3}), "alignment of section .text is no power"),
    "a symbol without a name": (
        file(TEXT, table([symbol(99)]), NAMES),
        "names something at 0x63, where no name is",
    ),
    "symbols of one byte": (
        file(TEXT, {**table([symbol(1)]), "entry": 1}, NAMES),
        "entries of 24 bytes, not 1",
    ),
    "relocations of no size": (
        file(TEXT, table([symbol(1)]), NAMES, relocations([relocation(0, 1, 0)], entry=1 << 40)),
        f"entries of 24 bytes, not {1 << 40}",
    ),
    "relocations without addends": (
        file(TEXT, table([symbol(1)]), NAMES, relocations([bytes(16)], REL, 16)),
        "relocations of .text must have addends",
    ),
    "a relocation of nothing": (
        file(TEXT, table([symbol(1)]), NAMES, relocations([relocation(0, 1, 7)])),
        "names symbol 7, which is not there",
    ),
    "a relocation behind the section": (
        file(TEXT, table([symbol(1)]), NAMES, relocations([relocation(FAR[1], 1, 0)])),
        "lies behind the section's end",
    ),
    "a relocation that does not fit": (
        file(TEXT, table([symbol(1)]), NAMES, relocations([relocation(0, 2, 0, 1 << 62)])),
        "does not fit 32 bits",
    ),
    "code that is compressed": (file({**TEXT, "flags": ALLOC | COMPRESSED}), "both compressed and loaded"),
    "segments that overlap": (
        file(TEXT, kind=3, segments=[(1, 5, 0, 0, 0, 64, 4096, 1), (1, 5, 0, 4095, 0, 64, 64, 1)]),
        "segment 0 and segment 1 overlap",
    ),
    "a segment that wraps": (
        file(TEXT, kind=2, segments=[(1, 5, 0, (1 << 64) - 32, 0, 64, 64, 1)]),
        "segment 0 that is larger than its room",
    ),
    "a segment where the undefined lies": (
        file(
            section(".dynsym", 11, symbol(1, 0), ALLOC, link=2, entry=24),
            section(".strtab", STRTAB, b"\0f\0"),
            kind=2,
            segments=[(1, 5, 0, relocate.EXTERNAL, 0, 64, 64, 1)],
        ),
        "must leave 0x1a5c3300 to 0x1a5c4300 free",
    ),
    "a relocation that a loader does not know": (
        file(
            section(".rela.dyn", RELA, relocation(8, 2, 0), ALLOC, entry=24),
            kind=3,
            segments=[(1, 5, 0, 0, 0, 64, 64, 1)],
        ),
        r"relocation type 2 at segment 0\+0x8 is not known",
    ),
} | {
    f"{what} of {size:#x}": (file({**TEXT, key: size, "type": kind}), told)
    for size in FAR
    for what, key, kind, told in (
        ("a section", "size", PROGBITS, "section .text ends behind the file"),
        ("zeros", "size", NOBITS, f"asks for {size} bytes"),
    )
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_broken_is_told(case):
    data, told = BROKEN[case]
    with pytest.raises(LoadError, match=told):
        from_bytes(data)


def test_an_alignment_without_bound_is_taken_as_a_large_one():
    image = from_bytes(file({**TEXT, "align": 1 << 63}))
    assert image.sections[0].address % (1 << 17) == 1 << 16


def loaded(data):
    """What became of a file."""
    try:
        return f"{len(Machine(from_bytes(data)).memory.regions)} regions"
    except LoadError as error:
        return str(error)


def many(count, names=b"f"):
    return file(TEXT, table([symbol(1)] * count), section(".strtab", STRTAB, b"\0" + names + b"\0"))


def _undefined(count):
    """As many names as symbols, none of them defined, each reached through the global offset table."""
    names = b"\0" + b"".join(b"%d\0" % n for n in range(count))
    places = [1]
    for n in range(count - 1):
        places.append(places[-1] + len(b"%d\0" % n))
    code = {**TEXT, "content": bytes(4 * count)}
    rows = [symbol(at, 0, 0, 0x10) for at in places]
    entries = [relocation(4 * n, 9, n) for n in range(count)]
    return file(code, table(rows), section(".strtab", STRTAB, names), relocations(entries))


LARGE = {
    "many undefined symbols": (lambda: _undefined(50_000), "3 regions"),
    "millions of symbols": (lambda: many(1_000_001), "more than 1000000 sections, symbols and relocations"),
    "long names again and again": (
        lambda: file(
            TEXT, table([symbol(1)] * 900_000), section(".strtab", STRTAB, b"\0" + b"a" * 60_000 + b"\0")
        ),
        "has names of more than 64 MB",
    ),
    "a name without an end": (
        lambda: many(1, names=b"a" * 5_000_000),
        "where no name is",
    ),
    "constants that lie apart": (
        lambda: file(section(".rodata", PROGBITS, bytes(900_000), ALLOC | MERGE, entry=1)),
        "more than 16384 sections and constants",
    ),
    "relative relocations in bits": (
        lambda: file(section(".relr", RELR, b"\xff" * 8 * 100_000, entry=8), kind=3),
        "more than 1000000 sections, symbols and relocations",
    ),
    "lines that unfold": (
        lambda: file(TEXT, _compressed(b"\0" * (100 << 20), 100 << 20)),
        "2 regions",
    ),
    "lines that unfold further than they say": (
        lambda: file(TEXT, _compressed(b"\0" * (100 << 20), 0)),
        "2 regions",
    ),
}


def _compressed(data, size):
    content = struct.pack("<IIQQ", 1, 0, size, 1) + zlib.compress(data, 9)
    return section(".debug_line", PROGBITS, content, COMPRESSED)


@pytest.mark.parametrize("case", LARGE)
def test_a_large_file_comes_to_an_end(case):
    make, told = LARGE[case]
    assert told in loaded(make())


def test_no_name_of_a_file_is_a_command_to_the_terminal():
    names = section(".strtab", STRTAB, b"\0\x1b[2J\0\xff\x07f\0")
    rows = [symbol(0, 0, 0, 0), symbol(1, 0), symbol(6, 1)]
    text = {**TEXT, "name": ".te\x1bxt"}
    image = from_bytes(file(text, table(rows), names), "\x1b.o")
    told = [image.name, *image.symbols, *image.externals.values(), *(one.name for one in image.sections)]
    assert told == ["\ufffd.o", "\ufffd\ufffdf", "\ufffd[2J", ".te\ufffdxt"]


# ---- Lines


def unit(program, header=b"", version=4, files=b"x.S\0\0\0\0"):
    """A unit of .debug_line whose opcodes from 10 on are special: line base 0, range 1."""
    if version == 4:
        inner = struct.pack("<BBBbBB", 1, 1, 1, 0, 1, 10) + b"\0\1\1\1\1\0\0\0\1" + b"\0" + files + b"\0"
    else:
        inner = struct.pack("<BBBbBB", 1, 1, 1, 0, 1, 10) + b"\0\1\1\1\1\0\0\0\1" + header
    body = struct.pack("<H", version) + (b"\x08\0" if version == 5 else b"")
    body += struct.pack("<I", len(inner)) + inner + program
    return struct.pack("<I", len(body)) + body


START = b"\0\x09\x02" + (0).to_bytes(8, "little")


def told(*units):
    code = section(".text", PROGBITS, b"\xc3" * 16, ALLOC | EXECUTE, address=64)
    data = file(code, section(".debug_line", PROGBITS, b"".join(units)), kind=3)
    return {at - BASE: line for at, line in from_bytes(data).lines.items()}


def test_rows_are_those_of_the_standard():
    """copy; advance_line +4, a special opcode of 3 bytes; advance_pc 2, copy; end_sequence."""
    program = START + b"\1" + b"\3\4" + bytes([13]) + b"\2\2\1" + b"\0\1\1"
    assert told(unit(program)) == {0: "x.S:1", 3: "x.S:5", 5: "x.S:5"}


def test_a_file_name_of_a_line_is_no_command_to_the_terminal():
    assert told(unit(START + b"\1", files=b"\x1b[2J\0\0\0\0")) == {0: "\ufffd[2J:1"}


def test_a_broken_unit_does_not_take_the_next_one_with_it():
    assert told(unit(START + b"\2\xff"), unit(START + b"\1")) == {0: "x.S:1"}


@pytest.mark.parametrize(
    "broken",
    [
        unit(b"", b"\0" + b"\xff" * 9 + b"\1", 5),  # directories without end, of no bytes each
        unit(START + b"\3" + b"\xff" * 3_000_000 + b"\1"),  # a line's number of three million digits
        unit(b"\0\0\0" * 100_000),
        b"\xff\xff\xff\xff" + b"\xff" * 100,
        unit(b"")[:-40],
        unit(START + b"\1").replace(struct.pack("<bBB", 0, 1, 10), struct.pack("<bBB", 0, 0, 10)),
    ],
)
def test_broken_lines_are_none(broken):
    assert told(broken) == {}


def test_lines_and_their_bytes_are_bounded():
    found = told(unit(START + bytes([11]) * (3 << 20)))
    assert len(found) == lines.MAX_LINES


# ---- What a loader fills in


def quadwords(*numbers):
    return b"".join(number.to_bytes(8, "little") for number in numbers)


def linked(kind, *sections, content):
    """A library: one writable segment, the file's first bytes to the end of `content`, at address 0."""
    data = section(".data", PROGBITS, content, ALLOC | 1, address=64 + 56)
    size = 64 + 56 + len(content)
    return from_bytes(file(data, *sections, kind=kind, segments=[(1, 6, 0, 0, 0, size, size, 1)]))


def test_relative_relocations_in_bits_are_applied():
    """gABI: an even entry is an address, an odd one a bitmap of the 63 quadwords behind it."""
    at = 64 + 56
    relr = section(".relr.dyn", RELR, quadwords(at, 0b101 << 1 | 1), ALLOC, entry=8)
    image = linked(3, relr, content=quadwords(0x10, 0x20, 0x30, 0x40))
    stored = bytes(image.sections[0].data[at : at + 32])
    assert stored == quadwords(BASE + 0x10, BASE + 0x20, 0x30, BASE + 0x40)


@pytest.mark.parametrize("kind", [16, 18, 37])
def test_what_only_a_running_program_knows_is_an_unknown_address(kind):
    at = 64 + 56
    rela = section(".rela.dyn", RELA, relocation(at, kind, 0, 0x10), ALLOC, entry=24)
    image = linked(3, rela, content=quadwords(0x10))
    stored = int.from_bytes(image.sections[0].data[at : at + 8], "little")
    assert image.externals[stored] == f"what a relocation of type {kind} stands for"


def test_a_common_symbol_has_no_address_of_this_file():
    rows = [symbol(0, 0, 0, 0), symbol(1, 0xFFF2, 32, 0x11)]
    code = {**TEXT, "content": bytes(16)}
    image = from_bytes(file(code, table(rows), NAMES, relocations([relocation(0, 1, 1)])))
    stored = int.from_bytes(image.sections[0].data[:8], "little")
    assert image.externals == {stored: "f"}


@pytest.mark.parametrize(
    ("address", "told"),
    [
        (STACK_TOP - 4096, "region stack overlaps segment 0"),
        (RETURN - 32, "segment 0 lies at 0x7fffffff0000, where functions return to"),
    ],
)
def test_code_that_is_linked_to_where_something_else_is_is_refused(address, told):
    data = file(TEXT, kind=2, segments=[(1, 5, 0, address, 0, 64, 64, 1)])
    with pytest.raises(MachineError, match=told):
        Machine(from_bytes(data))
