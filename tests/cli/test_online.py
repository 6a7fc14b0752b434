"""``dplasso online``: predictions before learning, and a stream that survives whatever ends it."""

import json
import re
import signal
import stat
import subprocess
import time

import numpy as np
import pytest
from typer.testing import CliRunner

import dplasso
import stream_killing as killing
from commanding import COLUMNS, COMMAND, SECRET, problem, subprocess_of, write_svmlight
from dplasso.base.wording import ParameterError, worded
from dplasso.cli.app import app
from dplasso.cli.wording import in_options
from dplasso.privacy import leaks

# A seed is told once a process: whichever test comes first.
pytestmark = pytest.mark.filterwarnings("ignore:random_state:dplasso.PrivacyLeakWarning")
KNOWN = ("--features", COLUMNS, "--classes", "-1,1", "--window", 50, "--seed", 7)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = problem()
    write_svmlight(tmp_path / "rows.svm", X, y)
    yield tmp_path
    leaks.set_strict(None)


def run(*arguments, given=None):
    """The command in this process; what it raises is raised, in the words of the command."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(signal, "signal", lambda *_: None)
        done = CliRunner().invoke(app, ["online", *map(str, arguments)], input=given)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        if isinstance(done.exception, ParameterError):
            raise ValueError(worded(done.exception, in_options))
        raise done.exception
    return done


@pytest.mark.filterwarnings("ignore::dplasso.PrivacyLeakWarning")
@pytest.mark.parametrize("batch", [1, 7])
def test_predictions_are_those_of_the_estimator(place, batch):
    run("rows.svm", *KNOWN, "--state", "s", "-o", "out", "--model", "m", "--batch", batch, "-q")
    X, y = problem()
    model = dplasso.PrivateOnlineClassifier(
        window=50, batch=batch, classes=[-1.0, 1.0], n_features=COLUMNS, random_state=7
    )
    wanted = model.predict_then_learn(X, y)
    assert np.array_equal(np.loadtxt(place / "out"), wanted)
    if batch == 1:  # a snapshot is taken where no row waits for its batch
        assert np.array_equal(dplasso.load(place / "m").coef_, model.coef_)
    told = json.loads((place / "s" / "metrics.json").read_text()) if batch == 1 else None
    assert told is None or told["accuracy"] == np.mean(wanted == y)


@pytest.mark.filterwarnings("ignore::dplasso.PrivacyLeakWarning")
@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_other_commands_take_a_snapshot(place, good, kind):
    known, score = KNOWN, "accuracy"
    if kind == "regression":
        write_svmlight(place / "rows.svm", *problem(kind))
        known, score = ("--regression", "--y-bound", 1, "--features", COLUMNS, "--seed", 7), "r2"
    run("rows.svm", *known, "--state", "s", "-o", "out", "--model", "m.dpl", "-q")
    told = json.loads(good("inspect", "m.dpl", "--json"))
    rows = len((place / "rows.svm").read_text().splitlines())
    assert told["rows_seen"] == rows and told["columns"] == COLUMNS
    assert "have expired" in good("inspect", "m.dpl") or kind == "regression"
    assert len(good("predict", "m.dpl", "rows.svm", "-q").splitlines()) == rows
    assert score in json.loads(good("evaluate", "m.dpl", "rows.svm", "--public", "--json"))


def test_the_state_is_for_its_owner_and_says_so(place):
    run("rows.svm", *KNOWN, "--state", "s", "-o", "out", "-q")
    assert stat.S_IMODE((place / "s").stat().st_mode) == 0o700
    for file in (place / "s").iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file
    assert "AS SECRET AS THE ROWS" in (place / "s" / "README.txt").read_text()
    assert stat.S_IMODE((place / "out").stat().st_mode) == 0o600  # predictions tell of the rows


def test_a_stream_goes_on_where_it_was(place):
    """In two runs, the second over a longer file, and again over the same: as in one."""
    lines = (place / "rows.svm").read_text().splitlines(keepends=True)
    (place / "growing").write_text("".join(lines[:117]))
    run("growing", *KNOWN, "--state", "s", "-o", "out", "-q")
    (place / "growing").write_text("".join(lines))
    for _ in range(2):
        run("growing", *KNOWN, "--state", "s", "-o", "out", "-q")
    run("rows.svm", *KNOWN, "--state", "t", "-o", "wanted", "-q")
    assert (place / "out").read_text() == (place / "wanted").read_text()
    with pytest.raises(ValueError, match="other is not there"):
        run("--position", "--state", "other")
    assert not (place / "other").exists()
    told = json.loads(run("--position", "--state", "s").stdout)
    assert told == {"lines": len(lines), "input_bytes": (place / "rows.svm").stat().st_size}


def test_pipes_must_be_told_where_they_stand(place):
    lines = (place / "rows.svm").read_bytes().splitlines(keepends=True)
    piped = [*map(str, KNOWN), "--state", "s", "-q"]

    def pipe(given, *more):
        command = [COMMAND, "online", *piped, *map(str, more)]
        return subprocess.run(command, input=given, capture_output=True, timeout=120)

    first = pipe(b"".join(lines[:100]))
    for more, message in (((), "--stdin-from"), (("--stdin-from", "start"), "--received")):
        with pytest.raises(ValueError, match=message):
            run(*piped, *more)
    second = pipe(b"".join(lines[:200]), "--stdin-from", "start", "--received", 100)
    third = pipe(b"".join(lines[200:]), "--stdin-from", "here", "--received", 200)
    run("rows.svm", *KNOWN, "--state", "t", "-o", "wanted", "-q")
    assert first.stdout + second.stdout + third.stdout == (place / "wanted").read_bytes()


def test_json_lines(place):
    rows = [{"town": "Ulm" if k % 2 else "Graz", "age": 0.1, "y": bool(k % 2)} for k in range(3000)]
    (place / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    known = ("--format", "jsonl", "--features", 64, "--classes", "false,true", "--window", 50)
    run("rows.jsonl", *known, "-e", 100, "--state", "s", "-o", "out", "-q")
    told = (place / "out").read_text().split()
    assert told[-100:] == ["false", "true"] * 50
    for line, message in (
        ('{"town": "Ulm"}', "there is no 'y'"),
        ("[1]", "a row is an object"),
        (f"{{{SECRET}", "this is no JSON"),
        (json.dumps({"y": True, "age": [SECRET]}), "features must be numbers or texts"),
    ):
        (place / "bad.jsonl").write_text(line + "\n")
        with pytest.raises(ValueError, match=message) as refused:
            run("bad.jsonl", *known, "--state", f"bad-{message[:5]}", "-o", "no", "--force")
        assert SECRET not in str(refused.value)


# Lines that a fuzzer found, and what is said of them; numbers of 401 digits are whole numbers.
HOSTILE_LINES = {
    "a feature of 401 digits": ('{"y": 1, "a": 7%s}' % ("3" * 400), "features must be finite"),
    "a feature of 5,000 digits": ('{"y": 1, "a": 7%s}' % ("3" * 5000), "this is no JSON"),
    "a feature beyond doubles": ('{"y": 1, "a": 73e999}', "infinity"),
    "a label of 401 digits": ('{"y": 7%s, "a": 1}' % ("3" * 400), "'y' must be finite"),
    "a label beyond doubles": ('{"y": 73e999, "a": 1}', "'y' must be finite"),
    "a label that is a list": ('{"y": [73], "a": 1}', "'y' must be one label"),
    "deep lists": ('{"y": 1, "a": %s}' % ("[" * 10**5 + "]" * 10**5), "nested too deeply"),
    "deep objects": ('{"y": ' + '{"y": ' * 10**5, "nested too deeply"),
    "a label of deep lists": ('{"y": %s}' % ("[" * 900 + "]" * 900), "one label|nested too deeply"),
    "half a pair in a name": ('{"y": 1, "\\ud800Rosebud": 1}', "valid Unicode"),
    "half a pair in a text": ('{"y": 1, "a": "\\udc00Rosebud"}', "valid Unicode"),
    "half a pair in bytes": (b'{"y": 1, "a": "\xed\xa0\x80Rosebud"}', "valid Unicode"),
    "bytes that are no text": (b'{"y": 1, "a": "\xff\xfeRosebud"}', "this is no JSON"),
}


@pytest.mark.parametrize("kind", HOSTILE_LINES)
@pytest.mark.parametrize("labels", [["--regression", "--y-bound", 1], ["--classes", "0,1"]])
def test_hostile_json_is_refused_by_line_and_kind_alone(place, kind, labels):
    line, message = HOSTILE_LINES[kind]
    line = line if isinstance(line, bytes) else line.encode()
    (place / "bad.jsonl").write_bytes(b'{"y": 1, "a": 1}\n\n' + line + b"\n")
    known = ("--format", "jsonl", "--features", 64, "--window", 50, "--state", "s", "-o", "no")
    with pytest.raises(ValueError) as refused:
        run("bad.jsonl", *known, *labels)
    said = str(refused.value)
    assert "Rosebud" not in said and "73" not in said and "ud800" not in said
    if "label" not in kind or "--regression" in labels:
        assert "line 3: " in said and re.search(message, said), said


def test_a_line_that_is_wrong_is_named_and_can_be_corrected(place):
    lines = (place / "rows.svm").read_text().splitlines(keepends=True)
    (place / "broken").write_text("".join([*lines[:60], f"1 3:{SECRET}x\n", *lines[60:]]))
    known = (*KNOWN, "--state", "s", "-o", "out", "-q", "--every", 25)
    with pytest.raises(ValueError, match="line 61: ") as refused:
        run("broken", *known)
    assert SECRET not in str(refused.value)
    (place / "broken").write_text("".join(lines))
    run("broken", *known)
    run("rows.svm", *KNOWN, "--state", "t", "-o", "wanted", "-q")
    assert (place / "out").read_text() == (place / "wanted").read_text()


def test_what_cannot_be_learned_from_is_not_journaled(place):
    """A label that is not declared, or a row too many: corrected, the stream goes on."""
    lines = (place / "rows.svm").read_text().splitlines(keepends=True)
    known = (*KNOWN, "--state", "s", "-o", "out", "-q", "--every", 25)
    (place / "broken").write_text("".join([*lines[:60], "7 3:1\n", *lines[60:]]))
    with pytest.raises(ValueError, match="after line 50: y holds labels outside the declared"):
        run("broken", *known)
    (place / "broken").write_text("".join(lines))
    run("broken", *known)
    run("rows.svm", *KNOWN, "--state", "t", "-o", "wanted", "-q")
    assert (place / "out").read_text() == (place / "wanted").read_text()
    few = ("--features", COLUMNS, "--classes", "-1,1", "--seed", 7, "--rows", 40)
    for _ in range(2):
        with pytest.raises(ValueError, match="--rows must not be exceeded, 40 are declared"):
            run("rows.svm", *few, "--state", "u", "-o", "few", "-q")
        assert len((place / "few").read_text().splitlines()) == 40


def test_regression(place):
    X, y = problem("regression")
    write_svmlight(place / "numbers", X, y)
    run("numbers", "--regression", "--y-bound", 1, "--features", COLUMNS, "--state", "s", "-o", "o")
    assert len(np.loadtxt(place / "o")) == len(y)
    with pytest.raises(ValueError, match="--y-bound"):
        run("numbers", "--regression", "--features", COLUMNS, "--state", "t")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--window", 60), "--window is not what it was"),
        (("-e", 2), "--epsilon is not what it was"),
        (("--classes", "-1,0,1"), "--classes is not what it was"),
        (("-o", "another"), "--output is not what it was"),
        (("--seed", 8), "--seed is not what it was"),
    ],
)
def test_another_stream_is_refused(place, more, message):
    run("rows.svm", *KNOWN, "--state", "s", "-o", "out", "-q")
    with pytest.raises(ValueError, match=message):
        run("rows.svm", *KNOWN, "--state", "s", "-o", "out", *more)


def test_refused(place):
    (place / "full").mkdir()
    (place / "full" / "letter").touch()
    columns = '[columns.a]\nrole = "number"\nlow = 0\nhigh = 1\n[columns.y]\nrole = "target"\n'
    (place / "schema.toml").write_text(f'{columns}classes = ["no", "yes"]\n')
    for arguments, message in (
        (("rows.svm", "--classes", "-1,1"), "--features must be declared"),
        (("rows.svm", "--features", 9), "--classes must be declared"),
        (("rows.svm", *KNOWN, "--format", "xml"), "--format must be"),
        (("rows.svm", *KNOWN, "--state", "full"), "holds other files"),
        (("rows.svm", *KNOWN, "--state", "s", "--loss", "square"), "loss must be one of"),
        (("rows.svm", *KNOWN, "--state", "s", "--learner", "magic"), "--learner must be one of"),
        (("rows.svm", *KNOWN, "--state", "s", "--clip", "-1"), "--clip must be a finite number"),
        (("rows.svm", *KNOWN, "--state", "s", "--clip", "few"), "--clip must be .* or auto, got"),
        (("rows.svm", *KNOWN, "--state", "s", "--half-life", 0), "--half-life must be a finite"),
        (("rows.svm", *KNOWN, "--state", "s", "--regularisation", 0), "--regularisation must be a"),
        (("rows.csv", "--schema", "schema.toml", "--features", 3), "--features follow from the"),
    ):
        with pytest.raises(ValueError, match=message):
            run(*arguments)
    run("rows.svm", *KNOWN, "--state", "s", "-o", "out", "-q")
    (place / "out").write_text("")
    with pytest.raises(ValueError, match="shorter than when the state was saved"):
        run("rows.svm", *KNOWN, "--state", "s", "-o", "out", "-q")


def test_an_input_that_is_not_there_costs_nothing(place):
    budget = dplasso.Budget(1.2, 1e-6, store=place / "ledger.sqlite")
    with pytest.raises(FileNotFoundError):
        run("other.svm", "--state", "s", *KNOWN[:-2], "-q", "--budget", "ledger.sqlite")
    assert budget.entries() == [] and not (place / "s").exists()


def test_a_ledger_is_charged_for_a_stream_not_for_its_lives(place):
    budget = dplasso.Budget(1.2, 1e-6, store=place / "ledger.sqlite")
    lines = (place / "rows.svm").read_text().splitlines(keepends=True)
    known = (*KNOWN[:-2], "-o", "out", "-q", "--budget", "ledger.sqlite")
    for count in (100, 200, 300):
        (place / "growing").write_text("".join(lines[:count]))
        run("growing", *known, "--state", "s")
    assert [charge.label for charge in budget.entries()] == ["s: PrivateOnlineClassifier"]
    out = (place / "out").read_bytes()
    with pytest.raises(ValueError, match="out exists; give another name, or --force"):
        run("rows.svm", *known, "--state", "t")
    with pytest.raises(dplasso.BudgetError):
        run("rows.svm", *known, "--state", "t", "--force")
    assert (place / "out").read_bytes() == out
    assert not (place / "t" / "state").exists()


def test_it_stops_cleanly_and_one_process_at_a_time(place):
    known = [str(part) for part in ("rows.svm", *KNOWN, "--state", "s", "-o", "out", "--follow")]
    process = subprocess.Popen([COMMAND, "online", *known], stderr=subprocess.PIPE, text=True)
    patience = time.monotonic() + 60
    while not ((place / "out").exists() and (place / "out").stat().st_size):
        assert time.monotonic() < patience and process.poll() is None
        time.sleep(0.01)
    with pytest.raises(ValueError, match="in use by another process"):
        run("rows.svm", *KNOWN, "--state", "s", "-o", "out")
    process.terminate()
    told = process.communicate(timeout=60)[1]
    assert process.returncode == 0 and "rows 300" in told
    assert subprocess_of("online", "--position", "--state", "s").code == 0


def test_killed_streams_go_on_as_if_nothing_had_happened(tmp_path):
    lines = killing.made_lines(1500)
    wanted = killing.undisturbed(killing.Command, lines, tmp_path / "whole")
    found, left = killing.killed_often(killing.Command, lines, tmp_path / "killed", 3, seed=1)
    assert found == wanted and left < len(lines)


def test_the_mechanism_is_chosen_and_a_stream_keeps_to_it(place):
    options = ("rows.svm", *KNOWN, "--state", "s", "-o", "out", "-q")
    run(*options, "--construction", "window_tree", "--calibration", "paper", "--model", "m.dpl")
    told = dplasso.load(place / "m.dpl").privacy_
    assert told["mechanism"].startswith("window_tree") and told["calibration"] == "paper"
    with pytest.raises(ValueError, match="--construction is not what it was"):
        run(*options, "--calibration", "paper")
    with pytest.raises(ValueError, match="noise must be one of gaussian, gamma"):
        run("rows.svm", *KNOWN, "--state", "t", "--noise", "loud")


OPTIONS = {
    "learner": "oracle",
    "clip": 0.3,
    "regularisation": 0.01,
    "row_map": "as_is",
    "half_life": 40.0,
    "neighboring": "replace_one",
}


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_means_what_the_parameter_means_and_a_stream_keeps_to_it(place, name):
    option = (f"--{name.replace('_', '-')}", OPTIONS[name])
    places = ("--state", "s", "-o", "out", "-q")
    run("rows.svm", *KNOWN, *places, *option)
    X, y = problem()
    made = {"window": 50, "classes": [-1.0, 1.0], "n_features": COLUMNS, "random_state": 7}
    model = dplasso.PrivateOnlineClassifier(**made, **{name: OPTIONS[name]})
    assert np.array_equal(np.loadtxt(place / "out"), model.predict_then_learn(X, y))
    with pytest.raises(ValueError, match=f"{option[0]} is not what it was"):
        run("rows.svm", *KNOWN, *places)


def test_a_page_of_a_stream(place, good):
    run("rows.svm", *KNOWN, "--state", "s", "-o", "out", "--model", "m.dpl", "--every", 50, "-q")
    rows = len((place / "rows.svm").read_text().splitlines())
    good("report", "m.dpl", "-o", "page.html")
    assert "expired so far" in (place / "page.html").read_text()
    assert "as the stream went on" not in (place / "page.html").read_text()
    good("report", "m.dpl", "-o", "page.html", "--metrics", "s/metrics.json", "--force")
    page = (place / "page.html").read_text()
    assert "as the stream went on" in page and f'<th scope="row">{rows}</th>' in page


def test_scores_do_not_show_that_a_stream_was_stopped(place):
    lines = (place / "rows.svm").read_text().splitlines(keepends=True)
    for end in (60, 117, len(lines)):
        (place / "growing").write_text("".join(lines[:end]))
        run("growing", *KNOWN, "--state", "s", "-o", "out", "--every", 50, "-q")
    run("rows.svm", *KNOWN, "--state", "t", "-o", "wanted", "--every", 50, "-q")
    stopped, whole = (json.loads((place / s / "metrics.json").read_text()) for s in "st")
    points = {rows: scores for rows, *scores in stopped["curve"].pop("points")}
    assert all(points[rows] == scores for rows, *scores in whole["curve"].pop("points"))
    assert stopped == whole and {60, 117} < points.keys()


def test_the_curve_of_scores_stays_short(place):
    run("rows.svm", *KNOWN, "--state", "s", "-o", "out", "--every", 1, "-q")
    points = json.loads((place / "s" / "metrics.json").read_text())["curve"]["points"]
    assert 100 <= len(points) <= 201
    assert points[-1][0] == len((place / "rows.svm").read_text().splitlines())


def test_a_snapshot_is_there_though_rows_wait_for_their_batch(place):
    options = ("rows.svm", *KNOWN, "--state", "s", "-o", "out", "--model", "m", "--batch", 7, "-q")
    run(*options)
    rows = len((place / "rows.svm").read_text().splitlines())
    assert rows % 7
    model = dplasso.load(place / "m")
    assert model.rows_seen_ == rows and np.any(model.coef_)
    before = (place / "m").read_bytes()
    run(*options)  # nothing new: the same
    assert (place / "m").read_bytes() == before
