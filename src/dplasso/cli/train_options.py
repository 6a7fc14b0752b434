"""The options of ``dplasso train``, and what they mean for the reader and for the estimator."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from dplasso.cli import options as o
from dplasso.cli.table_options import reading_options
from dplasso.estimators import PrivateLassoClassifier, PrivateLassoRegressor
from dplasso.ledger import Budget
from dplasso.losses import CLASS_LOSSES

Model = PrivateLassoClassifier | PrivateLassoRegressor


@dataclass(frozen=True, kw_only=True)
class TrainOptions:
    """As they are given; the command line is made of these fields."""

    data: o.Data
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Where the model goes; --dry-run needs none.", show_default=False
        ),
    ] = None
    epsilon: Annotated[float, typer.Option("--epsilon", "-e", help="inf: no privacy.")] = 1.0
    delta: Annotated[float, typer.Option(help="Chance that epsilon fails.")] = 1e-6
    classes: o.Classes = None
    rows: o.RowCount = None
    features: o.Features = None
    x_bound: Annotated[
        str | None,
        typer.Option(
            help="Public bound; entries are clipped to it. 1 by default; private: a private "
            "quantile, for part of epsilon."
        ),
    ] = None
    radius: Annotated[
        str,
        typer.Option(
            help="Bound on the 1-norm (of coefficients times bounds, over the largest), or auto."
        ),
    ] = "auto"
    rounds: Annotated[
        str, typer.Option("--rounds", "--max-iter", "-T", help="Rounds, or auto.")
    ] = "auto"
    keep: Annotated[int | None, typer.Option("--keep", "-k", min=1, help="Most coefficients.")] = (
        None
    )
    regression: o.Regression = False
    y_bound: o.YBound = None
    loss: Annotated[
        str | None,
        typer.Option(help=f"Of a classifier: {', '.join(CLASS_LOSSES)}; logistic by default."),
    ] = None
    solver: Annotated[
        str, typer.Option(help="frank_wolfe (sparse), gradient (dense, more accurate) or auto.")
    ] = "frank_wolfe"
    row_map: Annotated[
        str, typer.Option(help="What entries count as: as_is, presence, sqrt, blend, or auto.")
    ] = "auto"
    intercept: Annotated[bool, typer.Option(help="Fit an intercept.")] = True
    neighboring: Annotated[str, typer.Option(help="add_remove or replace_one.")] = "add_remove"
    selection: Annotated[str, typer.Option(help="Rule of the engine.")] = "lazy"
    target: o.Target = None
    bounds: o.Bounds = None
    hashed: o.Hashed = None
    text: o.Text = None
    ignore: o.Ignore = None
    delimiter: o.Delimiter = None
    buckets: o.Buckets = None
    zero_based: o.ZeroBased = None
    labels: o.Labels = None
    names: o.Names = None
    longest_line: o.LongestLine = None
    budget: o.Ledger = None
    label: Annotated[
        str | None, typer.Option(help="What the ledger calls this fit; the output by default.")
    ] = None
    test: Annotated[Path | None, typer.Option(help="Rows to score the model on; not private.")] = (
        None
    )
    test_labels: Annotated[Path | None, typer.Option(help="Labels of an .npz --test.")] = None
    test_is_public: Annotated[
        bool, typer.Option("--test-is-public", help="The rows of --test are public.")
    ] = False
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Show what columns are taken as, and what a fit would release and cost; stop.",
        ),
    ] = False
    overwrite: Annotated[
        bool, typer.Option(help="Replace a model of this name, with --budget.")
    ] = False
    threads: Annotated[int | None, typer.Option(min=1, help="Cores to use; all by default.")] = None
    seed: o.Seed = None
    strict: o.Strict = False
    json: o.Json = False
    quiet: o.Quiet = False

    @property
    def watched(self) -> bool:
        """Whether tables and progress are shown."""
        return not (self.quiet or self.json)

    @property
    def model_file(self) -> Path:
        """Where the model goes."""
        if self.output is None:
            raise typer.BadParameter("give -o model.dpl, or --dry-run", param_hint="--output")
        return self.output

    @property
    def declared_classes(self) -> list[str] | None:
        """Declared labels, as they are written."""
        return o.classes_of(self.classes)

    def check_files(self) -> None:
        """Reject an output that cannot be written, or must not be replaced."""
        if self.output is None and self.dry_run:
            return
        output, read = self.model_file, (self.data, self.test, self.labels, self.test_labels)
        o.check_output(output, *read, self.names)
        o.check_replaceable(output, b"dplasso-model", "model")
        if self.budget is not None and output.exists() and not self.overwrite:
            raise ValueError(
                f"{output} exists, and was paid for; give another name, or --overwrite"
            )

    def reading(self) -> dict[str, Any]:
        """How the data are read: parameters of `read_rows`."""
        return reading_options(
            self.data,
            target=self.target,
            bounds=self.bounds,
            hashed=self.hashed,
            text=self.text,
            ignore=self.ignore,
            buckets=self.buckets,
            delimiter=self.delimiter,
            rows=self.rows,
            classes=self.declared_classes,
            features=self.features,
            zero_based=self.zero_based,
            names=self.names,
            labels=self.labels,
            longest_line=self.longest_line,
            x_bound=self.x_bound,
        )

    def model(self) -> Model:
        """The estimator, its parameters checked before a long file is read."""
        if not self.regression:
            loss = self.loss or "logistic"
            model: Model = PrivateLassoClassifier(self.epsilon, loss=loss, **self._parameters())
        elif self.loss is not None:
            raise ValueError("--loss is of a classifier; leave it out with --regression")
        elif self.y_bound is None:
            raise ValueError("labels need a public bound to be clipped to; give --y-bound")
        else:
            model = PrivateLassoRegressor(self.epsilon, y_bound=self.y_bound, **self._parameters())
        model.check_parameters()
        return model

    def _parameters(self) -> dict[str, Any]:
        return {
            "delta": self.delta,
            "radius": o.auto_or_number("--radius", self.radius),
            "max_iter": o.auto_or_count("--rounds", self.rounds),
            "x_bound": o.private_or_number("--x-bound", self.x_bound),
            "fit_intercept": self.intercept,
            "n_rows": self.rows,
            "solver": self.solver,
            "rows": self.row_map,
            "n_nonzero": self.keep,
            "selection": self.selection,
            "neighboring": self.neighboring,
            "accountant": self._ledger(),
            "random_state": self.seed,
            "n_jobs": self.threads,
            "verbose": 1 if self.watched else 0,
        }

    def _ledger(self) -> Budget | None:
        """The ledger, whose entries say what they were for."""
        if self.budget is None:
            return None
        label = self.label or ("" if self.output is None else self.output.name)
        shown = "".join(sign if sign.isprintable() else "?" for sign in label)
        return Budget.open(self.budget).labelled(shown[:100])
