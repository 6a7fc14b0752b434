"""`StreamSession`: durable, single use, one process at a time; a kill is as if it had not been."""

import json
import os
import stat

import numpy as np
import pytest

import dplasso
from commanding import COLUMNS, problem, write_svmlight
from dplasso import PrivateOnlineClassifier, PrivateOnlineRegressor, StreamSession
from dplasso.base.wording import ParameterError
from dplasso.session import StateFolder
from dplasso.storage import ModelFileError

pytestmark = pytest.mark.filterwarnings("ignore::dplasso.PrivacyLeakWarning")


def model(**options):
    given = {"window": 50, "classes": [-1.0, 1.0], "n_features": COLUMNS, "random_state": 7}
    return PrivateOnlineClassifier(**{**given, **options})


@pytest.fixture
def lines(tmp_path):
    write_svmlight(tmp_path / "rows.svm", *problem())
    return (tmp_path / "rows.svm").read_bytes().splitlines(keepends=True)


@pytest.fixture
def wanted():
    return model().predict_then_learn(*problem())


def predicted(texts):
    return np.array(texts, float)


def test_predictions_are_those_of_the_estimator(tmp_path, lines, wanted):
    with StreamSession(tmp_path / "s", model(), snapshot=tmp_path / "m.dpl", every=100) as session:
        parts = [b"".join(lines[k : k + 7]) for k in range(0, 300, 7)]
        found = [text for part in parts for text in session.learn(part)]
        assert session.rows == session.lines == len(wanted)
        assert session.scores()["accuracy"] == np.mean(wanted == problem()[1])
    assert np.array_equal(predicted(found), wanted)
    assert dplasso.load(tmp_path / "m.dpl").rows_seen_ > 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes can not fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("after", [0, 30, 100, 117])
def test_a_killed_session_continues_as_if_it_had_not_been(tmp_path, lines, wanted, after):
    out = tmp_path / "out"
    child = os.fork()
    if child == 0:
        try:
            session = StreamSession(tmp_path / "s", model(), output=out, every=50)
            session.start()
            for line in lines[:after]:
                session.learn(line)
            os._exit(9)  # nothing is closed, saved or flushed
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    with StreamSession(tmp_path / "s", model(), output=out, every=50) as session:
        assert session.continues
        session.start()
        assert session.rows == after
        session.learn(b"".join(lines[after:]))
    assert np.array_equal(np.loadtxt(out), wanted)
    assert stat.S_IMODE(out.stat().st_mode) == 0o600


def test_another_stream_is_rejected_by_its_parameter(tmp_path, lines):
    with StreamSession(tmp_path / "s", model()) as session:
        session.learn(lines[0])
    for other, how, name in (
        (model(window=60), {}, "window"),
        (model(n_features=41), {}, "n_features"),
        (model(random_state=8), {}, "random_state"),
        (model(), {"proba": True}, "proba"),
        (model(learner="oracle"), {}, "learner"),
    ):
        with pytest.raises(ParameterError, match=f"^{name} is not what it was") as refused:
            StreamSession(tmp_path / "s", other, **how).start()
        assert refused.value.parameters == (name,)


def test_one_session_at_a_time_and_no_model_beside_it(tmp_path, lines):
    with StreamSession(tmp_path / "s", model()) as session:
        session.learn(lines[0])
        with pytest.raises(ValueError, match="in use by another process"):
            StreamSession(tmp_path / "s", model())
        session.save()
        with pytest.raises(ModelFileError, match="belongs to a stream session"):
            model().load_state(tmp_path / "s" / "state")


def test_lines_that_are_wrong_are_not_journaled(tmp_path, lines):
    with StreamSession(tmp_path / "s", model()) as session:
        session.learn(lines[0])
        for line, message in (
            (b"1 3:x\n", "^line 2: something stands where"),
            (b"1 41:1\n", "^line 2: .*raise n_features$"),
            (b"7 3:1\n", "^after line 1: y holds labels .* declare all of them with classes, "),
        ):
            with pytest.raises(ValueError, match=message):
                session.learn(line)
        session.learn(lines[1])
    assert StreamSession.position(tmp_path / "s") == {
        "lines": 2,
        "input_bytes": len(lines[0] + lines[1]),
    }


def test_what_must_be_declared(tmp_path):
    for wrong, how, message in (
        (model(n_features=None), {}, "^n_features must be declared"),
        (model(classes=None), {}, "^classes must be declared"),
        (model(classes=[1]), {}, "^classes must list at least two"),
        (PrivateOnlineRegressor(n_features=3), {}, "give y_bound$"),
        (model(batch="call"), {}, "^batch must be a number"),
        (model(random_state=np.random.default_rng(0)), {}, "^random_state must be"),
        (model(epsilon=-1.0), {}, "^epsilon must be a number above 0"),
        (model(loss="hinge"), {"proba": True}, "^proba needs a classifier"),
        (model(), {"format": "xml"}, "^format must be one of svmlight, jsonl, csv, got 'xml'"),
    ):
        with pytest.raises(ParameterError, match=message):
            StreamSession(tmp_path / "s", wrong, **how)
    assert not (tmp_path / "s").exists()


def test_states_are_saved_though_parts_skip_where_they_are_due(tmp_path, lines):
    with StreamSession(tmp_path / "s", model(), every=10) as session:
        for start in range(0, 40, 8):
            session.learn(b"".join(lines[start : start + 8]).rstrip())
        assert session.lines == session.rows == 40
    journal = next((tmp_path / "s").glob("journal-*"))
    assert journal.stat().st_size < len(b"".join(lines[:20]))


def test_a_model_that_learns_elsewhere_is_rejected(tmp_path, lines):
    learning = model().partial_fit(*problem())
    with pytest.raises(ParameterError, match="^model must not be fitted"):
        StreamSession(tmp_path / "s", learning)


def test_a_ledger_is_charged_once_for_all_lives(tmp_path, lines):
    budget = dplasso.Budget(1.2, 1e-6, store=tmp_path / "ledger.sqlite")
    for line in lines[:3]:
        with StreamSession(tmp_path / "s", model(accountant=budget)) as session:
            session.learn(line)
    assert len(budget.entries()) == 1


def test_rows_by_name(tmp_path):
    rows = b"".join(json.dumps({"town": "Ulm", "y": k / 9}).encode() + b"\n" for k in range(5))
    learner = PrivateOnlineRegressor(window=np.int64(9), y_bound=1.0, n_features=np.int64(16))
    with StreamSession(tmp_path / "s", learner, format="jsonl") as session:
        assert len(session.learn(rows)) == 5
    with StateFolder(tmp_path / "s") as folder:
        assert folder.taken()["lines"] == 5


def test_a_bound_set_since_a_stream_began_is_not_that_of_its_journal(tmp_path):
    """A session that continues would add other gradients of the same rows to the same noise."""

    def made():
        return PrivateOnlineRegressor(1.0, window=50, y_bound=1.0, n_features=3)

    with StreamSession(tmp_path / "s", made()) as session:
        session.learn(b"0.5 1:1\n")
        session.model.set_params(y_bound=50.0)
        session.learn(b"40 2:1\n-30 2:1\n")
        released = session.model.coef_
    with StreamSession(tmp_path / "s", made()) as session:
        session.start()
        assert np.array_equal(session.model.coef_, released)
