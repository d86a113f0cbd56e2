"""Calls from Python are those of the face and of `cryptography`, and their results agree."""

import machines
import pytest

from aeskit.bench import python_calls

if not {"aesni_avx"} <= set(machines.runnable("xts", "ctr", "cbc")):
    pytest.skip("needs AES and AVX, and a core built with the templates", allow_module_level=True)


def test_both_give_the_same_bytes(monkeypatch):
    monkeypatch.setattr(python_calls, "SIZES", (512,))
    results: dict[str, set[bytes]] = {}
    for operation, _, _, call in python_calls._messages():
        results.setdefault(operation, set()).add(call.function())
    assert sorted(results) == ["cbc decrypt", "ctr crypt", "xts encrypt"]
    assert all(len(found) == 1 for found in results.values())


def test_rows_are_in_microseconds(monkeypatch):
    monkeypatch.setattr(python_calls, "SIZES", (16,))
    monkeypatch.setattr(python_calls, "BATCHES", (8192,))
    monkeypatch.setattr(python_calls, "SCALED", (16384,))
    rows = python_calls.run(passes=2)
    assert {row.name.split()[0] for row in rows} == {"aeskit", "cryptography", "native"}
    assert [(row.name, row.size) for row in rows if row.operation.startswith("xts sectors of 4096")] == [
        ("aeskit", 8192),
        ("native", 8192),
        ("aeskit", 16384),
        ("aeskit", 16384),
    ]
    for row in rows:
        assert row.megabytes_a_second == pytest.approx(row.size / row.microseconds)
