"""The study of accuracy: its memory, how rivals are tuned, its table, and what it says."""

import bz2
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from comparison import jobs, methods, ours, splits
from comparison.memory import Memory
from comparison.methods import Measured, Task, known, tasks
from comparison.readme import accuracy
from comparison.references import NO_EPSILON, NOT_PRIVATE, TRIVIAL, reference
from comparison.sets import SETS
from comparison.splits import Split, of_table
from comparison.table import table, text, verdict
from comparison.verdicts import summary
from harness.intervals import interval
from harness.measures import LOG_LOSS, sign
from harness.tables import Table
from rivals.problem import Effort, Request
from rivals.tuning import FRESH, contest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


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
            score = 1.0 - 0.1 * abs(request.settings["x"] - 3) + 1e-3 * (request.seed % 7)
            yield request, {"accuracy": score}


class Named:
    name = "a9a"


def test_what_is_picked_runs_on_fresh_seeds_and_nothing_runs_twice(tmp_path):
    path, rival = tmp_path / "cache.jsonl", Toy()
    found = contest(rival, Named(), [0.1, 1.0], 3, Measured(Memory(path), "accuracy"))
    assert [settings for settings, _ in found] == [{"x": 3}, {"x": 3}]
    fresh = [request for request in rival.fits if request.seed >= FRESH]
    assert {(r.epsilon, r.settings["x"], r.seed - FRESH) for r in fresh} == {
        (epsilon, 3, seed) for epsilon in (0.1, 1.0) for seed in range(3)
    }
    assert len({str(request) for request in rival.fits}) == len(rival.fits)
    again = Toy()
    memory = Measured(Memory(path), "accuracy")
    assert contest(again, Named(), [0.1, 1.0], 3, memory) == found
    assert again.fits == []


def test_a_line_that_was_cut_short_is_lost_and_no_other(tmp_path):
    path = tmp_path / "cache.jsonl"
    memory = Memory(path)
    value = {"accuracy": 0.5}
    memory.put("a9a", "AMP", Request(1.0, {"ridge": 2.0}, 0), value)
    memory.put("a9a", "AMP", Request(1.0, {"ridge": 2.0}, 1), value)
    path.write_text(path.read_text()[:-15])
    found = Memory(path)
    assert found.get("a9a", "AMP", Request(1.0, {"ridge": 2.0}, 0)) == value
    assert found.get("a9a", "AMP", Request(1.0, {"ridge": 2.0}, 1)) is None
    found.put("a9a", "AMP", Request(1.0, {"ridge": 2.0}, 2), value)
    assert Memory(path).get("a9a", "AMP", Request(1.0, {"ridge": 2.0}, 2)) == value


def test_two_processes_may_append_to_one_file(tmp_path):
    path = tmp_path / "cache.jsonl"
    one, other = Memory(path), Memory(path)
    for seed in range(20):
        (one, other)[seed % 2].put("a9a", "AMP", Request(1.0, {}, seed), {"accuracy": seed})
    found = Memory(path)
    assert [found.get("a9a", "AMP", Request(1.0, {}, s))["accuracy"] for s in range(20)] == list(
        range(20)
    )


def test_forgetting_takes_the_chosen_methods_of_the_chosen_sets_only(tmp_path):
    memory = Memory(tmp_path / "cache.jsonl")
    for data in ("a9a", "w8a"):
        for method in ("default", "FW"):
            memory.put(data, method, Request(1.0, {}, FRESH), {"accuracy": 0.5})
    memory.forget(["a9a"], ["default"])
    for held in (memory, Memory(memory.path)):
        assert known(held, "a9a", "default", 1.0, "accuracy", 1) == []
        others = [("a9a", "FW"), ("w8a", "default"), ("w8a", "FW")]
        assert all(known(held, *cell, 1.0, "accuracy", 1) == [0.5] for cell in others)


def filled(
    tmp_path, mine: dict[str, float], theirs: dict[str, dict[str, float]], name: str = "adult"
) -> Memory:
    """A memory of the default, of rivals and of the trivial answer, at epsilon 1."""
    memory = Memory(tmp_path / "cache.jsonl")
    memory.note(name, {"rows": 10_000, "columns": 100, "classes": 2})
    mine = {"solver": "table", "nonzeros": 7, "calibration error": 0.01, **mine}
    mine.setdefault("recalibrated log-loss", mine.get("log-loss", math.nan) - 0.005)
    values = {"default": mine, **theirs}
    for seed, off in enumerate((-0.01, 0.0, 0.01)):
        trivial = {"accuracy": 0.75, "log-loss": 0.56}
        memory.put(name, TRIVIAL, Request(NO_EPSILON, {}, FRESH + seed), trivial)
        for method, value in values.items():
            settings = {"c": 1} if method in theirs else {}
            moved = {**value, "accuracy": value["accuracy"] + off}
            memory.put(name, method, Request(1.0, settings, FRESH + seed), moved)
    for method in theirs:
        for measure in ("accuracy", LOG_LOSS):
            memory.pick(name, method, 1.0, measure, {"c": 1})
    return memory


