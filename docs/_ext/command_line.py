"""The directive ``command-line``: the reference of a command, made from the command itself.

The argument is where its typer application is found, as ``module:name``. Every subcommand becomes a
section with what its ``--help`` prints: usage, help, arguments and options.
"""

import inspect
from importlib import import_module

import typer
from docutils import nodes
from sphinx.util.docutils import SphinxDirective
from typer.main import get_command

LEFT_OUT = {"--help"}


class CommandLine(SphinxDirective):
    required_arguments = 1

    def run(self):
        module, _, name = self.arguments[0].partition(":")
        command = get_command(getattr(import_module(module), name))
        return [_section(words, found) for words, found in commands(command, command.name)]


def commands(command, words):
    """Every command that is no group, with the words that call it, in the order of the help."""
    below = getattr(command, "commands", None)
    if below is None:
        yield words, command
        return
    for name, found in below.items():
        yield from commands(found, f"{words} {name}")


def parameters(command, words):
    """For arguments and then options, a list of pairs: how it is spelt, and what it means."""
    context = typer.Context(command, info_name=words)
    groups = {"Arguments": [], "Options": []}
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if record is not None and not LEFT_OUT & set(parameter.opts):
            is_option = parameter.param_type_name == "option"
            groups["Options" if is_option else "Arguments"].append(record)
    return groups


def usage(command, words):
    pieces = command.collect_usage_pieces(typer.Context(command, info_name=words))
    return " ".join([words, *pieces])


def _section(words, command):
    section = nodes.section(ids=[nodes.make_id(words)], names=[words])
    section += nodes.title("", words)
    line = usage(command, words)
    section += nodes.literal_block(line, line, language="text")
    for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
        section += nodes.paragraph("", " ".join(paragraph.split()))
    for name, records in parameters(command, words).items():
        if records:
            section += nodes.rubric("", name)
            section += nodes.definition_list("", *map(_definition, records))
    return section


def _definition(record):
    spelling, meaning = (" ".join(text.split()) for text in record)
    term = nodes.term("", "", nodes.literal(spelling, spelling))
    text = nodes.paragraph("", meaning)
    return nodes.definition_list_item("", term, nodes.definition("", text))


def setup(app):
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True}
