"""What the tests share: assembling, and an emulator with a program in it."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from aeskit.machine.bochs import Emulator
    from aeskit.machine.loader import Image

Assemble = Callable[..., Path]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip this folder, and say why, where the emulator cannot be had."""
    here = [item for item in items if Path(__file__).parent in item.path.parents]
    if not here:
        return
    from engines import NO_EMULATOR

    for item in here if NO_EMULATOR else ():
        item.add_marker(pytest.mark.skip(reason=NO_EMULATOR))


@pytest.fixture
def assemble(tmp_path: Path) -> Assemble:
    """Return a function that runs the C compiler on source text and returns the file made."""
    if not shutil.which("cc"):
        pytest.skip("needs a C compiler (cc)")

    def run(text: str, *options: str, suffix: str = ".S") -> Path:
        number = len(list(tmp_path.iterdir()))
        source, made = tmp_path / f"{number}{suffix}", tmp_path / f"{number}.out"
        source.write_text(text)
        subprocess.run(["cc", *(options or ("-c",)), "-o", made, source], check=True)
        return made

    return run


@pytest.fixture
def program(assemble: Assemble) -> Callable[..., tuple[Emulator, Image]]:
    """Return a function that puts assembly text into a new emulator."""

    from aeskit.machine.bochs import Emulator, map_image
    from aeskit.machine.loader import load

    def run(text: str, *options: str) -> tuple[Emulator, Image]:
        image = load(assemble(text, *options))
        emulator = Emulator()
        map_image(emulator, image)
        return emulator, image

    return run
