"""galois costs seconds, so nothing loads it before its form is asked for."""

import subprocess
import sys

SCRIPT = """
import sys
from aeskit.models import aes, cbc, ctr, cts, ecb, gf128, lrw, pcbc, xts
xts.encrypt(bytes(32), bytes(16), bytes(16), form="plain")
xts.encrypt(bytes(32), bytes(16), bytes(16), form="numpy")
print(sorted({"galois", "numba", "sympy"} & set(sys.modules)))
"""


def test_galois_waits_until_its_form_is_asked_for():
    ran = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"
