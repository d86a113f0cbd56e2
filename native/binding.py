"""Write the C file of the cffi binding (API mode, so calls release the GIL).

Usage: binding.py OUTPUT.c HEADER... [--without-assembler]. The headers are the one list of what Python can
call; where no assembler template is built, the functions of an instruction set are left out.
"""

import argparse
import re
from pathlib import Path

from cffi import FFI

ASSEMBLER = re.compile(r"^void\s+(?:limit_\w+|\w+_(?:aesni|vaes)\w*)\([^;]*;", re.MULTILINE)


def declarations(header: str, assembler: bool) -> str:
    """A header's text without directives; without `assembler`, also without what the templates define."""
    text = "\n".join(line for line in header.splitlines() if not line.startswith(("#pragma", "#include")))
    return text if assembler else ASSEMBLER.sub("", text)


def main() -> None:
    """Emit the binding of every declaration in the headers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output")
    parser.add_argument("headers", nargs="+", type=Path)
    parser.add_argument("--without-assembler", action="store_true")
    arguments = parser.parse_args()
    builder = FFI()
    for header in arguments.headers:
        builder.cdef(declarations(header.read_text(encoding="utf-8"), not arguments.without_assembler))
    includes = "\n".join(f'#include "{header.name}"' for header in arguments.headers)
    builder.set_source("aeskit._native", includes)
    builder.emit_c_code(arguments.output)


if __name__ == "__main__":
    main()
