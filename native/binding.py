"""Write the C file of the cffi binding (API mode, so calls release the GIL).

Usage: binding.py prototypes.h OUTPUT.c. The prototypes are the one list of what Python can call.
"""

import sys
from pathlib import Path

from cffi import FFI


def main(prototypes: str, output: str) -> None:
    """Emit the binding of every declaration in the file `prototypes` to `output`."""
    text = Path(prototypes).read_text(encoding="utf-8")
    builder = FFI()
    lines = [line for line in text.splitlines() if not line.startswith(("#pragma", "#include"))]
    builder.cdef("\n".join(lines))
    builder.set_source("aeskit._native", '#include "prototypes.h"')
    builder.emit_c_code(output)


if __name__ == "__main__":
    main(*sys.argv[1:])
