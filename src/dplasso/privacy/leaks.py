"""Warnings and errors for facts read from the data that a guarantee does not cover.

A fact such as the set of labels, if it is read from private data and not declared, is outside the
guarantee of a fit. It is reported by `PrivacyLeakWarning`. In *strict* mode it is an error instead,
raised before anything is drawn. To enable strict mode, set the environment variable
``DPLASSO_STRICT=1``, or call ``dplasso.set_strict(True)``, which takes precedence.
"""

import os
import sys
import warnings
from types import FrameType

from dplasso.base.wording import Message

_setting: bool | None = None
_told: set[str] = set()
_shown: set[tuple[type[Warning], str, str, int]] = set()


class PrivacyLeakWarning(UserWarning):
    """A fact was read from the data, or noise was drawn, in a way the guarantee does not cover."""


class UndeclaredBoundWarning(UserWarning):
    """A public bound was not declared, and 1 is used.

    That reveals nothing about the data, but clipping to a wrong bound may make the fit useless.
    """


class OnlyNoiseWarning(UserWarning):
    """The noise of a fit would hide the effect of the columns, and the model hardly uses them.

    The warning depends on releases alone, so it reveals nothing more.
    """


class OwnerWarning(UserWarning):
    """A warning about the rows that is for their owner only.

    Like errors about rows, it is for people who may see them. Nothing that is released depends on
    it, and strict mode does not give it.
    """


class RowCountWarning(UserWarning):
    """The released counts contradict the declared number of rows, or of people.

    Steps and noise are chosen for the declared number, so a fit with a wrong one learns less. The
    warning depends on releases alone, so it reveals nothing more.
    """


class PrivacyLeakError(ValueError):
    """A leak that `PrivacyLeakWarning` would report, rejected in strict mode."""


def set_strict(strict: bool | None) -> None:
    """Reject undeclared facts, allow them, or follow the environment.

    Strict mode checks what a fit is given. It cannot see scores that are computed in Python, what
    earlier steps of a pipeline learned from private rows, where a declared number came from, or
    other fits without a ledger.

    Parameters
    ----------
    strict : bool or None
        True rejects undeclared facts and False allows them; None follows ``DPLASSO_STRICT``.

    Examples
    --------
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
    """Return whether undeclared facts are rejected.

    Returns
    -------
    bool
    """
    if _setting is not None:
        return _setting
    return os.environ.get("DPLASSO_STRICT", "").strip().lower() not in ("", "0", "false", "no")


def report(
    message: str | Message, *, warn: bool = True, category: type[Warning] = PrivacyLeakWarning
) -> None:
    """Raise in strict mode; otherwise warn, unless only the privacy statement should say it."""
    if is_strict():
        raise PrivacyLeakError(Message("{said} (refused in strict mode)", said=message))
    if warn:
        warn_caller(message, category)


def warn_caller(message: str | Message, category: type[Warning]) -> None:
    """Warn in any mode, at the line that called the package.

    A warning that the filters show once per line is shown once, even if that line starts many fits:
    scikit-learn resets the filters for each fit, which makes Python forget what it has shown.
    """
    level = _outside()
    caller: FrameType | None = sys._getframe()
    for _ in range(level - 1):
        caller = caller.f_back if caller is not None else None
    if not _was_shown(str(message), category, caller):
        warnings.warn(category(message), stacklevel=level)


def warn_of_former(former: str, name: str) -> None:
    """Warn that a name of a parameter, an option or a setting has changed."""
    warn_caller(
        f"{former} is now called {name}; the next version will not read the old name",
        FutureWarning,
    )


def tell_owner(what: str) -> None:
    """Warn of something that only the owner of the rows may know, unless in strict mode.

    Formal guarantees
    -----------------
    It never raises, also where filters make warnings errors: it is then written to standard error.
    So no result and no exit code depends on the rows through it.
    """
    if is_strict():
        return
    told = f"for the data owner's eyes only, not to be published: {what}"
    try:
        warn_caller(told, OwnerWarning)
    except OwnerWarning:
        print(f"warning: {told}", file=sys.stderr)


def report_once(message: str | Message) -> None:
    """Like `report`, but warn only the first time in a process."""
    report(message, warn=str(message) not in _told)
    _told.add(str(message))


def warn_once(message: str | Message) -> None:
    """Warn the first time in a process and never raise: for facts found too late to reject."""
    if str(message) not in _told:
        _told.add(str(message))
        warnings.warn(PrivacyLeakWarning(message), stacklevel=_outside())


def _was_shown(message: str, category: type[Warning], caller: FrameType | None) -> bool:
    """Whether the filters show a warning only once, and it was already shown for this line."""
    module, path, line = "sys", "sys", 1  # Python's values if there is no caller
    if caller is not None:
        module = caller.f_globals.get("__name__") or "<unknown>"
        path, line = caller.f_code.co_filename, caller.f_lineno
    action = warnings.defaultaction  # type: ignore[attr-defined]
    for found, text, kind, place, only in warnings.filters:
        if (
            issubclass(category, kind)
            and (text is None or text.match(message))
            and (place is None or place.match(module))
            and only in (0, line)
        ):
            action = found
            break
    if action not in ("default", "module", "once"):
        return False
    shown = (category, message, path, line)
    before = shown in _shown
    _shown.add(shown)
    return before


def _outside() -> int:
    """Stack level of the caller of the package, whose line the warning should name."""
    frame, level = sys._getframe(1), 1
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in (
        "dplasso",
        "joblib",
        "sklearn",
    ):
        frame, level = frame.f_back, level + 1  # type: ignore[assignment]
    return level
