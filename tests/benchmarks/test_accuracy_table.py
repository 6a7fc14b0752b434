"""The memory of the accuracy benchmark, how rivals are tuned, and what the table says."""

import math

import numpy as np
import pytest
from comparison import cases
from comparison.columns import known
from comparison.memory import Memory
from comparison.table import summary, table, text, verdict
from harness.intervals import interval
from rivals.problem import Effort, Request
from rivals.tuning import FRESH, contest


class Toy:
    """A rival whose best setting is 3 and which counts its fits."""

    name = "DP-GD"

    def __init__(self) -> None:
        self.fits: list[Request] = []

    def effort(self, problem):
        return Effort(2, 2)

    def coarse(self, problem, epsilon):
        return [{"x": x} for x in (0, 2, 8)]

    def nearby(self, problem, epsilon, best):
        return [{"x": best["x"] + 1}]

    def scores(self, problem, requests):
        for request in requests:
            self.fits.append(request)
            yield request, 1.0 - 0.1 * abs(request.settings["x"] - 3) + 1e-3 * (request.seed % 7)


class Named:
    name = "a9a"


def test_what_is_picked_runs_on_fresh_seeds_and_nothing_runs_twice(tmp_path):
    path, rival = tmp_path / "cache.jsonl", Toy()
    found = contest(rival, Named(), [0.1, 1.0], 3, Memory(path))
    assert [settings for settings, _ in found] == [{"x": 3}, {"x": 3}]
    fresh = [request for request in rival.fits if request.seed >= FRESH]
    assert {(r.epsilon, r.settings["x"], r.seed - FRESH) for r in fresh} == {
        (epsilon, 3, seed) for epsilon in (0.1, 1.0) for seed in range(3)
    }
    assert len({str(request) for request in rival.fits}) == len(rival.fits)
    again = Toy()
    assert contest(again, Named(), [0.1, 1.0], 3, Memory(path)) == found
    assert again.fits == []


def test_a_line_that_was_cut_short_is_lost_and_no_other(tmp_path):
    path = tmp_path / "cache.jsonl"
    memory = Memory(path)
    memory.put("a9a", "AMP", Request(1.0, {"ridge": 2.0}, 0), 0.5)
    memory.put("a9a", "AMP", Request(1.0, {"ridge": 2.0}, 1), 0.6)
    path.write_text(path.read_text()[:-15])
    found = Memory(path)
    assert found.get("a9a", "AMP", Request(1.0, {"ridge": 2.0}, 0)) == 0.5
    assert found.get("a9a", "AMP", Request(1.0, {"ridge": 2.0}, 1)) is None
    found.put("a9a", "AMP", Request(1.0, {"ridge": 2.0}, 2), 0.7)
    assert Memory(path).get("a9a", "AMP", Request(1.0, {"ridge": 2.0}, 2)) == 0.7


def test_forgetting_takes_the_chosen_columns_of_the_chosen_sets_only(tmp_path):
    memory = Memory(tmp_path / "cache.jsonl")
    for data in ("a9a", "w8a"):
        for column in ("ours", "AMP"):
            memory.pick(data, column, 1.0, {})
            memory.put(data, column, Request(1.0, {}, FRESH), 0.5)
    memory.forget(["a9a"], ["ours"])
    for held in (memory, Memory(memory.path)):
        assert known(held, "a9a", "ours", 1.0, 1) == []
        others = [("a9a", "AMP"), ("w8a", "ours"), ("w8a", "AMP")]
        assert all(known(held, *cell, 1.0, 1) == [0.5] for cell in others)


def filled(tmp_path, ours: float, theirs: dict[str, float]) -> Memory:
    memory = Memory(tmp_path / "cache.jsonl")
    memory.note("a9a", {"rows": 100, "columns": 123, "majority": 0.7, "measure": "accuracy"})
    for column, mean in {"ours": ours, **theirs}.items():
        memory.pick("a9a", column, 1.0, {"c": column})
        for seed, off in enumerate((-0.01, 0.0, 0.01)):
            memory.put("a9a", column, Request(1.0, {"c": column}, FRESH + seed), mean + off)
    return memory


@pytest.mark.parametrize(
    ("ours", "said"), [(0.86, "ahead"), (0.845, "within .01"), (0.83, "behind")]
)
def test_ours_is_held_against_the_best_rival(tmp_path, ours, said):
    rows = table(filled(tmp_path, ours, {"AMP": 0.81, "DP-SGD": 0.85}), [0.1, 1.0], 3)
    assert [(row["set"], row["epsilon"]) for row in rows] == [("a9a", 1.0)]
    assert rows[0]["best_rival"] == "DP-SGD"
    assert rows[0]["difference"] == pytest.approx(ours - 0.85)
    assert rows[0]["verdict"] == said
    ahead, behind, met = (int(x) for x in (said == "ahead", said == "behind", ours >= 0.847))
    assert f"ahead in {ahead} of 1 cells, more than .01 behind in {behind}" in summary(rows)
    assert f"{met} of 1 goals" in summary(rows)
    lines = text(rows).splitlines()
    assert f"{ours:.3f}" in lines[1] and "no cut" in lines[1] and "0.810 +-0.025" in lines[1]


def test_interval_is_students():
    found = interval([1.0, 2.0, 3.0, 4.0])
    assert found["mean"] == 2.5
    assert found["half"] == pytest.approx(3.18245 * np.std([1, 2, 3, 4], ddof=1) / 2, rel=1e-5)
    assert math.isnan(interval([1.0])["half"])


def test_a_tie_is_ahead_and_a_hundredth_is_close():
    assert [verdict(d) for d in (0.0, -0.0099, -0.0101)] == ["ahead", "within .01", "behind"]


@pytest.mark.parametrize("packed", [False, True])
def test_a_libsvm_file_is_a_set(tmp_path, packed, monkeypatch):
    import bz2

    monkeypatch.setenv("DPLASSO_DATA", str(tmp_path))
    lines = "".join(f"{1 if i % 2 else -1} {i % 3 + 1}:0.5 4:1.5\n" for i in range(20)).encode()
    path = tmp_path / ("my.svm.bz2" if packed else "my.svm")
    path.write_bytes(bz2.compress(lines) if packed else lines)
    assert cases.load("rcv1", {}) is None
    problem = cases.load("rcv1", {"rcv1": path})
    assert (problem.n_rows, problem.n_columns, len(problem.test_labels)) == (16, 4, 4)
    assert problem.delta == 16**-2.0
    (tmp_path / "rcv1_train.binary").write_bytes(lines)
    assert cases.load("rcv1", {}).n_rows == 16
    with pytest.raises(SystemExit, match="no file"):
        cases.load("rcv1", {"rcv1": tmp_path / "none"})
