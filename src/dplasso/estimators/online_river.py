"""The interface of river's estimators, and how river recognises the online models as its own.

river is optional. If it is installed, its base classes are loaded with the first model.
"""

import importlib
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, ClassVar, Self

_registered: set[type] = set()


class RiverEstimator:
    """What river asks of an estimator: copies without data, parameters, tags, sizes, pipelines.

    ``_kind`` is the name of the class in ``river.base`` that a model belongs to.

    Formal guarantees
    -----------------
    A clone has the parameters of a model and nothing that it learned: it begins a stream of its
    own, with noise of its own, and charges the accountant again.
    """

    _kind: ClassVar[str]
    _supervised = True

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[misc]  # of scikit-learn
        register(self)

    def clone(
        self, new_params: Mapping[str, Any] | None = None, include_attributes: bool = False
    ) -> Self:
        """Return a new model with the same parameters that has learned nothing, as in river.

        With ``include_attributes``, it is a snapshot: it predicts, and does not learn.

        Parameters
        ----------
        new_params : mapping or None, default=None
            Parameters that differ from those of this model.
        include_attributes : bool, default=False
            Whether the clone keeps the current weights.

        Returns
        -------
        PrivateOnlineClassifier or PrivateOnlineRegressor
        """
        found: Self = _base().Base.clone(self, new_params, include_attributes)
        return found

    def mutate(self, new_attrs: Mapping[str, Any]) -> None:
        """Reject changes: the promise of a stream cannot be changed while it runs.

        Parameters
        ----------
        new_attrs : mapping
            Attributes that river would change.
        """
        _base().Base.mutate(self, new_attrs)

    @property
    def _mutable_attributes(self) -> set[str]:
        return set()

    def _get_params(self) -> dict[str, Any]:
        params: dict[str, Any] = _base().Base._get_params(self)
        return params

    @classmethod
    def _unit_test_params(cls) -> Iterator[dict[str, Any]]:
        yield {"n_features": 64, "random_state": 0}

    def _unit_test_skips(self) -> set[str]:
        return set()

    @property
    def _tags(self) -> set[str]:
        return set()

    @property
    def _is_stochastic(self) -> bool:
        return False  # of river's own seeds: noise is not repeatable by design

    @property
    def _raw_memory_usage(self) -> int:
        size: int = _base().Base._raw_memory_usage.fget(self)
        return size

    @property
    def _memory_usage(self) -> str:
        size: str = _base().Base._memory_usage.fget(self)
        return size

    def __or__(self, other: Any) -> Any:
        return _base().Estimator.__or__(self, other)

    def __ror__(self, other: Any) -> Any:
        return _base().Estimator.__ror__(self, other)


def register(model: RiverEstimator) -> None:
    """Let river recognise a kind of model, if river is installed.

    A pipeline passes rows around a scaler that it does not recognise, and tells nobody. So it does
    not matter whether river was loaded before.
    """
    kind, found = type(model), _found()
    if found is not None and kind not in _registered:
        getattr(found, model._kind).register(kind)
        _registered.add(kind)


@cache
def _found() -> Any:
    """The base classes of river; None if it is not installed."""
    try:
        return importlib.import_module("river.base")
    except ImportError:
        return None


def _base() -> Any:
    from river import base

    return base
