"""``dplasso evaluate``: the scores of a model on rows with labels."""

from pathlib import Path
from typing import Annotated, Any

import typer

from dplasso.cli import endings
from dplasso.cli import options as o
from dplasso.cli.endings import NotedBudget
from dplasso.cli.output import emit, reading, say, say_paragraph, show, show_rows
from dplasso.estimators import load
from dplasso.estimators.coefficients import without_names
from dplasso.privacy import leaks
from dplasso.reading import Rows, read_rows
from dplasso.reading.files import Files
from dplasso.report import Evaluation
from dplasso.report import evaluate as score
from dplasso.search import PrivateScores, private_score

NOT_COVERED = (
    "these figures are computed from the rows of {data} without noise: the model's guarantee does "
    "not cover them. On rows it was trained on they reveal those rows and flatter the model. "
    "Publish them only if the rows are public"
)
NOT_BESIDE = (
    "What always giving the same answer would score is not shown: it would have to be released "
    "from these rows, for more budget."
)
BESIDE = (
    "The trivial answer always gives the more common class, or the shares of the classes as "
    "probabilities; its scores follow from the same released counts."
)
MOST_CLASSES = 10  # with more classes, rows are not counted per class

RowFiles = Annotated[
    list[Path],
    typer.Argument(
        help="Rows with labels, in the form of the training data: a table has the same columns, "
        "svmlight the same indices, an .npz its --labels.",
        show_default=False,
    ),
]


def evaluate(
    model: o.Model,
    data: RowFiles,
    public: Annotated[
        bool, typer.Option("--public", help="Declare these rows public: figures may be published.")
    ] = False,
    epsilon: Annotated[
        float | None,
        typer.Option("--epsilon", "-e", help="Release private scores instead, for this budget."),
    ] = None,
    delta: o.Delta = 1e-6,
    rows_per_person: o.RowsPerPerson = None,
    neighboring: o.Neighboring = "add_remove",
    budget: o.Ledger = None,
    schema: o.SchemaFile = None,
    zero_based: o.ZeroBased = None,
    labels: o.Labels = None,
    delimiter: o.Delimiter = None,
    encoding: o.Encoding = None,
    longest_line: o.LongestLine = None,
    strict: o.Strict = False,
    json: o.Json = False,
    quiet: o.Quiet = False,
) -> None:
    """Score a model on rows with labels, next to the most common class, or the mean.

    Classes: accuracy and balanced accuracy, AUC (of several classes the mean of each against the
    rest), log-loss and calibration error. Numbers: MAE, RMSE and R², on labels as they are and as
    clipped to the bound that the model learnt with.

    The scores are not private; see the warning. With --epsilon they are: accuracy and, of two
    classes, log-loss, or the MAE of numbers, each with noise, charged to the --budget.
    """
    if strict:
        leaks.set_strict(True)
    if epsilon is not None and public:
        raise ValueError("--public and --epsilon exclude each other; rows are public or private")
    if epsilon is None and rows_per_person:
        raise ValueError("--rows-per-person needs --epsilon; give it")
    longest = o.longest_line_of(longest_line)
    fitted, files = load(model), Files.of(data)
    ledger = None if epsilon is None or budget is None else NotedBudget.open(budget)
    endings.begin(None, "score", ledger)
    with reading(files, quiet=quiet or json) as progress:
        found = read_rows(
            files,
            like=fitted,
            schema=schema,
            zero_based=zero_based,
            labels=labels,
            delimiter=delimiter,
            encoding=encoding,
            longest_line=longest,
            progress=progress,
        )
    if epsilon is not None:
        asked: dict[str, Any] = {"epsilon": epsilon, "delta": delta}
        asked |= _people_of(found, rows_per_person)
        asked |= {"neighboring": neighboring, "accountant": ledger}
        released = private_score(fitted, found.described(), found.y, **asked)
        _show_private(released, {"model": str(model), "data": str(files)}, json, quiet)
        return
    if not public:
        leaks.report(f"{NOT_COVERED.format(data=files.name)}, and declare that with --public")
    measured = score(without_names(fitted), found.X, found.y)
    scores, classes = scores_of(measured), per_class(measured)
    if json:
        counted = {"per_class": classes} if classes else {}
        emit({"model": str(model), "data": str(files), "public": public, **scores, **counted})
    elif not quiet:
        show("Evaluation", scores)
        show_classes(classes)


