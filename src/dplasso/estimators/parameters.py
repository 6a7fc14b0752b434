"""How estimators store their parameters, take former names of them, and reject unknown ones."""

from collections.abc import Collection, Mapping
from inspect import Parameter, signature
from typing import Any, Self

from dplasso.base.wording import ParameterError, Setting
from dplasso.privacy.leaks import warn_of_former

# Former names, which work for one version. `_sparsify` occurs in pickled models only.
FORMER = {"rows": "row_map", "sparsify": "n_nonzero", "_sparsify": "n_nonzero"}
_WEIGHTED = "a weight multiplies a row's influence, and with it what the row is promised"
_STREAMED = "a window is one of rows, and windows that protect people are not offered"
_REJECTED = {"sample_weight": _WEIGHTED, "class_weight": _WEIGHTED, "groups": _STREAMED}


class FormerAttribute:
    """An attribute under its former name. Using it warns, and means the attribute of today."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __set_name__(self, owner: type, former: str) -> None:
        self._former = former

    def __get__(self, model: Any, kind: type | None = None) -> Any:
        if model is None:
            return self
        warn_of_former(self._former, self._name)
        return getattr(model, self._name)

    def __set__(self, model: Any, value: object) -> None:
        warn_of_former(self._former, self._name)
        setattr(model, self._name, value)


class StoredParameters:
    """Parameters of an estimator, as scikit-learn asks for them: stored untouched, by name."""

    rows = FormerAttribute("row_map")

    def __init_subclass__(cls, **kwargs: object) -> None:
        """Hide the catch-all argument, which takes former names, from the signature."""
        super().__init_subclass__(**kwargs)
        shown = signature(cls.__init__)
        _, *given = shown.parameters.values()
        named = [p for p in given if p.kind is not Parameter.VAR_KEYWORD]
        cls.__signature__ = shown.replace(parameters=named)  # type: ignore[attr-defined]

    def _store(self, given: Mapping[str, Any]) -> None:
        """Store the arguments of a constructor, which are its ``locals()``."""
        found = {name: value for name, value in given.items() if name not in ("self", "others")}
        usual = signature(type(self)).parameters
        chosen = {name for name in usual if found.get(name) is not usual[name].default}
        others = current_names(given["others"], found, chosen)
        reject({name: value for name, value in others.items() if name not in found}, self)
        vars(self).update(found | others)

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name, as in scikit-learn."""
        known = signature(type(self)).parameters
        found: Self = super().set_params(**current_names(params, known, params))  # type: ignore[misc]
        return found

    def __setstate__(self, state: dict[str, Any]) -> None:
        known = signature(type(self)).parameters
        super().__setstate__(current_names(state, known, silent=True))  # type: ignore[misc]


def current_names(
    given: Mapping[str, Any],
    known: Collection[str],
    chosen: Collection[str] = (),
    *,
    silent: bool = False,
) -> dict[str, Any]:
    """Return parameters by their names of today, and warn of former ones.

    ``known`` are the parameters that exist, and ``chosen`` those that were given by their new name.
    ``silent`` is for files of earlier versions, which may have both names of a parameter.
    """
    found = {name: value for name, value in given.items() if not is_former(name, known)}
    for former in given.keys() - found.keys():
        name = FORMER[former]
        if not silent:
            warn_of_former(former, name)
            if name in chosen:
                raise ParameterError(
                    "{former} is the former name of {parameter}; give {parameter} alone",
                    former=former,
                    parameter=Setting(name),
                )
        if found.get(name) is None:
            found[name] = given[former]
    return found


def is_former(name: str, known: Collection[str]) -> bool:
    """Whether a name is the former name of one of the parameters ``known``."""
    return name in FORMER and name not in known and FORMER[name] in known


def reject(options: Mapping[str, object], where: object) -> None:
    """Raise an error that says why an option does not exist; none is ignored."""
    shown = where if isinstance(where, str) else type(where).__name__
    for name in options:
        reason = _REJECTED.get(name)
        if reason is None:
            raise TypeError(f"{shown} got an unexpected option {name!r}")
        raise TypeError(f"{shown} does not take {name}: {reason}; leave it out")
