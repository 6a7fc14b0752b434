"""Facts read from the data that a guarantee does not cover: told by a warning, or refused.

A fact such as the set of labels, if it is read from private data and not declared, is outside the
guarantee of a fit. It is reported by `PrivacyLeakWarning`. In *strict* mode it is an error instead,
before anything is drawn: set the environment variable ``DPLASSO_STRICT=1``, or call
``dplasso.set_strict(True)``, which takes precedence.
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
    """Something was taken from the data, or drawn, in a way that the guarantee does not cover."""


class UndeclaredBoundWarning(UserWarning):
    """A public bound was left out, and 1 is used. It tells nothing of the data; it may cost all
    that could be learned from them."""


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


def report(
    message: str | Message, *, warn: bool = True, category: type[Warning] = PrivacyLeakWarning
) -> None:
    """Refuse in strict mode; else warn, unless the privacy statement alone is to say it."""
    if is_strict():
        raise PrivacyLeakError(Message("{said} (refused in strict mode)", said=message))
    if warn:
        warn_caller(message, category)


def warn_caller(message: str | Message, category: type[Warning]) -> None:
    """Warn in any mode, and name the line of whoever called the package.

    Where a warning is to be shown once per line it is, though many fits follow from that line:
    scikit-learn sets the filters anew for each, which makes Python forget what it has shown.
    """
    level = _outside()
    caller: FrameType | None = sys._getframe()
    for _ in range(level - 1):
        caller = caller.f_back if caller is not None else None
    if not _was_shown(str(message), category, caller):
        warnings.warn(category(message), stacklevel=level)


def report_once(message: str | Message) -> None:
    """The same, but warn only the first time in a process."""
    report(message, warn=str(message) not in _told)
    _told.add(str(message))


def warn_once(message: str | Message) -> None:
    """Warn the first time in a process, and refuse nothing, where it is too late for that."""
    if str(message) not in _told:
        _told.add(str(message))
        warnings.warn(PrivacyLeakWarning(message), stacklevel=_outside())


def _was_shown(message: str, category: type[Warning], caller: FrameType | None) -> bool:
    """Whether the filters ask for a warning once, and it was shown for this line before."""
    module, path, line = "sys", "sys", 1  # as Python has it where nobody called
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
    """How many frames up the caller of the package stands: the line the warning should name."""
    frame, level = sys._getframe(1), 1
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in (
        "dplasso",
        "joblib",
        "sklearn",
    ):
        frame, level = frame.f_back, level + 1  # type: ignore[assignment]
    return level
