"""The top of the page: the key numbers of the model, and warnings."""

from collections.abc import Iterator
from datetime import date
from typing import Any

import numpy as np

from dplasso.fitting.registry import fitter_of
from dplasso.privacy.statement import READ, PrivacyStatement
from dplasso.report.calibrated import calibration
from dplasso.report.cautions import expired, few_rows, loose_delta
from dplasso.report.curve_fits import AREA, UNBALANCED
from dplasso.report.evaluation import Evaluation
from dplasso.report.features import target_of
from dplasso.report.ledger_section import percent
from dplasso.report.markup import Markup, callout, cards, join, tag
from dplasso.report.names import number, quoted, score_text, shortened
from dplasso.report.protects import whom, whom_exactly
from dplasso.report.standing import Standing
from dplasso.report.weights import is_online, is_private, weights_of

_MOST_CLASSES = 10
QUALITY = "How well it predicts"  # a heading
LARGE = 10.0  # beyond this epsilon, a guarantee means little
_NOT_PRIVATE = (
    "This model was fitted with epsilon = infinity. It may reveal any row of its data: treat it as "
    "you treat the data."
)
_NOT_SECURE = (
    "Whoever knows it can undo the protection. This fit is for tests only; do not publish it."
)


def headline(
    model: Any, title: str, found: Evaluation | None, standing: Standing | None, today: str
) -> Markup:
    """Return the title, whom the model protects, the target, the numbers and the warnings."""
    return tag(
        "header",
        tag("h1", quoted(title)),
        tag("p", *kind(model), " ", _days(model, found, today), class_="kind"),
        tag("p", whom(model), tag("small", whom_exactly(model)), class_="protects"),
        cards(_numbers(model, found, standing)),
        *(callout(*box) for box in warnings(model, found)),
    )


def epsilon_of(statement: PrivacyStatement) -> float:
    return float(statement["epsilon"])


def day_of_fit(model: Any) -> str | None:
    """Return the date of the statement; statements of earlier versions have none."""
    try:
        return date.fromisoformat(model.privacy_["date"]).isoformat()
    except (KeyError, TypeError, ValueError):
        return None


def has_rounds(model: Any) -> bool:
    """Whether the fit released one vertex per round, from which rounds can be rebuilt."""
    return len(model.vertices_) > 0 and fitter_of(model.solver_).replays_rounds


def nonzeros(model: Any) -> int:
    return int(np.count_nonzero(weights_of(model).data))


def kind(model: Any) -> list[Any]:
    """Return the kind of the model and what it predicts, in words."""
    name = tag("code", type(model).__name__)
    target = target_of(model)
    if not hasattr(model, "classes_"):
        predicted = "a number" if target is None else join(quoted(shortened(target)), ", a number")
        linear = "linear" if is_online(model) else "sparse linear"
        return [name, f": a {linear} model that predicts ", predicted, "."]
    count = len(model.classes_)
    model_kind = "sparse logistic" if count == 2 else "sparse softmax"
    if is_online(model):
        model_kind = "linear"
    predicted = f"which of {count} classes" if target is None else quoted(shortened(target))
    return [name, f": a {model_kind} model that predicts ", predicted, ": ", _choice(model)]


def _choice(model: Any) -> Markup:
    """List the classes, for example "no or yes"."""
    labels = [quoted(shortened(label)) for label in model.classes_[:_MOST_CLASSES]]
    more = len(model.classes_) - len(labels)
    last = f"{more} more" if more else labels.pop()
    return join(Markup(", ".join(labels)), " or ", last, ".")


def _days(model: Any, found: Evaluation | None, today: str) -> Markup:
    """State the dates of the fit and of the report, and the data of the scores."""
    fitted, scored = day_of_fit(model), Markup()
    if found is not None:
        named = (" of ", quoted(shortened(found.data_name))) if found.data_name else ()
        scored = join(f"; scored on {found.rows:,} public rows", *named)
    day = "an unknown day" if fitted is None else tag("time", fitted)
    made = "Learned until " if is_online(model) else "Fitted on "
    return join(made, day, "; page written on ", tag("time", today), scored, ".")


