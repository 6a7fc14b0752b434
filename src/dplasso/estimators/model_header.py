"""The header of a model file: entries and parameters that all kinds of models have."""

from collections.abc import Callable, Mapping
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplasso.estimators.parameters import current_names
from dplasso.losses.labels import LabelRange
from dplasso.storage.values import to_json

ENTRIES: dict[str, tuple[type, ...]] = {  # of every model file, with their types in JSON
    "class": (str,),
    "written_by": (str,),
    "parameters": (dict,),
    "classes": (dict, type(None)),
    "feature_names": (dict, type(None)),
    "n_features": (int,),
    "privacy": (dict,),
}


def check_entries(header: dict[str, Any], entries: Mapping[str, tuple[type, ...]]) -> None:
    """Reject missing entries, and entries of the wrong type."""
    for name, types in entries.items():
        if name not in header or type(header[name]) not in types:
            raise ValueError(f"header entry {name!r} is missing or of the wrong type")


def parameter_forms(
    model: Any, arrays: dict[str, NDArray[Any]], held: Callable[[str, Any], Any]
) -> dict[str, Any]:
    """Parameters as JSON; ``held`` returns what the file holds of a name's value.

    An accountant is saved as None, and so is a random_state that is not a whole number. A backend
    is saved as "local".
    """
    forms = {}
    for name, value in model.get_params(deep=False).items():
        seeded = isinstance(value, Integral) and not isinstance(value, bool)
        if name == "accountant" or (name == "random_state" and not seeded):
            value = None
        if name == "backend":  # of the fit, and as little a part of the model as its accountant
            value = "local"
        try:
            forms[name] = to_json(held(name, value), f"parameter_{name}", arrays)
        except ValueError as error:
            raise ValueError(
                f"parameter {name} {error}; replace it with set_params() before saving"
            ) from error
    return forms


def checked_parameters(saved: dict[str, Any], kind: Any) -> dict[str, Any]:
    """Return saved parameters by their names of today, and reject unknown ones.

    A file never holds an accountant or a generator.
    """
    known = kind().get_params(deep=False)
    parameters = current_names(saved, known, silent=True)
    for unknown in parameters.keys() - known.keys():
        raise ValueError(f"parameter {unknown!r} is unknown; upgrade dplasso to read it")
    if parameters.get("accountant") is not None:
        raise ValueError("parameter 'accountant' is not null; pass the ledger after loading")
    seed = parameters.get("random_state")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, Integral)):
        raise ValueError("parameter 'random_state' is neither null nor a whole number")
    for name in ("classes", "feature_names"):
        if np.ndim(parameters.get(name, ())) != 1 and parameters[name] is not None:
            raise ValueError(f"parameter {name!r} is neither null nor a list")
    if parameters.get("y_bound") is not None:
        LabelRange.of(parameters["y_bound"])
    return parameters
