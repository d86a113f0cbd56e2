"""What is written: read back equal, and accepted by readers that are not ours."""

import json
import os
import re
import stat
from dataclasses import replace

import pytest
from written_sets import SETS, as_hex, written

from aeskit.vectors import TestVector, read, read_text, write
from aeskit.vectors.files import text_pieces
from aeskit.vectors.registry import formats
from aeskit.vectors.test_vector import SECTOR_NUMBER

TEXT = ("mode", "key", "iv", "plaintext", "ciphertext", "stealing")
# Beyond those, what each format can say of a vector.
KEPT = {
    "aeskit": tuple(TestVector.__dataclass_fields__.keys() - {"line"}),
    "wycheproof": (*TEXT, "flags", "valid"),
    "cavp": (*TEXT, "bits", "asks", "iterations"),
    "acvp": (*TEXT, "bits", "unit_bits"),
    "evptest": (*TEXT, "iv_after", "valid"),
    "kernel": (*TEXT, "iv_after", "valid"),
}
HELD = {
    "aeskit": {*SETS},
    "wycheproof": {"xts"},
    "cavp": {"xts", "ctr", "cbc", "ecb"},
    "acvp": {"xts", "ctr", "cbc", "ecb", "cts"},
    "evptest": {"xts", "ctr", "cbc", "ecb", "cts"},
    "kernel": {"xts", "ctr", "cbc", "ecb", "cts", "lrw", "pcbc"},
    "c": {*SETS},
    "rust": {*SETS},
    "python": {*SETS},
}


def said(vector, names):
    """Fields as a format can say them: an unknown iv_after of XTS is left out by all but our own."""
    found = {name: getattr(vector, name) for name in names}
    if "iv_after" in found and vector.mode == "xts" and "clause" not in names:
        del found["iv_after"]
    return found


@pytest.mark.parametrize(
    ("form", "mode"), [(form, mode) for form in KEPT for mode in SETS if mode in HELD[form]]
)
def test_what_is_written_is_read_back(form, mode):
    text, kept, _ = written(SETS[mode], form)
    names = KEPT[form]
    back = list(read_text(text, form=form)) if form != "acvp" else []
    if form == "acvp":
        answers, _, _ = written(SETS[mode], "acvp-expected")
        back = with_answers(text, answers)
    wanted = [said(vector, names) for vector in kept]
    directed = form in ("cavp", "acvp")  # a section or a group for each direction
    found = [said(vector, names) for vector in back if not directed or vector.direction == "encrypt"]
    order = repr if form in ("acvp", "wycheproof") else lambda item: 0  # grouped by sizes
    assert sorted(found, key=order) == sorted(wanted, key=order)
    if directed:
        assert len(back) == 2 * len(kept)


def with_answers(text, answers):
    from aeskit.vectors.files import stream
    from aeskit.vectors.registry import named
    from aeskit.vectors.source import Source

    source = Source(text=text)
    source.companions = [Source(text=answers)]
    return list(stream(named("acvp"), source))


@pytest.mark.parametrize("form", HELD)
def test_what_a_format_cannot_hold_is_told(form):
    for mode, vectors in SETS.items():
        if mode not in HELD[form]:
            with pytest.raises(ValueError, match="can hold none of these vectors: "):
                written(vectors, form)
        else:
            _, kept, refused = written(vectors, form)
            assert len(kept) + sum(map(len, refused.values())) == len(vectors)
            assert all(refused)


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    target = tmp_path / "out.json"
    target.write_text("before")
    with pytest.raises(ValueError, match="can hold none"):
        write(target, SETS["lrw"], "wycheproof")
    assert target.read_text() == "before"
    assert list(tmp_path.iterdir()) == [target]
    write(target, SETS["xts"], "wycheproof")
    assert read(target).format == "wycheproof"
    with pytest.raises(ValueError, match=r"must be a file to write to"):
        write(tmp_path, SETS["xts"], "aeskit")
    with pytest.raises(ValueError, match=r'format must be one of .*, not "xml"'):
        write(target, SETS["xts"], "xml")


def test_a_link_stays_and_its_file_is_written(tmp_path):
    for name, link in (("there.json", "a"), ("new.json", "b"), ("a", "c")):
        (tmp_path / link).symlink_to(name)
    (tmp_path / "there.json").write_text("before")
    for link, name in (("a", "there.json"), ("b", "new.json"), ("c", "there.json")):
        write(tmp_path / link, SETS["ecb"], "aeskit")
        assert (tmp_path / link).is_symlink()
        assert not (tmp_path / name).is_symlink()
        assert len(read(tmp_path / name)) == len(SETS["ecb"])
        (tmp_path / name).write_text("")
    (tmp_path / "round").symlink_to("round")
    with pytest.raises(ValueError, match="must be a file to write to"):
        write(tmp_path / "round", SETS["ecb"], "aeskit")


