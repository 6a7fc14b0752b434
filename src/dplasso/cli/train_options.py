"""The options of ``dplasso train``, as parameters of the reader and of the estimator."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

import typer

from dplasso.base.wording import ParameterError, Setting
from dplasso.cli import options as o
from dplasso.cli.endings import NotedBudget
from dplasso.cli.table_options import ReadingOptions
from dplasso.cluster import Cluster, Shards
from dplasso.estimators import PrivateLassoClassifier, PrivateLassoRegressor
from dplasso.ledger import Budget
from dplasso.losses import CLASS_LOSSES
from dplasso.reading.files import Files
from dplasso.reading.formats import format_of
from dplasso.reading.options import check_overlap

Model = PrivateLassoClassifier | PrivateLassoRegressor


@dataclass(frozen=True, kw_only=True)
class TrainOptions(ReadingOptions):
    """The options of the command, which are these fields."""

    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="File for the model; not needed with --dry-run.",
            show_default=False,
        ),
    ] = None
    epsilon: o.Epsilon = 1.0
    delta: o.Delta = 1e-6
    x_bound: Annotated[
        str | None,
        typer.Option(
            help="Public bound on the size of entries, which are clipped to it; 1 by default. "
            "private: release a bound for part of the budget, which is the default of "
            "frank_wolfe with an automatic radius."
        ),
    ] = None
    radius: Annotated[
        str,
        typer.Option(
            help="Bound on the 1-norm of the coefficients, or auto. If columns have different "
            "bounds, each coefficient is multiplied by its bound over the largest bound."
        ),
    ] = "auto"
    max_iter: Annotated[
        str, typer.Option("--max-iter", "-T", help="Number of rounds of Frank-Wolfe, or auto.")
    ] = "auto"
    n_nonzero: Annotated[
        str,
        typer.Option(
            "--n-nonzero", "-k", help="Number of nonzero coefficients to keep, all, or auto."
        ),
    ] = "auto"
    regression: o.Regression = False
    y_bound: o.YRange = None
    loss: Annotated[
        str | None,
        typer.Option(help=f"Loss of a classifier: {', '.join(CLASS_LOSSES)}; logistic by default."),
    ] = None
    solver: Annotated[
        str,
        typer.Option(
            help="frank_wolfe (the LASSO), gradient (text), table (few columns), or auto."
        ),
    ] = "auto"
    row_map: Annotated[
        str, typer.Option(help="Map of entries: as_is, presence, sqrt, blend, or auto.")
    ] = "auto"
    intercept: Annotated[bool, typer.Option(help="Fit an intercept.")] = True
    neighboring: o.Neighboring = "add_remove"
    selection: Annotated[str, typer.Option(help="Selection rule of Frank-Wolfe.")] = "lazy"
    people: o.People = None
    rows_per_person: o.RowsPerPerson = None
    labels: o.Labels = None
    budget: o.Ledger = None
    label: Annotated[
        str | None,
        typer.Option(help="Label of the charge in the ledger; by default the name of --output."),
    ] = None
    test: Annotated[
        Path | None, typer.Option(help="Rows to score the model on. Scores are not private.")
    ] = None
    test_labels: Annotated[
        Path | None, typer.Option(help="Labels (.npy) of --test if that is an .npz matrix.")
    ] = None
    test_is_public: Annotated[
        bool, typer.Option("--test-is-public", help="Declare that the rows of --test are public.")
    ] = False
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Only show how columns are read, and what a fit would release and cost.",
        ),
    ] = False
    force: o.Force = False
    threads: Annotated[
        int | None, typer.Option(min=1, help="Number of threads; by default one per core.")
    ] = None
    device: Annotated[
        str,
        typer.Option(help="cpu, or cuda: an NVIDIA card, which gives the same model sooner."),
    ] = "cpu"
    seed: o.Seed = None
    cluster: Annotated[
        str | None,
        typer.Option(
            help="Address of a Ray cluster whose processes read the files, each its own: auto, "
            "host:port, or local to start one on this machine for this fit.",
        ),
    ] = None
    actors: Annotated[
        int | None,
        typer.Option(min=1, help="Processes of --cluster; by default one per file, if it can."),
    ] = None
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the releases of a fit with --cluster. The same command goes on with "
            "it after it was stopped, and is not charged again."
        ),
    ] = None
    trusted_network: Annotated[
        bool,
        typer.Option(
            "--trusted-network",
            help="Declare that nobody else can read or reach the network of --cluster.",
        ),
    ] = False

    @cached_property
    def files(self) -> Files:
        """The files of the rows; of shards, the first one, which the others are like."""
        return super().files if self.cluster is None else Files((Path(Shards(self.data).paths[0]),))

    @cached_property
    def shards(self) -> Shards:
        """The files of a cluster's processes."""
        return Shards(self.data, **self.reading())

    @property
    def backend(self) -> str | Cluster:
        """Where the rows are held."""
        if self.cluster is None:
            for name in ("actors", "checkpoint", "trusted_network"):
                if getattr(self, name):
                    raise ParameterError(
                        "{parameter} is for {cluster}; leave it out", parameter=Setting(name)
                    )
            return "local"
        return Cluster(
            address=self.cluster,
            actors=self.actors,
            checkpoint=self.checkpoint,
            trusted_network=self.trusted_network,
        )

    @property
    def model_file(self) -> Path:
        """The file for the model."""
        if self.output is None:
            raise typer.BadParameter("give -o model.dpl, or --dry-run", param_hint="--output")
        return self.output

    def check_files(self) -> None:
        """Reject an output that cannot be written, or must not be replaced."""
        if self.output is None and self.dry_run:
            return
        output, read = self.model_file, (self.test, self.labels, self.test_labels, self.names)
        o.check_output(output, *self.data, *read)
        o.check_replaceable(output, b"dplasso-model", "model")
        o.check_unused(output, self.force or self.dry_run)  # which writes nothing

    def check_schema(self) -> None:
        """Reject options that say what the schema states."""
        if self.table_schema is not None:
            told: dict[str, object] = {
                "n_people": self.people,
                "rows_per_person": self.rows_per_person,
                "y_bound": self.y_bound,
                "regression": self.regression or None,
            }
            check_overlap(told, self.table_schema)

    def reading(self) -> dict[str, Any]:
        """Return parameters of `read_rows`; reject options that such data have no use for."""
        given = super().reading()
        if self.x_bound is not None and "bounds" in format_of(self.files).options:
            raise ParameterError(
                "{x_bound} has no effect on {data}, whose columns have {bounds} of their own; "
                "leave it out",
                data=self.files,
            )
        return given

    def _more_reading(self) -> dict[str, Any]:
        return {"labels": self.labels}

    def model(self) -> Model:
        """Return the estimator, with parameters checked before a long file is read."""
        stated = None if self.table_schema is None else self.table_schema.labels.bounds
        if not self.regression and stated is None:
            loss = self.loss or "logistic"
            model: Model = PrivateLassoClassifier(self.epsilon, loss=loss, **self._parameters())
        elif self.loss is not None:
            raise ValueError("--loss is for classifiers; leave it out with --regression")
        elif self.y_bound is None and stated is None:
            raise ValueError("labels need a public bound to be clipped to; give --y-bound")
        else:
            y_bound = stated or o.number_or_range("--y-bound", self.y_bound or "")
            model = PrivateLassoRegressor(self.epsilon, y_bound=y_bound, **self._parameters())
        model.check_parameters()
        return model

    def _parameters(self) -> dict[str, Any]:
        return {
            "delta": self.delta,
            "radius": o.auto_or_number("--radius", self.radius),
            "max_iter": o.auto_or_count("--max-iter", self.max_iter),
            "x_bound": o.private_or_number("--x-bound", self.x_bound),
            "fit_intercept": self.intercept,
            "n_rows": self.rows,
            "solver": self.solver,
            "row_map": self.row_map,
            "n_nonzero": o.auto_all_or_count("--n-nonzero", self.n_nonzero),
            "selection": self.selection,
            "neighboring": self.neighboring,
            "accountant": self._ledger(),
            "random_state": self.seed,
            "n_jobs": self.threads,
            "device": self.device,
            "verbose": 1 if self.watched else 0,
            "backend": self.backend,
        }

    def _ledger(self) -> Budget | None:
        """Return the ledger; its entry for this fit gets the label."""
        if self.budget is None:
            return None
        label = self.label or ("dry run" if self.output is None else self.output.name)
        shown = "".join(sign if sign.isprintable() else "?" for sign in label)
        return NotedBudget.open(self.budget).labelled(shown[:100])
