"""How a transport opens the two roles: a party from its settings, a coordinator from a proposal."""

from pathlib import Path

from dplasso.federated.errors import Refused
from dplasso.federated.model import PartyModel
from dplasso.federated.opening_coordinator import OpeningCoordinator
from dplasso.federated.opening_party import OpeningParty
from dplasso.federated.party import Party
from dplasso.federated.party_ledger import open_ledger
from dplasso.federated.party_settings import PartySettings
from dplasso.federated.rows import PartyRows, read_party
from dplasso.federated.terms import Proposal, Terms
from dplasso.storage.atomic import replace_file
from dplasso.storage.spreadsheet import cell

MODEL, COEFFICIENTS = "model.json", "coefficients.csv"

_ROWS: dict[tuple[Path, int, int, str, str], PartyRows] = {}


def open_party(settings: PartySettings, job: str) -> OpeningParty:
    """Open a party of a job, new or as it was left.

    Its releases are charged to its ledger and never exceed the limits of its settings. At the end
    it writes its model and, for people, its coefficients by name.
    """
    ledger = open_ledger(settings)  # limits that were changed are refused at once
    rows, folder, secret = _read(settings), settings.state / job, _secret(settings)

    def opened(terms: Terms, folder: Path) -> Party:
        return Party(
            terms,
            settings.party,
            rows.X,
            rows.identifiers,
            secret,
            y=rows.y if terms.label_holder == settings.party else None,
            accountant=ledger,
            folder=folder,
        )

    def ended(model: PartyModel) -> None:
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
    )


def open_coordinator(proposal: Proposal, folder: Path) -> OpeningCoordinator:
    """Open the coordinator of a job. It keeps nothing in ``folder``."""
    return OpeningCoordinator(proposal)


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


def _by_name(model: PartyModel, rows: PartyRows) -> bytes:
    """Coefficients in units of the data. Those of the model are for entries over their bounds."""
    pairs = zip(model.features, model.coefficients, strict=True)
    named = [(cell(rows.features[k], ","), float(weight / rows.bounds[k])) for k, weight in pairs]
    if model.intercept:
        named.append(("intercept", model.intercept))
    lines = ["feature,coefficient", *(f"{name},{value!r}" for name, value in named)]
    return "".join(f"{line}\r\n" for line in lines).encode()
