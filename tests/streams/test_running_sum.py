"""Running sums: exact inside, the same after a restart, within memory, true to their word."""

import contextlib
import copy
import dataclasses
import json
import math
import os
import pickle
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from dplasso import storage
from dplasso.mechanisms.grid_gaussian import GridGaussian
from dplasso.mechanisms.noise_key import NoiseKey
from dplasso.privacy.events import Gaussian, PureDP
from dplasso.privacy.gaussian import epsilon_of, mu
from dplasso.streams import RunningSum, State, running_sum
from dplasso.streams.constructions import bytes_needed, grid_of
from dplasso.streams.covers import root_kept, window_only
from dplasso.streams.settings import Settings

BUDGET = {"sensitivity": 1.0, "epsilon": 1.0, "delta": 1e-6}
CASES = [
    {"window": 5, "construction": "band"},
    {"window": 5, "construction": "regenerated_band"},
    {"window": 5, "construction": "buffered"},
    {"steps": 30, "construction": "buffered"},
    {"construction": "buffered"},
    {"window": 5, "construction": "tree"},
    {"window": 5, "construction": "window_tree"},
    {"steps": 30, "construction": "band"},
    {"steps": 30, "construction": "tree"},
    {"construction": "band"},
    {"construction": "tree"},
    {"window": 4, "construction": "window_tree", "calibration": "paper"},
]
GAMMA = {"sensitivity": 1.0, "epsilon": 1.0, "noise": "gamma", "window": 4}


