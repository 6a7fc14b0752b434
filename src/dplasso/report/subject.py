"""A model, and everything that its page says besides."""

from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from dplasso.base.wording import ParameterError
from dplasso.estimators import PrivateLassoClassifier, PrivateLassoRegressor
from dplasso.ledger import Budget
from dplasso.report.about import About
from dplasso.report.evaluation import Evaluation
from dplasso.report.features import target_of
from dplasso.report.progress import Progress
from dplasso.report.standing import Standing, standing_of
from dplasso.report.weights import is_online, is_private


@dataclass(frozen=True)
class Subject:
    """A fitted model and what is known about it. See `render` for the fields."""

    model: Any
    _: KW_ONLY
    model_file: Path | None = None
    evaluation: Evaluation | None = None
    progress: Progress | None = None
    title: str | None = None
    about: About = field(default_factory=About)
    ledger: Budget | None = None
    command: str = ""

    def __post_init__(self) -> None:
        of_stream = is_online(self.model)
        if not of_stream and not isinstance(
            self.model, PrivateLassoClassifier | PrivateLassoRegressor
        ):
            raise ValueError(
                "model must be a classifier or regressor of dplasso, "
                f"got {type(self.model).__name__}; give the estimator itself"
            )
        if self.progress is not None and not of_stream:
            raise ValueError(
                "progress must be that of a stream, got a model that is not; leave it out"
            )
        if not isinstance(self.about, About):
            raise ParameterError(
                "{about} must be About, got {kind}; make it of the texts to be shown",
                kind=type(self.about).__name__,
            )
        check_is_fitted(self.model)

    @property
    def of_stream(self) -> bool:
        return is_online(self.model)

    @property
    def path(self) -> Path | None:
        return None if self.model_file is None else Path(self.model_file)

    @property
    def heading(self) -> str:
        """The title that was given, or the kind of the model and its target."""
        return self.title or _title(self.model)

    @property
    def name(self) -> str:
        """A short name that tells several models apart: that of the file, if there is one."""
        return self.heading if self.path is None else self.path.name

    @cached_property
    def standing(self) -> Standing | None:
        """Where the fit stands in its ledger, which is verified if it was given."""
        return standing_of(self.model, self.ledger)


def _title(model: Any) -> str:
    task = "classifier" if is_classifier(model) else "regression"
    target = target_of(model)
    what = task if target is None else f"{task} of {target}"
    private = is_private(model)
    if is_online(model):
        return (
            f"Private {what} of a stream"
            if private
            else f"{what.capitalize()} of a stream, not private"
        )
    return f"Private sparse {what}" if private else f"Sparse {what} without privacy"
