"""The privacy statement of a search."""

from typing import Any

from sklearn.model_selection import ParameterGrid

from dplasso.data.identifiers import count_people
from dplasso.privacy.statement import READ, PrivacyStatement, fact
from dplasso.privacy.trials import mean_trials
from dplasso.search.checking import SearchRows
from dplasso.search.scoring import Scorer


def stated(
    search: Any,
    of_fit: PrivacyStatement,
    rho: float,
    stop: float,
    scorer: Scorer,
    rows: SearchRows,
) -> PrivacyStatement:
    """Turn the statement of the fit that was kept into the statement of the whole search."""
    alone = {name: value for name, value in of_fit.items() if name not in ("rho", "mu")}
    score = {
        "what": "a score on the validation rows",
        "mechanism": "Gaussian noise on a grid",
        "noise_multiplier": scorer.multiplier,
    }
    public = {
        **_chosen(of_fit["public"], search.best_params_),
        "grid": fact(f"{len(ParameterGrid(search.grid))} settings", "given"),
        "validation": fact(float(search.validation), "given"),
    }
    # The score is divided by it, whatever the fits do.
    if rows.people is None and search.estimator.n_rows is None:
        public["n_rows"] = fact(rows.counted, READ)
    if rows.people is not None and search.estimator.n_people is None:
        public["n_people"] = fact(count_people(rows.people), READ)
    if "classes" in public and search.estimator.classes is None:
        public["classes"] = fact(public["classes"]["value"], READ)
    return PrivacyStatement(
        alone,
        epsilon=float(search.epsilon),
        delta=float(search.delta),
        bounds=_chosen(of_fit["bounds"], search.best_params_),
        releases=[score, *of_fit["releases"]],
        public=public,
        search={
            "trials": mean_trials(stop, search.law),
            "law": search.law,
            "stop": stop,
            "trial_rho": rho,
        },
    )


def _chosen(facts: dict[str, Any], setting: dict[str, Any]) -> dict[str, Any]:
    """Mark the facts that the search chose; sources of released facts stay unchanged."""
    own = {name for name in setting if facts.get(name, {}).get("source") in ("given", "declared")}
    return {
        name: known | {"source": "chosen by the search"} if name in own else known
        for name, known in facts.items()
    }
