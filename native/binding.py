"""Write the C file of the cffi binding (API mode, so calls release the GIL).

Usage: binding.py OUTPUT.c HEADER... [--without STEM...]. The headers are the one list of what Python can
call; the functions of an assembler template that is not built (``xts_…`` of xts.S) are left out.
"""

import argparse
import re
from pathlib import Path

from cffi import FFI


def declarations(header: str, without: list[str]) -> str:
    """A header's text without directives, and without the functions that begin with a stem in `without`."""
    text = "\n".join(line for line in header.splitlines() if not line.startswith(("#pragma", "#include")))
    stems = "|".join(map(re.escape, without))
    return re.sub(rf"^void\s+(?:{stems})_\w+\([^;]*;", "", text, flags=re.MULTILINE) if stems else text


def main() -> None:
    """Emit the binding of every declaration in the headers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output")
    parser.add_argument("headers", nargs="+", type=Path)
    parser.add_argument("--without", nargs="*", default=[])
    arguments = parser.parse_args()
    builder = FFI()
    for header in arguments.headers:
        builder.cdef(declarations(header.read_text(encoding="utf-8"), arguments.without))
    includes = "\n".join(f'#include "{header.name}"' for header in arguments.headers)
    builder.set_source("aeskit._native", includes)
    builder.emit_c_code(arguments.output)


if __name__ == "__main__":
    main()
