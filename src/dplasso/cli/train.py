"""``dplasso train``: from a file to a model with a guarantee."""

import math
import time
from pathlib import Path
from typing import Any

import numpy as np

from dplasso.base import memory
from dplasso.base.arrays import Labels
from dplasso.cli import options as o
from dplasso.cli.evaluate import NOT_COVERED, per_class, scores_of, show_classes
from dplasso.cli.output import emit, reading, say, show, show_rows, warn
from dplasso.cli.rescue import kept
from dplasso.cli.signatures import options_of, with_former
from dplasso.cli.train_options import Model, TrainOptions
from dplasso.estimators import PrivateLassoClassifier
from dplasso.estimators.coefficients import without_names
from dplasso.fitting import private_bound, registry
from dplasso.ledger import Budget
from dplasso.privacy import leaks
from dplasso.reading import Rows, read_rows
from dplasso.reading.plans import FeatureSpace
from dplasso.report import Evaluation, cautions
from dplasso.report import evaluate as score

LITTLE_PROTECTION = 10.0  # a larger epsilon protects little
_UNDECLARED_BYTES = 2 << 30  # memory that a single index in the data may claim


@with_former({"rounds": "max_iter", "keep": "n_nonzero"})
@options_of(TrainOptions)
def train(**given: Any) -> None:
    """Train a private sparse model and save it."""
    options = TrainOptions(**given)
    if options.strict:
        leaks.set_strict(True)
    options.check_files()
    how, model = options.reading(), options.model()
    _warn_of(options)
    start = time.perf_counter()
    with reading(options.data, quiet=not options.watched) as progress:
        found = read_rows(options.data, x_bound=_store_bound(model), progress=progress, **how)
    _declare(model, found, options)
    taken = time.perf_counter() - start
    if options.watched:
        _show_roles(found)
    if options.dry_run:
        _show_plan(model, found, options)
        return
    times = {"reading": taken, **_fit(model, found, options)}
    _warn_of_rows(model)
    scores = None if options.test is None else _scored(model, options.test, options)
    _show(model, options, times, scores)


def _store_bound(model: Model) -> float | None:
    """Return the bound on entries of a column store; None if a bound is to be released."""
    if model.releases_bound:
        return None
    return model.x_bound if isinstance(model.x_bound, float) else 1.0


def _declare(model: Model, found: Rows, options: TrainOptions) -> None:
    """Set the parameters of the model that the file declares."""
    if found.bounds is not None and private_bound.is_asked(model.x_bound):
        raise ValueError(
            f"{options.data} has bounds of its own for its columns; leave out --x-bound private"
        )
    if found.bounds is not None:
        model.set_params(x_bound=found.bounds)
    if model.n_rows is None:
        model.set_params(n_rows=found.declared_rows)
    if isinstance(model, PrivateLassoClassifier):
        model.set_params(classes=_classes(found, options))
    _check_width(model, found, options.data)


def _classes(found: Rows, options: TrainOptions) -> list[Any] | None:
    """Return the declared classes as text or numbers, like the labels of the data."""
    declared = options.declared_classes
    if declared is not None:
        text = found.y is not None and found.y.dtype.kind in "OU"
        return declared if text else o.numbers_of(declared)
    if options.data.is_dir() and "classes" in found.undeclared:
        leaks.report(f"classes are read from {options.data.name}; declare them with --classes")
    return found.classes


def _check_width(model: Model, found: Rows, data: Path) -> None:
    """Reject more columns than fit in memory; the limit is lower if the data set their number."""
    classes = model.classes if isinstance(model, PrivateLassoClassifier) else None
    outputs = max(1, len(classes or ()))
    solvers = registry.candidates(model.solver, model.epsilon, model.in_ball)
    needed = found.X.shape[1] * max(fitter.column_bytes(outputs) for fitter in solvers)
    what = f"a fit on the columns of {data.name}"
    if "n_features" not in found.undeclared:
        memory.check(needed, what, "hash features into fewer columns")
        return
    memory.check(
        needed,
        f"{what}, up to the largest index that occurs,",
        "declare how many there are with --features, correct the index, or hash features into "
        "fewer columns",
        most=_UNDECLARED_BYTES,
    )


