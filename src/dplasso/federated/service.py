"""How a transport opens the two roles: a party from its settings, a coordinator from a proposal."""

from pathlib import Path
from typing import Any

from dplasso.federated.errors import Refused
from dplasso.federated.job_party import JobParty
from dplasso.federated.model import PartyModel
from dplasso.federated.moments.at_server import MomentsAtServer
from dplasso.federated.moments.job_party import MomentJobParty
from dplasso.federated.moments.party_model import MomentPartyModel
from dplasso.federated.opening_coordinator import OpeningCoordinator, Sketches
from dplasso.federated.opening_party import OpeningParty
from dplasso.federated.pairwise_keys import PairwiseKeys
from dplasso.federated.party import Party
from dplasso.federated.party_ledger import open_ledger
from dplasso.federated.party_protocols import PartyJobTerms
from dplasso.federated.party_settings import PartySettings
from dplasso.federated.rows import PartyRows, read_party
from dplasso.federated.server_side import ServerSide
from dplasso.federated.terms import Proposal, Terms
from dplasso.mechanisms.grid_gaussian import GridGaussian, NoiseOf
from dplasso.storage.atomic import replace_file
from dplasso.storage.spreadsheet import cell

MODEL, COEFFICIENTS = "model.json", "coefficients.csv"

_ROWS: dict[tuple[Path, int, int, str, str], PartyRows] = {}


def open_party(settings: PartySettings, job: str, noise_of: NoiseOf = GridGaussian) -> OpeningParty:
    """Open a party of a job, new or as it was left.

    Its releases are charged to its ledger and never exceed the limits of its settings. At the end
    it writes its model and, for people, its coefficients by name.
    """
    ledger = open_ledger(settings)  # limits that were changed are refused at once
    rows, folder, secret = _read(settings), settings.state / job, _secret(settings)
    classes = settings.table.labels.classes if settings.table.target is not None else None

    def opened(terms: PartyJobTerms, folder: Path, keys: PairwiseKeys) -> JobParty:
        y = rows.y if terms.label_holder == settings.party else None
        own: dict[str, Any] = {"accountant": ledger, "folder": folder}
        if isinstance(terms, Terms):
            place = terms, settings.party, rows.X, rows.identifiers, secret
            return Party(*place, y=y, **own)
        if y is not None and classes is not None and len(classes) == 2:
            y = (y + 1.0) / 2.0  # from -1 and 1 to places of classes
        own |= {"x_bound": [*map(tuple, rows.ranges.tolist())], "classes": classes}
        entries = rows.in_own_units, rows.identifiers
        return MomentJobParty(
            terms, settings.party, *entries, secret, keys, y=y, noise_of=noise_of, **own
        )

    def ended(model: PartyModel | MomentPartyModel) -> None:
        model.save(folder / MODEL)
        replace_file(folder / COEFFICIENTS, _by_name(model, rows))

    return OpeningParty(
        settings.party,
        job,
        rows.X.shape[1],
        settings,
        folder,
        secret,
        opened,
        ledger,
        y_bound=settings.label_bound,
        ended=ended,
        attributes=rows.attributes,
        n_classes=0 if classes is None else len(classes),
    )


def open_coordinator(
    proposal: Proposal, folder: Path, noise_of: NoiseOf = GridGaussian
) -> OpeningCoordinator:
    """Open the coordinator of a job. Its seed, which moments need, is kept in ``folder``."""
    moments = MomentsAtServer(folder, proposal.job, noise_of)
    protocols: dict[str, ServerSide] = {"sketches": Sketches(), "moments": moments}
    return OpeningCoordinator(proposal, protocols)


def _read(settings: PartySettings) -> PartyRows:
    """Read the rows of a party once for all its jobs, until the file or its plan changes."""
    state, plan = settings.data.stat(), repr(settings.table)
    key = (settings.data, state.st_mtime_ns, state.st_size, settings.id_column, plan)
    if key not in _ROWS:
        try:
            rows = read_party(settings.data, settings.table, settings.id_column)
        except ValueError:
            # What is wrong with the rows is for their owner only.
            raise Refused(
                f"the table of {settings.party} was changed and cannot be read; its owner sees why "
                "when the party is started again"
            ) from None
        _ROWS.clear()
        _ROWS[key] = rows
    return _ROWS[key]


def _secret(settings: PartySettings) -> bytes:
    try:
        return bytes.fromhex(settings.secret.read_text().strip())
    except ValueError:
        raise Refused(
            f"the secret of {settings.party} is not in hexadecimal digits; restore the file that "
            "came with its kit"
        ) from None


def _by_name(model: PartyModel | MomentPartyModel, rows: PartyRows) -> bytes:
    """Coefficients in units of the data, which the rows of a model are not."""
    heads, named = ["coefficient"], []
    if isinstance(model, MomentPartyModel):
        weights, intercepts = model.in_own_units
        heads = model.heads
        named = list(zip(rows.features, weights.tolist(), strict=True))
        named.append(("intercept", intercepts.tolist()))
    else:
        pairs = zip(model.features, model.coefficients, strict=True)
        named = [(rows.features[k], [float(weight / rows.bounds[k])]) for k, weight in pairs]
        if model.intercept:
            named.append(("intercept", [model.intercept]))
    lines = [",".join(["feature", *(cell(head, ",") for head in heads)])]
    lines += [",".join([cell(name, ","), *map(repr, values)]) for name, values in named]
    return "".join(f"{line}\r\n" for line in lines).encode()
