"""The Linux kernel's C arrays of ``struct cipher_testvec``: key, klen, iv, iv_out, ptext, ctext, len.

The mode stands in the array's name (``aes_xts_tv_template``). ``cts(cbc(aes))`` is CS3. A vector of
``aes_ctr_rfc3686_tv_template`` has the nonce at its key's end and an IV of 8 bytes (RFC 3686, 4).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from aeskit.vectors.c_tokens import Token, tokens
from aeskit.vectors.fields import vector
from aeskit.vectors.registry import Format, Head, holds
from aeskit.vectors.source import Source
from aeskit.vectors.test_vector import TestVector

_STRUCT = "cipher_testvec"
_ARRAY = re.compile(r"aes_(?:(ecb|xts|cbc|cts|ctr|lrw|pcbc)_)?(?:(rfc3686)_)?(?:enc_|dec_)?tv_template")
_NAMES = {"ecb": "aes", "cts": "cts_mode"}
_ZEROS = "zeroed_string"
_BYTES = {"key": "klen", "iv": "", "iv_out": "", "ptext": "len", "ctext": "len"}
_NUMBERS = ("klen", "len", "np")
_SILENT = ("wk", "fips_skip", "generates_iv", "also_non_np", "fail", "rlen", "ilen", "no_nosimd")
_ERRORS = ("setkey_error", "crypt_error")
_MAX_ZEROS = 4096


def read(source: Source) -> Iterator[TestVector]:
    """Every element of every array of AES vectors; arrays of other ciphers are noted."""
    parser, found = _Parser(source), False
    while array := parser.next_array():
        found = True
        mode, rfc3686 = _mode(array)
        if not mode:
            source.note(f"{array}: no mode of AES, not read")
        for number, (line, fields) in enumerate(parser.elements()):
            if mode:
                yield _vector(source, line, array, number, fields, mode, rfc3686)
    if not found:
        raise source.error(1, f"must have an array of struct {_STRUCT}")


def _mode(array: str) -> tuple[str, bool]:
    if array == "cts_mode_tv_template":
        return "cts", False
    match = _ARRAY.fullmatch(array)
    return (match[1] or "ecb", bool(match[2])) if match else ("", False)


class _Parser:
    """Walks the tokens; knows the arrays and nothing else of C."""

    def __init__(self, source: Source) -> None:
        self._source, self._tokens = source, tokens(source)
        self._token = Token(1, "")
        self._open: list[int] = []
        """Lines of the braces that are open around what was passed over."""
        self._step()

    def next_array(self) -> str:
        """The name of the next array that is defined, standing after its brace; empty at the end."""
        while self._token.text:
            if not self._accept("struct"):
                self._pass()
                continue
            if not self._accept(_STRUCT):
                continue
            name = self._token.text
            self._step()
            while self._token.text not in ("=", ";", ")", ",", "{", "}", ""):
                self._step()
            if self._accept("="):
                self._expect("{")
                return name
        if self._open:
            raise self._source.error(self._open[-1], '"{" must have its "}"')
        return ""

    def _pass(self) -> None:
        """Pass over what is no array; its braces must be pairs."""
        if self._token.data is None and self._token.text == "{":
            self._open.append(self._token.line)
        if self._token.data is None and self._token.text == "}":
            if not self._open:
                raise self._source.error(self._token.line, '"}" must have its "{"')
            self._open.pop()
        self._step()

    def elements(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Line and fields of each element, to the end of the array."""
        while not self._accept("}"):
            line = self._token.line
            self._expect("{")
            fields: dict[str, Any] = {}
            while not self._accept("}"):
                name, at = self._name()
                if name in fields:
                    raise self._source.error(at, f'".{name}" stands twice in one element')
                fields[name] = self._value(name)
                if self._token.text != "}":
                    self._expect(",")
            yield line, fields
            if self._token.text != "}":
                self._expect(",")

    def _name(self) -> tuple[str, int]:
        line = self._token.line
        self._expect(".")
        name = self._token.text
        self._step()
        self._expect("=")
        return name, line

    def _value(self, name: str) -> Any:
        """Bytes, an integer, a word (an error's name, with its sign) or a list of integers."""
        if self._token.data is not None:
            parts = []
            while self._token.data is not None:
                parts.append(self._token.data)
                self._step()
            return b"".join(parts)
        if self._accept("{"):
            numbers = []
            while not self._accept("}"):
                numbers.append(self._value(name))
                if self._token.text != "}":
                    self._expect(",")
            return numbers
        sign = "-" if self._accept("-") else ""
        word, line = self._token.text, self._token.line
        self._step()
        if found := re.fullmatch(r"(0[xX][0-9A-Fa-f]{1,16}|\d{1,20})[uUlL]*", word, re.ASCII):
            return int(sign + found[1], 16 if found[1][:2] in ("0x", "0X") else 10)
        if re.fullmatch(r"[A-Za-z_]\w{0,63}", word):
            return sign + word
        raise self._source.error(line, f'".{name}" must be a string, a number or a name, not {word[:40]!r}')

    def _accept(self, text: str) -> bool:
        if self._token.text != text or self._token.data is not None:
            return False
        self._step()
        return True

    def _expect(self, text: str) -> None:
        found = self._token
        if not self._accept(text):
            what = "the file ends" if not found.text else f"not {found.text[:40]!r}"
            raise self._source.error(found.line, f'"{text}" must stand here, {what}')

    def _step(self) -> None:
        self._token = next(self._tokens, Token(self._token.line, ""))


