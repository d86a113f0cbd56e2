"""The binding of a build without the assembler: everything in C is there, no implementation is."""

import importlib.util
import re
from pathlib import Path

import pytest

from aeskit import implementations

NATIVE = Path(__file__).parents[2] / "native"
TEMPLATES = re.findall(
    r"'(\w+)'", re.search(r"^templates = \[(.*)\]", (NATIVE / "meson.build").read_text(), re.M)[1]
)


@pytest.fixture(scope="module")
def binding():
    spec = importlib.util.spec_from_file_location("binding", NATIVE / "binding.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def functions(text: str) -> set[str]:
    return set(re.findall(r"^[\w ]+?[ *](\w+)\(", text, re.M))


def test_every_implementation_is_left_out_and_nothing_else(binding):
    headers = "\n".join((NATIVE / name).read_text() for name in ("prototypes.h", "core.h"))
    whole, without = (functions(binding.declarations(headers, assembler)) for assembler in (True, False))
    names = {row.name for row in implementations.ALL}
    assert names <= whole
    assert {name for name in whole - without if not name.startswith("limit_")} == names
    assert {"cpu_identify", "core_xts", "core_release", "core_compiler"} <= without


def test_every_template_is_built():
    built = re.search(r"^templates = \[(.*)\]", (NATIVE / "meson.build").read_text(), re.M)[1]
    assert sorted(re.findall(r"\w+", built)) == sorted(path.stem for path in NATIVE.glob("*.S"))
