"""``dplasso demo``: fits with and without privacy on synthetic notes, and a report."""

import math
import time
from pathlib import Path
from typing import Annotated

import typer

from dplasso.cli.options import Force, check_output, check_unused
from dplasso.cli.output import say, say_paragraph, show_rows
from dplasso.data import ColumnMatrix
from dplasso.datasets import make_notes
from dplasso.estimators import PrivateLassoClassifier
from dplasso.report import Curve, examine, write_report

ROWS, TEST_ROWS, WORDS = 50_000, 10_000, 1_000_000
EPSILONS = (0.1, 0.3, 1.0, 3.0, math.inf)
REPORTED = 1.0


def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="File for the report.")] = Path(
        "demo_report.html"
    ),
    force: Force = False,
) -> None:
    """Train on synthetic notes of a million words with and without privacy; write a report."""
    check_output(output)
    check_unused(output, force)
    _compile()
    X, y = make_notes(ROWS + TEST_ROWS, WORDS, random_state=7)
    held = ColumnMatrix.of(X[:ROWS])
    say(f"{ROWS:,} notes x {WORDS:,} words, {held.entries:,} entries; epsilon for one note")
    rows, curve, chosen = [], [], None
    for epsilon in EPSILONS:
        model = PrivateLassoClassifier(epsilon, classes=[0, 1], n_rows=ROWS, x_bound=1.0)
        start = time.perf_counter()
        model.fit(held, y[:ROWS])
        seconds = time.perf_counter() - start
        score = float(model.score(X[ROWS:], y[ROWS:]))
        name = "none" if math.isinf(epsilon) else f"{epsilon:g}"
        rows.append(
            [name, round(100 * score, 1), int(model.fitted_.weights.nnz), round(seconds, 3)]
        )
        if epsilon == REPORTED:
            chosen = model
        else:
            curve.append((epsilon, score, score, score))
    show_rows("", ["epsilon", "test accuracy, %", "nonzeros", "seconds"], rows)
    if chosen is not None:
        say_paragraph(str(chosen.privacy_))
    evaluation = examine(chosen, X[ROWS:], y[ROWS:], curve=Curve(tuple(curve), ROWS, TEST_ROWS, 1))
    write_report(output, chosen, evaluation=evaluation, title="Notes of a million words")
    say(f"\nwrote {output}: open it in a browser")


def _compile() -> None:
    """Fit a few rows, so that the times below do not include compilation."""
    X, y = make_notes(100, WORDS)
    for epsilon in (1.0, math.inf):
        model = PrivateLassoClassifier(epsilon, classes=[0, 1], n_rows=100, x_bound=1.0)
        model.fit(ColumnMatrix.of(X), y)