def test_a_device_or_pipe_is_written_as_it_comes(tmp_path):
    with pytest.raises(OSError, match="No space left on device"):
        write("/dev/full", SETS["ecb"], "aeskit")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)
    reader, writer = os.pipe()
    link = tmp_path / "as_stdout_is"
    link.symlink_to(f"/proc/self/fd/{writer}")
    write(link, SETS["ecb"].vectors[:2], "evptest")
    os.close(writer)
    assert link.is_symlink()
    with os.fdopen(reader) as found:
        assert found.read().count("Cipher = AES-") == 2


@pytest.mark.parametrize("form", [name for name, entry in formats().items() if entry.write])
def test_any_text_in_a_name_is_harmless(form):
    odd = 'a "name" \\ */ /* \n # = {} ?" ??/ é \u2028 \N{GRINNING FACE}'
    vectors = [replace(SETS["xts"][0], name=odd, comment=odd, source=odd, clause=odd)]
    text, _, _ = written(vectors, form)
    if form in KEPT and form != "acvp":
        (back,) = [vector for vector in read_text(text, form=form) if vector.direction != "decrypt"]
        assert back.ciphertext == vectors[0].ciphertext


# ---- Readers of others ----------------------------------------------------------------------------------


def test_wycheproof_by_its_schema(shared):
    jsonschema = pytest.importorskip("jsonschema", reason="needs jsonschema: pip install '.[dev]'")
    referencing = pytest.importorskip("referencing")
    schema = json.loads((shared / "wycheproof_ind_cpa_test_schema_v1.json").read_text())
    # The schema refers to a file of common parts that is not at hand: as strict as its uses here.
    common = {
        "definitions": {
            "Source": {
                "type": "object",
                "required": ["name", "version"],
                "additionalProperties": {"type": "string"},
            },
            "Result": {"enum": ["valid", "invalid", "acceptable"]},
            "Notes": {"type": "object", "additionalProperties": {"type": "object", "required": ["bugType"]}},
        }
    }
    resource = referencing.Resource.from_contents(common, referencing.jsonschema.DRAFT7)
    registry = referencing.Registry().with_resource("common.json", resource)
    validator = jsonschema.Draft7Validator(schema, registry=registry)
    theirs = json.loads((shared / "wycheproof_aes_xts_test.json").read_text())
    theirs["testGroups"] = theirs["testGroups"][:1]
    assert list(validator.iter_errors(theirs)) == []
    ours = json.loads(written(SETS["xts"].vectors[::4], "wycheproof")[0])
    assert list(validator.iter_errors(ours)) == []
    flags = {flag for group in ours["testGroups"] for test in group["tests"] for flag in test["flags"]}
    assert flags == ours["notes"].keys()


def test_every_vector_of_others_is_written_back_as_it_was(shared):
    theirs = read(str(shared / "wycheproof_aes_xts_test.json"))
    text, _, _ = written(theirs, "wycheproof")
    assert {vector.name: vector for vector in read_text(text)} == {vector.name: vector for vector in theirs}


def test_python_literals_by_python():
    text, kept, _ = written(SETS["ctr"], "python")
    space: dict[str, object] = {}
    exec(text, space)
    rows = [
        [row.get(name, b"").hex() for name in ("key", "iv", "plaintext", "ciphertext", "iv_after")]
        for row in space["VECTORS"]
    ]
    assert rows == as_hex(kept)


def test_rust_as_text():
    text, kept, _ = written(SETS["xts"], "rust")
    assert text.count("{") == text.count("}")
    assert text.count("[") == text.count("]")
    for name in ("key", "ciphertext"):
        found = re.findall(rf'(?m)^        {name}: &hex!\("([0-9a-f]*)"\),$', text)
        assert found == [getattr(vector, name).hex() for vector in kept]


@pytest.mark.parametrize("mode", ["xts", "cts", "ctr"])
def test_evptest_stanzas_by_another_parser(mode):
    text, kept, _ = written(SETS[mode], "evptest")
    stanzas = [
        dict(line.split(" = ", 1) for line in block.splitlines() if line and not line.startswith("#"))
        for block in re.split(r"\n\n+", text)
    ]
    stanzas = [stanza for stanza in stanzas if stanza]
    assert [stanza["Ciphertext"] for stanza in stanzas] == [vector.ciphertext.hex() for vector in kept]
    assert {stanza["Cipher"] for stanza in stanzas} <= {
        f"AES-{bits}-{name}" for bits in (128, 192, 256) for name in ("XTS", "CBC-CTS", "CTR")
    }
    assert all(("CTSMode" in stanza) == (mode == "cts") for stanza in stanzas)


