"""Facts read from the data that a guarantee does not cover: told by a warning, or refused.

A fact such as the set of labels, if it is read from private data and not declared, is outside the
guarantee of a fit. It is reported by `PrivacyLeakWarning`. In *strict* mode it is an error instead,
before anything is drawn: set the environment variable ``DPLASSO_STRICT=1``, or call
``dplasso.set_strict(True)``, which takes precedence.
"""

import os
import sys
import warnings

_setting: bool | None = None
_told: set[str] = set()


class PrivacyLeakWarning(UserWarning):
    """Something was taken from the data, or drawn, in a way that the guarantee does not cover."""


class PrivacyLeakError(ValueError):
    """The same, refused in strict mode."""


def set_strict(strict: bool | None) -> None:
    """Refuse undeclared facts (True), allow them (False), or ask the environment (None).

    >>> set_strict(True)
    >>> is_strict()
    True
    >>> set_strict(None)
    """
    if strict is not None and not isinstance(strict, bool):
        raise ValueError(f"strict must be True, False or None, got {type(strict).__name__}")
    global _setting
    _setting = strict


def is_strict() -> bool:
    """Whether undeclared facts are refused."""
    if _setting is not None:
        return _setting
    return os.environ.get("DPLASSO_STRICT", "").strip().lower() not in ("", "0", "false", "no")


def report(message: str, *, warn: bool = True) -> None:
    """Refuse in strict mode; else warn, unless the privacy statement alone is to say it."""
    if is_strict():
        raise PrivacyLeakError(f"{message} (refused in strict mode)")
    if warn:
        warnings.warn(message, PrivacyLeakWarning, stacklevel=_outside())


def report_once(message: str) -> None:
    """The same, but warn only the first time in a process."""
    report(message, warn=message not in _told)
    _told.add(message)


def _outside() -> int:
    """How many frames up the caller of the package stands: the line the warning should name."""
    frame, level = sys._getframe(1), 1
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in (
        "dplasso",
        "sklearn",
    ):
        frame, level = frame.f_back, level + 1  # type: ignore[assignment]
    return level
