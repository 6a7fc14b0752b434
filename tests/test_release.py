"""A release is what the changelog says it is. ``make release`` asks all of this."""

import os
import re
import tarfile
from pathlib import Path

import pytest

import dplasso

ROOT = Path(__file__).resolve().parent.parent
HEADING = re.compile(r"^## (\S+) \((unreleased|\d{4}-\d\d-\d\d)\)$", re.MULTILINE)

if_built = pytest.mark.skipif("DPLASSO_DIST" not in os.environ, reason="make release builds it")


def newest():
    found = HEADING.search((ROOT / "CHANGELOG.md").read_text())
    assert found, "CHANGELOG.md has no heading such as '## 1.2.0 (2026-01-31)'"
    return found.groups()


def test_the_newest_entry_of_the_changelog_has_the_version_of_the_package():
    assert newest()[0] == dplasso.__version__


@if_built
def test_both_distributions_have_that_version():
    folder, version = ROOT / os.environ["DPLASSO_DIST"], dplasso.__version__
    names = sorted(path.name for path in folder.iterdir() if path.suffix in {".gz", ".whl"})
    assert names == [f"dplasso-{version}-py3-none-any.whl", f"dplasso-{version}.tar.gz"]


@if_built
def test_the_source_distribution_has_what_builds_and_tests_it():
    (found,) = (ROOT / os.environ["DPLASSO_DIST"]).glob("*.tar.gz")
    with tarfile.open(found) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"LICENSE", "Makefile", "pyproject.toml", "docs/conf.py", "tests/test_wheel.py"} <= names
    assert not [name for name in names if name.startswith(("docs/_build", "docs/gallery"))]


@if_built
def test_the_release_has_a_date():
    version, date = newest()
    assert date != "unreleased", f"write the date of {version} into CHANGELOG.md, and commit it"