def _numbers(
    model: Any, found: Evaluation | None, standing: Standing | None
) -> dict[str, Markup | str]:
    statement = model.privacy_
    private = is_private(model)
    return {
        **({} if found is None else _scores(found)),
        **_calibration(found),
        **_ledger(standing),
        "Epsilon": number(epsilon_of(statement)) if private else "∞",
        "Delta": number(statement["delta"]) if private and statement["delta"] else "–",
        **(_of_stream(statement) if is_online(model) else _of_fit(model)),
        "Features" if target_of(model) else "Columns": f"{model.n_features_in_:,}",
    }


def _calibration(found: Evaluation | None) -> dict[str, Markup | str]:
    known = calibration(found)
    if known is None:
        return {}
    return {"Calibration": join(known.short, tag("small", known.figure))}


def _ledger(standing: Standing | None) -> dict[str, Markup | str]:
    """Return the share of this fit in its ledger, what came before, and what is left."""
    if standing is None:
        return {}
    if standing.own is None or standing.before is None or standing.left is None:
        spent = f"{number(standing.epsilon_spent)} of {number(standing.epsilon_cap)}"
        return {"Epsilon spent in its ledger": join(spent, tag("small", "up to this fit"))}
    around = f"{percent(standing.before)} before it, {percent(standing.left)} left"
    return {"Share of its ledger": join(percent(standing.own), tag("small", around))}


def _of_fit(model: Any) -> dict[str, str]:
    return {
        "Nonzero coefficients": f"{nonzeros(model):,}",
        "Rounds" if has_rounds(model) else "Steps": f"{model.n_iter_:,}",
    }


def _of_stream(statement: PrivacyStatement) -> dict[str, str]:
    window = statement["window_rows"]
    return {
        "Rows protected": "all" if window == "all" else f"the last {window:,}",
        "Rows so far": f"{statement['rows_seen']:,}",
        "Rows expired": f"{statement['rows_expired']:,}",
    }


def _scores(found: Evaluation) -> dict[str, Markup | str]:
    """Return the score; where one class is so common that it says little, the area first."""
    own: dict[str, Markup | str] = {found.score_name: _score(found)}
    if found.auc is None or found.trivial is None or found.trivial < UNBALANCED:
        return own
    return {AREA: join(score_text(found.auc), tag("small", "guessing: 0.5")), **own}


def _score(found: Evaluation) -> Markup:
    if found.trivial is None:
        return join(score_text(found.score))
    beside = tag("small", f"{found.trivial_answer}: {score_text(found.trivial)}")
    return join(score_text(found.score), beside)


def warnings(model: Any, found: Evaluation | None) -> Iterator[tuple[str, str, str]]:
    """Yield the kind, the title and the words of every warning."""
    if found is not None and found.poor:
        words = f"See “{QUALITY}” before you use its answers."
        yield "warning", f"{found.score_name}: {found.verdict}.", words
    if (known := calibration(found)) and known.off:
        yield "warning", "Calibration is off.", known.words
    if words := few_rows(model):
        yield "warning", "Few rows.", words
    if words := loose_delta(model):
        yield "warning", "A large delta.", words
    if words := expired(model):
        yield "warning", "Rows that are not protected.", words
    statement = model.privacy_
    if not is_private(model):
        yield "danger", "NOT PRIVATE.", _NOT_PRIVATE
        return
    if not statement["secure_rng"]:
        yield "danger", "NOT SECURE: fitted with a given seed or generator.", _NOT_SECURE
    facts = {**statement["bounds"], **statement["public"]}
    if read := [name for name, known in facts.items() if READ in known["source"]]:
        words = "The guarantee does not cover what was read and not declared."
        yield "warning", f"{READ}: {', '.join(read)}.", words
    if epsilon_of(statement) > LARGE:
        yield "warning", "A large epsilon.", "The bound below is true, but promises little."