def _people_of(found: Rows, rows_per_person: int | None) -> dict[str, Any]:
    """Whom private scores protect: people, if the schema names the column that says who."""
    if found.groups is None or found.schema is None:
        return {"rows_per_person": rows_per_person or 1}
    stated = found.schema.rows_per_person or 1
    return {"rows_per_person": rows_per_person or stated, "person": found.schema.person}


def _show_private(
    released: PrivateScores, subject: dict[str, str], json: bool, quiet: bool
) -> None:
    """Show released scores with their noise, and what is promised."""
    trivial = released.trivial
    if json:
        both = {"scores": released.scores, "trivial": trivial}
        scores = {
            which: {name: score._asdict() for name, score in found.items()}
            for which, found in both.items()
        }
        told = {"mean_over": released.mean_over, "meaning": released.meaning}
        counted = {"count": released.count._asdict()}
        emit({**subject, **scores, **counted, **told, "privacy": released.privacy})
    elif not quiet:
        heads = ["score", f"mean over {released.mean_over}", "standard deviation of its noise"]
        rows: list[list[Any]] = [[name, *score] for name, score in released.scores.items()]
        rows += [[f"{name}, trivial answer", *score] for name, score in trivial.items()]
        show_rows("Private scores", heads, rows)
        say_paragraph(f"{released.meaning} {BESIDE if trivial else NOT_BESIDE}")
        say_paragraph(str(released.privacy))


def scores_of(found: Evaluation) -> dict[str, Any]:
    """Return the number of rows, the scores, and the verdict in words."""
    scores = _class_scores(found) if found.confusion else _number_scores(found)
    return {"rows": found.rows, **scores, "verdict": found.verdict}


def _class_scores(found: Evaluation) -> dict[str, Any]:
    """Scores of a classifier, each followed by that of the trivial answer, if it has one."""
    scores = {
        "accuracy": found.score,
        "majority_accuracy": found.trivial,
        "balanced_accuracy": found.balanced_accuracy,
        "majority_balanced_accuracy": found.trivial_balanced_accuracy,
    }
    if found.auc is not None:
        scores["auc"] = found.auc
    if found.log_loss is not None and found.reliability is not None:
        scores |= {
            "log_loss": found.log_loss,
            "log_loss_of_class_shares": found.trivial_log_loss,
            "calibration_error": found.reliability.error,
        }
    return scores


def _number_scores(found: Evaluation) -> dict[str, Any]:
    """Scores of a regressor on labels as they are and as clipped, and those of the mean label."""
    scores: dict[str, Any] = {"r2": found.score}
    if found.numbers is None:
        return scores
    for ending, ours, mean in (
        ("", found.numbers.as_they_are, found.numbers.mean_as_they_are),
        ("_clipped", found.numbers.clipped, found.numbers.mean_clipped),
    ):
        scores |= {f"{name}{ending}": value for name, value in ours._asdict().items()}
        scores |= {f"{name}_of_mean{ending}": getattr(mean, name) for name in ("mae", "rmse")}
    return scores


def per_class(found: Evaluation) -> dict[str, dict[str, int]]:
    """Count rows per class: with it, predicted as it, and both; nothing for many classes."""
    if len(found.classes) > MOST_CLASSES:
        return {}
    return {name: of._asdict() for name, of in found.by_class.items()}


def show_classes(classes: dict[str, dict[str, int]]) -> None:
    """Print one line per class with its recall, since accuracy may hide a poor one."""
    if not classes:
        return
    rows = []
    for name, of in classes.items():
        recall = f"{of['found'] / of['rows']:.1%}" if of["rows"] else "no rows"
        rows.append([name, *of.values(), recall])
    say()
    show_rows("By class", ["class", "rows with it", "answered", "found", "of its rows"], rows)