def _fit(model: Model, found: Rows, options: TrainOptions) -> dict[str, float]:
    """Fit and save, and return the seconds that each took."""
    start = time.perf_counter()
    declared = {"classes"} if options.classes is not None else set()
    model.fit(found.described(declared), _labels(found, options.regression))
    fitted = time.perf_counter()
    kept(options.model_file, model.save, "model")
    return {"fitting": fitted - start, "saving": time.perf_counter() - fitted}


def _labels(found: Rows, regression: bool) -> Labels | None:
    y = found.y
    if y is not None and not regression and y.dtype.kind == "O":
        return np.asarray(y, dtype=str)
    return y


def _scored(model: Model, test: Path, options: TrainOptions) -> Evaluation:
    with reading(test, quiet=not options.watched) as progress:
        rows = read_rows(test, like=model, labels=options.test_labels, progress=progress)
    return score(without_names(model), rows.X, rows.y)


def _show(
    model: Model, options: TrainOptions, times: dict[str, float], scores: Evaluation | None
) -> None:
    """Show the model, its guarantee and its scores, as tables or as JSON."""
    facts = {
        "model": str(options.model_file),
        "nonzeros": int(model.fitted_.weights.nnz),
        "columns": int(model.n_features_in_),
        "rounds": int(model.n_iter_),
    }
    if options.json:
        tested = {} if scores is None else {"test": scores_of(scores)}
        emit({**facts, "seconds": times, **tested, "privacy": model.privacy_})
        return
    if options.watched:
        seconds = {f"{name}, s": round(taken, 3) for name, taken in times.items()}
        show("Trained", {**facts, **seconds})
        say(f"\n{model.privacy_}")
    if scores is not None:
        show(f"On {options.test}", scores_of(scores))
        show_classes(per_class(scores))


def _show_plan(model: Model, found: Rows, options: TrainOptions) -> None:
    """Show what a fit would release and cost, if its classes are known."""
    if isinstance(model, PrivateLassoClassifier) and model.classes is None:
        plan, text = None, "the plan depends on the classes; give --classes"
    else:
        plan = model.plan(*found.X.shape)
        text = str(plan)
    if options.json:
        emit({"plan": None if plan is None else plan.to_dict()})
        return
    say(text)
    ledger = model.accountant
    if plan is not None and isinstance(ledger, Budget) and plan.rho > ledger.remaining_rho:
        warn("the ledger has too little budget left for this fit; see dplasso budget show")
    say("nothing was fitted, charged or written")


def _show_roles(found: Rows) -> None:
    if found.plan is not None:
        roles = [list(role) for role in FeatureSpace(found.plan).roles]
        show_rows("", ["column", "taken as", "features"], roles)
        say()


def _warn_of_rows(model: Model) -> None:
    """Warn if there are too few rows for the privacy that was asked for."""
    if caution := cautions.loose_delta(model):
        warn(caution)
    if caution := cautions.few_rows(model):
        warn(f"few rows. {caution} Give more rows, a larger epsilon, or fewer columns (--buckets)")


def _warn_of(options: TrainOptions) -> None:
    """Warn of, or in strict mode reject, what should be known before budget is spent."""
    epsilon, test = options.epsilon, options.test
    if math.isinf(epsilon):
        warn("epsilon = inf: the model is not private")
    elif epsilon > LITTLE_PROTECTION:
        warn(f"epsilon above {LITTLE_PROTECTION:g} protects little; choose 1 or less if you can")
    if test is None:
        return
    if not test.exists():
        raise FileNotFoundError(f"{test} does not exist; check the path")
    if not options.test_is_public:
        leaks.report(
            f"{NOT_COVERED.format(data=test.name)}, and declare that with --test-is-public"
        )
    if o.same_file(options.data, test):
        leaks.report(f"{test.name} is the training data: the scores say nothing about new rows")
