"""Cycles of a function out of any object file, its sections mapped where they were laid out.

It runs in a process apart, since code that nobody knows may end it.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

PAGE = 4096
SECONDS = 120
"""After so many the process is ended."""
PASSES = 60

_RWX, _PRIVATE, _ANONYMOUS, _FIXED_NOREPLACE = 7, 0x02, 0x20, 0x10_0000
OFFSETS = {"source": 0, "data": 0, "context": 1024, "key": 1024, "key1": 1024, "destination": 2048}
"""Where buffers begin in their pages: a load waits for an earlier store with the same low 12 bits."""
OTHER_OFFSET = 3072


class NotMeasured(ValueError):
    """The function could not be run here; the text says why."""


@dataclass(frozen=True)
class Foreign:
    """One call: buffers by name, arguments as numbers or as a buffer's name."""

    buffers: dict[str, str]
    """Name to its bytes in hexadecimal."""
    arguments: tuple[int | str, ...]


@dataclass(frozen=True)
class Taken:
    """The figure of one call."""

    cycles: float
    noisy: bool


def measure(
    sections: Sequence[tuple[int, bytes]], entry: int, calls: Sequence[Foreign], passes: int = PASSES
) -> list[Taken]:
    """Core cycles of each call; NotMeasured where the code cannot be mapped or ends the process.

    `sections` are (address, bytes) of everything that the code refers to, `entry` is the function.
    """
    if any(len(call.arguments) > 6 for call in calls):
        raise NotMeasured("only functions of up to six arguments are measured")
    asked = {
        "sections": [(address, data.hex()) for address, data in sections],
        "entry": entry,
        "calls": [asdict(call) for call in calls],
        "passes": passes,
    }
    try:
        done = subprocess.run(
            [sys.executable, "-m", "aeskit.bench.foreign"],
            input=json.dumps(asked),
            capture_output=True,
            text=True,
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        raise NotMeasured(f"it took more than {SECONDS} s") from None
    if done.returncode:
        said = done.stderr.strip().splitlines()[-1:] or [f"the process ended with {done.returncode}"]
        raise NotMeasured(said[0])
    return [Taken(**figure) for figure in json.loads(done.stdout)]


# ---- In the process apart -----------------------------------------------------------------------------


def _map(sections: Sequence[tuple[int, str]]) -> None:
    """Map the pages of the sections and fill them; OSError where something lies there."""
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    library.mmap.argtypes = (ctypes.c_void_p, ctypes.c_size_t, *(ctypes.c_int,) * 3, ctypes.c_long)
    first = min(address for address, _ in sections) // PAGE * PAGE
    size = -(-(max(address + len(data) // 2 for address, data in sections) - first) // PAGE) * PAGE
    got = library.mmap(first, size, _RWX, _PRIVATE | _ANONYMOUS | _FIXED_NOREPLACE, -1, 0)
    if got != first:
        raise OSError(f"{size} bytes cannot be mapped at {first:#x} in this Python")
    for address, data in sections:
        ctypes.memmove(address, bytes.fromhex(data), len(data) // 2)


def _call(entry: int, raw: dict[str, Any]) -> Any:
    from aeskit.bench.cells import pointer
    from aeskit.bench.measure import Call

    memory = {name: _placed(name, bytes.fromhex(data)) for name, data in raw["buffers"].items()}
    given = [pointer(memory[a].data) if isinstance(a, str) else a for a in raw["arguments"]]
    return Call(entry, tuple(given), tuple(memory.values()))


def _placed(name: str, data: bytes) -> Any:
    from aeskit.bench.cells import ffi, placed

    made = placed("uint8_t *", max(len(data), 1), OFFSETS.get(name, OTHER_OFFSET))
    ffi.memmove(made.data, data, len(data))
    return made


def main() -> None:
    """Read what is asked, measure, write the figures."""
    from aeskit.bench.measure import measure as measured

    asked = json.load(sys.stdin)
    try:
        _map(asked["sections"])
    except OSError as error:
        sys.exit(str(error))
    figures = measured([_call(asked["entry"], raw) for raw in asked["calls"]], asked["passes"])
    json.dump([{"cycles": figure.cycles, "noisy": figure.noisy} for figure in figures], sys.stdout)


if __name__ == "__main__":
    main()
