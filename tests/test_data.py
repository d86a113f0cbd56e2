"""The data that the package carries: found in both kinds of installation, complete, and right."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

from aeskit import data
from aeskit.vectors import read, read_text
from aeskit.vectors.files import text_pieces
from aeskit.verify import peer

VECTORS = {
    "ieee_1619_xts.json": 19,
    "sp800_38a.json": 9,
    "rfc_3962_cts.json": 6,
    "rfc_3686_ctr.json": 9,
    "fips_197.json": 7,
}
ALL = [vector for file in VECTORS for vector in read(data.folder("vectors") / file)]


def test_every_vector_file_is_known_and_described():
    files = {path.name for path in data.folder("vectors").iterdir() if path.name.endswith(".json")}
    assert files == VECTORS.keys()
    readme = data.text("vectors", "README.md")
    for file, count in VECTORS.items():
        assert len(read(data.folder("vectors") / file)) == count
        assert any(line.startswith(f"| {file} |") and f"| {count} |" in line for line in readme.splitlines())


@pytest.mark.parametrize("vector", ALL, ids=lambda vector: f"{vector.mode}-{vector.name}")
def test_vector_is_right_by_cryptography(vector):
    if vector.mode == "keys":
        assert expand(vector.key) == vector.schedule
        return
    for direction, text, wanted in (
        ("encrypt", vector.plaintext, vector.ciphertext),
        ("decrypt", vector.ciphertext, vector.plaintext),
    ):
        answer, after = peer.answer(vector.mode, direction, vector.key, vector.iv, text, vector.stealing)
        assert answer == wanted
        assert vector.iv_after in (None, after)


def test_vector_files_are_as_written():
    for file in VECTORS:
        text = data.text("vectors", file)
        vectors = read_text(text)
        assert "".join(text_pieces(vectors, "aeskit", title=vectors[0].source)[0]) == text


def test_figures_are_tables_of_numbers_and_described():
    readme = data.text("figures", "README.md")
    files = [path for path in data.folder("figures").iterdir() if path.name.endswith(".csv")]
    assert len(files) == 7
    for path in files:
        assert f"| {path.name} |" in readme
        rows = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))
        assert rows, path.name
        for row in rows:
            assert None not in (*row.keys(), *row.values()), f"{path.name}: {row}"
            float(list(row.values())[-1])


def test_installed_beside_the_package(tmp_path):
    """A wheel puts the folder into the package: without any source tree it must be found there."""
    package = tmp_path / "aeskit"
    (package / "data" / "vectors").mkdir(parents=True)
    (package / "data" / "vectors" / "one.json").write_text("found")
    (package / "__init__.py").touch()
    (package / "data.py").write_text(Path(data.__file__).read_text(encoding="utf-8"))
    script = "from aeskit import data; print(data.__file__, data.text('vectors', 'one.json'))"
    command = [sys.executable, "-S", "-c", script]  # -S: no site packages, so no editable install either
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ran.stdout.split() == [str(package / "data.py"), "found"]


def test_a_missing_folder_is_named():
    with pytest.raises(FileNotFoundError, match='data folder "nothing" must be at '):
        data.folder("nothing")


def expand(key: bytes) -> bytes:
    """FIPS 197, 5.2, written out once more, the S-box from its definition (5.1.1)."""
    words = [list(key[at : at + 4]) for at in range(0, len(key), 4)]
    count, constant, box = len(words), 1, s_box()
    for at in range(count, 4 * (count + 7)):
        word = list(words[-1])
        if at % count == 0:
            word = [box[byte] for byte in word[1:] + word[:1]]
            word[0] ^= constant
            constant = product(constant, 2)
        elif count > 6 and at % count == 4:
            word = [box[byte] for byte in word]
        words.append([a ^ b for a, b in zip(words[at - count], word, strict=True)])
    return bytes(byte for word in words for byte in word)


def product(a: int, b: int) -> int:
    result = 0
    while b:
        result ^= a if b & 1 else 0
        a, b = (a << 1) ^ (0x11B if a & 0x80 else 0), b >> 1
    return result


def s_box() -> list[int]:
    inverse = [0] * 256
    for a in range(1, 256):
        inverse[a] = next(b for b in range(1, 256) if product(a, b) == 1)
    return [rotations(value) ^ 0x63 for value in inverse]


def rotations(value: int) -> int:
    result = 0
    for turn in range(5):
        result ^= ((value << turn) | (value >> (8 - turn))) & 0xFF
    return result
