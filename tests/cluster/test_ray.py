"""Shards as actors of Ray, on a cluster of two nodes: the same bits, also after faults."""

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import lossy_fit
from dplasso import Budget, Cluster
from dplasso.base.wording import ParameterError
from dplasso.cluster.opened import opened
from dplasso.cluster.selections import Selections
from dplasso.cluster.shared_memory import SharedMemory
from sharded import N, assert_same, ball_problems, problems, runs, table_problems
from two_nodes import TwoNodes

pytest.importorskip("ray")
pytestmark = [
    pytest.mark.xdist_group("ray"),  # one cluster for all of them
    pytest.mark.filterwarnings("ignore:random_state makes the fit repeatable"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray"),
    pytest.mark.filterwarnings("ignore::FutureWarning:ray"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]

COMMAND = (sys.executable, "-c", "from dplasso.cli import main; main()")


@pytest.fixture(scope="module")
def nodes():
    started = TwoNodes()
    yield started
    started.close()


@pytest.fixture(scope="module")
def connected(nodes):
    """This process, connected to the cluster for all tests of the file."""
    import ray

    ray.init(address=nodes.address, log_to_driver=False, configure_logging=False)
    yield ray
    ray.shutdown()


def quarters():
    return [np.arange(k, N, 4) for k in range(4)]


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """All problems that share the wide rows of two classes, and these rows in four files."""
    folder = tmp_path_factory.mktemp("wide")
    found = {problem.name: problem for problem in problems()}
    two = found["presence"]
    shared = [two, found["real values"], found["few nonzeros"], found["softmax"], found["squared"]]
    for problem in shared:
        problem.y = two.y  # a third class may be declared that nobody has
    return shared, two.write(folder / "parts", quarters()), folder


@pytest.mark.parametrize("actors", [1, 2, 4])
def test_actors_give_the_bits_of_one_process_and_outlive_none_of_their_fits(
    actors, connected, wide
):
    shared, shards, folder = wide
    with opened(shards, Cluster(actors=actors)) as rows:
        for problem in shared:
            found = problem.model().fit(rows.facts.described())
            assert_same(problem.fitted(folder), found)
        processes = [one.process for one in rows.loads()]
        nodes = {actor["NodeID"] for actor in alive_actors()}
    assert len(set(processes)) == actors and len(nodes) == min(actors, 2)
    assert_ended(processes)


def test_actors_of_other_machines_give_the_same_bits(connected, wide, monkeypatch):
    """They share no memory with the driver."""
    shared, shards, folder = wide
    monkeypatch.setattr(SharedMemory, "made", lambda: None)
    found = shared[2].model(backend=Cluster(actors=2)).fit(shards)
    assert_same(shared[2].fitted(folder), found)


@pytest.fixture(scope="module")
def narrow(tmp_path_factory):
    """Problems with few columns: those that share rows, these rows in files, and a folder."""
    found = {problem.name: problem for problem in table_problems()}
    dense = next(problem for problem in problems() if problem.name == "dense")
    dense.X, dense.y = found["dense"].X, found["dense"].y
    dense.parameters |= {"x_bound": 1.0}
    real = [found[name] for name in ("real values", "softmax", "squared", "few nonzeros")]
    groups = [found["presence"]], real, [found["dense"], dense]
    written = []
    for group in groups:
        folder = tmp_path_factory.mktemp("narrow")
        for problem in group:
            problem.y = group[0].y
        written.append((group, group[0].write(folder / "parts", quarters()), folder))
    return written


@pytest.mark.parametrize("actors", [1, 2, 4])
def test_dense_rows_and_tables_give_the_bits_of_one_process(actors, connected, narrow):
    for group, shards, folder in narrow:
        with opened(shards, Cluster(actors=actors)) as rows:
            for problem in group:
                found = problem.model().fit(rows.facts.described())
                assert_same(problem.fitted(folder), found)


def test_frank_wolfe_on_actors_gives_the_model_of_one_process(connected, tmp_path):
    problem = ball_problems()[0]
    shards = problem.write(tmp_path / "parts", runs(4))
    whole = problem.model().fit(shards)
    for actors in (1, 2, 4):
        assert_same(whole, problem.model(backend=Cluster(actors=actors)).fit(shards))


def test_frank_wolfe_outlives_its_actors_and_its_driver(connected, tmp_path, monkeypatch):
    """One of two actors is killed before the driver is stopped; another driver goes on with one."""
    problem = ball_problems()[0]
    shards = problem.write(tmp_path / "parts", runs(4))
    budget = Budget(100.0, delta=1e-4, store=tmp_path / "ledger")
    folder, plain, killed = tmp_path / "fit", Selections._round, []

    def disturbed(self, secret):
        if len(self._vertices) == 20 and not killed:
            killed.append(self._crew.loads()[0].process)
            os.kill(killed[0], signal.SIGKILL)
        if len(self._vertices) == 40:
            raise KeyboardInterrupt
        plain(self, secret)

    monkeypatch.setattr(Selections, "_round", disturbed)
    with pytest.raises(KeyboardInterrupt):
        two = Cluster(actors=2, checkpoint=folder)
        problem.model(backend=two, accountant=budget).fit(shards)
    monkeypatch.undo()
    assert (folder / "releases").stat().st_size == 40 * (12 + 16)
    one = Cluster(actors=1, checkpoint=folder)
    found = problem.model(backend=one, accountant=budget).fit(shards)
    assert len(Budget.open(tmp_path / "ledger").entries()) == 1
    whole = problem.model().fit(shards)
    assert np.array_equal(whole.coef_, found.coef_)
    assert np.array_equal(whole.intercept_, found.intercept_)


def alive_actors():
    from ray._private.state import actors

    return [
        {"NodeID": found["Address"]["NodeID"]}
        for found in actors().values()
        if found["State"] == "ALIVE"
    ]


def assert_ended(processes):
    """Processes end soon after they were told to."""
    until = time.monotonic() + 20
    while any(is_running(process) for process in processes):
        assert time.monotonic() < until
        time.sleep(0.05)


def is_running(process):
    try:
        with open(f"/proc/{process}/stat") as found:
            return found.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_an_interrupted_command_leaves_no_process(nodes, connected, wide, tmp_path):
    before = {actor["NodeID"] for actor in alive_actors()}
    # A fit that ends before the signal reaches it is started again.
    ended = (_interrupted(nodes, wide, tmp_path / str(attempt)) for attempt in range(5))
    code, said = next(end for end in ended if end[0] != 0)
    assert code == 130 and b"interrupted" in said
    until = time.monotonic() + 60
    while {actor["NodeID"] for actor in alive_actors()} != before:
        assert time.monotonic() < until
        time.sleep(0.05)


def _interrupted(nodes, wide, place):
    """How a command ends that is interrupted after its first release, and what it says."""
    place.mkdir()
    _, _, folder = wide
    command = [
        *(*COMMAND, "train", str(folder / "parts"), "--epsilon", "3"),
        *("--cluster", nodes.address, "--actors", "1", "--features", "1100", "--rows", str(N)),
        *("--classes", "0,1", "--x-bound", "1", "--solver", "gradient", "--quiet"),
        *("--checkpoint", str(place / "fit"), "-o", str(place / "model")),
    ]
    running = subprocess.Popen(command, stderr=subprocess.PIPE)
    until = time.monotonic() + 60
    while running.poll() is None and not (place / "fit" / "releases").exists():
        assert time.monotonic() < until
        time.sleep(0.01)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate(timeout=30)
    return running.returncode, said


def test_actors_end_with_a_fit_that_fails(connected, wide, tmp_path):
    before = {actor["NodeID"] for actor in alive_actors()}
    shared, _, _ = wide
    shards = shared[0].write(tmp_path / "parts", quarters())
    (tmp_path / "parts" / "rows-2.svm").write_text("7 1:1\n")
    with pytest.raises(ParameterError, match="outside the declared classes"):
        shared[0].model(backend=Cluster(actors=2)).fit(shards)
    until = time.monotonic() + 60
    while {actor["NodeID"] for actor in alive_actors()} != before:
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_cluster_for_one_fit_leaves_no_process_however_the_fit_ends(wide, tmp_path):
    """All processes inherit the environment of the command, and so are known by a mark in it."""
    _, shards, folder = wide
    broken = tmp_path / "broken.svm"
    broken.write_text("7 1:1\n")
    mark = f"DPLASSO_TEST_{secrets.token_hex(8)}"

    def started(name, rows):
        command = [
            *(*COMMAND, "train", str(rows), "--epsilon", "3", "--cluster", "local"),
            *("--actors", "1", "--features", "1100", "--rows", str(N), "--classes", "0,1"),
            *("--x-bound", "1", "--solver", "gradient", "--quiet"),
            *("--checkpoint", str(tmp_path / name), "-o", str(tmp_path / f"{name}-model")),
        ]
        environment = {key: value for key, value in os.environ.items() if key != "RAY_ADDRESS"}
        with open(tmp_path / f"{name}-said", "wb") as said:
            return subprocess.Popen(command, stderr=said, env=environment | {mark: "1"})

    fitted, failed = started("fitted", shards.paths[0]), started("failed", broken)
    stopped = started("stopped", folder / "parts")
    assert len(marked(mark)) >= 3
    until = time.monotonic() + 120
    while stopped.poll() is None and not (tmp_path / "stopped" / "releases").exists():
        assert time.monotonic() < until
        time.sleep(0.05)
    stopped.send_signal(signal.SIGINT)
    codes = [process.wait(200) for process in (fitted, failed, stopped)]
    assert codes[0] == 0 and codes[1] == 1 and codes[2] in (0, 130), codes
    assert (tmp_path / "fitted-model").exists() and not (tmp_path / "failed-model").exists()
    until = time.monotonic() + 60
    while left := marked(mark):
        assert time.monotonic() < until, left
        time.sleep(0.1)


def marked(mark):
    """Processes that run with a variable of that name in their environment."""
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            environment = Path(f"/proc/{process}/environ").read_bytes()
            if f"{mark}=".encode() in environment and is_running(process):
                found.append(process)
    return found


def test_a_fit_outlives_its_actors_its_driver_and_a_node(tmp_path):
    """And is charged once (`lossy_fit`)."""
    said = tmp_path / "said"
    # A file and not a pipe: processes of Ray that outlive the script would hold a pipe open.
    with said.open("wb") as out:
        script = subprocess.Popen(
            [sys.executable, Path(lossy_fit.__file__)],
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        assert script.wait(300) == 0, said.read_text()
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(script.pid, signal.SIGKILL)
    lost = [line.partition(": ")[2] for line in said.read_text().splitlines()]
    assert lost.count("an actor is killed") >= 2
    assert {"the driver is killed, and started again", "a node is lost"} < set(lost)
