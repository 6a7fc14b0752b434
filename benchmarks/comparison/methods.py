"""The methods of the study on every set, and how one task of a method is done.

References and ours have one task per seed. A rival has one per epsilon: it is tuned on the test
rows, for success and for log-loss apart, and then run on fresh seeds.
"""

from typing import Any, NamedTuple

from harness.measures import LOG_LOSS, sign
from rivals.amp import AMP
from rivals.diffprivlib_rival import DIFFPRIVLIB, MOST_COLUMNS
from rivals.dp_gd import DP_GD
from rivals.dp_sgd import DP_SGD
from rivals.problem import Request
from rivals.tuning import FRESH, contest
from rivals_tables.descents import DENSE, LOGISTIC, SPARSE_SOFTMAX
from rivals_tables.diffprivlib_linear import DIFFPRIVLIB_LINEAR
from rivals_tables.problem import PerSplit
from rivals_tables.statistics import ADASSP, NOISY_STATISTICS

from comparison import ours, splits
from comparison.memory import Memory
from comparison.ours import OURS
from comparison.references import NO_EPSILON, REFERENCES, reference
from comparison.sets import SETS, Set
from comparison.splits import Split

RIVALS = (ADASSP.name, NOISY_STATISTICS.name, "DP-GD", "DP-SGD", AMP.name, DIFFPRIVLIB.name)
METHODS = (*REFERENCES, *OURS, *RIVALS)
# They have an environment of their own, which cannot be made everywhere.
DIFFPRIVLIBS = (DIFFPRIVLIB, DIFFPRIVLIB_LINEAR)
TUNED = 0  # stands for the seed of a task that tunes a rival


class Task(NamedTuple):
    data: str
    method: str
    epsilon: float
    seed: int


def is_sound(method: str, one: Set) -> bool:
    """Whether the noise of a rival suffices: only those are counted."""
    return not (method == DIFFPRIVLIB_LINEAR.name and one.measure == "R2")


def rivals(one: Set) -> dict[str, Any]:
    """The rivals of a set, by name."""
    if one.plain is not None:
        return {}
    if one.kind == "sparse":
        found: list[Any] = [DP_SGD, DP_GD, AMP, DIFFPRIVLIB]
        return {rival.name: rival for rival in found}
    if one.kind == "groups":
        return {rival.name: rival for rival in SPARSE_SOFTMAX}
    if one.measure == "R2":
        found = [ADASSP, NOISY_STATISTICS, *DENSE, DIFFPRIVLIB_LINEAR]
    else:
        found = DENSE if one.name == "letter" else [*LOGISTIC, AMP, DIFFPRIVLIB]
    return {rival.name: PerSplit(rival) for rival in found}


def measures(one: Set) -> tuple[str, ...]:
    """Success, and log-loss where classes are predicted."""
    return (one.measure,) if one.measure == "R2" else (one.measure, LOG_LOSS)


def tasks(one: Set, method: str, seeds: int) -> list[Task]:
    """All tasks of a method on a set, done or not."""
    fresh = range(FRESH, FRESH + seeds)
    if method in REFERENCES:
        if one.plain is not None:
            return []
        few = fresh if one.kind == "table" else fresh[:1]  # sparse sets have one split
        return [Task(one.name, method, NO_EPSILON, seed) for seed in few]
    if method in OURS:
        known = [(epsilon, seed) for epsilon in one.epsilons for seed in fresh]
        return [Task(one.name, method, *each) for each in known if ours.applies(method, one)]
    return [Task(one.name, method, e, TUNED) for e in one.epsilons if method in rivals(one)]


def is_done(task: Task, memory: Memory, seeds: int) -> bool:
    one = SETS[task.data]
    if task.method in rivals(one):
        found = [known(memory, *task[:3], measure, seeds) for measure in measures(one)]
        return all(len(values) == seeds for values in found)
    return memory.get(task.data, task.method, Request(task.epsilon, {}, task.seed)) is not None


def perform(task: Task, memory: Memory, seeds: int) -> str | None:
    """Do a task and remember what comes out; why not, where that is impossible."""
    one = SETS[task.data]
    if task.method in rivals(one):
        return _tune(one, task, memory, seeds)
    split = splits.load(task.data, task.seed)
    assert split is not None
    memory.note(task.data, facts(split))
    if ours.kept(task.method) >= split.train.shape[1]:
        return "no cut"
    value: dict[str, Any]
    if task.method in REFERENCES:
        value = reference(task.method, split, one.measure)
    else:
        value = ours.score(task.method, split, one.measure, task.epsilon, task.seed)
    memory.put(task.data, task.method, Request(task.epsilon, {}, task.seed), value)
    return None


def facts(split: Split) -> dict[str, Any]:
    """What the table says of a set."""
    rows, columns = map(int, split.train.shape)
    return {"rows": rows, "columns": columns, "classes": split.n_classes}


def _tune(one: Set, task: Task, memory: Memory, seeds: int) -> str | None:
    rival, problem = rivals(one)[task.method], splits.problem(task.data)
    assert problem is not None
    if rival is DIFFPRIVLIB and problem.n_columns > MOST_COLUMNS:
        return "dense only"
    for measure in measures(one):
        seen: Any = Measured(memory, measure)
        [(settings, _)] = contest(rival, problem, [task.epsilon], seeds, seen)  # type: ignore[arg-type]
        memory.pick(task.data, task.method, task.epsilon, measure, settings)
    return None


class Measured:
    """The memory of fits as tuning sees it: one measure, where larger is better."""

    def __init__(self, memory: Memory, measure: str) -> None:
        self.memory, self.measure = memory, measure

    def get(self, data: str, method: str, request: Request) -> float | None:
        value = self.memory.get(data, method, request)
        return None if value is None else sign(self.measure) * value[self.measure]

    def put(self, data: str, method: str, request: Request, value: dict[str, float]) -> None:
        self.memory.put(data, method, request, value)


def fits(
    memory: Memory, data: str, method: str, epsilon: float, measure: str, seeds: int
) -> list[dict[str, Any]]:
    """The fits of a cell on fresh seeds, as far as they are known."""
    settings: dict[str, Any] | None = {}
    if method in REFERENCES:
        data, epsilon = SETS[data].plain or data, NO_EPSILON
    elif method in RIVALS:
        data = SETS[data].plain or data
        settings = memory.picked(data, method, epsilon, measure)
    if settings is None:
        return []
    requests = [Request(epsilon, settings, seed) for seed in range(FRESH, FRESH + seeds)]
    values = [memory.get(data, method, request) for request in requests]
    return [value for value in values if value is not None]


def known(
    memory: Memory, data: str, method: str, epsilon: float, measure: str, seeds: int
) -> list[float]:
    """The values of a cell on fresh seeds, as far as they are known."""
    found = fits(memory, data, method, epsilon, measure, seeds)
    return [value[measure] for value in found if measure in value]
