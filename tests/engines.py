"""What can run code here besides this process: why not, in one line, for skips; empty where it can.

What AESKIT_REQUIRE names (``emulator``, ``silicon``) is not skipped: its tests then fail by what is missing.
"""

import os

REQUIRED = os.environ.get("AESKIT_REQUIRE", "").replace(" ", "").split(",")


def _no_silicon():
    from aeskit.machine import silicon

    return silicon.unavailable()


def _no_emulator():
    from aeskit.machine.bochs import EmulatorMissing
    from aeskit.machine.bochs.library import library

    try:
        library()
    except EmulatorMissing as missing:
        return str(missing)
    return ""


def _why(name, ask):
    try:
        return "" if name in REQUIRED else ask()
    except ModuleNotFoundError as error:
        return f"needs {error.name}: aeskit[disasm,emulators]"


NO_SILICON = _why("silicon", _no_silicon)
NO_EMULATOR = _why("emulator", _no_emulator)
