"""The core as compilers other than the default make it, and the machine's own use of them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from aeskit.machine import assemble

ROOT = Path(__file__).parents[2]
TOOLS = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

pytestmark = pytest.mark.skipif(not shutil.which("clang"), reason="needs clang")

# FIPS 197, appendix C.3.
ASK = """
import sys
from importlib.util import module_from_spec, spec_from_file_location
native = module_from_spec(spec := spec_from_file_location("_native", sys.argv[1]))
spec.loader.exec_module(native)
lib, ffi = native.lib, native.ffi
key, out = ffi.new("struct aes_key *"), bytearray(16)
lib.keys_expand_aesni(key, bytes(range(32)), 32)
text = bytes.fromhex("00112233445566778899aabbccddeeff")
lib.ecb_encrypt_aesni_avx(key, text, ffi.from_buffer("uint8_t[]", out), 16)
print(ffi.string(lib.core_compiler()).decode(), out.hex())
"""


def test_the_core_is_built_by_clang_too(tmp_path):
    environment = os.environ | {"CC": "clang", "PATH": TOOLS}
    for command in (["meson", "setup", tmp_path / "build", ROOT], ["ninja", "-C", tmp_path / "build"]):
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-2000:]
    (made,) = (tmp_path / "build" / "native").glob("_native*.so")
    ran = subprocess.run([sys.executable, "-c", ASK, made], capture_output=True, text=True)
    *compiler, answer = ran.stdout.split()
    assert answer == "8ea2b7ca516745bfeafc49904b496089", ran.stderr
    assert "clang" in " ".join(compiler).lower()


def test_our_templates_are_assembled_by_clang_too(monkeypatch):
    clang = shutil.which("clang")
    monkeypatch.setattr(assemble.shutil, "which", lambda name: clang)
    assert assemble.assemble(ROOT / "native" / "keys.S").startswith(b"\x7fELF")
