"""Where the files of others are: CAVP's in a package, the rest where a variable says or beside us."""

import os
from pathlib import Path

import pytest

BESIDE = Path(__file__).parents[3] / "shared" / "vectors"


@pytest.fixture(scope="session")
def shared():
    """The folder of third-party files: AESKIT_SHARED_VECTORS, or ../shared/vectors beside the checkout."""
    folder = Path(os.environ.get("AESKIT_SHARED_VECTORS", BESIDE))
    if not folder.is_dir():
        pytest.skip(f"needs third-party vector files in {folder.name}: set AESKIT_SHARED_VECTORS")
    return folder


@pytest.fixture(scope="session")
def cavp():
    """The folder of CAVP's AES files."""
    package = pytest.importorskip(
        "cryptography_vectors", reason="needs cryptography-vectors: pip install '.[dev]'"
    )
    return Path(package.__file__).parent / "ciphers" / "AES"
