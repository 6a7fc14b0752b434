"""All planted bugs under one roof, each under a name of its own."""

import planted
import planted_blind
import planted_by_degree as degrees
import planted_in_bits
import planted_in_selection
import planted_in_storage
import planted_in_streams
import planted_in_tables
from planted_bug import Bug

_BY_DEGREE = {
    "theta a tenth too large in the engine": Bug(degrees.theta_times(1.1), ("range", "law")),
    "entries clipped a thousandth too late": Bug(degrees.clip_times(1.001), ("range",)),
    "noise of the count halved": Bug(degrees.noise_of_the_count_times(0.5), ("count",)),
    "rows a thousandth too long": Bug(degrees.rows_times(1.001), ("sensitivity",), "gradient"),
    "noise of sums a twentieth too small": Bug(degrees.noise_times(0.95), ("noise",), "gradient"),
    "draws a twentieth too sharp": Bug(degrees.theta_of_choices_times(1.05), ("range",), "select"),
    "noise of streams a twentieth too small": Bug(
        degrees.noise_of_streams_times(0.95), ("noise",), "online"
    ),
}

BUGS: dict[str, Bug | planted_blind.Bug] = {
    **planted.BUGS,
    **{name: Bug(*slip) for name, slip in planted_in_selection.SLIPS.items()},
    **{name: Bug(*bug) for name, bug in planted_in_bits.BUGS.items()},
    **planted_in_storage.BUGS,
    **planted_in_tables.BUGS,
    **{f"streams: {name}": bug for name, bug in planted_in_streams.BUGS.items()},
    **_BY_DEGREE,
    **{f"blind: {name}": bug for name, bug in planted_blind.BUGS.items()},
}
