"""An ES module with the modules that it imports written into it: nothing is fetched, and nothing is built."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

STEPS = ("lanes.css", "steps.css", "steps_narrow.css", "timeline.css")
"""Style sheets of a run to step through, on its page and in a notebook."""

_HERE = Path(__file__).parent
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w-]+\.js)";\n', re.MULTILINE)
_DEFAULT = re.compile(r"^export default \{\n.*?^\};\n", re.MULTILINE | re.DOTALL)


@cache
def inlined(name: str) -> str:
    """The source of a module of this folder; those that it imports stand before it, without their exports."""
    return _parts(name, set(), main=True)


def _parts(name: str, done: set[str], main: bool) -> str:
    if name in done:
        return ""
    done.add(name)
    source = (_HERE / name).read_text(encoding="utf-8")
    before = "".join(_parts(other, done, main=False) for other in _IMPORT.findall(source))
    source = _IMPORT.sub("", source)
    if not main:
        source = re.sub(r"^export ", "", _DEFAULT.sub("", source), flags=re.MULTILINE)
    return f"{before}{source}\n"


def styles(*names: str) -> str:
    """Style sheets of this folder, one after another."""
    return "\n".join((_HERE / name).read_text(encoding="utf-8") for name in names)
