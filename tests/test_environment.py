"""environment.yml, constraints.txt and pyproject.toml say the same."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
CONSTRAINTS = (ROOT / "constraints.txt").read_text(encoding="utf-8")


def environment_requirements() -> dict[str, str]:
    conda = [item for item in ENVIRONMENT["dependencies"] if isinstance(item, str)]
    pip = next(item["pip"] for item in ENVIRONMENT["dependencies"] if isinstance(item, dict))
    named = [re.match(r"([A-Za-z0-9._-]+)(.*)", item) for item in conda + pip if not item.startswith("-e")]
    return {match[1]: match[2] for match in named if match}


@pytest.mark.parametrize("text", PROJECT["dependencies"] + EXTRAS["lab"] + EXTRAS["disasm"])
def test_environment_has_what_the_package_needs(text):
    requirement = Requirement(text)
    assert environment_requirements().get(requirement.name) == str(requirement.specifier)


def test_environment_installs_the_package_itself():
    assert ENVIRONMENT["channels"] == ["conda-forge"]
    assert "python=3.11" in ENVIRONMENT["dependencies"]
    assert "-e ." in next(item["pip"] for item in ENVIRONMENT["dependencies"] if isinstance(item, dict))


@pytest.mark.parametrize(
    "text", PROJECT["dependencies"] + [item for extra in EXTRAS.values() for item in extra]
)
def test_a_pin_meets_its_lower_bound(text):
    requirement = Requirement(text)
    pins = dict(re.findall(r"(?m)^([A-Za-z0-9._-]+)==(\S+)$", CONSTRAINTS))
    pinned = {name.lower().replace("_", "-"): version for name, version in pins.items()}
    assert Version(pinned[requirement.name.lower()]) in requirement.specifier


def test_constraints_are_pins_and_nothing_else():
    assert all(re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9._+!-]+", line) for line in CONSTRAINTS.splitlines())
