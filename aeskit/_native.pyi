"""The compiled binding of native/prototypes.h (cffi, API mode)."""

from typing import Any

ffi: Any
lib: Any
