"""Bochs's CPU as an engine: x86-64 code with AVX-512, VAES, VPCLMULQDQ and GFNI on CPUs that lack them.

- `emulator.Emulator`: memory, registers, `call(address, arguments)`, a hook before every instruction.
- `image.map_image(emulator, image)`: put what the loader laid out into its memory.
- `library`: the C interface inside the wheel `bochscpu-python`, pinned to one version.

`EmulatorMissing` says in one line what to install.
"""

from aeskit.machine.bochs.emulator import Emulator
from aeskit.machine.bochs.image import map_image
from aeskit.machine.bochs.library import EmulatorError, EmulatorMissing

__all__ = ["Emulator", "EmulatorError", "EmulatorMissing", "map_image"]
