"""Every study can be started: what it imports is there."""

import runpy
from pathlib import Path

import pytest

SCRIPTS = sorted((Path(__file__).parents[2] / "benchmarks").glob("*.py"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_study_imports_what_is_there(script):
    runpy.run_path(str(script), run_name="not_main")
