"""The registry of solvers: the only place that knows their names."""

import math
import re
from pathlib import Path

import pytest

import dplasso
from dplasso import PrivateLassoClassifier
from dplasso.fitting import registry
from dplasso.fitting.private_bound import UnboundedTask
from dplasso.reading.plans import TablePlan
from dplasso.schema import FeatureSpace

SOURCE = Path(dplasso.__file__).parent
# The audit and its command have subjects of their own for each solver.
ELSEWHERE = ("fitting/registry.py", "audit", "cli/audit.py")


def test_the_solvers_that_users_name():
    assert registry.SOLVERS == ("frank_wolfe", "gradient", "table", "auto")
    assert registry.UNNAMED == "frank_wolfe"
    assert [registry.fitter_of(name).name for name in registry.FITTERS] == list(registry.FITTERS)
    with pytest.raises(ValueError, match="upgrade dplasso"):
        registry.fitter_of("newer")


@pytest.mark.parametrize("n_nonzero", [None, 2, 50])
@pytest.mark.parametrize("columns", [10, 5000])
@pytest.mark.parametrize("epsilon", [0.5, 8.0, math.inf])
def test_a_choice_is_among_the_candidates(epsilon, columns, n_nonzero):
    name, _ = registry.auto_solver(epsilon, 1e-6, 20_000, columns, n_nonzero=n_nonzero)
    assert name in [fitter.name for fitter in registry.candidates("auto", epsilon)]
    for solver in registry.SOLVERS[:-1]:
        assert [fitter.name for fitter in registry.candidates(solver, epsilon)] == [solver]


def test_solver_names_are_compared_in_the_registry_alone():
    compared = re.compile(r"solver_?\s*(==|!=|\bin\b|not in)\s*[\"'(]")
    found = [
        path
        for path in SOURCE.rglob("*.py")
        if not path.relative_to(SOURCE).as_posix().startswith(ELSEWHERE)
        and compared.search(path.read_text("utf-8"))
    ]
    assert found == []


@pytest.mark.parametrize("solver", ["frank_wolfe", "gradient"])
def test_a_task_can_be_run_again_and_draws_nothing_before(solver):
    model = dplasso.PrivateLassoClassifier(
        classes=[0, 1], n_rows=4, x_bound="private", solver=solver, row_map="as_is"
    )
    task = model.prepare([[1.0, 2.0], [0.0, 1.0], [3.0, 0.0], [1.0, 1.0]], [0, 1, 1, 0])
    assert isinstance(task, UnboundedTask) and not hasattr(model, "fitted_")
    ready = task.at(2.0)
    assert ready.bounded() is ready and ready.plan.bounds.largest == 2.0
    assert ready.plan.event == task.plan.event
    for _ in range(2):
        fitted = ready.run()
        assert fitted.weights.shape == (1, 2) and fitted.reader.x_bound == 2.0


@pytest.mark.parametrize(
    ("ranges", "wide", "solver"),
    [(4, 4096, "table"), (49, 8192, "table"), (4, 66_482, "gradient"), (2, 2000, "gradient")],
)
def test_many_columns_beside_few_ranges_are_taken_for_a_text(ranges, wide, solver):
    bounds = [(0, 9)] * ranges + [1.0] * wide
    model = PrivateLassoClassifier(1.0, classes=[0, 1], n_rows=26_000, x_bound=bounds)
    assert model.plan(26_000, len(bounds)).solver == solver


@pytest.mark.parametrize(("text", "solver"), [((), "table"), (("note",), "gradient")])
def test_declared_categories_beside_numbers_are_a_table_however_many_buckets_they_have(
    text, solver
):
    hashed = {"town": 60_000} | dict.fromkeys(text, 60_000)
    space = FeatureSpace(
        TablePlan("sick", {"age": (0, 120), "weight": (0, 300)}, hashed, text=text).schema()
    )
    model = PrivateLassoClassifier(1.0, classes=[0, 1], n_rows=26_000, x_bound=space.bounds)
    assert model.plan(26_000, space.size).solver == solver
