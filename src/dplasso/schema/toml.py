"""Schema files: TOML, read strictly and written with care."""

import json
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from dplasso.schema.roles import ROLES, Role, Undecided
from dplasso.schema.schema import FACTS, Schema

_Path = str | os.PathLike[str]
_EXACT = 2**53  # whole numbers up to this one are written without a point


class SchemaError(ValueError):
    """A schema file cannot be used."""


def read(path: _Path) -> dict[str, Any]:
    """The parameters of the schema in a file."""
    where = os.fsdecode(path)
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SchemaError(f"{where} is not in UTF-8; save it in that encoding") from None
    return parse(text, where)


def parse(text: str, where: str = "the schema") -> dict[str, Any]:
    """The parameters of the schema that a text describes; errors begin with ``where``."""
    try:
        content = tomllib.loads(text.replace("\r\n", "\n"))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        said = str(error)[:1].lower() + str(error)[1:]
        raise SchemaError(f"{where} is not valid TOML: {said}; correct that line") from None
    _check_keys(where, content, ("columns", *FACTS))
    columns = content.pop("columns", None)
    if not isinstance(columns, dict) or not columns:
        raise SchemaError(f"{where} has no columns; add one table per column: [columns.age]")
    roles = {name: _role(where, name, settings) for name, settings in columns.items()}
    try:
        Schema(roles, **content)
    except ValueError as error:
        raise SchemaError(f"{where}: {error}") from None
    return {"columns": roles, **content}


def _role(where: str, name: str, settings: Any) -> Role:
    place = f"{where}, [columns.{key(name)}]"
    if not isinstance(settings, dict):
        raise SchemaError(
            f'{place} must be a table with a role, such as {{role = "number", low = 0, high = 1}}'
        )
    kind = settings.get("role")
    if kind is None:
        _check_keys(place, settings, ())
        return Undecided()
    if not isinstance(kind, str) or kind not in ROLES:
        near = get_close_matches(str(kind), ROLES, n=1)
        meant = f"did you mean {near[0]!r}?" if near else f"it is one of {', '.join(ROLES)}"
        raise SchemaError(f"{place} has an unknown role; {meant}")
    known = [own.name for own in fields(ROLES[kind])]
    given = {setting: value for setting, value in settings.items() if setting != "role"}
    _check_settings(place, given, kind)
    _check_keys(place, given, known, f'the role "{kind}"')
    try:
        return ROLES[kind](**given)
    except (ValueError, TypeError, OverflowError) as error:
        raise SchemaError(f"{place}: {error}") from None


def _check_settings(place: str, given: Iterable[str], kind: str) -> None:
    """Reject settings that only other roles have, such as ``log`` of a target."""
    takers = {name: [own.name for own in fields(role)] for name, role in ROLES.items()}
    for name in given:
        others = [f'"{role}"' for role, known in takers.items() if name in known]
        if name not in takers[kind] and others:
            takes = ", ".join(takers[kind]) or "no settings"
            raise SchemaError(
                f'{place} has an unknown key {name!r}; the role "{kind}" takes {takes}; {name} is '
                f"for the role {' or '.join(others)}"
            )


def _check_keys(where: str, given: Iterable[str], known: Iterable[str], what: str = "it") -> None:
    known = list(known)
    for name in given:
        if name in known:
            continue
        near = get_close_matches(name, known, n=1)
        takes = f"{what} takes {', '.join(known)}" if known else f"{what} takes no settings"
        if not known and what == "it":
            takes = 'give it a role first: role = "number"'
        meant = f"did you mean {near[0]!r}?" if near else takes
        raise SchemaError(f"{where} has an unknown key {name!r}; {meant}")


def text_of(schema: Schema) -> str:
    """The schema as TOML, from which `parse` reads the same schema."""
    lines = [
        f"{name} = {value_text(getattr(schema, name))}"
        for name in FACTS
        if getattr(schema, name) is not None
    ]
    for name, role in schema.columns.items():
        lines += ["", f"[columns.{key(name)}]"]
        lines += [f"role = {value_text(role.kind)}"] if role.kind else []
        lines += [f"{own} = {value_text(value)}" for own, value in role.settings().items()]
    return "\n".join(lines).lstrip("\n") + "\n"


def key(name: str) -> str:
    """A key of TOML, in quotes unless it is plain.

    >>> key("age"), key("a.b"), key('say "x"')
    ('age', '"a.b"', '"say \\\\"x\\\\""')
    """
    plain = name.isascii() and name.replace("-", "").replace("_", "").isalnum()
    return name if plain else _quoted(name)


def value_text(value: Any) -> str:
    """A value of TOML.

    >>> value_text(["a", 1.0, True]), value_text({"no": 0.5})
    ('["a", 1, true]', '{no = 0.5}')
    """
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        whole = float(value).is_integer() and abs(value) < _EXACT
        return str(int(value)) if whole or isinstance(value, int) else repr(value)
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key(a)} = {value_text(b)}" for a, b in value.items()) + "}"
    return "[" + ", ".join(value_text(one) for one in value) + "]"


def _quoted(text: str) -> str:
    """A basic string: the escapes of JSON are among those of TOML, which also escapes DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
