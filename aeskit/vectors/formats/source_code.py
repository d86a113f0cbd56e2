"""Vectors as source code, written only: C arrays, Rust with ``hex!``, Python literals."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from aeskit.vectors.registry import Format, Head, holds
from aeskit.vectors.test_vector import TestVector

_BYTES = ("key", "iv", "plaintext", "ciphertext", "iv_after", "schedule")
_TEXTS = ("name", "mode", "stealing", "direction", "comment")
_DROPS = holds("name", "direction", "iv_after", "comment")
_NUMBERS = ("bits", "unit_bits", "iterations")


def write_c(vectors: Iterable[TestVector], head: Head) -> Iterator[str]:
    """C99: an array of structs of pointers and sizes; NULL where there is nothing."""
    yield f"/* {_one_line(head.title).replace('*/', '* /')} */\n#include <stddef.h>\n#include <stdint.h>\n\n"
    yield "struct aeskit_vector {\n"
    yield "".join(f"\tconst char *{name};\n" for name in _TEXTS)
    yield "".join(f"\tconst uint8_t *{name};\n\tsize_t {name}_size;\n" for name in _BYTES)
    yield "\tuint64_t bits;\t\t/* of the text */\n\tuint64_t unit_bits;\t/* of each data unit */\n"
    yield "\tunsigned iterations;\n\tint valid;\n};\n\n"
    count = 0
    names: list[str] = []
    for count, item in enumerate(vectors, 1):
        for name in _BYTES:
            if data := getattr(item, name):
                yield f"static const uint8_t aeskit_{count}_{name}[] = {{\n{_rows(data)}}};\n"
        names.append(_c_element(count, item))
    yield "\nstatic const struct aeskit_vector aeskit_vectors[] = {\n"
    yield from names or ["\t{ 0 },\n"]
    yield f"}};\n\nstatic const size_t aeskit_vector_count = {count};\n"


def _c_element(number: int, item: TestVector) -> str:
    fields = [f".{name} = {_c_string(getattr(item, name))}" for name in _TEXTS]
    for name in _BYTES:
        if data := getattr(item, name):
            fields += [f".{name} = aeskit_{number}_{name}", f".{name}_size = {len(data)}"]
    fields += [f".bits = {item.length_bits}", f".unit_bits = {item.unit_bits or item.length_bits}"]
    fields += [f".iterations = {item.iterations}", f".valid = {int(item.valid)}"]
    return "\t{\n" + "".join(f"\t\t{field},\n" for field in fields) + "\t},\n"


def _rows(data: bytes) -> str:
    rows = (data[at : at + 12] for at in range(0, len(data), 12))
    return "".join("\t" + " ".join(f"0x{byte:02x}," for byte in row) + "\n" for row in rows)


def _c_string(text: str) -> str:
    """Printable ASCII as it is, every other byte of the UTF-8 as three octal digits."""
    plain = {*range(32, 127)} - {ord('"'), ord("\\"), ord("?")}
    return '"' + "".join(chr(byte) if byte in plain else f"\\{byte:03o}" for byte in text.encode()) + '"'


def write_rust(vectors: Iterable[TestVector], head: Head) -> Iterator[str]:
    """A slice of structs whose bytes are ``hex!`` of the crate hex-literal."""
    yield f"// {_one_line(head.title)}\nuse hex_literal::hex;\n\npub struct Vector {{\n"
    yield "".join(f"    pub {name}: &'static str,\n" for name in _TEXTS)
    yield "".join(f"    pub {name}: &'static [u8],\n" for name in _BYTES)
    yield "".join(f"    pub {name}: Option<u64>,\n" for name in ("bits", "unit_bits"))
    yield "    pub iterations: u32,\n    pub valid: bool,\n}\n\npub const VECTORS: &[Vector] = &[\n"
    for item in vectors:
        yield "    Vector {\n"
        yield "".join(f"        {name}: {_rust_string(getattr(item, name))},\n" for name in _TEXTS)
        yield "".join(f'        {name}: &hex!("{(getattr(item, name) or b"").hex()}"),\n' for name in _BYTES)
        for name in ("bits", "unit_bits"):
            value = getattr(item, name)
            yield f"        {name}: {'None' if value is None else f'Some({value})'},\n"
        yield f"        iterations: {item.iterations},\n        valid: {str(item.valid).lower()},\n    }},\n"
    yield "];\n"


def _rust_string(text: str) -> str:
    plain = {*map(chr, range(32, 127))} - {'"', "\\"}
    return '"' + "".join(letter if letter in plain else f"\\u{{{ord(letter):x}}}" for letter in text) + '"'


def write_python(vectors: Iterable[TestVector], head: Head) -> Iterator[str]:
    """A module with a list of dicts; what is empty or as usual is left out."""
    yield f"# {_one_line(head.title)}\nVECTORS = [\n"
    for item in vectors:
        yield "    {\n"
        for name in _TEXTS:
            if value := getattr(item, name):
                yield f'        "{name}": {json.dumps(value)},\n'
        for name in _BYTES:
            if (data := getattr(item, name)) is not None and (data or name != "schedule"):
                yield f'        "{name}": bytes.fromhex("{data.hex()}"),\n'
        for name in _NUMBERS:
            if (number := getattr(item, name)) is not None:
                yield f'        "{name}": {number},\n'
        yield f'        "valid": {item.valid},\n    }},\n'
    yield "]\n"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _refuses(item: TestVector) -> str:
    return "a question without its answer is no test" if item.asks else ""


FORMATS = [
    Format("c", "C arrays", write=write_c, refuses=_refuses, drops=_DROPS),
    Format("rust", "Rust with hex!", write=write_rust, refuses=_refuses, drops=_DROPS),
    Format("python", "Python literals", write=write_python, refuses=_refuses, drops=_DROPS),
]
