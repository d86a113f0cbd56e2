"""The direction of imports (ARCHITECTURE.md), and what is not loaded before it is needed."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "aeskit"

# A room may import rooms of a lower floor; rooms of one floor do not know each other.
FLOORS = [
    {"ground": ["bits", "trace", "trace_json", "data", "_native", "cpu", "command_line", "printed"]},
    {
        "models": ["models"],
        "machine": ["machine"],
        "contracts": ["contracts"],
        "vectors": ["vectors"],
        "native": ["implementations", "buffers", "keys", "xts", "ctr", "cbc", "ecb"],
    },
    {"verify": ["verify"], "bench": ["bench"]},
    {"answers": ["answers"]},
    {"views": ["views"]},
    {"info": ["info"], "lab": ["lab"]},
    {"cli": ["cli", "vectors_cli"]},
]
PLACE = {
    module: (floor, room)
    for floor, rooms in enumerate(FLOORS)
    for room, modules in rooms.items()
    for module in modules
}
EXCEPTIONS = {
    ("machine", "models"),  # the machine's AES round is the model's
    ("contracts", "models"),  # what must hold after a call is what a model computes
    ("vectors", "answers"),  # vectors.make is the face of what the models compute, loaded when it is called
}

FILES = [path for path in sorted(PACKAGE.rglob("*.py*")) if path.suffix in {".py", ".pyi"}]


def imported(path: Path) -> set[str]:
    """First-level modules of aeskit that a file imports, at its head or within a function."""
    names = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: imports are absolute"
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    parts = [name.split(".") for name in names if name.startswith("aeskit.")]
    return {part[1] for part in parts} - {"__version__"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_run_one_way(path):
    own = path.relative_to(PACKAGE).parts[0].removesuffix(".py").removesuffix(".pyi")
    if own == "__init__":
        assert imported(path) == set()
        return
    for other in imported(path) | {own}:
        assert other in PLACE, f"say in ARCHITECTURE.md and here where aeskit.{other} stands"
    floor, room = PLACE[own]
    for other in imported(path):
        below, elsewhere = PLACE[other]
        allowed = below < floor or elsewhere == room or (room, elsewhere) in EXCEPTIONS
        assert allowed, f"{path.name}: {room} must not know {elsewhere} (aeskit.{other})"


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import aeskit", ["numpy", "galois", "numba", "cffi", "click"]),
        ("import aeskit.xts, aeskit.ctr, aeskit.cbc, aeskit.ecb", ["numpy", "galois", "numba"]),
        (
            "import aeskit.cli; aeskit.cli.main(['--help'], standalone_mode=False)",
            ["numpy", "galois", "numba"],
        ),
        ("import aeskit.cli; aeskit.cli.main(['info'], standalone_mode=False)", ["numpy", "galois", "numba"]),
    ],
)
def test_what_is_slow_to_load_is_not_loaded(code, absent):
    script = f"{code}\nimport sys\nprint('LOADED', *[name for name in {absent} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "LOADED"
