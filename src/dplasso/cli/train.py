"""``dplasso train``: from a file to a model with a guarantee."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from dplasso.base import memory
from dplasso.base.arrays import Labels
from dplasso.base.wording import ParameterError
from dplasso.cli import endings
from dplasso.cli import options as o
from dplasso.cli.evaluate import NOT_COVERED, per_class, scores_of, show_classes
from dplasso.cli.output import emit, note, reading, say, say_paragraph, show, show_rows, warn
from dplasso.cli.rescue import kept
from dplasso.cli.signatures import options_of, with_former
from dplasso.cli.train_options import Model, TrainOptions
from dplasso.cluster.opened import OpenShards, opened
from dplasso.cluster.run_log import discard
from dplasso.estimators import PrivateLassoClassifier
from dplasso.estimators.coefficients import without_names
from dplasso.estimators.sharded import store_bound
from dplasso.fitting import private_bound, registry
from dplasso.ledger import Budget
from dplasso.privacy import leaks
from dplasso.privacy.statement import protects
from dplasso.privacy.unit import ROW, Unit
from dplasso.reading import Rows, read_rows
from dplasso.reading.files import Files
from dplasso.report import Evaluation, cautions
from dplasso.report import evaluate as score
from dplasso.report.evaluation import check_labels
from dplasso.schema import FeatureSpace

LITTLE_PROTECTION = 10.0  # a larger epsilon protects little
FAR_OFF = 100  # times too many or too few declared rows, which is told to the data owner
_UNDECLARED_BYTES = 2 << 30  # memory that a single index in the data may claim


@with_former({"rounds": "max_iter", "keep": "n_nonzero", "overwrite": "force"})
@options_of(TrainOptions)
def train(**given: Any) -> None:
    """Train a private sparse model and save it."""
    options = TrainOptions(**given)
    if options.strict:
        leaks.set_strict(True)
    options.check_files()
    options.check_schema()
    model, how = options.model(), options.reading()
    if not options.dry_run:
        model.check_card()  # before a long file is read
    endings.begin(options.output, "model", model.accountant)
    _warn_of(options)
    with _rows(model, options, how) as (found, taken):
        _train(model, found, options, taken)


@contextmanager
def _rows(model: Model, options: TrainOptions, how: dict[str, Any]) -> Iterator[tuple[Rows, float]]:
    """Yield the rows, or those that a cluster's processes hold, and the seconds it took."""
    start = time.perf_counter()
    if options.cluster is not None:
        with opened(options.shards, model.backend, x_bound=store_bound(model)) as shards:
            yield shards.facts, time.perf_counter() - start
        return
    with reading(options.files, quiet=not options.watched) as progress:
        found = read_rows(options.files, x_bound=store_bound(model), progress=progress, **how)
    yield found, time.perf_counter() - start


def _train(model: Model, found: Rows, options: TrainOptions, taken: float) -> None:
    if not found.X.shape[0]:
        raise ValueError(f"{options.files} has no rows; give a file with at least one")
    _warn_owner_of_rows(options.rows or found.declared_rows, found.X.shape[0])
    _declare(model, found, options)
    if options.watched:
        _show_roles(found)
    if not (options.quiet or math.isinf(options.epsilon)):
        _tell_whom(found)
    test = None if options.test is None else _test_rows(model, found, options.test, options)
    if options.dry_run:
        _show_plan(model, found, options)
        return
    times = {"reading": taken, **_fit(model, found, options)}
    _warn_of_rows(model)
    scores = None if test is None else score(without_names(model), test.X, _labels(test))
    _show(model, options, times, scores)
    if options.watched and isinstance(found.X, OpenShards):
        _show_loads(found.X)


def _show_loads(shards: OpenShards) -> None:
    """Show how much each process of a cluster has worked, to people who may see the data."""
    loads = [[k, round(one.seconds, 3), one.memory >> 20] for k, one in enumerate(shards.loads())]
    say()
    show_rows("", ["process", "seconds of work", "memory, MiB"], loads)


def _declare(model: Model, found: Rows, options: TrainOptions) -> None:
    """Set the parameters of the model that the file declares."""
    if options.regression and found.y is not None and found.y.dtype.kind in "OU":
        raise ValueError(
            f"{options.files} has texts as labels, and --regression predicts numbers; leave it out "
            "to predict classes, or name another --target"
        )
    if found.bounds is not None and private_bound.is_asked(model.x_bound):
        raise ValueError(
            f"{options.files} has bounds of its own for its columns; leave out --x-bound private"
        )
    if found.bounds is not None:
        model.set_params(x_bound=found.bounds)
    if model.n_rows is None:
        model.set_params(n_rows=found.declared_rows)
    if isinstance(model, PrivateLassoClassifier):
        if found.schema is not None and found.schema.labels.bounds is not None:
            raise ParameterError("labels are numbers, as the store states; give {regression}")
        model.set_params(classes=_classes(found, options))
    _declare_people(model, found, options)
    _check_width(model, found, options.files)