def _vector(
    source: Source, line: int, array: str, number: int, fields: dict[str, Any], mode: str, rfc3686: bool
) -> TestVector:
    where = f"{array}[{number}]"
    for name in fields:
        if name not in (*_BYTES, *_NUMBERS, *_SILENT, *_ERRORS, "tap"):
            raise source.error(line, f'{where}: ".{name}" is not a field of struct {_STRUCT}')
    sizes = {name: _number(source, line, where, fields, name) for name in ("klen", "len")}
    data = {name: _bytes(source, line, where, fields, name, sizes.get(size)) for name, size in _BYTES.items()}
    key, iv, length = data["key"], data["iv"], 0 if mode == "ecb" else 16
    errors = {name: fields[name] for name in _ERRORS if fields.get(name, 0) != 0}
    if rfc3686 and not errors:
        if len(key) < 20 or len(iv) < 8:
            raise source.error(line, f"{where}: RFC 3686 has a nonce of 4 bytes after the key and an IV of 8")
        key, iv = key[:-4], key[-4:] + iv[:8] + (1).to_bytes(4, "big")
    if "iv" not in fields and not rfc3686:
        iv = bytes(length)  # the kernel's tests begin with zeros where none is given
    return vector(
        source,
        line,
        name=where,
        mode=mode,
        key=key,
        iv=iv,
        iv_after=data["iv_out"] or None,
        plaintext=data["ptext"],
        ciphertext=data["ctext"],
        stealing="CS3" if mode == "cts" else "",
        valid=not errors,
        expects=", ".join(f"{name} {value}" for name, value in errors.items()),
        pieces=tuple(fields["tap"]) if fields.get("tap") else (),
        source=source.stem,
        clause=where,
    )


def _number(source: Source, line: int, where: str, fields: dict[str, Any], name: str) -> int:
    found = fields.get(name, 0)
    if type(found) is not int or found < 0:
        raise source.error(line, f'{where}: ".{name}" must be a number, not {found!r}')
    return found


def _bytes(
    source: Source, line: int, where: str, fields: dict[str, Any], name: str, size: int | None
) -> bytes:
    found = fields.get(name, b"")
    if found == _ZEROS:
        if size is None or size > _MAX_ZEROS:
            raise source.error(line, f"{where}: {_ZEROS} has at most {_MAX_ZEROS} bytes")
        return bytes(size)
    if not isinstance(found, bytes):
        raise source.error(line, f'{where}: ".{name}" must be a string, not {str(found)[:40]!r}')
    if size is not None and len(found) != size:
        raise source.error(
            line, f'{where}: ".{name}" must be {size} bytes as its length says, not {len(found)}'
        )
    return found


def write(vectors: Iterable[TestVector], head: Head) -> Iterator[str]:
    """An array a mode."""
    yield f"/* {_comment(head.title)} */\n"
    by_mode: dict[str, list[TestVector]] = {}
    for item in vectors:
        by_mode.setdefault(item.mode, []).append(item)
    for mode, items in by_mode.items():
        yield f"\nstatic const struct {_STRUCT} {_NAMES.get(mode, f'aes_{mode}')}_tv_template[] = {{\n"
        for item in items:
            yield _element(item)
        yield "};\n"


def _element(item: TestVector) -> str:
    lines = [f"\t{{ /* {_comment(f'{item.name}: {item.comment}' if item.comment else item.name)} */"]
    lines += _string("key", item.key)
    lines.append(f"\t\t.klen\t= {len(item.key)},")
    if item.iv:
        lines += _string("iv", item.iv)
    if item.iv_after is not None:
        lines += _string("iv_out", item.iv_after)
    lines += _string("ptext", item.plaintext) + _string("ctext", item.ciphertext)
    lines.append(f"\t\t.len\t= {item.length},")
    if not item.valid:
        lines.append("\t\t.setkey_error\t= -EINVAL," if not item.length else "\t\t.crypt_error\t= -EINVAL,")
    return "\n".join(lines) + "\n\t},\n"


def _string(name: str, data: bytes) -> list[str]:
    """A field as strings of 8 bytes a line."""
    rows = ["".join(f"\\x{byte:02x}" for byte in data[at : at + 8]) for at in range(0, len(data), 8)] or [""]
    first, *rest = [f'"{row}"' for row in rows]
    rest = [f"\t\t\t  {row}" for row in rest]
    lines = [f"\t\t.{name}\t= {first}", *rest]
    lines[-1] += ","
    return lines


def _comment(text: str) -> str:
    return " ".join(text.split()).replace("*/", "* /").replace("/*", "/ *")


def _refuses(item: TestVector) -> str:
    if item.mode == "keys":
        return "the kernel's cipher tests have no key schedules"
    if item.stealing not in ("", "CS3"):
        return f"the kernel's cts(cbc(aes)) is CS3, not {item.stealing}"
    if item.bits is not None or item.unit_bits is not None or item.iterations > 1:
        return "an element is one message of whole bytes, sent through once"
    return "a question without its answer is no test" if item.asks else ""


FORMATS = [
    Format(
        "kernel",
        "Linux kernel C header",
        read,
        write,
        recognises=lambda head: _STRUCT in head,
        refuses=_refuses,
        drops=holds("name", "iv_after", "comment"),
    )
]
