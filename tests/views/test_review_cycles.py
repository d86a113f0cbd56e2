"""A function of a file is measured by length, beside the limit of this CPU."""

from dataclasses import replace
from pathlib import Path

import pytest

from aeskit import contracts
from aeskit.cpu import detect
from aeskit.machine.loader import load
from aeskit.verify.review.model import OPEN, TOLD
from aeskit.views import review_cycles
from aeskit.views.review_cycles import line

pytest.importorskip("iced_x86", reason="decoding needs iced-x86")

SAMPLES = Path(__file__).parents[1] / "verify" / "samples"


def test_a_row_a_length():
    if missing := detect().missing(("AES", "AVX")):
        pytest.skip(f"needs {', '.join(missing)}")
    image = load(SAMPLES / "library_sse.S")
    found = line(image, "library_sse_xts_encrypt", contracts.ALL["xts_encrypt_library"], (16, 128))
    assert found.verdict == TOLD
    assert [text.split(":")[0] for text in found.details] == ["16 bytes", "128 bytes"]
    assert "% of this CPU's limit at 128 bytes" in found.text
    assert "bytes a cycle in xmm" in found.evidence


def test_what_this_cpu_lacks_is_told(tmp_path, monkeypatch):
    path = tmp_path / "code.S"
    path.write_text(".globl f\nf: vpaddq %zmm0, %zmm0, %zmm0; vzeroupper; ret\n.type f, @function\n")
    less = replace(detect(), features=detect().features - {"AVX512F"})
    monkeypatch.setattr(review_cycles, "detect", lambda: less)
    found = line(load(path), "f", contracts.ALL["xts_iv"])
    assert found.verdict == OPEN
    assert found.evidence == "this CPU lacks AVX512F"
