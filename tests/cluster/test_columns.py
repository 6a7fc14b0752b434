"""Frank-Wolfe on shards: the columns of all rows, divided among them."""

import numpy as np
import pytest

from dplasso import Budget, PrivateLassoClassifier, Schema, Shards, Sparsifier
from dplasso.base.wording import ParameterError
from dplasso.cluster import selections
from dplasso.cluster.in_process import InProcess
from dplasso.cluster.opened import OpenShards, opened
from dplasso.cluster.run_log import RunLog
from dplasso.cluster.selections import Selections
from sharded import SCHEMA, assert_same, ball_problems, runs

pytestmark = pytest.mark.filterwarnings("ignore:random_state makes the fit repeatable")


@pytest.mark.parametrize("problem", ball_problems(), ids=lambda problem: problem.name)
def test_models_do_not_depend_on_the_number_of_shards(problem, tmp_path):
    whole = problem.fitted(tmp_path)
    one, *others = (
        problem.model().fit(problem.write(tmp_path / str(k), runs(k))) for k in (1, 2, 5)
    )
    for other in others:
        assert_same(one, other)
    assert one.privacy_ == whole.privacy_
    assert one.n_iter_ == whole.n_iter_ == 60
    assert np.abs(one.coef_).sum() > 0


def test_trials_may_be_decided_at_the_same_time(tmp_path, monkeypatch):
    """The first trial that is not void counts, however many were asked for."""
    problem = ball_problems()[0]
    shards, asked = problem.write(tmp_path / "three", runs(3)), []
    plain = Selections._ask

    def counted(self, shard, trials):
        asked.append(len(trials))
        return plain(self, shard, trials)

    monkeypatch.setattr(Selections, "_ask", counted)
    found = []
    for least, most in ((1, 1), (6, 8)):
        monkeypatch.setattr(selections, "LEAST_TRIALS", least)
        monkeypatch.setattr(selections, "MOST_TRIALS", most)
        found.append((problem.model().fit(shards), max(asked)))
    assert_same(found[0][0], found[1][0])
    assert found[0][1] == 1 and found[1][1] > 1


def test_one_loud_column_is_found_as_in_memory(tmp_path):
    """Both algorithms have one law: where it is nearly certain, they agree."""
    problem = ball_problems()[0]
    X = problem.X.tolil()
    X[:, 7] = np.where(problem.y, 1.0, -1.0)[:, None]
    problem.X = X.tocsr()
    problem.parameters |= {"epsilon": 300.0, "max_iter": 8, "radius": 3.0}
    whole = problem.fitted(tmp_path)
    found = problem.model().fit(problem.write(tmp_path / "two", runs(2)))
    assert np.array_equal(whole.coef_, found.coef_)
    assert np.flatnonzero(found.coef_).tolist() == [7]


class Counting(InProcess):
    """Shards that can be lost: what they hold is rebuilt, and their steps are forgotten."""

    lost = (ConnectionError,)

    def __init__(self, *args, fail_at=()):
        super().__init__(*args)
        self.fail_at, self.calls, self.broken = set(fail_at), 0, None

    def share(self, given):
        self.given = list(given)
        super().share(given)

    def call(self, shard, method, *args, parts=1):
        if method == "advance":
            self.calls += 1
            if self.calls in self.fail_at:
                self.broken = shard
        if shard == self.broken:
            return (ConnectionError, ConnectionError) if parts == 2 else ConnectionError
        return super().call(shard, method, *args, parts=parts)

    def answer(self, handle):
        if handle is ConnectionError:
            raise ConnectionError
        return handle

    def mend(self):
        if self.broken is not None:
            parts = [shard.column_parts([self.given[self.broken]]) for shard in self._shards]
            self._shards[self.broken].take_columns(self.given[self.broken], *parts)
            self.broken = None


def test_a_lost_shard_takes_all_steps_again(tmp_path):
    problem = ball_problems()[0]
    shards = problem.write(tmp_path / "parts", runs(4))
    one = problem.model().fit(shards)
    given = shards.divided(4), shards.options, 1.0, 1
    with Counting(*given, fail_at=(1, 17, 18, 50)) as crew, RunLog() as log:
        rows = OpenShards(crew, log)
        assert_same(one, problem.model().fit(rows.facts.described()))
    assert crew.calls > 60


