"""A test, or a test file, whose import needs an extra is skipped by the extra's name.

Where all that can be installed is (AESKIT_INSTALLED=all, as CI says), only a CPU, or
a second compiler, excuses a skip.
"""

import os
import re
import signal
from pathlib import Path

import pytest

from aeskit.command_line import EXTRAS
from aeskit.cpu import FEATURES

EXCUSES = re.compile(
    "|".join([*map(re.escape, FEATURES), "VAES", "third-party vector files", "single-step", "ptrace"]),
    re.I,
)

BESIDE = Path(__file__).parents[2] / "shared" / "vectors"
"""Where the vector files of others may be, but for CAVP's, which are in a package."""


def pytest_configure(config):
    """Ctrl-C can be tested from here on; a misspelt name in AESKIT_REQUIRE would require nothing."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background job, and all that it starts
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if os.environ.get("AESKIT_REQUIRE"):
        from aeskit.verify import run

        try:
            run.requirements(())
        except ValueError as error:
            raise pytest.UsageError(str(error)) from None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    return excused(without_extra(report, call.excinfo.value if call.excinfo else None, item.path))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector):
    report = yield
    cause = report.call.excinfo.value.__cause__ if report.failed else None
    return excused(without_extra(report, cause, collector.path))


def without_extra(report, error, path):
    """The report itself, or a skip in its place where what failed is the import of an extra's module."""
    module = (getattr(error, "name", None) or "").partition(".")[0]
    required = "emulator" in os.environ.get("AESKIT_REQUIRE", "")
    if report.failed and isinstance(error, ModuleNotFoundError) and module in EXTRAS and not required:
        report.outcome = "skipped"
        report.longrepr = (str(path), 0, f"Skipped: needs {module}: aeskit[{EXTRAS[module]}]")
    return report


def excused(report):
    """The report itself, or a failure in its place where it skips something that could be installed."""
    if os.environ.get("AESKIT_INSTALLED") != "all" or not report.skipped or hasattr(report, "wasxfail"):
        return report
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
    if not EXCUSES.search(reason):
        report.outcome = "failed"
        report.longrepr = f"a skip where everything is installed: {reason}"
    return report


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
