"""The privacy statement of an online estimator."""

from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

from dplasso.estimators.online_rules import CALL
from dplasso.estimators.online_run import OnlineRun
from dplasso.privacy.online_statement import OnlineStatement
from dplasso.privacy.statement import READ, fact, jsonable


def statement(
    model: Any, stream: OnlineRun, bounds: dict[str, Any], public: dict[str, Any]
) -> OnlineStatement:
    """State the guarantee of all releases so far, and the facts that it depends on.

    ``bounds`` and ``public`` are the facts that are specific to one kind of estimator. Parameters
    are those that the stream began with: others, set since then, concern the next stream.
    """
    from dplasso import __version__

    told, given = stream.total.privacy, SimpleNamespace(**stream.given)
    seen, window = stream.rows_seen, told["window_rows"]
    source = "public rule" if given.clip == "auto" else "declared"
    stated = OnlineStatement(
        model=type(model).__name__,
        epsilon=jsonable(given.epsilon),
        delta=given.delta if given.noise == "gaussian" else 0.0,
        neighboring=given.neighboring,
        **{name: told[name] for name in ("mu", "rho") if name in told},
        mechanism=told["mechanism"],
        calibration=told["calibration"],
        window_rows=window,
        rows_seen=seen,
        rows_expired=0 if window == "all" else max(0, seen - window),
        expired=told["expired"],
        whole_stream=told["whole_stream"],
        batch=given.batch,
        releases=[{"what": "running sums of gradients", "mechanism": told["mechanism"]}],
        bounds={"clip": fact(told["sensitivity"], source), **bounds},
        public={**_public(model, stream), **public},
        secure_rng=told["secure_rng"],
        version=__version__,
        date=datetime.now(UTC).date().isoformat(),  # only a day: the time depends on the rows
    )
    if stream.receipt is not None:
        stated["ledger"] = stream.receipt._asdict()
    return stated


def _public(model: Any, stream: OnlineRun) -> dict[str, Any]:
    plan, given = stream.plan, SimpleNamespace(**stream.given)
    found = {
        "n_features": fact(model.n_features_in_, "declared, or by the shape of X"),
        "row_map": fact(given.row_map, "given"),
        "rows_seen": fact(stream.rows_seen, "how long the stream is"),
        "regularisation": fact(plan.regularisation, _source(given.regularisation)),
        "start_rows": fact(plan.start_rows, _source(given.start_rows)),
    }
    if given.batch == CALL:
        found["rows_per_call"] = fact("of every call", "given")
    if plan.averaging:
        found["averaging"] = fact(plan.averaging, "public rule")
    if given.half_life is not None:
        found["half_life"] = fact(given.half_life, "given")
    if plan.radius is not None:
        found["radius"] = fact(plan.radius, _source(given.radius))
    if "feature_names_in_" in vars(model):
        source = f"{READ} and treated as public" if given.feature_names is None else "declared"
        found["feature_names"] = fact("those of X", source)
    return found


def _source(parameter: Any) -> str:
    return "public rule" if parameter == "auto" else "given"
