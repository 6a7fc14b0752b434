"""One message, worded for Python and for the command; no front end rewrites the other's text."""

import pickle
import re
from pathlib import Path

import pytest

import dplasso
from dplasso.base import checks
from dplasso.base.wording import Message, ParameterError, Setting, worded
from dplasso.cli.app import app
from dplasso.cli.wording import OPTIONS, in_options

SOURCE = Path(dplasso.__file__).parent


def test_a_field_that_is_no_fact_is_a_parameter():
    private = Setting("x_bound", "private")
    message = Message("{path}: pass {x_bound}, or {other}", path="{x_bound}.csv", other=private)
    assert str(message) == "{x_bound}.csv: pass x_bound, or x_bound='private'"
    assert message.worded(in_options) == "{x_bound}.csv: pass --x-bound, or --x-bound private"
    assert message.parameters == ("x_bound",)


def test_a_message_within_a_message_is_worded_with_it():
    inner = Message("raise {n_features}")
    outer = ParameterError("line {line}: {reason}", line=3, reason=inner)
    assert str(outer) == "line 3: raise n_features"
    assert worded(outer, in_options) == "line 3: raise --features"


def test_errors_survive_a_pickle():
    error = pickle.loads(pickle.dumps(ParameterError("{window} is {value}", value=0)))
    assert str(error) == "window is 0" and error.parameters == ("window",)


def test_other_errors_are_worded_as_they_are():
    assert worded(ValueError("n_rows is wrong"), in_options) == "n_rows is wrong"
    assert worded(KeyboardInterrupt(), in_options) == ""


@pytest.mark.parametrize("check", [checks.budget, checks.target, checks.bound, checks.probability])
def test_checks_name_the_parameter(check):
    with pytest.raises(ParameterError, match=r"^n_rows must be .*got 'x' \(str\)") as refused:
        check("n_rows", "x")
    assert refused.value.parameters == ("n_rows",)
    assert worded(refused.value, in_options).startswith("--rows must be")


def test_options_of_the_table_are_options_of_the_command():
    """A parameter is never worded as an option that no command has."""
    from typer.main import get_command

    known = {
        option
        for command in get_command(app).commands.values()
        for parameter in command.params
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    assert {option for option in OPTIONS.values() if option.startswith("--")} <= known


def test_the_library_names_no_option_and_nobody_rewrites_messages():
    for path in SOURCE.rglob("*.py"):
        # The terms of federations name their options, kernels of cards those of a compiler, and a
        # module that is a command its own.
        if {"cli", "federated", "cuda", "__main__.py"} & set(path.parts):
            continue
        strings = re.findall(r'"[^"\n]*"', path.read_text())
        named = [text for text in strings if re.search(r"(?<![-\w])--[a-z]", text)]
        # A message may name another command, with its option.
        assert not [text for text in named if not re.search("dplasso (inspect|convert)", text)], (
            path
        )
