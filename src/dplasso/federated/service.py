"""A party and a coordinator as a transport opens them: from settings, and from a proposal."""

import json
from collections.abc import Sequence
from pathlib import Path

from dplasso.federated.caps import Caps
from dplasso.federated.model import PartyModel
from dplasso.federated.opening import Offer, OpeningCoordinator, OpeningParty
from dplasso.federated.party import Party
from dplasso.federated.roles import PartySettings, Proposal
from dplasso.federated.rows import PartyRows, read_party
from dplasso.federated.terms import Terms
from dplasso.ledger import Budget
from dplasso.storage.atomic import replace_file
from dplasso.storage.spreadsheet import cell

MODEL, COEFFICIENTS = "model.json", "coefficients.csv"

_ROWS: dict[tuple[Path, int, int, str, str], PartyRows] = {}


def open_party(settings: PartySettings, job: str) -> OpeningParty:
    """A party of a job, anew or as it was left.

    What it releases is charged to its ledger, and never exceeds what its settings allow. At the end
    it writes its model and, for people, its coefficients by name.
    """
    rows = _read(settings)
    folder = settings.state / job

    def opened(terms: Terms, folder: Path) -> Party:
        labels = rows.y if terms.label_holder == settings.party else None
        budget = Budget(settings.max_epsilon, settings.max_delta, store=str(settings.ledger))
        return Party(
            terms,
            settings.party,
            rows.X,
            rows.identifiers,
            bytes.fromhex(settings.secret.read_text().strip()),
            y=labels,
            accountant=budget,
            folder=folder,
        )

    def ended(model: PartyModel) -> None:
        model.save(folder / MODEL)
        replace_file(folder / COEFFICIENTS, _by_name(model, rows))

    caps = Caps(settings.max_epsilon, settings.max_delta, row_budget=settings.row_budget)
    return OpeningParty(
        settings.party,
        job,
        rows.X.shape[1],
        caps,
        folder,
        opened,
        y_bound=None if rows.y is None else _label_bound(settings),
        ended=ended,
    )


def open_coordinator(
    proposal: Proposal, parties: Sequence[str], job: str, folder: Path
) -> OpeningCoordinator:
    """The coordinator of a job. ``folder`` is for transports that keep something there."""
    return OpeningCoordinator(
        Offer(
            job,
            tuple(parties),
            proposal.labels,
            proposal.rows,
            proposal.epsilon,
            proposal.delta,
            proposal.radius,
            proposal.rounds,
            proposal.sketch_size,
            proposal.tau,
            y_bound=proposal.label_bound,
        )
    )


def _read(settings: PartySettings) -> PartyRows:
    """The rows of a party: read once for all its jobs, until the file or its plan is another."""
    state, plan = settings.data.stat(), json.dumps(settings.plan.to_dict(), sort_keys=True)
    key = (settings.data, state.st_mtime_ns, state.st_size, settings.id_column, plan)
    if key not in _ROWS:
        rows = read_party(settings.data, settings.plan, settings.id_column)
        _ROWS.clear()
        _ROWS[key] = rows
    return _ROWS[key]


def _label_bound(settings: PartySettings) -> float:
    """Two classes are -1 and 1."""
    return 1.0 if settings.plan.classes is not None else settings.label_bound


def _by_name(model: PartyModel, rows: PartyRows) -> bytes:
    """Coefficients in units of the data: the model's are of entries over their bounds."""
    pairs = zip(model.features, model.coefficients, strict=True)
    named = [(cell(rows.features[k], ","), float(weight / rows.bounds[k])) for k, weight in pairs]
    if model.intercept:
        named.append(("intercept", model.intercept))
    lines = ["feature,coefficient", *(f"{name},{value!r}" for name, value in named)]
    return "".join(f"{line}\r\n" for line in lines).encode()
