"""Commands that a page names without running them: what they name must exist.

A command in the midst of a sentence, or one that installs, builds or needs a cluster, is parsed by
the parser of the real command. It may leave out what the sentence is not about, such as the file of
a model, and words in capitals stand for what the reader fills in.
"""

import re
import shlex
import tomllib

import typer
from typer.main import get_command

from doc_pages import ROOT, RUN, blocks
from dplasso.cli.app import app

_EXTRA = re.compile(r"(?:dplasso|\.)\[([\w,-]+)\]")
_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_FENCED = re.compile(r"^( *)(`{3,}|~{3,})(?!\{).*?^ *\2 *$", re.MULTILINE | re.DOTALL)
_OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
_FILLED_IN = re.compile(r"^[A-Z]+$")
_PROGRAMS = ("dplasso", "make", "pip", "python", "python3", ".venv/bin/pytest")
_RAYS = {"--system-config"}  # an option of `ray start`

COMMAND = get_command(app)


def named(text):
    """The commands and options that stand in the sentences and unrun blocks of a page."""
    found = [" ".join(span.split()) for _, span in _SPAN.findall(_FENCED.sub("", text))]
    for block in blocks(text):
        if block.language not in RUN:
            found += block.code.replace("\\\n", " ").splitlines()
    return [span for span in found if _is_command(span)]


def check(command):
    """What a command names exists: its subcommand, options, extras, targets and files."""
    first, *others = command.split(" | ")
    for other in others:  # subcommands that are listed
        check(f"{first.rpartition(' ')[0]} {other}")
    words = shlex.split(first, comments=True)
    program, *arguments = words
    if program.startswith("-"):
        _check_options(words)
    elif program == "make":
        _check_targets(arguments)
    elif "install" in words:
        _check_extras(command)
    elif program == "dplasso":
        _check_parsed(COMMAND, arguments)
    elif program in subcommands():
        _check_parsed(subcommands()[program], arguments)
    else:
        _check_script(program, arguments)


def subcommands():
    """Every subcommand by its name alone, those of groups too."""
    found = {}
    for name, command in COMMAND.commands.items():
        found |= {name: command, **getattr(command, "commands", {})}
    return found


def _is_command(span):
    words = span.split()
    if not words or re.search(r"[(){}=]\s|→", span):
        return False
    if words[0] in _PROGRAMS:
        return re.match(r"[-\w./']+$", " ".join(words[1:2])) is not None
    return bool(_OPTION.match(span)) or (words[0] in subcommands() and bool(_OPTION.search(span)))


def _check_parsed(command, words):
    """The words have the form of the command, as far as they go."""
    words = [word for word in words if word != "..."]
    while words and hasattr(command, "commands") and not words[0].startswith("-"):
        name, *words = words
        if _FILLED_IN.match(name):
            return
        assert name in command.commands, f"there is no command {name}"
        command = command.commands[name]
    words = ["1" if _FILLED_IN.match(word) else word for word in words]
    found = _error(command, words)
    while _is_missing(found, "argument"):  # values of options are checked after all arguments
        words.append("1")
        found = _error(command, words)
    if _is_missing(found, "option"):
        return
    message = getattr(found, "message", repr(found))
    is_only_named = words and message.startswith(f"Option {words[-1]!r} requires an argument")
    assert found is None or is_only_named, message


def _is_missing(error, kind):
    is_missing = type(error).__name__ == "MissingParameter"
    return is_missing and error.param.param_type_name == kind


def _error(command, words):
    """What the command has against these words, before it does anything."""
    if not words and hasattr(command, "commands"):
        return None
    try:
        command.make_context("dplasso", list(words))
    except typer.Exit:
        return None
    except Exception as error:
        return error
    return None


def _check_options(words):
    """Each option is one of the command, or of a script in benchmarks/."""
    options = {spelling for found in _leaves(COMMAND) for spelling in _spellings(found)}
    scripts = "".join(path.read_text() for path in (ROOT / "benchmarks").rglob("*.py"))
    for option in _OPTION.findall(" ".join(words)):
        known = option in options | _RAYS or f'"{option}"' in scripts
        assert known, f"there is no option {option}"


def _leaves(command):
    below = getattr(command, "commands", None)
    return [command] if below is None else [leaf for one in below.values() for leaf in _leaves(one)]


def _spellings(command):
    return [
        "--help",
        *(name for one in command.params for name in (*one.opts, *one.secondary_opts)),
    ]


def _check_targets(words):
    targets = {word for word in words if "=" not in word and word != "bench-NAME"}
    # A dry run would run the lines that call make again.
    known = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    studies = {f"bench-{path.stem}" for path in (ROOT / "benchmarks").glob("*.py")}
    assert targets <= known | studies, f"there is no target {targets - known - studies}"


def _check_extras(command):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for extras in _EXTRA.findall(command):
        missing = set(extras.split(",")) - set(project["optional-dependencies"])
        assert not missing, f"there is no extra {missing}"


def _check_script(program, words):
    """A script or a module of ours, or the tests of a folder."""
    if words[:1] == ["-m"]:
        module = words[1].replace(".", "/")
        places = [ROOT / "src" / f"{module}.py", ROOT / "src" / module / "__main__.py"]
        assert any(place.exists() for place in places), f"there is no module {words[1]}"
        return
    script, *rest = words
    assert (ROOT / script).exists(), f"there is no {script}"
    if script.endswith(".py"):
        _check_options([word for word in rest if word.startswith("--")])
