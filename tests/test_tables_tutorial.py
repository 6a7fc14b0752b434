"""What docs/tutorials/tables.md shows runs: on the real tables, or on rows made up here."""

import os
import re
import shlex
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dplasso import Schema, load
from dplasso.cli import app as application
from dplasso.privacy import leaks
from dplasso.schema import Category, Number, Target

ROOT = Path(__file__).resolve().parent.parent
PAGE = (ROOT / "docs" / "tutorials" / "tables.md").read_text()
SCHEMAS = sorted((ROOT / "docs" / "tutorials" / "schemas").glob("*.toml"))
MARK = "<!-- run by tests/test_tables_tutorial.py -->\n"
REAL = ROOT.parent / "shared" / "data" / "tables"


def blocks(language):
    """The blocks of the page that are run here; the others need no table of their own."""
    return re.findall(rf"{MARK}```{language}\n(.*?)```", PAGE, flags=re.DOTALL)


def made_up(schema, rows=300):
    """Rows that fit a schema; the target follows the first number."""
    rng, columns = np.random.default_rng(0), {}
    first = rng.random(rows)
    for name, role in schema.columns.items():
        if isinstance(role, Number):
            columns[name] = role.low + rng.random(rows) * (role.high - role.low)
        elif isinstance(role, Category):
            columns[name] = rng.choice(role.levels, rows)
        elif isinstance(role, Target) and role.classes is not None:
            columns[name] = np.array(role.classes)[(first * len(role.classes)).astype(int)]
        elif isinstance(role, Target):
            columns[name] = role.low + first * (role.high - role.low)
        else:
            columns[name] = np.arange(rows)
    return pd.DataFrame(columns)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in SCHEMAS:
        shutil.copy(path, tmp_path)
        data = f"{path.stem}.csv.gz"
        if (REAL / data).exists():
            os.symlink(REAL / data, data)
        else:
            made_up(Schema.from_toml(path)).to_csv(data, index=False)
    return tmp_path


@pytest.mark.filterwarnings("ignore::dplasso.privacy.leaks.PrivacyLeakWarning")
def test_the_tutorial(folder, monkeypatch):
    assert [path.stem for path in SCHEMAS] == ["adult", "california", "letter", "telco_churn"]
    lines = [line for block in blocks("sh") for line in block.splitlines()]
    assert len(lines) == 12 and all(line.startswith("dplasso ") for line in lines)
    for line in lines:
        monkeypatch.setattr(leaks, "_setting", None)
        monkeypatch.setattr(sys, "argv", shlex.split(line))
        with pytest.raises(SystemExit) as end:
            application.main()
        assert not end.value.code, line
    for path in SCHEMAS:
        assert Schema.from_dict(load(f"{path.stem}.dpl").table_plan_) == Schema.from_toml(path)
        assert Path(f"{path.stem}.html").stat().st_size
    assert list(Schema.from_toml("draft.toml").columns) == list(
        Schema.from_toml("adult.toml").columns
    )
    names = {}
    for block in blocks("python"):
        exec(block, names)
    stated = names["houses"].privacy_["bounds"]["y_bound"]
    assert stated["source"] == "declared" and len(stated["value"]) == 2
    assert names["of_people"].privacy_["unit"] == "person: patient_id"
    assert names["pipeline"].score(names["frame"], names["y"]) == 1.0
    frame = pd.read_csv("telco_churn.csv.gz")
    assert len(load("telco_python.dpl").predict(frame)) == len(frame)


def test_every_schema_that_is_shown_is_complete():
    for path in SCHEMAS:
        Schema.from_toml(path).check_filled()
