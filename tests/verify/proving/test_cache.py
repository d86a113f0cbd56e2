"""Proofs that cannot be remembered are proved all the same."""

import sqlite3
from contextlib import closing
from pathlib import Path

from aeskit.verify.proving.cache import Cache, key
from aeskit.verify.proving.proof import Proof

PROOF = Proof("f", "ctr", 17, 32, True, 4, 400)
NAMED = {key("code", PROOF): PROOF}


def test_a_table_that_refuses_is_given_up(tmp_path):
    cache = Cache(tmp_path / "proofs.sqlite")
    cache.store(NAMED)
    assert cache.known("code") == NAMED
    with closing(sqlite3.connect(tmp_path / "proofs.sqlite")) as table, table:
        table.execute("create trigger full before insert on proofs begin select raise(abort, 'full'); end")
    cache.store(NAMED)
    assert cache.known("code") == {}
    assert cache.loops("code") == []


def test_what_is_no_table_remembers_nothing(tmp_path):
    (tmp_path / "file").write_bytes(b"no table " * 1000)
    for path in (tmp_path, tmp_path / "file", tmp_path / "file" / "below"):
        cache = Cache(path)
        cache.store(NAMED)
        assert cache.known("code") == {}
    assert (tmp_path / "file").read_bytes() == b"no table " * 1000


def test_a_user_without_a_home_has_no_table(monkeypatch):
    def home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", home)
    assert Cache().path is None


def test_the_table_lies_where_the_desktop_says(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert Cache().path == tmp_path / "aeskit" / "proofs.sqlite"