def test_sector_numbers_stay_numbers():
    numbered = [vector for vector in SETS["xts"] if SECTOR_NUMBER in vector.flags]
    assert "DataUnitSeqNumber = 4294967296\n" in written(numbered, "cavp")[0]
    assert '"sequenceNumber": 4294967296' in written(numbered, "acvp")[0]


def test_several_data_units_make_a_set_of_revision_2():
    units = [vector for vector in SETS["xts"] if vector.unit_bits]
    text, _, _ = written(units, "acvp")
    groups = json.loads(text)[1]["testGroups"]
    assert json.loads(text)[1]["revision"] == "2.0"
    assert {(group["payloadLen"], group["dataUnitLen"]) for group in groups} == {
        (8 * n * 3, 8 * n) for n in (32, 33, 40, 48)
    }


FULL = TestVector(
    name="one",
    mode="cbc",
    key=bytes(16),
    iv=bytes(16),
    plaintext=bytes(32),
    ciphertext=bytes(32),
    iv_after=bytes(16),
    direction="encrypt",
    pieces=(16, 16),
    flags=("Edge",),
    comment="a comment",
    source="here",
    clause="1",
)
DROPPED = {
    "aeskit": set(),
    "cavp": {"name", "source", "clause", "pieces", "iv_after", "flags", "comment"},
    "acvp": {"name", "source", "clause", "pieces", "iv_after", "flags", "comment"},
    "acvp-expected": {"name", "source", "clause", "pieces", "iv_after", "flags", "comment"},
    "acvp-response": {"name", "source", "clause", "pieces", "iv_after", "flags", "comment"},
    "evptest": {"source", "clause", "pieces"},
    "kernel": {"source", "clause", "direction", "pieces", "flags"},
    "c": {"source", "clause", "pieces", "flags"},
    "rust": {"source", "clause", "pieces", "flags"},
    "python": {"source", "clause", "pieces", "flags"},
}
ALWAYS = {"name", "source", "clause"}


@pytest.mark.parametrize("form", DROPPED)
def test_fields_without_a_place_are_counted(form):
    plain = replace(FULL, name="two", pieces=(), flags=(), comment="", iv_after=None, direction="")
    pieces, refused = text_pieces([FULL, plain, replace(FULL, name="three")], form, title="x")
    assert refused == {}
    assert refused.dropped == {name: 3 if name in ALWAYS else 2 for name in DROPPED[form]}
    text = "".join(pieces)
    assert ("three" in text) == ("name" not in DROPPED[form])
    assert ("a comment" in text) == ("comment" not in DROPPED[form])
    assert ("Edge" in text) == ("flags" not in DROPPED[form])


def test_provenance_that_a_format_says_is_not_left_out():
    """A title that is the source of all, and the numbers that the format itself gave."""
    for form in ("cavp", "evptest", "kernel", "c", "rust", "python"):
        pieces, refused = text_pieces([replace(FULL, clause="one")], form, title="here")
        assert "here" in "".join(pieces)
        assert "source" not in refused.dropped
        assert refused.dropped["clause"] == refused.dropped["name"]
    unit = next(item for item in SETS["xts"] if item.bits is None and item.unit_bits is None)
    plain = replace(unit, iv_after=None, pieces=(), flags=())
    numbered = {
        "cavp": replace(plain, name="encrypt 7", clause="ENCRYPT, COUNT 7", direction="encrypt", comment=""),
        "acvp": replace(plain, name="tcId 9", clause="tgId 2, tcId 9", comment=""),
        "wycheproof": replace(plain, name="tcId 9", clause="tcId 9", source="someone 0.9"),
    }
    numbered["acvp"] = replace(numbered["acvp"], source="ACVP-AES-XTS 1.0, vsId 77")
    for form, vector in numbered.items():
        pieces, refused = text_pieces([vector], form, title=vector.source)
        assert refused.dropped == {}
        (back, *_) = read_text("".join(pieces))
        assert (back.name, back.clause) == (vector.name, vector.clause)
        assert back.source.startswith(vector.source)
    mixed = [numbered["acvp"], plain]
    assert text_pieces(mixed, "acvp", title="x")[1].dropped["clause"] == 2


def test_flags_that_a_format_says_are_not_left_out():
    vector = next(item for item in SETS["xts"] if item.bits is None and item.unit_bits is None)
    for flags, dropped in (((SECTOR_NUMBER,), 0), ((SECTOR_NUMBER, "Edge"), 1)):
        for form in ("cavp", "acvp"):
            refused = text_pieces([replace(vector, flags=flags)], form, title="x")[1]
            assert refused.dropped["flags"] == dropped
    invalid = replace(vector, valid=False, expects="KEY_SET_ERROR", pieces=())
    assert text_pieces([invalid], "wycheproof", title="x")[1].dropped["expects"] == 1
