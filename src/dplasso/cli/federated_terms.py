"""The options of ``dplasso federated submit``, derived from the terms of a proposal."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, Field
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer

from dplasso.cli.signatures import with_former
from dplasso.federated.declaration import old_names_of, terms_of
from dplasso.federated.terms import Proposal

_NO_OPTIONS = ("job", "parties")  # the server names the job; submit has its own option --party


def with_terms(command: Callable[..., None]) -> Callable[..., None]:
    """Replace ``**terms`` in the signature of a command by one option per term.

    Options of the previous version still work, with a warning.
    """
    kinds, terms = get_type_hints(Proposal), _terms()
    own = inspect.signature(command, eval_str=True)
    parameters = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
    parameters += [_option(one, kinds[name]) for name, one in terms.items()]
    command.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    return with_former(old_names_of(Proposal))(command)


def proposal_of(terms: Mapping[str, Any], parties: Sequence[str], known: Sequence[str]) -> Proposal:
    """Build the proposal of a job. Errors name the option."""
    given: dict[str, Any] = {}
    for name, one in _terms().items():
        value = one.default if terms[name] is None else terms[name]
        given[name] = value if value is None else one.metadata["check"](_flag(one), value)
    if given["epsilon"] == math.inf:
        raise ValueError("--epsilon must be a finite number above 0, got inf")
    if strange := sorted(set(parties) - set(known)):
        raise ValueError(f"--party {strange[0]} is not in this federation ({', '.join(known)})")
    if len(set(parties)) < len(parties) or len(parties) < 2:
        raise ValueError("a job needs two different parties or more; name each once with --party")
    if given["label_holder"] not in parties:
        raise ValueError(f"--label-holder must be a party that takes part ({', '.join(parties)})")
    return Proposal(parties=tuple(parties), **given)


def _terms() -> dict[str, Field[Any]]:
    return {one.name: one for one in terms_of(Proposal) if one.name not in _NO_OPTIONS}


def _flag(one: Field[Any]) -> str:
    return str(one.metadata["flags"].partition(" ")[0] or f"--{one.name.replace('_', '-')}")


def _option(one: Field[Any], kind: Any) -> inspect.Parameter:
    flags = one.metadata["flags"].split() or [_flag(one)]
    option = typer.Option(*flags, help=one.metadata["help"])
    default = inspect.Parameter.empty if one.default is MISSING else one.default
    if get_origin(kind) is tuple:  # an option that may be repeated
        kind, default = list[get_args(kind)[0]] | None, None  # type: ignore[misc]
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(one.name, keyword, annotation=Annotated[kind, option], default=default)
