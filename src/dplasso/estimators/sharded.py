"""Fits to rows that other processes hold: what an estimator checks, plans and asks for."""

from typing import TYPE_CHECKING, Any

import numpy as np

from dplasso.base.devices import on_card
from dplasso.base.wording import ParameterError, Setting
from dplasso.cluster.cluster import IN_PROCESS
from dplasso.cluster.opened import OpenShards
from dplasso.data.described import DescribedRows
from dplasso.estimators.declared import declared
from dplasso.estimators.parameter_checks import threads_of
from dplasso.fitting import registry
from dplasso.fitting.request import Numbers
from dplasso.fitting.task import BoundedTask, Drawing

if TYPE_CHECKING:
    from dplasso.estimators.base import PrivateLasso


def reading_of(model: "PrivateLasso") -> dict[str, Any]:
    """How shards are opened for a model: the bound of column stores, and the threads."""
    return {"x_bound": store_bound(model), "threads": threads_of(model.n_jobs)}


def store_bound(model: "PrivateLasso") -> float | None:
    """The bound on entries of a column store; None if a bound is to be released."""
    if model.releases_bound:
        return None
    return model.x_bound if isinstance(model.x_bound, float) else 1.0


def check_in_memory(model: "PrivateLasso") -> None:
    """Reject a cluster for rows that are in this process already."""
    if model.backend != IN_PROCESS:
        raise ParameterError(
            "{backend} is for rows in files, which its processes read; pass dplasso.Shards as X, "
            "or leave it out",
            backend=Setting("backend"),
        )


def prepared(
    model: "PrivateLasso", described: DescribedRows, shards: OpenShards, y: object
) -> BoundedTask:
    """Plan a fit to open shards without charging or drawing anything.

    It does what `PrivateLasso.prepare` does, except for what needs rows: shards check and encode
    their own.
    """
    if on_card(model.device):
        raise ParameterError(
            "{device} is for rows in memory, not for shards; leave it out",
            device=Setting("device", model.device),
        )
    if y is not None and np.size(np.asarray(y, object)):
        raise ParameterError("y must be None for shards, whose files hold the labels; leave it out")
    if hasattr(model, "classes") and declared(model, "classes") is None:
        raise ParameterError("{classes} must be declared for shards; no shard has all rows")
    model.n_features_in_ = shards.n_features
    if hasattr(model, "feature_names_in_"):
        del model.feature_names_in_
    model._check_names()
    model._describe(described)
    loss = model._make_loss(np.empty(0))
    known = declared(model, "n_rows") is not None
    found = None
    if shards.has_people:
        found = Numbers(0 if known else shards.shape[0], shards.n_people)
    else:
        model.numbered_people(None, 0)  # rejects facts about people
    names = vars(model).get("feature_names_in_")
    shape = 0 if known else shards.shape[0], shards.n_features
    plan = registry.plan(model._request(shape, loss, described, names, found))
    plan.check_columns()
    model._warn_of_presence(plan, described)
    drawing = Drawing(model._random_bits(), threads_of(model.n_jobs), model.verbose > 0)
    rows_per_person = int(declared(model, "rows_per_person"))
    return shards.prepared(plan, drawing, rows_per_person, model._class_weights(), model.accountant)
