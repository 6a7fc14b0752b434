"""Commands whose options are the fields of a dataclass, or have former names."""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any

import typer

from dplasso.privacy.leaks import warn_of_former

Command = Callable[..., None]


def options_of(kind: type) -> Callable[[Command], Command]:
    """Give a command the fields of a dataclass as options, those that it inherits last."""
    given = inspect.signature(kind).parameters.values()
    ordered = sorted(
        given, key=lambda parameter: parameter.name not in inspect.get_annotations(kind)
    )

    def decorated(command: Command) -> Command:
        command.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
        return command

    return decorated


def with_former(names: Mapping[str, str]) -> Callable[[Command], Command]:
    """Let a command accept options by their former names, hidden and with a warning.

    ``names`` maps each former name to the name of today. Former names work for one version.
    """

    def decorated(command: Command) -> Command:
        given_by_former: dict[str, typer.Context] = {}

        @wraps(command)
        def called(**given: Any) -> None:
            for former, context in given_by_former.items():
                source = context.get_parameter_source(names[former])
                if source is not None and source.name == "COMMANDLINE":
                    flag, new = _flag(former), _flag(names[former])
                    raise ValueError(f"{flag} is the former name of {new}; give {new} alone")
            given_by_former.clear()
            command(**{name: value for name, value in given.items() if name not in names})

        own = inspect.signature(command, eval_str=True)
        hidden = [
            _hidden(former, name, own.parameters[name].default is False, given_by_former)
            for former, name in names.items()
        ]
        called.__signature__ = own.replace(parameters=[*own.parameters.values(), *hidden])  # type: ignore[attr-defined]
        return called

    return decorated


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _hidden(
    former: str, name: str, is_flag: bool, used: dict[str, typer.Context]
) -> inspect.Parameter:
    """Return a hidden option that gives its text to the one that replaces it."""

    def hand_on(context: typer.Context, value: Any) -> None:
        used.pop(former, None)
        if value is not None:
            warn_of_former(_flag(former), _flag(name))
            used[former] = context
            context.default_map = {**(context.default_map or {}), name: value}

    option = typer.Option(
        _flag(former), hidden=True, is_eager=True, expose_value=False, callback=hand_on
    )
    keyword = inspect.Parameter.KEYWORD_ONLY
    kind: Any = bool | None if is_flag else str | None
    return inspect.Parameter(former, keyword, annotation=Annotated[kind, option], default=None)
