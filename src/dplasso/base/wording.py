"""Messages that name parameters, so that every front end can use its own names for them.

The library uses the Python name of a parameter, ``n_rows``; the command line uses its option,
``--rows``. Both format the same `Message`, and neither rewrites the other's text.
"""

from collections.abc import Callable, Mapping
from string import Formatter
from typing import Any, NamedTuple

Wording = Callable[[str, object], str]
"""How a front end words a parameter, or a parameter and the value to give it (None: no value)."""


class Setting(NamedTuple):
    """A parameter to be named in a message together with the value to give it."""

    parameter: str
    value: object = None


class Message:
    """A text with fields in braces, which are given facts or else names of parameters.

    ``{path}`` is the fact ``path`` if there is one, else the parameter of that name. A `Setting` is
    shown as a parameter, a `Message` as part of this one.

    >>> message = Message("{path} has numbers; pass {bounds}, or declare {n_rows}", path="a.csv",
    ...                   bounds=Setting("bounds", {"age": (0, 120)}))
    >>> str(message)
    "a.csv has numbers; pass bounds={'age': (0, 120)}, or declare n_rows"
    >>> message.worded(lambda name, value: f"--{name}")
    'a.csv has numbers; pass --bounds, or declare --n_rows'
    """

    def __init__(self, text: str, /, **facts: object) -> None:
        self.text, self.facts = text, facts

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters that the message names, in order."""
        named = [
            fact.parameter if isinstance(fact := self.facts.get(field), Setting) else field
            for _, field, _, _ in Formatter().parse(self.text)
            if field is not None
            and (field not in self.facts or isinstance(self.facts[field], Setting))
        ]
        return tuple(dict.fromkeys(named))

    def worded(self, wording: Wording) -> str:
        """The text, with parameters named by ``wording``."""
        return self.text.format_map(_Fields(self.facts, wording))

    def __str__(self) -> str:
        return self.worded(in_python)

    def __repr__(self) -> str:
        return repr(str(self))


class ParameterError(ValueError):
    """A parameter has a value that cannot be used, or lacks one that is needed.

    The text and its facts are as for `Message`; it names the parameter, the problem and the remedy.

    >>> error = ParameterError("{window} must be at least 1, got {given}; give more", given=0)
    >>> str(error), error.parameters
    ('window must be at least 1, got 0; give more', ('window',))
    """

    def __init__(self, message: str | Message, /, **facts: object) -> None:
        super().__init__(message if isinstance(message, Message) else Message(message, **facts))

    @property
    def parameters(self) -> tuple[str, ...]:
        """The parameters that the error names, in order."""
        message: Message = self.args[0]
        return message.parameters


def worded(said: BaseException, wording: Wording) -> str:
    """The text of an error or a warning, with parameters named by ``wording``."""
    message = said.args[0] if said.args else None
    return message.worded(wording) if isinstance(message, Message) else str(said)


def in_python(parameter: str, value: object) -> str:
    """The Python name of a parameter, with the value to give it if there is one."""
    return parameter if value is None else f"{parameter}={value!r}"


class _Fields(dict[str, Any]):
    def __init__(self, facts: Mapping[str, object], wording: Wording) -> None:
        super().__init__((name, _shown(fact, wording)) for name, fact in facts.items())
        self._wording = wording

    def __missing__(self, parameter: str) -> str:
        return self._wording(parameter, None)


def _shown(fact: object, wording: Wording) -> object:
    if isinstance(fact, Setting):
        return wording(*fact)
    return fact.worded(wording) if isinstance(fact, Message) else fact