def stopped_after(rounds, monkeypatch):
    plain = Selections._round

    def stopping(self, secret):
        if len(self._vertices) == rounds:
            raise KeyboardInterrupt
        plain(self, secret)

    monkeypatch.setattr(Selections, "_round", stopping)


def test_a_fit_that_was_stopped_goes_on_and_is_charged_once(tmp_path, monkeypatch):
    problem = ball_problems()[0]
    shards = problem.write(tmp_path / "parts", runs(3))

    def fit(parts, folder):
        budget = Budget(100.0, delta=1e-4, store=tmp_path / "ledger")
        given = shards.divided(parts), shards.options, 1.0, 1
        with InProcess(*given) as crew, RunLog(folder) as log:
            rows = OpenShards(crew, log)
            return problem.model(accountant=budget).fit(rows.facts.described())

    with monkeypatch.context() as patch:
        stopped_after(23, patch)
        with pytest.raises(KeyboardInterrupt):
            fit(3, tmp_path / "run")
    assert (tmp_path / "run" / "releases").stat().st_size == 23 * (12 + 16)
    again = fit(2, tmp_path / "run")
    assert len(Budget.open(tmp_path / "ledger").entries()) == 1
    whole = problem.model().fit(shards)
    assert np.array_equal(whole.coef_, again.coef_)
    assert np.array_equal(whole.intercept_, again.intercept_)


TABLE = "person,age,town,label\n"


def test_people_and_ranges_are_those_of_a_fit_in_memory(tmp_path):
    """Rows of a person in several files weigh as much together as in one."""
    rng = np.random.default_rng(0)
    lines = [
        f"p{rng.integers(60)},{rng.integers(120)},t{rng.integers(9)},{rng.choice(['no', 'yes'])}"
        for _ in range(200)
    ]
    (tmp_path / "schema.toml").write_text(SCHEMA)
    schema = Schema.from_toml(tmp_path / "schema.toml")
    known = {"n_people": 60, "n_rows": 200, "rows_per_person": 2, "max_iter": 30}
    found = []
    for count in (1, 3):
        paths = [tmp_path / f"{count}-{k}.csv" for k in range(count)]
        for path, part in zip(paths, np.array_split(lines, count), strict=True):
            path.write_text(TABLE + "\n".join(part) + "\n")
        model = PrivateLassoClassifier(40.0, solver="frank_wolfe", random_state=1, **known)
        found.append(model.fit(Shards(paths, schema=schema)))
    assert_same(*found)
    assert found[0].privacy_["unit"].startswith("person")


def test_what_needs_all_rows_is_rejected_before_anything_is_charged(tmp_path):
    problem = ball_problems()[0]
    shards = problem.write(tmp_path / "parts", runs(2))
    budget = Budget(100.0, delta=1e-4, store=tmp_path / "ledger")
    for changes, said in (
        ({"selection": "noisy_max"}, "selection='noisy_max' is for rows in memory"),
        ({"n_nonzero": Sparsifier(0.1)}, "cannot be counted privately for shards"),
        ({"x_bound": "private"}, "cannot be released for shards"),
    ):
        with pytest.raises(ParameterError, match=said):
            problem.model(accountant=budget, **changes).fit(shards)
    with pytest.raises(ParameterError, match="with privacy only"):
        problem.model(epsilon=np.inf).fit(shards)
    assert not Budget.open(tmp_path / "ledger").entries()


def test_shards_are_read_once_more_for_the_correction_only(tmp_path):
    """The columns are let go of before rows are read again."""
    problem = ball_problems()[0]
    with opened(problem.write(tmp_path / "parts", runs(2))) as rows:
        problem.model().fit(rows.facts.described())
        assert all(shard._columns is None for shard in rows._crew._shards)


def test_rows_that_change_between_two_readings_are_rejected(tmp_path, monkeypatch):
    """The correction reads the files again; the rows of people are known by their places."""
    problem = ball_problems()[0]
    shards = problem.write(tmp_path / "two", runs(2))
    plain = Selections.close

    def changed(self):
        plain(self)
        for one in sorted((tmp_path / "two").iterdir())[:1]:
            if one.is_file():
                lines = one.read_text().splitlines(keepends=True)
                one.write_text("".join(lines[::-1]))

    monkeypatch.setattr(Selections, "close", changed)
    with pytest.raises(ValueError, match="were changed during the fit"):
        problem.model().fit(shards)
