"""The C interface of the Bochs CPU inside the wheel `bochscpu-python` 0.4.0.

Only the wheel's shared library is used, never its Python layer: that layer
aborts the process at exit while a `Session` is alive.  The library holds one
CPU and one table of physical pages per process.
"""

from __future__ import annotations

import ctypes
import platform
import shutil
import subprocess
import tempfile
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from aeskit.machine.errors import MachineError

VERSION = "0.4.0"
INSTALL = "pip install 'aeskit[emulators]'"
ICE_LAKE = 28  # Bochs's number for corei7_icelake_u: AVX-512, VAES, VPCLMULQDQ, GFNI
HARDWARE_RESET = 11
CPU = 0  # every function that takes a CPU number ignores it

# The library asks for two names of glibc 2.38, which older systems lack.
C23_NAMES = """
.globl __isoc23_strtoull, __isoc23_sscanf
__isoc23_strtoull: jmp strtoull@PLT
__isoc23_sscanf: jmp sscanf@PLT
.section .note.GNU-stack, "", @progbits
"""

HOOKS = (
    *("context", "reset", "hlt", "mwait", "branch_taken", "branch_not_taken", "jump", "far_branch", "opcode"),
    *("interrupt", "exception", "hardware_interrupt", "tlb", "cache", "prefetch", "flush", "before_step"),
    *("after_step", "repeat", "in1", "in2", "out", "linear", "physical", "wrmsr", "vmexit"),
)

# Types of the hooks; trailing arguments may be left out.
_WHERE = (ctypes.c_void_p, ctypes.c_uint32)  # context, CPU number
STEP = ctypes.PYFUNCTYPE(None)
VECTOR = ctypes.PYFUNCTYPE(None, *_WHERE, ctypes.c_uint32)
FAULT = ctypes.PYFUNCTYPE(None, *_WHERE, ctypes.c_uint32, ctypes.c_uint32)
JUMP = ctypes.PYFUNCTYPE(None, *_WHERE, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_uint64)
FAR = ctypes.PYFUNCTYPE(None, *_WHERE, ctypes.c_uint32, ctypes.c_uint16, ctypes.c_uint64)


class EmulatorError(MachineError):
    """The emulated code, or a request about it, went wrong.

    `rip` is the address of the instruction at fault, `vector` its x86
    exception number and `address` the memory address of a page fault; each
    is None where it does not apply.
    """

    def __init__(
        self,
        message: str,
        *,
        rip: int | None = None,
        vector: int | None = None,
        address: int | None = None,
    ) -> None:
        """Set the message and what is known of the fault."""
        super().__init__(message)
        self.rip = rip
        self.vector = vector
        self.address = address


class EmulatorMissing(EmulatorError):
    """The emulator cannot be had here; the text says what to install."""


class Hooks(ctypes.Structure):
    """What the library calls while the CPU runs: function addresses, 0 for none."""

    _fields_ = [(name, ctypes.c_void_p) for name in HOOKS]


def _provide_c23_names() -> None:
    """Define the missing C23 names for the whole process, if they are missing."""
    if hasattr(ctypes.CDLL(None), "__isoc23_strtoull"):
        return
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise EmulatorMissing(
            "the emulator needs glibc 2.38 or a C compiler (cc, gcc or clang): neither is here"
        )
    with tempfile.TemporaryDirectory() as folder:
        shim = Path(folder, "c23.so")
        command = [compiler, "-shared", "-nostdlib", "-x", "assembler", "-o", str(shim), "-"]
        made = subprocess.run(command, input=C23_NAMES, text=True, capture_output=True)
        if made.returncode:
            raise EmulatorMissing(
                f"{compiler} does not link what the emulator needs: {made.stderr.strip()[:200]}"
            )
        ctypes.CDLL(str(shim), mode=ctypes.RTLD_GLOBAL)


def _choose_model(library: ctypes.PyDLL, model: int) -> None:
    """Make the next CPU a given model; without this it is a Cannon Lake, with no VAES."""
    library.sim_get_param_enum.restype = ctypes.c_void_p
    parameter = ctypes.c_void_p(library.sim_get_param_enum(b"cpu.model"))
    set_range = library._ZN14bx_param_num_c9set_rangeEmm
    set_range(parameter, ctypes.c_uint64(0), ctypes.c_uint64(model))
    library._ZN14bx_param_num_c3setEl(parameter, ctypes.c_int64(model))


def _path() -> Path:
    """Where the wheel's shared library lies; EmulatorMissing where the right version is not installed."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise EmulatorMissing(
            f"the emulator runs on Linux on x86-64, not on {platform.system()} {platform.machine()}"
        )
    try:
        wheel = distribution("bochscpu-python")
    except PackageNotFoundError:
        raise EmulatorMissing(f"the emulator is not installed: {INSTALL}") from None
    if wheel.version != VERSION:  # another may have other hooks, models or symbols
        raise EmulatorMissing(
            f"bochscpu-python must be {VERSION}, not {wheel.version}: pip install 'aeskit[emulators]'"
        )
    found = sorted(Path(str(wheel.locate_file("bochscpu"))).glob("_bochscpu*.so"))
    if not found:
        raise EmulatorMissing("bochscpu-python is installed without its shared library: install it again")
    return found[0]


@cache
def library() -> ctypes.PyDLL:
    """Return the library, its CPU made and reset; EmulatorMissing, in one line, where it cannot be had."""
    path = _path()
    _provide_c23_names()
    try:
        loaded = ctypes.PyDLL(str(path))
    except OSError as error:  # made for another libc
        raise EmulatorMissing(f"the emulator's library cannot be loaded here: {error}") from None
    _choose_model(loaded, ICE_LAKE)
    for name in ("cpu_get_reg64", "cpu_get_pc", "cpu_get_cr2"):
        getattr(loaded, name).restype = ctypes.c_uint64
    loaded.bochscpu_cpu_from.restype = ctypes.c_void_p
    loaded.cpu_new(CPU)
    return loaded


@cache
def handle() -> ctypes.c_void_p:
    """Return the CPU as `bochscpu_cpu_run` and `bochscpu_cpu_stop` want it."""
    return ctypes.c_void_p(library().bochscpu_cpu_from(CPU))


def cpu_address() -> int:
    """Return the address of the library's CPU object in this process."""
    return ctypes.addressof(ctypes.c_char.in_dll(library(), "bx_cpu"))


def reset() -> None:
    """Reset the CPU: after an exception it would double-fault on the next."""
    library()._ZN8BX_CPU_C5resetEj(ctypes.c_void_p(cpu_address()), HARDWARE_RESET)


def run(hooks: Hooks) -> None:
    """Run the CPU until a hook calls `stop`."""
    chain = (ctypes.POINTER(Hooks) * 2)(ctypes.pointer(hooks))
    library().bochscpu_cpu_run(handle(), chain)


def stop() -> None:
    """Make the CPU stop when the hook that calls this returns."""
    library().bochscpu_cpu_stop(handle())
