"""The privacy statement of a running sum, for machines."""

from typing import Any

from dplasso.privacy import gaussian
from dplasso.privacy.statement import jsonable
from dplasso.streams import account
from dplasso.streams.settings import TREES, Settings

_EXPIRED = (
    "rows older than the window are not protected: later releases may show them without noise"
)
_FOR_GOOD = "no row expires"


def statement(settings: Settings, *, secure: bool) -> dict[str, Any]:
    """A plain dict, ready for JSON; infinite numbers are the string "inf".

    ``window_rows`` is the number of rows that are actually protected, "all" for a whole stream.
    ``whole_stream`` is the cost of all releases of the stream for any row: "inf" if rows expire.
    """
    span = settings.span
    slides = span is not None and span.slides
    protected: int | str = "all"
    if span is not None and slides:
        steps = 1 << (span.levels - 1) if settings.construction in TREES else span.steps
        protected = steps * settings.batch
    told = {
        "release": "running sums",
        "mechanism": f"{settings.construction} with {settings.noise} noise on a grid",
        "calibration": settings.calibration,
        "window_rows": protected,
        "expired": _EXPIRED if slides else _FOR_GOOD,
        "batch": settings.batch,
        "neighboring": settings.neighboring,
        "sensitivity": settings.sensitivity,
        "too_long": settings.too_long,
        "adaptive": True,
        "secure_rng": secure,
    }
    cost = _cost(settings)
    return told | cost | {"whole_stream": "inf" if slides else cost}


def _cost(settings: Settings) -> dict[str, Any]:
    if settings.noise == "gamma":
        assert settings.epsilon is not None  # checked with the settings
        return {"epsilon": jsonable(settings.epsilon), "delta": 0.0}
    mu = account.mu(settings)
    cost = {"mu": jsonable(mu), "rho": jsonable(gaussian.rho_of_mu(mu))}
    if settings.delta is not None:
        cost |= {"epsilon": jsonable(gaussian.epsilon_of(mu, settings.delta))}
        cost |= {"delta": settings.delta}
    return cost