def _declare_people(model: Model, found: Rows, options: TrainOptions) -> None:
    """Set whose rows they are, and the weights of classes."""
    schema = found.schema
    declared = {
        "n_people": options.people or (schema.n_people if schema else None),
        "rows_per_person": options.rows_per_person or (schema.rows_per_person if schema else None),
        "class_weight": found.class_weight,
        "person": schema.person if schema and found.groups is not None else None,
    }
    if found.groups is None and (options.people or options.rows_per_person):
        raise ParameterError("{n_people} and {rows_per_person} need {person}; name the column")
    model.set_params(**{name: value for name, value in declared.items() if value is not None})


def _classes(found: Rows, options: TrainOptions) -> list[Any] | None:
    """Return the declared classes as text or numbers, like the labels of the data."""
    declared = options.declared_classes
    if declared is not None:
        text = found.y is not None and found.y.dtype.kind in "OU"
        return declared if text else o.numbers_of(declared)
    if options.files.paths[0].is_dir() and "classes" in found.undeclared:
        leaks.report(f"classes are read from {options.files.name}; declare them with --classes")
    return found.classes


def _check_width(model: Model, found: Rows, data: Files) -> None:
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
    model.fit(found.described(declared), _labels(found))
    fitted = time.perf_counter()
    kept(options.model_file, model.save, "model")
    if options.checkpoint is not None:
        discard(options.checkpoint)
    return {"fitting": fitted - start, "saving": time.perf_counter() - fitted}


def _labels(found: Rows) -> Labels | None:
    y = found.y
    if y is not None and y.dtype.kind == "O":
        return np.asarray(y, dtype=str)
    return y


def _test_rows(model: Model, found: Rows, test: Path, options: TrainOptions) -> Rows:
    """Read the rows to score the model on, so that what is wrong with them costs no budget."""
    with reading(Files.of(test), quiet=not options.watched) as progress:
        rows = read_rows(
            test,
            like=found,
            labels=options.test_labels,
            encoding=options.encoding,
            progress=progress,
        )
    classes = None
    if isinstance(model, PrivateLassoClassifier):
        classes = _labels(found) if model.classes is None else model.classes
    check_labels(np.asarray(_labels(rows)), classes)
    return rows


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
    if scores is not None:
        show(f"On {options.test}", scores_of(scores))
        show_classes(per_class(scores))
    if options.watched:
        say_paragraph(str(model.privacy_))


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


def _tell_whom(found: Rows) -> None:
    """Say whom the model will protect, while nothing is spent yet."""
    if found.groups is not None:
        person = None if found.schema is None else found.schema.person
        note(f"the model protects {protects(Unit.of_people(identifier=person).name)}")
        return
    note(
        f"the model protects {protects(ROW)} on its own; if a person may have several rows, name "
        'the column of people (role "person" in the schema, or --person)'
    )


def _show_roles(found: Rows) -> None:
    if found.schema is not None:
        roles = [list(role) for role in FeatureSpace(found.schema).roles]
        show_rows("", ["column", "taken as", "features"], roles)
        say()


def _warn_of_rows(model: Model) -> None:
    """Warn if there are too few rows for the privacy that was asked for."""
    if caution := cautions.loose_delta(model):
        warn(caution)
    if caution := cautions.few_rows(model):
        warn(f"few rows. {caution} Give more rows, a larger epsilon, or fewer columns (--buckets)")


def _warn_owner_of_rows(declared: int | None, rows: int) -> None:
    """Tell the data owner of a declared number of rows that is far from that of the file.

    Formal guarantees
    -----------------
    It is told to the owner alone (`leaks.tell_owner`), as other messages about the file are. It
    does not state the number of rows, and neither the model nor its statement nor the exit code
    depends on it.
    """
    if declared is not None and max(declared, rows) >= FAR_OFF * min(declared, rows):
        leaks.tell_owner(
            "--rows, or n_rows of the schema, is a hundred times too large or too small for this "
            "file, which makes the model worse; check its zeros"
        )


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
    if any(o.same_file(path, test) for path in options.files.paths):
        leaks.report(f"{test.name} is the training data: the scores say nothing about new rows")
