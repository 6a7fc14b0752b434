"""What the README shows runs."""

import re
from pathlib import Path

README = Path(__file__).resolve().parent.parent / "README.md"


def test_thirty_seconds():
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(), flags=re.DOTALL)
    assert blocks
    for block in blocks:
        names = {}
        exec(block, names)
        assert names["solution"].weights.nnz <= names["rounds"]
        assert abs(names["solution"].weights).sum() <= names["radius"] * (1 + 1e-9)
