"""``dplasso train``: from a file to a model with a guarantee."""

import math
import time
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from dplasso.base import memory
from dplasso.cli import options as o
from dplasso.cli.evaluate import NOT_COVERED, per_class, scores_of, show_classes
from dplasso.cli.output import emit, reading, say, show, show_rows, warn
from dplasso.cli.rescue import kept
from dplasso.cli.table_options import reading_options
from dplasso.estimators import PrivateLassoClassifier, PrivateLassoRegressor
from dplasso.estimators.prediction_file import without_names
from dplasso.ledger import Budget
from dplasso.privacy import leaks
from dplasso.privacy.statement import READ, fact
from dplasso.reading import Rows, read_rows
from dplasso.reading.plans import FeatureSpace
from dplasso.report import Evaluation, cautions
from dplasso.report import evaluate as score

LITTLE_PROTECTION = 10.0  # an epsilon above it
# What a fit takes for a column without entries, at the most; a descent, for each output.
_COLUMN_BYTES, _DESCENT_BYTES = 24, 96
_UNDECLARED_BYTES = 2 << 30  # that one index in the data may cause to be taken


def train(
    data: o.Data,
    output: Annotated[Path, typer.Option("--output", "-o", help="Where the model goes.")],
    epsilon: Annotated[float, typer.Option("--epsilon", "-e", help="inf: no privacy.")] = 1.0,
    delta: Annotated[float, typer.Option(help="Chance that epsilon fails.")] = 1e-6,
    classes: o.Classes = None,
    rows: o.RowCount = None,
    features: o.Features = None,
    x_bound: Annotated[
        str | None,
        typer.Option(
            help="Public bound; entries are clipped to it. 1 by default; private: a private "
            "quantile, for part of epsilon."
        ),
    ] = None,
    radius: Annotated[
        str,
        typer.Option(
            help="Bound on the 1-norm (of coefficients times bounds, over the largest), or auto."
        ),
    ] = "auto",
    rounds: Annotated[
        str, typer.Option("--rounds", "--max-iter", "-T", help="Rounds, or auto.")
    ] = "auto",
    keep: Annotated[
        int | None, typer.Option("--keep", "-k", min=1, help="Most coefficients.")
    ] = None,
    regression: o.Regression = False,
    y_bound: o.YBound = None,
    solver: Annotated[
        str, typer.Option(help="frank_wolfe (sparse), gradient (dense, more accurate) or auto.")
    ] = "frank_wolfe",
    row_map: Annotated[
        str, typer.Option(help="What entries count as: as_is, presence, sqrt, blend, or auto.")
    ] = "auto",
    intercept: Annotated[bool, typer.Option(help="Fit an intercept.")] = True,
    neighboring: Annotated[str, typer.Option(help="add_remove or replace_one.")] = "add_remove",
    selection: Annotated[str, typer.Option(help="Rule of the engine.")] = "lazy",
    target: o.Target = None,
    bounds: o.Bounds = None,
    hashed: o.Hashed = None,
    text: o.Text = None,
    ignore: o.Ignore = None,
    delimiter: o.Delimiter = None,
    buckets: o.Buckets = None,
    zero_based: o.ZeroBased = None,
    labels: o.Labels = None,
    names: o.Names = None,
    longest_line: o.LongestLine = None,
    budget: o.Ledger = None,
    label: Annotated[
        str | None, typer.Option(help="What the ledger calls this fit; the output by default.")
    ] = None,
    test: Annotated[
        Path | None, typer.Option(help="Rows to score the model on; not private.")
    ] = None,
    test_labels: Annotated[Path | None, typer.Option(help="Labels of an .npz --test.")] = None,
    test_is_public: Annotated[
        bool, typer.Option("--test-is-public", help="The rows of --test are public.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what columns are taken as, and stop.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option(help="Replace a model of this name, with --budget.")
    ] = False,
    threads: Annotated[
        int | None, typer.Option(min=1, help="Cores to use; all by default.")
    ] = None,
    seed: o.Seed = None,
    strict: o.Strict = False,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Train a private sparse model and save it."""
    if strict:
        leaks.set_strict(True)
    o.check_output(output, data, test, labels, test_labels, names)
    o.check_replaceable(output, b"dplasso-model", "model")
    if budget is not None and output.exists() and not overwrite:
        raise ValueError(f"{output} exists, and was paid for; give another name, or --overwrite")
    declared = o.classes_of(classes)
    how = reading_options(
        data,
        target=target,
        bounds=bounds,
        hashed=hashed,
        text=text,
        ignore=ignore,
        buckets=buckets,
        delimiter=delimiter,
        rows=rows,
        classes=declared,
        features=features,
        zero_based=zero_based,
        names=names,
        labels=labels,
        longest_line=longest_line,
        x_bound=x_bound,
    )
    common: dict[str, Any] = {
        "delta": delta,
        "radius": o.auto_or_number("--radius", radius),
        "max_iter": o.auto_or_count("--rounds", rounds),
        "x_bound": o.private_or_number("--x-bound", x_bound),
        "fit_intercept": intercept,
        "n_rows": rows,
        "solver": solver,
        "rows": row_map,
        "n_nonzero": keep,
        "selection": selection,
        "neighboring": neighboring,
        "accountant": None if budget is None else _ledger(budget, label or output.name),
        "random_state": seed,
        "n_jobs": threads,
        "verbose": 0 if quiet or json else 1,
    }
    model: Any
    if not regression:
        model = PrivateLassoClassifier(epsilon, **common)
    elif y_bound is None:
        raise ValueError("labels need a public bound to be clipped to; give --y-bound")
    else:
        model = PrivateLassoRegressor(epsilon, y_bound=y_bound, **common)
    model._check_parameters()  # before a long file is read
    _warn_of(epsilon, data, test, test_is_public)
    watched = not (quiet or json)
    start = time.perf_counter()
    found = _read(model, data, how, declared, quiet=not watched)
    if watched:
        _show_roles(found)
    if dry_run:
        say("nothing was fitted, charged or written")
        return
    times = {"reading": time.perf_counter() - start, **_fit(model, found, declared, output)}
    _warn_of_rows(model)
    scores = None if test is None else _scored(model, test, test_labels, quiet=not watched)
    if json:
        tested = {} if scores is None else {"test": scores_of(scores)}
        emit({**_facts(model, output), "seconds": times, **tested, "privacy": model.privacy_})
        return
    if watched:
        seconds = {f"{name}, s": round(taken, 3) for name, taken in times.items()}
        show("Trained", {**_facts(model, output), **seconds})
        say(f"\n{model.privacy_}")
    if scores is not None:
        show(f"On {test}", scores_of(scores))
        show_classes(per_class(scores))


def _fit(model: Any, found: Rows, declared: list[str] | None, output: Path) -> dict[str, float]:
    """Fit and save; returns the seconds that each took."""
    start = time.perf_counter()
    model.fit(found.X, _labels(found, isinstance(model, PrivateLassoRegressor)))
    _describe(model, found, declared)
    fitted = time.perf_counter()
    kept(output, model.save, "model")
    return {"fitting": fitted - start, "saving": time.perf_counter() - fitted}


def _scored(model: Any, test: Path, labels: Path | None, *, quiet: bool) -> Evaluation:
    with reading(test, quiet=quiet) as progress:
        rows = read_rows(test, like=model, labels=labels, progress=progress)
    return score(without_names(model), rows.X, rows.y)


def _ledger(store: str, label: str) -> Budget:
    """The ledger, whose entries say what they were for."""
    shown = "".join(sign if sign.isprintable() else "?" for sign in label)
    return Budget.open(store).labelled(shown[:100])


def _read(
    model: Any, data: Path, how: dict[str, Any], declared: list[str] | None, *, quiet: bool
) -> Rows:
    """The rows, and what is known of them as parameters of the model."""
    x_bound = 1.0 if model.x_bound is None else model.x_bound
    known = None if x_bound == "private" else x_bound  # entries as they are, until there is one
    with reading(data, quiet=quiet) as progress:
        found = read_rows(data, x_bound=known, progress=progress, **how)
    if found.bounds is not None and known is None:
        raise ValueError(
            f"{data} has bounds of its own for its columns; leave out --x-bound private"
        )
    if found.bounds is not None:
        model.x_bound = found.bounds
    if model.n_rows is None:
        model.n_rows = found.declared_rows
    if isinstance(model, PrivateLassoClassifier):
        model.classes = _classes(declared, found, data)
    _check_width(model, found, data)
    return found


def _check_width(model: Any, found: Rows, data: Path) -> None:
    """Refuse more columns than there is memory for; fewer, where the data said how many."""
    outputs = max(1, len(model.classes or ())) if isinstance(model, PrivateLassoClassifier) else 1
    per_column = _COLUMN_BYTES if model.solver == "frank_wolfe" else _DESCENT_BYTES * outputs
    needed, what = found.X.shape[1] * per_column, f"a fit on the columns of {data.name}"
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


def _show_roles(found: Rows) -> None:
    if found.plan is not None:
        roles = [list(role) for role in FeatureSpace(found.plan).roles]
        show_rows("", ["column", "taken as", "features"], roles)
        say()


def _facts(model: Any, output: Path) -> dict[str, Any]:
    return {
        "model": str(output),
        "nonzeros": int(model._weights.nnz),
        "columns": int(model.n_features_in_),
        "rounds": int(model.n_iter_),
    }


def _warn_of_rows(model: Any) -> None:
    """Where rows are too few for what was asked."""
    if told := cautions.loose_delta(model):
        warn(told)
    if told := cautions.few_rows(model):
        warn(f"few rows. {told} Give more rows, a larger epsilon, or fewer columns (--buckets)")


def _warn_of(epsilon: float, data: Path, test: Path | None, test_is_public: bool) -> None:
    """What should be known, or refused, before budget is spent."""
    if math.isinf(epsilon):
        warn("epsilon = inf: the model is not private")
    elif epsilon > LITTLE_PROTECTION:
        warn(f"epsilon above {LITTLE_PROTECTION:g} protects little; choose 1 or less if you can")
    if test is None:
        return
    if not test.exists():
        raise FileNotFoundError(f"{test} does not exist; check the path")
    if not test_is_public:
        leaks.report(f"{NOT_COVERED.format(data=test.name)}; then say so with --test-is-public")
    if o.same_file(data, test):
        leaks.report(f"{test.name} is the training data: the figures say nothing of new rows")


def _classes(declared: list[str] | None, found: Rows, data: Path) -> list[Any] | None:
    """The classes, as labels of the data are: text or numbers."""
    if declared is not None:
        text = found.y is not None and found.y.dtype.kind in "OU"
        return declared if text else o.numbers_of(declared)
    if data.is_dir() and "classes" in found.undeclared:
        leaks.report(f"classes are those of {data.name}; declare them with --classes")
    return found.classes


def _labels(found: Rows, regression: bool) -> Any:
    y = found.y
    if y is not None and not regression and y.dtype.kind == "O":
        return np.asarray(y, dtype=str)
    return y


def _describe(model: Any, found: Rows, declared: list[str] | None) -> None:
    """What the model needs to read new rows, its features' names, and what was not declared."""
    if found.names is not None:
        model.feature_names_in_ = found.names
        model.privacy_["public"]["feature_names"] = fact("those of the columns", "declared")
    if found.recipe is not None:
        model.table_plan_ = found.recipe
    public = model.privacy_["public"]
    for name in found.undeclared & public.keys():
        if name != "classes" or declared is None:
            public[name]["source"] = READ
