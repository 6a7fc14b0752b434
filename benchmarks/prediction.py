"""Time of predict_proba next to scikit-learn's LogisticRegression with dense coefficients.

    python benchmarks/prediction.py [--sets a9a,adult] [--seconds 2] [--cpu]

Prints a table and saves it under benchmarks/results. Each model is fitted at epsilon 1, and then
predicts all rows of its set, and one row. scikit-learn's model has a dense ``coef_`` of the same
shape, drawn at random, and gets the same matrix. Calls of both take turns, input checks included.
Figures are the least of many calls, because other programs only add to them. With --cpu they are
processor time, of all threads, which says more on a machine that is busy. *made* is generated
text with 2^20 + 1 columns and 2^22 + 1 columns, *dense* is 200,000 rows of 50 numbers.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from harness import datasets, tables
from harness.machine import machine
from harness.options import allow_seeds, names, parser
from harness.results import save
from sklearn.linear_model import LogisticRegression

from dplasso import PrivateLassoClassifier

MOST_TRAINED = 20_000  # rows: more would take longer and predict no slower
clock = time.perf_counter  # or time.process_time
SETS = (
    *("news20_rebuilt", "reuters21578_usa", "a9a", "kddcup99_10pct", "adult", "adult_hashed"),
    *("letter", "made 2^20", "made 2^22", "dense"),
)


class Subject(NamedTuple):
    """Rows, and what is declared of them."""

    X: Any
    y: np.ndarray
    x_bound: Any


def subject(name: str) -> Subject | None:
    """The rows of a set; None where it is not at hand."""
    if name.startswith("made"):
        columns = (1 << int(name[-2:])) + 1
        X, y = datasets.text_like(20_000, columns, 3_000_000)
        return Subject(sp.csr_array(X).astype(np.float64), y, 1.0)
    if name == "dense":
        rng = np.random.default_rng(0)
        X = rng.uniform(-1.0, 1.0, (200_000, 50))
        return Subject(X, (X[:, :5].sum(axis=1) > 0.0).astype(int), 1.0)
    if name in ("adult", "adult_hashed", "letter"):
        table = tables.load(name)
        return None if table is None else Subject(table.X, table.y, table.ranges)
    data = datasets.real(name)
    return None if data is None else Subject(sp.csr_array(data[0]), data[1], 1.0)


def models(X: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Names and parameters of the models of these rows."""
    yield "auto", {}
    if X.shape[1] <= 1000:
        yield "gradient", {"solver": "gradient"}
    else:
        yield "100 nonzeros", {"n_nonzero": 100}
        yield "as_is", {"solver": "gradient", "row_map": "as_is"}
    yield "frank_wolfe", {"solver": "frank_wolfe", "max_iter": 100}


def rival(outputs: int, columns: int) -> LogisticRegression:
    """scikit-learn's model with dense coefficients."""
    found = LogisticRegression()
    rng = np.random.default_rng(0)
    found.coef_ = rng.normal(size=(outputs, columns)) / np.sqrt(columns)
    found.intercept_, found.n_features_in_ = np.zeros(outputs), columns
    found.classes_ = np.arange(max(outputs, 2))
    return found


def in_turns(calls: list[Callable[[], Any]], seconds: float) -> list[float]:
    """Least seconds of each call; they take turns."""
    spent: list[list[float]] = [[] for _ in calls]
    for call in calls:
        call()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(spent[0]) < 9:
        for call, found in zip(calls, spent, strict=True):
            start = clock()
            call()
            found.append(clock() - start)
    return [min(found) for found in spent]


def measured(found: Subject, options: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Milliseconds of both models for all rows and for one."""
    classes = np.unique(found.y).tolist()
    train = np.random.default_rng(0).permutation(len(found.y))[:MOST_TRAINED]
    model = PrivateLassoClassifier(
        classes=classes, n_rows=len(train), x_bound=found.x_bound, random_state=0, **options
    ).fit(found.X[train], found.y[train])
    theirs = rival(*model.fitted_.weights.shape)
    row: dict[str, Any] = {"solver": model.solver_, "row_map": model.row_map_}
    row["nonzeros"] = int(np.count_nonzero(model.fitted_.weights.data))
    for what, X in (("all", found.X), ("one", found.X[:1])):
        calls = [lambda X=X: model.predict_proba(X), lambda X=X: theirs.predict_proba(X)]
        ours, other = in_turns(calls, seconds)
        row[what] = {"ms": 1e3 * ours, "sklearn_ms": 1e3 * other, "ratio": ours / other}
    return row


HEADER = (
    f"{'set':<18}{'rows':>8}{'columns':>10} {'model':<13}{'solver':<12}{'map':<9}"
    f"{'all, ms':>9}{'sklearn':>9}{'ratio':>7}{'one, ms':>9}{'sklearn':>9}{'ratio':>7}"
)


def line(row: dict[str, Any]) -> str:
    cells = "".join(
        f"{row[what]['ms']:>9.3f}{row[what]['sklearn_ms']:>9.3f}{row[what]['ratio']:>7.2f}"
        for what in ("all", "one")
    )
    head = f"{row['set']:<18}{row['rows']:>8,}{row['columns']:>10,} {row['model']:<13}"
    return f"{head}{row['solver']:<12}{row['row_map']:<9}{cells}"


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--sets", type=names, default=list(SETS), help="names, with commas")
    command.add_argument("--seconds", type=float, default=2.0, help="per figure")
    command.add_argument("--name", default="prediction", help="of the results file")
    command.add_argument("--cpu", action="store_true", help="processor time")
    options = command.parse_args()
    if options.cpu:
        global clock
        clock = time.process_time
    allow_seeds()
    lines, rows = [HEADER], []
    print(HEADER)
    for name in options.sets:
        found = subject(name)
        if found is None:
            print(f"{name}: not at hand, left out")
            continue
        for label, given in models(found.X):
            shape = {"set": name, "rows": found.X.shape[0], "columns": found.X.shape[1]}
            rows.append(shape | {"model": label} | measured(found, given, options.seconds))
            lines.append(line(rows[-1]))
            print(lines[-1], flush=True)
    spent = "processor time" if options.cpu else "elapsed time"
    lines.append(f"{machine()}; {spent}")
    print(lines[-1])
    save(options.name, "\n".join(lines), {"machine": lines[-1], "rows": rows})


if __name__ == "__main__":
    main()
