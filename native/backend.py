"""meson-python as the build backend, its editable installs fit for pip's build isolation.

An editable install calls ninja on every import. pip builds in an environment that is gone afterwards, and its
ninja with it; so that ninja is kept beside what it built.
"""

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

from mesonpy import (
    build_editable as _build_editable,
)
from mesonpy import (
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
]


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    """See PEP 660."""
    found = shutil.which("ninja")
    if found and find_spec("ninja") and not os.environ.get("NINJA"):  # a wheel's, not the system's
        kept = Path("build", "tools").absolute()
        kept.mkdir(parents=True, exist_ok=True)
        os.environ["NINJA"] = shutil.copy2(found, kept)
    return _build_editable(wheel_directory, config_settings, metadata_directory)