def rows_on_the_grid(seed: int, count: int, dimension: int) -> np.ndarray:
    """No longer than 1, of multiples of 2^-10: nothing is cut."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(-(2**10), 2**10, (count, dimension)) / 2.0**10
    return np.trunc(rows / dimension * 2**10) / 2.0**10


@hypothesis_settings(max_examples=25, deadline=None)
@given(st.sampled_from(CASES), st.integers(0, 2**32 - 1), st.integers(1, 12))
def test_sums_are_exact_sums_plus_noise_that_does_not_know_them(case, seed, dimension) -> None:
    rows = rows_on_the_grid(seed, 20, dimension)
    sums, silent = (running_sum(dimension, seed=seed, **BUDGET, **case) for _ in range(2))
    for t, row in enumerate(rows):
        noise = silent.add(np.zeros(dimension))
        assert np.array_equal(sums.add(row) - noise, rows[: t + 1].sum(axis=0))


@pytest.mark.parametrize(
    ("construction", "cover"), [("tree", root_kept), ("window_tree", window_only)]
)
def test_noise_of_a_tree_is_the_sum_over_its_cover_each_node_drawn_once(
    construction, cover
) -> None:
    sums = running_sum(30, window=8, construction=construction, seed=1, **BUDGET)
    grid, key = grid_of(sums.settings), NoiseKey(sums._key.secret, secure=False)
    deviation = sums.noise.noise_matrix(1).max()
    node_noise, nodes = GridGaussian(deviation * grid.reach), {}
    for step in range(1, 40):
        released, wanted = sums.add(np.zeros(30)) * 2**grid.bits, np.zeros(30)
        for node in cover(8)(step):
            if node not in nodes:
                nodes[node] = np.zeros(30, np.int64)
                node_noise.add_to(nodes[node], key.generator(*node))
            wanted += nodes[node] + 0.5
        assert np.array_equal(released, wanted)


def test_noise_of_a_band_is_the_matrix_times_its_noises() -> None:
    sums = running_sum(30, window=8, construction="band", seed=1, **BUDGET)
    grid, matrix = grid_of(sums.settings), sums.noise.noise_matrix(40)
    drawn = np.zeros((40, 30), np.int64)
    for step, values in enumerate(drawn, start=1):
        fine = GridGaussian(matrix[0, 0] * grid.reach * 2.0**20)
        fine.add_to(values, sums._key.generator(step))
    wanted = (matrix / matrix[0, 0]) @ drawn / 2.0**20
    released = np.stack([sums.add(np.zeros(30)) * 2**grid.bits for _ in range(40)])
    assert np.all(np.abs(released - wanted) <= 0.51)


@pytest.mark.parametrize("case", [*CASES, GAMMA], ids=str)
@pytest.mark.parametrize("stop", [0, 1, 7, 16])
def test_a_sum_goes_on_after_a_restart_as_if_it_had_not_stopped(tmp_path, case, stop) -> None:
    budget = {} if case is GAMMA else BUDGET
    rows = np.random.default_rng(0).normal(size=(24, 3))
    sums = running_sum(3, seed=5, **budget, **case)
    wanted = [sums.add(row) for row in rows]
    sums = running_sum(3, seed=5, **budget, **case)
    for row in rows[:stop]:
        sums.add(row)
    storage.write(tmp_path / "state", *sums.state())
    resumed = RunningSum.from_state(State(*storage.read(tmp_path / "state")))
    assert resumed.position == stop and resumed.settings == sums.settings
    if stop:
        assert np.array_equal(resumed.release(), wanted[stop - 1])
    for row, release in zip(rows[stop:], wanted[stop:], strict=True):
        assert np.array_equal(resumed.add(row), release)


def test_a_state_is_saved_before_a_release_leaves_or_none_does() -> None:
    saved: list[State] = []
    full = False

    def save(state: State) -> None:
        if full:
            raise OSError("no space left")
        saved.append(state)

    sums = running_sum(2, window=4, seed=0, before_release=save, **BUDGET)
    first = sums.add(np.array([0.5, 0.5]))
    assert saved[-1].header["position"] == 1
    full = True
    with pytest.raises(OSError, match="no space"):
        sums.add(np.array([0.25, 0.0]))
    with pytest.raises(OSError, match="no space"):
        sums.release()
    # Killed here, it resumes with noise that has not been out: the first release and no other.
    resumed = RunningSum.from_state(saved[-1])
    assert np.array_equal(resumed.release(), first)
    full = False
    second = sums.release()
    assert np.array_equal(RunningSum.from_state(saved[-1]).release(), second)
    assert saved[-1].header["position"] == 2


@pytest.mark.parametrize("case", CASES, ids=str)
def test_noise_that_was_interrupted_comes_out_right_the_next_time(monkeypatch, case) -> None:
    """Ctrl-C in the middle of a draw, at each draw in turn."""
    sums = running_sum(3, seed=5, **BUDGET, **case)
    wanted = [sums.add(np.zeros(3)) for _ in range(20)]
    sums = running_sum(3, seed=5, **BUDGET, **case)
    draw, left = GridGaussian.add_to, [0]

    def interrupted(self, values, generator, threads=None) -> None:
        left[0] -= 1
        draw(self, values, generator, threads)
        if left[0] == 0:
            values[:] = 99
            raise KeyboardInterrupt

    monkeypatch.setattr(GridGaussian, "add_to", interrupted)
    for step, release in enumerate(wanted):
        left[0] = 1 + step % 3
        with contextlib.suppress(KeyboardInterrupt):
            assert np.array_equal(sums.add(np.zeros(3)), release)
        left[0] = 0
        assert np.array_equal(sums.release(), release)


@pytest.mark.parametrize("look", ["add", "release"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_signal_handler_sees_no_sum_with_the_noise_of_the_next(monkeypatch, case, look) -> None:
    """It comes after the step was taken, and before its row is in the sum."""
    sums, row = running_sum(3, seed=5, **BUDGET, **case), np.array([0.5, 0.0, 0.0])
    wanted = running_sum(3, seed=5, **BUDGET, **case).add(row)
    looks = {"add": lambda: sums.add(row), "release": sums.release}
    plain = sums._rows.of

    def interrupted(rows):
        for each in plain(rows):
            assert sums.position == 1
            with pytest.raises(RuntimeError, match="signal handler"):
                looks[look]()
            yield each

    monkeypatch.setattr(sums._rows, "of", interrupted)
    assert np.array_equal(sums.add(row), wanted)
    monkeypatch.undo()
    assert np.array_equal(sums.release(), wanted)


def test_a_row_that_is_refused_changes_nothing() -> None:
    sums = running_sum(2, window=4, seed=0, **BUDGET)
    before = sums.add(np.array([0.5, 0.5]))
    for bad in (np.array([np.nan, 0.0]), np.zeros(3)):
        with pytest.raises(ValueError, match="rows must"):
            sums.add(bad)
    assert sums.position == 1 and np.array_equal(sums.release(), before)


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize(
    "back", [lambda s: s.stretch(-1), lambda s: s.advance(-1), lambda s: s.take_back()]
)
def test_no_sum_goes_back_to_noise_that_was_used(case, back) -> None:
    sums = running_sum(2, seed=0, **BUDGET, **case)
    sums.add(np.array([0.5, 0.5]))
    with pytest.raises((ValueError, RuntimeError), match="at least 0|taken back"):
        back(sums)
    assert sums.position == 1


@pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_running_sum_is_not_copied(copied) -> None:
    with pytest.raises(TypeError, match="can not be copied"):
        copied(running_sum(2, window=4, **BUDGET))


@pytest.mark.parametrize("case", [*CASES, {"window": 5, "noise": "gamma"}], ids=str)
@pytest.mark.parametrize("draw", [lambda s: s.add(np.zeros(3)), lambda s: s.stretch(1)])
def test_a_forked_child_does_not_go_on(monkeypatch, case, draw) -> None:
    budget = {**BUDGET, "delta": None} if "noise" in case else BUDGET
    sums, child = running_sum(3, **budget, **case), os.getpid() + 1
    sums.add(np.ones(3) / 2.0)
    before = sums.total.copy()
    with monkeypatch.context() as patch, pytest.raises(RuntimeError, match="a forked process"):
        patch.setattr(os, "getpid", lambda: child)
        draw(sums)
    assert sums.position == 1 and np.array_equal(sums.total, before)
    plain = running_sum(3, sensitivity=1.0, epsilon=math.inf, delta=1e-6)
    monkeypatch.setattr(os, "getpid", lambda: child)
    draw(plain)  # no noise that could be drawn twice


def test_batches_make_steps_of_a_shorter_window() -> None:
    rows = rows_on_the_grid(0, 12, 4)
    settings = {"window": 10, "batch": 3, "construction": "band", "seed": 0}
    sums, silent = (running_sum(4, **settings, **BUDGET) for _ in range(2))
    assert sums.settings.span.steps == 4 and sums.privacy["window_rows"] == 12
    for at in range(0, 12, 3):
        batch = rows[at : at + 3]
        noise = silent.add(np.zeros((3, 4)))
        found = sums.add(sp.csr_array(batch) if at % 2 else batch)
        assert np.array_equal(found - noise, rows[: at + 3].sum(axis=0))
    with pytest.raises(ValueError, match="rows of one step must be 3, got 2"):
        sums.add(rows[:2])


def test_without_privacy_sums_are_exact_and_say_so() -> None:
    for budget in ({"epsilon": math.inf, "delta": 1e-6}, {"rho": math.inf}):
        sums = running_sum(3, sensitivity=1.0, window=4, **budget)
        assert np.array_equal(sums.add(np.array([0.5, 0.0, 0.25])), [0.5, 0.0, 0.25])
        assert sums.event == PureDP(math.inf) and sums.privacy["mu"] == "inf"
        assert RunningSum.from_state(sums.state()).settings == sums.settings


def test_a_stream_of_known_length_ends() -> None:
    sums = running_sum(1, steps=2, **BUDGET)
    sums.add([0.0])
    sums.add([0.0])
    with pytest.raises(ValueError, match="steps must be at most the declared 2"):
        sums.add([0.0])


def test_the_best_construction_that_fits_is_chosen() -> None:
    def chosen(**settings) -> str:
        return running_sum(1000, **BUDGET, **settings).settings.construction

    assert chosen(window=100) == chosen(steps=100) == chosen() == "buffered"
    assert chosen(window=1000, memory=10**6) == chosen(steps=1000, memory=10**6) == "buffered"
    assert chosen(window=1000, memory=10**5) == chosen(memory=10**5) == "tree"
    assert chosen(steps=2**25) == "tree"
    assert chosen(window=100, calibration="paper") == "window_tree"
    assert running_sum(5, **GAMMA).settings.construction == "tree"
    for settings in ({"window": 10}, {"window": 1000, "construction": "band"}):
        with pytest.raises(ValueError, match="memory must be at least"):
            chosen(memory=50_000, **settings)
    with pytest.raises(ValueError, match="construction must be a tree for more than"):
        chosen(window=2**21, construction="regenerated_band")


def test_an_endless_stream_takes_trees_once_bands_do_not_fit() -> None:
    memory = bytes_needed(Settings(50, **BUDGET), 4)
    sums = running_sum(50, construction="band", memory=memory, seed=0, **BUDGET)
    matrix = sums.noise.noise_matrix(15)
    assert len(np.unique(matrix[3:7, 3:7])) > 3  # a band of 4 steps
    assert len(np.unique(matrix[7:, 7:])) == 2  # a tree of 8
    for _ in range(15):
        sums.add(np.zeros(50))
    resumed = RunningSum.from_state(sums.state())
    assert np.array_equal(resumed.release(), sums.release())


@pytest.mark.parametrize(
    ("settings", "vectors"),
    [
        ({"window": 20, "construction": "band"}, 20),
        ({"window": 20, "construction": "regenerated_band"}, 0),
        ({"window": 2**20, "construction": "buffered"}, 20),
        ({"window": 2**20, "construction": "tree"}, 0),
        ({"window": 2**20, "construction": "window_tree"}, 0),
    ],
)
def test_memory_is_as_stated(settings: dict, vectors: int) -> None:
    dimension = 200_000
    running_sum(dimension, **settings, **BUDGET).add(([0], [1.0]))  # compiled and imported
    tracemalloc.start()
    try:
        sums = running_sum(dimension, **settings, **BUDGET)
        for _ in range(5):
            sums.add(([5], [1.0]))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    stated = bytes_needed(sums.settings, vectors)
    assert vectors * 8 * dimension < peak <= stated + 2**20


def test_a_million_columns() -> None:
    sums = running_sum(10**6, window=1000, seed=0, memory=2**27, **BUDGET)
    assert sums.settings.construction == "tree"
    quiet = running_sum(10**6, window=1000, seed=0, memory=2**27, **BUDGET)
    for _ in range(2):
        difference = sums.add(([17], [0.5])) - quiet.add(([], []))
    assert difference[17] == 1.0 and not np.delete(difference, 17).any()


@pytest.mark.parametrize("case", [*CASES, GAMMA], ids=str)
def test_what_is_promised_is_what_was_asked_for(case) -> None:
    budget = {} if case is GAMMA else BUDGET
    sums = running_sum(3, **budget, **case)
    told = sums.privacy
    assert json.loads(json.dumps(told, allow_nan=False)) == told
    assert told["epsilon"] <= 1.0 and told["secure_rng"] and told["neighboring"] == "add_remove"
    assert (told["whole_stream"] == "inf") == ("window" in case)
    if case is GAMMA:
        assert sums.event == PureDP(1.0) and told["delta"] == 0.0
    else:
        assert isinstance(sums.event, Gaussian)
        assert told["mu"] == pytest.approx(mu(sums.event)) and told["delta"] == 1e-6
        assert epsilon_of(mu(sums.event), 1e-6) == pytest.approx(told["epsilon"])
        assert told["epsilon"] == pytest.approx(1.0) or "calibration" in case
    assert not running_sum(3, seed=0, **budget, **case).privacy["secure_rng"]


def test_replacing_a_row_takes_twice_the_noise() -> None:
    once, twice = (
        running_sum(2000, window=8, seed=0, neighboring=relation, **BUDGET).add(np.zeros(2000))
        for relation in ("add_remove", "replace_one")
    )
    assert np.std(twice) / np.std(once) == pytest.approx(2.0, rel=0.1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dimension": 0}, "dimension must be an integer of at least 1"),
        ({"sensitivity": 0.0}, "sensitivity must be a finite number above 0"),
        ({"sensitivity": 1e200}, "sensitivity must lie between"),
        ({"window": 0}, "window must be an integer of at least 1"),
        ({"steps": 5}, "window and steps must not both be given"),
        ({"batch": 0}, "batch must be"),
        ({"epsilon": 0.0}, "epsilon must be a number above 0"),
        ({"epsilon": None}, "epsilon must be a number above 0"),
        ({"delta": None}, "delta must be a number strictly between 0 and 1"),
        ({"rho": 1.0}, "rho must be the whole budget"),
        ({"noise": "gamma"}, "must have a budget of epsilon alone"),
        ({"noise": "laplace"}, "noise must be one of gaussian, gamma"),
        ({"construction": "wall"}, "construction must be one of"),
        ({"construction": "band", "calibration": "paper"}, "construction must be a tree"),
        ({"neighboring": "friends"}, "neighboring must be one of"),
        ({"too_long": "keep"}, "too_long must be one of"),
        ({"epsilon": 1e12}, "the budget must ask for noise between"),
        ({"epsilon": 1e-12, "delta": 1e-15}, "the budget must ask for noise between"),
    ],
)
def test_bad_settings_are_refused(change: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        running_sum(**({"dimension": 3, "window": 4, **BUDGET} | change))


def test_a_state_of_something_else_is_refused() -> None:
    state = running_sum(3, window=4, **BUDGET).state()
    for header, arrays in (
        ({**state.header, "kind": "other"}, state.arrays),
        ({**state.header, "version": 2}, state.arrays),
        (state.header, {"sum": np.zeros(4, np.int64)}),
        (state.header, {"sum": np.zeros(3)}),
    ):
        with pytest.raises(ValueError, match="state must"):
            RunningSum.from_state(State(header, arrays))


def test_settings_survive_json() -> None:
    for settings in (Settings(3, 1.0, rho=math.inf), Settings(3, 1.0, 7, epsilon=1.0, delta=0.1)):
        text = json.dumps(settings.as_json(), allow_nan=False)
        assert Settings.from_json(json.loads(text)) == settings
        assert dataclasses.replace(settings, batch=2) != settings


@pytest.mark.parametrize("construction", ["band", "tree", "buffered", "blocks"])
@pytest.mark.parametrize("first_steps", [1, 5, 60])
def test_an_endless_stream_is_the_same_however_it_is_cut_and_resumed(
    construction: str, first_steps: int
) -> None:
    """Noise that depended on how steps are asked for could be added to two sums."""
    made = {"construction": construction, "first_steps": first_steps, "seed": 3, **BUDGET}
    whole = running_sum(2, **made)
    released = [whole.add(np.array([0.6, 0.0])) for _ in range(300)]
    if construction != "blocks":
        values, floors = running_sum(2, **made).stretch(300)
        sums = whole.unit * np.trunc(0.6 / whole.unit) * np.arange(1, 301)
        found = (values[:, 0] + 0.5 * floors) * whole.unit + sums
        assert np.allclose(found, [each[0] for each in released], atol=1e-6)
    cut = running_sum(2, **made)
    for step in range(300):
        if step in (4, 5, 14, 59, 60, 61, 179, 299):
            cut = RunningSum.from_state(cut.state())
        assert np.array_equal(cut.add(np.array([0.6, 0.0])), released[step])