@pytest.mark.parametrize(
    ("mine", "said"), [(0.86, "ahead"), (0.845, "within .01"), (0.83, "behind")]
)
def test_the_default_is_held_against_the_best_rival(tmp_path, mine, said):
    rivals = {"AMP": {"accuracy": 0.81, "log-loss": 0.3}}
    rivals["DP-SGD"] = {"accuracy": 0.85, "log-loss": 0.4}
    memory = filled(tmp_path, {"accuracy": mine, "log-loss": 0.36}, rivals)
    (row,) = table(Memory(memory.path), 3)
    assert (row["set"], row["epsilon"], row["solver"]) == ("adult", 1.0, "table")
    assert row["best_rival"] == "DP-SGD" and row["verdict"] == said
    assert row["difference"] == pytest.approx(mine - 0.85)
    assert row["difference_half"] == pytest.approx(0.0, abs=1e-9)  # seed by seed, on equal splits
    assert row["of log-loss"]["best_rival"] == "AMP" and row["of log-loss"]["verdict"] == "behind"
    lines = text([row]).splitlines()
    assert f"{mine:.3f}" in lines[1] and "0.810 +-0.025" in lines[1]
    heard = summary([row])
    ahead = int(said == "ahead")
    assert f"tables, success: the default is ahead of every tuned rival in {ahead} of 1" in heard
    assert ("adult at 1 (-0.020)" in heard) == (said == "behind")
    assert ("LESS THAN TWO THIRDS" in heard.splitlines()[0]) == (not ahead)
    assert f"{int(mine >= 0.85)} of 1 goals are met" in heard


def test_probabilities_are_held_against_recalibration_and_the_constant(tmp_path):
    mine = {"accuracy": 0.8, "log-loss": 0.6, "recalibrated log-loss": 0.4}
    memory = filled(tmp_path, {**mine, "calibration error": 0.2}, {})
    heard = summary(table(memory, 3))
    assert "above the best recalibration: adult at 1 (+0.200)" in heard
    assert "where success is not: adult at 1 (0.600 for 0.560)" in heard
    assert "from 10 classes on: adult at 1 (0.200)" in heard


def test_what_the_cache_does_not_have_stays_as_it_was_saved(tmp_path):
    theirs = {"AMP": {"accuracy": 0.81, "log-loss": 0.3}}
    first = table(filled(tmp_path, {"accuracy": 0.9, "log-loss": 0.3}, theirs), 3)
    assert {"AMP", "default", TRIVIAL} <= set(first[0]["cells"])
    (alone,) = table(Memory(tmp_path / "empty.jsonl"), 3, first)
    assert alone == first[0]
    (tmp_path / "new").mkdir()
    fresh = filled(tmp_path / "new", {"accuracy": 0.7, "log-loss": 0.5}, {})
    (mixed,) = table(fresh, 3, first)
    assert mixed["verdict"] == "behind" and mixed["best_rival"] == "AMP"


def test_a_table_with_hashed_columns_is_held_against_the_plain_one(tmp_path):
    theirs = {"DP-GD": {"accuracy": 0.84, "log-loss": 0.34}}
    filled(tmp_path, {"accuracy": 0.85, "log-loss": 0.33}, theirs)
    memory = filled(tmp_path, {"accuracy": 0.848, "log-loss": 0.33}, {}, "adult_hashed")
    rows = {row["set"]: row for row in table(memory, 3)}
    assert rows["adult_hashed"]["best_rival"] == "DP-GD"
    assert rows["adult_hashed"]["cells"][TRIVIAL] == rows["adult"]["cells"][TRIVIAL]
    assert "adult_hashed at 1 -0.002" in summary(list(rows.values()))
    assert "in 1 of 1 cells" in summary(list(rows.values()))  # a hashed table is not counted twice


def test_success_that_falls_as_epsilon_grows_is_named(tmp_path):
    memory = filled(tmp_path, {"accuracy": 0.85, "log-loss": 0.33}, {})
    value = {"accuracy": 0.8, "solver": "table", "nonzeros": 1}
    memory.put("adult", "default", Request(4.0, {}, FRESH), value)
    assert "falls as epsilon grows, by more than 0.002: adult at 4 (-0.050)" in summary(
        table(memory, 3)
    )


def test_a_wrong_sensitivity_is_shown_and_not_counted(tmp_path):
    memory = Memory(tmp_path / "cache.jsonl")
    memory.note("california", {"rows": 1, "columns": 13, "classes": 0})
    for method, value in (("diffprivlib", 0.7), ("AdaSSP", 0.4)):
        memory.pick("california", method, 1.0, "R2", {})
        memory.put("california", method, Request(1.0, {}, FRESH), {"R2": value})
    (row,) = table(memory, 1)
    assert row["best_rival"] == "AdaSSP" and "wrong sensitivity 0.700" in text([row])


