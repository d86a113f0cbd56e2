"""CAVP .rsp and .req text: AESAVS (ECB, CBC: GFSbox, KeySbox, VarKey, VarTxt, MMT, MCT) and XTSVS (XTSGen).

Sections ``[ENCRYPT]`` and ``[DECRYPT]``; a vector begins at ``COUNT``. The mode is told by the comments, the
fields or the file's name. XTS lengths are in bits, the last byte's high bits count; a tweak is ``i`` in
hexadecimal or ``DataUnitSeqNumber``, little-endian in 16 bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from aeskit import bits
from aeskit.vectors.cavp_counts import Counts
from aeskit.vectors.fields import decimal, hexadecimal, vector
from aeskit.vectors.registry import Format, Head, holds
from aeskit.vectors.source import Source
from aeskit.vectors.test_vector import MONTE_CARLO, SECTOR_NUMBER, TestVector

_BEGINS = re.compile(r"(?m)^[ \t]*+(?:\[[ \t]*+(?:ENCRYPT|DECRYPT)[ \t]*+\][ \t\r]*+$|COUNT[ \t]*+=)")
"""A line that only these files have; it takes no time on the square of empty lines."""
_SECTION = re.compile(r"\[\s*(ENCRYPT|DECRYPT)\s*\]")
_FIELD = re.compile(r"(\w+)\s*=\s*(.*)")
_KNOWN = "Known answer"
_NAMES = {"KEY": "key", "IV": "iv", "I": "iv", "PLAINTEXT": "plaintext", "PT": "plaintext"}
_NAMES |= {"CIPHERTEXT": "ciphertext", "CT": "ciphertext", "COUNT": "count"}
_NAMES |= {"DATAUNITLEN": "length", "DATAUNITSEQNUMBER": "number"}
_MODES = {"ecb": r"ECB", "cbc": r"CBC", "ctr": r"CTR|Counter", "xts": r"XTS(?:Gen)?"}
_STATEMENT = re.compile(rf"(?m)^(.*)\bdata for ({'|'.join(_MODES)})$", re.IGNORECASE)
"""The comment that tells what a file is of; the last one, so that a title before it says nothing."""
_OTHERS = re.compile(r"(?<![A-Za-z])(CFB\d*|OFB|GCM|CCM|CMAC|KW|KWP)")


@dataclass
class _Record:
    """The fields of one COUNT: name to line and text."""

    line: int
    fields: dict[str, tuple[int, str]] = field(default_factory=dict)


@dataclass
class _Header:
    """The comments read so far."""

    comments: str = ""


def read(source: Source) -> Iterator[TestVector]:
    """Every COUNT of every section; all of them have answers, or none has.

    A response that is cut is told within a COUNT, and between two as far as `cavp_counts` knows their number.
    """
    asks, counts, header = None, Counts(source), _Header()
    for found in _vectors(source, header):
        if asks is None:
            asks = bool(found.asks)
        if asks != bool(found.asks) or (asks and source.stem.lower().endswith(".rsp")):
            named = found.asks or ("ciphertext" if found.direction == "encrypt" else "plaintext")
            text = "is missing" if found.asks else "must not be there, as others ask for it"
            raise source.error(found.line, f'"{named.upper()}" {text} in {found.clause}')
        counts.add(found)
        yield found
    counts.end(header.comments)


def _vectors(source: Source, header: _Header) -> Iterator[TestVector]:
    section, record, section_line = "", None, 0
    for line, text in source.lines():
        text = text.strip()
        if text.startswith("#"):
            header.comments += text.lstrip("# ")[:200] + "\n" if len(header.comments) < 4096 else ""
        elif found := _SECTION.fullmatch(text):
            if record:
                yield _vector(source, section, header.comments, record)
            section, record, section_line = found[1].lower(), None, line
        elif text and (found := _FIELD.fullmatch(text)):
            name = _NAMES.get(found[1].upper())
            if not name:
                raise source.error(line, f'"{found[1][:40]}" is not a field of this format')
            if name == "count":
                if record:
                    yield _vector(source, section, header.comments, record)
                if not section:
                    raise source.error(line, "[ENCRYPT] or [DECRYPT] must stand before the first COUNT")
                record = _Record(line)
            if record is None:
                raise source.error(line, f'"{found[1]}" must follow its COUNT')
            if name in record.fields:
                raise source.error(line, f'"{found[1]}" stands twice in one COUNT')
            record.fields[name] = line, found[2]
        elif text:
            raise source.error(line, f"must be a comment, a section or a field, not {text[:40]!r}")
    if record is None and not section_line:
        raise source.error(1, "must have a section [ENCRYPT] or [DECRYPT]")
    if record:
        yield _vector(source, section, header.comments, record)


def _vector(source: Source, section: str, comments: str, record: _Record) -> TestVector:
    def data(name: str) -> bytes:
        line, text = record.fields[name]
        return hexadecimal(source, line, name, text)

    count = decimal(source, *_named(record, "count"), 1 << 32)
    if "key" not in record.fields:
        raise source.error(record.line, f'"KEY" is missing in COUNT {count}')
    mode, monte_carlo = _mode(source, comments, record), _is_monte_carlo(source, comments)
    given, asked = ("plaintext", "ciphertext") if section == "encrypt" else ("ciphertext", "plaintext")
    if given not in record.fields:
        raise source.error(record.line, f'"{given.upper()}" is missing in COUNT {count}')
    flags: tuple[str, ...] = ()
    iv = data("iv") if "iv" in record.fields else b""
    if "number" in record.fields:
        if iv:
            raise source.error(record.line, f'COUNT {count} has both "i" and "DataUnitSeqNumber"')
        iv = bits.to_le(decimal(source, *_named(record, "number"), (1 << 128) - 1), 16)
        flags = (SECTOR_NUMBER,)
    length = None
    if "length" in record.fields:
        length = decimal(source, *_named(record, "length"), 1 << 40)
        if (length + 7) // 8 != len(data(given)):
            where = record.fields["length"][0]
            raise source.error(
                where, f'"DataUnitLen" is {length} bits, "{given}" has {len(data(given))} bytes'
            )
    return vector(
        source,
        record.line,
        name=f"{section} {count}",
        mode=mode,
        key=data("key"),
        iv=iv,
        **{name: data(name) for name in ("plaintext", "ciphertext") if name in record.fields},
        asks="" if asked in record.fields else asked,
        bits=length if length and length % 8 else None,
        direction=section,
        iterations=MONTE_CARLO if monte_carlo else 1,
        flags=flags,
        source=_title(source, comments),
        clause=f"{section.upper()}, COUNT {count}",
    )


def _named(record: _Record, name: str) -> tuple[int, str, str]:
    line, text = record.fields[name]
    return line, name, text


def _mode(source: Source, comments: str, record: _Record) -> str:
    if "length" in record.fields or "number" in record.fields:
        return "xts"
    if stated := _statement(comments):
        return stated[1]
    for text in (comments, source.stem):
        if other := _OTHERS.search(text):
            raise source.error(record.line, f"{other[1]} is no mode of aeskit")
        for mode, pattern in _MODES.items():
            if re.search(rf"(?<![A-Za-z])(?:{pattern})(?![a-z])", text, re.IGNORECASE):
                return mode
    raise source.error(record.line, "a comment or the file's name must tell the mode: ECB, CBC, CTR or XTS")


def _statement(comments: str) -> tuple[str, str] | None:
    """What the file says it is, and of which mode."""
    found = _STATEMENT.findall(comments)
    return (found[-1][0], found[-1][1].lower()) if found else None


def _is_monte_carlo(source: Source, comments: str) -> bool:
    stated = _statement(comments)
    if stated and stated[0].startswith(_KNOWN):
        return False
    return bool(re.search(r"\bMCT\b|MCT\d", (stated[0] if stated else comments) + " " + source.stem))


def _title(source: Source, comments: str) -> str:
    lines = [line for line in comments.splitlines() if line]
    return "; ".join(lines[:2]) or source.stem


def write(vectors: Iterable[TestVector], head: Head) -> Iterator[str]:
    """A section a direction, both where a vector asks for none; COUNT as it was read, else from 0 in each."""
    everything = list(vectors)
    mode = everything[0].mode.upper() if everything else "ECB"
    monte_carlo = any(item.iterations > 1 for item in everything)
    title = " ".join(head.title.split())[:200]
    yield f"# {title}\n# {'MCT' if monte_carlo else _KNOWN} data for {mode}\n"
    for section in ("encrypt", "decrypt"):
        items = [item for item in everything if item.direction in ("", section)]
        if not items:
            continue
        yield f"\n[{section.upper()}]\n"
        for number, item in zip(_counts(items, section) or range(len(items)), items, strict=True):
            yield "\n" + _text(item, section, number)


def _counts(items: Sequence[TestVector], section: str) -> list[int]:
    """The numbers that the vectors of a section were read with, if all have one."""
    found = [re.fullmatch(rf"{section} (\d{{1,9}})", item.name) for item in items]
    return [int(match[1]) for match in found if match] if all(found) else []


def _numbered(items: Sequence[TestVector]) -> bool:
    return all(item.direction and _counts([item], item.direction) for item in items)


def _text(item: TestVector, section: str, number: int) -> str:
    xts = item.mode == "xts"
    key, plaintext, ciphertext = ("Key", "PT", "CT") if xts else ("KEY", "PLAINTEXT", "CIPHERTEXT")
    fields = [("COUNT", str(number))]
    if xts:
        fields.append(("DataUnitLen", str(item.length_bits)))
    fields.append((key, item.key.hex()))
    if xts and SECTOR_NUMBER in item.flags:
        fields.append(("DataUnitSeqNumber", str(bits.from_le(item.iv))))
    elif item.iv:
        fields.append(("i" if xts else "IV", item.iv.hex()))
    texts = [(plaintext, "plaintext"), (ciphertext, "ciphertext")]
    for name, attribute in texts if section == "encrypt" else texts[::-1]:
        if attribute != item.asks:
            fields.append((name, getattr(item, attribute).hex()))
    return "".join(f"{name} = {text}\n" for name, text in fields)


def _refuses(item: TestVector) -> str:
    if item.mode not in _MODES:
        return f"these files have no {item.mode}"
    if not item.valid:
        return "a vector that must fail has no place"
    if item.bits is not None and item.mode != "xts":
        return f"a COUNT of {item.mode} is whole bytes"
    if item.unit_bits is not None:
        return "a COUNT is one data unit"
    return "" if item.length else "a COUNT has a text"


FORMATS = [
    Format(
        "cavp",
        "CAVP response or request file",
        read,
        write,
        recognises=lambda head: bool(_BEGINS.search(head)),
        refuses=_refuses,
        drops=holds("direction", flags=[SECTOR_NUMBER], numbered=_numbered),
        same=lambda item: (
            item.mode + (" MCT" if item.iterations > 1 else "") + (" questions" if item.asks else "")
        ),
    )
]
