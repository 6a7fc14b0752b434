"""What the README shows runs."""

import re
from pathlib import Path

import dplasso

README = Path(__file__).resolve().parent.parent / "README.md"


def test_thirty_seconds(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    names = {}
    exec(block, names)
    assert names["model"]._weights.nnz <= 50
    again = dplasso.load("model.dpl")
    assert (again.predict(names["X"]) == names["model"].predict(names["X"])).all()