def test_the_readme_has_a_line_for_every_set_whose_default_is_known(tmp_path):
    theirs = {"DP-GD": {"accuracy": 0.84, "log-loss": 0.34}}
    rows = table(filled(tmp_path, {"accuracy": 0.85, "log-loss": 0.33}, theirs), 3)
    head, rule, line, *rest = accuracy({"summary": summary(rows), "rows": rows}).splitlines()
    assert head.count("|") == rule.count("|") == line.count("|")
    assert line.startswith("| adult | 10,000 x 100 | 0.750 | 0.850 (0.840) |")
    assert "ahead of every tuned rival in 1 of 1 cells" in rest[1]


def test_interval_is_students():
    found = interval([1.0, 2.0, 3.0, 4.0])
    assert found["mean"] == 2.5
    assert found["half"] == pytest.approx(3.18245 * np.std([1, 2, 3, 4], ddof=1) / 2, rel=1e-5)
    assert math.isnan(interval([1.0])["half"])


def test_a_tie_is_ahead_and_a_hundredth_is_close():
    assert [verdict(d) for d in (0.0, -0.0099, -0.0101)] == ["ahead", "within .01", "behind"]


def test_every_set_has_a_goal_for_every_epsilon_or_none_and_no_task_twice():
    for one in SETS.values():
        assert len(one.goals) in (0, len(one.epsilons)) and one.goal(2.0) is None
        for method in methods.METHODS:
            found = tasks(one, method, 2)
            assert len(set(found)) == len(found)
            if one.plain and method in (*methods.RIVALS, TRIVIAL, NOT_PRIVATE):
                assert not found


@pytest.mark.parametrize("packed", [False, True])
def test_a_libsvm_file_of_the_data_folder_is_a_set(tmp_path, packed, monkeypatch):
    monkeypatch.setenv("DPLASSO_DATA", str(tmp_path))
    splits._fixed.cache_clear()
    splits._problem.cache_clear()
    assert not splits.at_hand("rcv1")
    lines = "".join(f"{1 if i % 2 else -1} {i % 3 + 1}:0.5 4:1.5\n" for i in range(20)).encode()
    path = tmp_path / ("rcv1_train.binary" + (".bz2" if packed else ""))
    path.write_bytes(bz2.compress(lines) if packed else lines)
    assert splits.at_hand("rcv1")
    found, problem = splits.load("rcv1", 0), splits.problem("rcv1")
    assert found.train.shape == (16, 4) and len(found.truth) == 4
    assert (problem.n_rows, problem.n_columns, problem.delta) == (16, 4, 16**-2.0)
    splits._fixed.cache_clear()
    splits._problem.cache_clear()


def a_split(n_classes: int) -> Split:
    rng = np.random.default_rng(0)
    X = rng.uniform(0.0, 4.0, (400, 3))
    y = X[:, 0] - X[:, 1]
    if n_classes:
        y = np.digitize(y, [0.0, 1.0][: n_classes - 1])
    made = Table("adult", X, y, [(0.0, 4.0)] * 3, n_classes=n_classes, y_bound=4.0)
    return of_table(made, np.arange(320), np.arange(320, 400))


@pytest.mark.filterwarnings("ignore::dplasso.PrivacyLeakWarning")
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_ours_lies_between_the_references(n_classes):
    split, measure = a_split(n_classes), "accuracy" if n_classes else "R2"
    trivial, best = (reference(name, split, measure) for name in (TRIVIAL, NOT_PRIVATE))
    mine = ours.score("default", split, measure, 50.0, 0)
    assert mine["solver"] == "table" and 0 < mine["nonzeros"] <= 3 * max(n_classes, 1)
    for name, value in trivial.items():
        better = sign(name)
        assert better * value < better * mine[name] <= better * best[name] + 0.1
    if n_classes:
        assert mine["recalibrated log-loss"] <= mine[LOG_LOSS]


def test_the_estimate_counts_every_seed_as_long_as_the_one_that_is_known(tmp_path):
    memory = Memory(tmp_path / "cache.jsonl")
    memory.took("a9a", "default", 1.0, FRESH, 30.0)
    wanted = [Task("a9a", "default", 1.0, FRESH + seed) for seed in range(10)]
    assert "5.00 minutes" in jobs.estimate(Memory(memory.path), wanted)
    wanted.append(Task("w8a", "default", 1.0, FRESH))
    assert "1 tasks are not known" in jobs.estimate(memory, wanted)


FORBIDDEN = ("pandas", "pyarrow", "matplotlib", "typer", "rich", "pytest", "dp_accounting")
BARE = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {FORBIDDEN!r}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
sys.path.insert(0, {str(BENCHMARKS)!r})
import accuracy
from rivals.accounts import noise_multiplier, noted_multipliers
from comparison.methods import perform
epsilon, delta, steps, sampling = next(iter(noted_multipliers())).split()
assert noise_multiplier(float(epsilon), float(delta), int(steps), float(sampling)) > 0.0
"""


def test_measuring_needs_nothing_that_only_drawing_needs():
    subprocess.run([sys.executable, "-c", BARE], check=True, cwd=BENCHMARKS)
