"""Sessions of the command as it was before sessions were a library continue bit by bit.

`written_before` holds what that code left when it was killed with SIGKILL: a state, a journal of
rows that followed it, and the predictions so far; and what it predicts when it is not killed.
"""

import json
import shutil
import signal
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dplasso import PrivateOnlineClassifier, PrivateOnlineRegressor, StreamSession
from dplasso.cli.app import app
from dplasso.reading.line_source import LineSource

BEFORE = Path(__file__).parent / "written_before"
OPTIONS = {
    "classes": "--classes 0,1 --features 8 --window 30 --batch 4 --proba",
    "numbers": "--format jsonl --target cost --regression --y-bound 2 --features 16 --rows 500 "
    "--construction tree",
}
pytestmark = [
    pytest.mark.parametrize("kind", OPTIONS),
    pytest.mark.filterwarnings("ignore::dplasso.PrivacyLeakWarning"),
]


@pytest.fixture
def place(tmp_path, kind, monkeypatch):
    """A copy that its owner alone may read, as the original was."""
    folder = tmp_path / kind
    shutil.copytree(BEFORE / kind, folder)
    config = json.loads((folder / "state" / "stream.json").read_text())
    config["output"] = str(folder / "out")
    (folder / "state" / "stream.json").write_text(json.dumps(config))
    for path in (*folder.rglob("*"), folder):
        path.chmod(0o700 if path.is_dir() else 0o600)
    monkeypatch.chdir(folder)
    return folder


def test_the_command_continues(place, kind, monkeypatch):
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    known = ["rows", "--state", "state", "-o", "out", "--every", "20", "--seed", "7", "-q"]
    done = CliRunner().invoke(app, ["online", *known, *OPTIONS[kind].split()])
    assert done.exit_code == 0, done.exception
    assert (place / "out").read_bytes() == (place / "wanted").read_bytes()


def test_the_library_continues(place, kind):
    before = (place / "state" / "metrics.json").read_text()
    if kind == "classes":
        given = {"classes": [0.0, 1.0], "n_features": 8, "window": 30, "batch": 4}
        model, how = PrivateOnlineClassifier(random_state=7, **given), {"proba": True}
    else:
        given = {"y_bound": 2.0, "n_features": 16, "n_rows": 500, "construction": "tree"}
        model = PrivateOnlineRegressor(random_state=7, **given)
        how = {"format": "jsonl", "target": "cost"}
    with StreamSession("state", model, output="out", every=20, **how) as session:
        assert session.continues
        session.start()
        assert 40 < session.rows <= 57
        with LineSource(place / "rows") as source:
            source.skip(session.input_bytes)
            session.run(source)
        assert session.rows == 90
    assert (place / "out").read_bytes() == (place / "wanted").read_bytes()
    assert (place / "state" / "metrics.json").read_text() != before
