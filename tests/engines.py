"""What can run code here besides this process: why not, in one line, for skips; empty where it can.

What AESKIT_REQUIRE names (``emulator``, ``silicon``) is not skipped: its tests then fail by what is missing.
"""

import os

from aeskit.machine import silicon
from aeskit.machine.bochs import EmulatorMissing
from aeskit.machine.bochs.library import library

REQUIRED = os.environ.get("AESKIT_REQUIRE", "").replace(" ", "").split(",")


def _no_emulator():
    try:
        library()
    except EmulatorMissing as missing:
        return str(missing)
    return ""


NO_SILICON = "" if "silicon" in REQUIRED else silicon.unavailable()
NO_EMULATOR = "" if "emulator" in REQUIRED else _no_emulator()
