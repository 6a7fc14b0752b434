"""What the README shows runs, and what it links to is there."""

import re
from pathlib import Path

import pytest

import dplasso

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text()


@pytest.mark.filterwarnings("error")  # what is left out as well: an example declares it
def test_examples(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first, *others = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    names = {}
    exec(first, names)
    assert names["model"].fitted_.weights.nnz <= 50
    again = dplasso.load("model.dpl")
    assert (again.predict(names["X"]) == names["model"].predict(names["X"])).all()
    for block in others:
        exec(block, names)
    assert 0.0 < names["budget"].spent_epsilon <= 0.5


def test_links():
    pages = [ROOT / "README.md", ROOT / "SECURITY.md", *(ROOT / "docs").glob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
