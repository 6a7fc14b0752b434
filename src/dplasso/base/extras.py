"""Optional libraries: they are imported when used, and an error names what to install."""

from importlib import import_module
from typing import Any


class MissingExtraError(ImportError):
    """A library that belongs to an extra is not installed."""


def require(module: str, *parts: str, extra: str, purpose: str) -> Any:
    """Import a library that the ``extra`` of dplasso installs, and some of its modules.

    If the library is not installed, a `MissingExtraError` begins with the ``purpose``, what needs
    it. Other import errors are raised unchanged.

    >>> require("json", "decoder", extra="tables", purpose="reading JSON").loads("[1]")
    [1]
    >>> require("no_such_library", extra="tables", purpose="reading Parquet files")
    Traceback (most recent call last):
        ...
    dplasso.base.extras.MissingExtraError: reading Parquet files needs no_such_library, which is \
not installed; run: pip install 'dplasso[tables]'
    """
    try:
        found = import_module(module)
        for part in parts:
            import_module(f"{module}.{part}")
    except ModuleNotFoundError as error:
        if not _missing(module, error):
            raise
        raise MissingExtraError(
            f"{purpose} needs {module}, which is not installed; run: pip install 'dplasso[{extra}]'"
        ) from None
    return found


def optional(module: str) -> Any | None:
    """Import a library that makes something faster or nicer; None if it is not installed.

    >>> optional("no_such_library") is None
    True
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if not _missing(module, error):
            raise
        return None


def _missing(module: str, error: ModuleNotFoundError) -> bool:
    """Whether the library itself is missing, rather than something that it imports."""
    return error.name is not None and f"{module}.".startswith(f"{error.name}.")
