"""The README's picture of lanes is what the view draws of what the model computes."""

import re
from pathlib import Path

import numpy as np

from aeskit.models import gf128
from aeskit.views.cells import register
from aeskit.views.text import picture

README = Path(__file__).parents[2] / "README.md"


def test_the_picture_of_lanes():
    block = re.search(r"```\n(bytes .*?)```", README.read_text(encoding="utf-8"), re.DOTALL)[1]
    lines = [line.split("    ")[0] if "=" in line else line for line in block.splitlines()]
    first = bytes.fromhex(lines[1].partition("T_0")[2])
    tweaks = gf128.powers(np.frombuffer(first, np.uint8), 4).tobytes()
    assert "\n".join(lines) == picture(register("zmm0", tweaks, ["T_0", "T_1", "T_2", "T_3"]))
