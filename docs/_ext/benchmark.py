"""The directive ``benchmark``: what a script of benchmarks/ last wrote, as it wrote it.

The argument is the name of the script; the option ``files`` lists what it wrote in
benchmarks/results/ under another name. The question comes from the script, the machine from the
files; the option ``machine`` says it where the files are of several runs.
"""

import ast
import json
import re
from pathlib import Path

from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
RESULTS = BENCHMARKS / "results"
MACHINE = re.compile(r"(?:AMD|Intel|NVIDIA)[^;:]*?Python [\d.]*\d")
LONG = 30  # lines that are shown at once


class Benchmark(SphinxDirective):
    required_arguments = 1
    option_spec = dict.fromkeys(("files", "arguments", "machine"), directives.unchanged)

    def run(self):
        name = self.arguments[0]
        script = BENCHMARKS / f"{name}.py"
        files = self.options.get("files", "").split() or default_files(name)
        for path in (script, *(RESULTS / file for file in files)):
            if not path.exists():
                raise self.error(f"{path.name} does not exist")
            self.env.note_dependency(str(path))
        return self.parse_text_to_nodes(self._text(script, files), allow_section_headings=False)

    def _text(self, script, files):
        summary = ast.get_docstring(ast.parse(script.read_text())).partition("\n")[0]
        machines = self.options.get("machine") or "; ".join(machines_of(files))
        command = f"make bench-{script.stem}"
        if "arguments" in self.options:
            command += f" ARGS='{self.options['arguments']}'"
        lines = [summary, "", f"Command: `{command}`. "]
        lines[-1] += f"Machine: {machines}." if machines else "The file names no machine."
        above = "/".join([".."] * (1 + self.env.docname.count("/")))
        for file in files:
            place = f"{above}/benchmarks/results/{file}"
            if file.endswith(".png"):
                lines += ["", f"```{{image}} {place}", f":alt: {summary}", "```"]
            else:
                lines += ["", *_shown(place, file)]
        return "\n".join(lines)


def default_files(name):
    """The plots of a script, then its text, or its numbers where it writes no text."""
    texts = [f"{name}.txt"] if (RESULTS / f"{name}.txt").exists() else [f"{name}.json"]
    return sorted(path.name for path in RESULTS.glob(f"{name}.png")) + texts


def machines_of(files):
    """Machines that the files name, or the numbers beside them, each once."""
    found = {}
    for file in files:
        path = (RESULTS / file).with_suffix(".txt")
        named = MACHINE.findall(path.read_text()) if path.exists() else []
        numbers = path.with_suffix(".json")
        if not named and numbers.exists():
            saved = json.loads(numbers.read_text())
            named = MACHINE.findall(saved.get("machine", "")) if isinstance(saved, dict) else []
        found.update(dict.fromkeys(named))
    return list(found)


def _shown(place, file):
    language = "json" if file.endswith(".json") else "text"
    included = [f"```{{literalinclude}} {place}", f":language: {language}", "```"]
    is_short = len((RESULTS / file).read_text().splitlines()) <= LONG
    if language == "text" and is_short:
        return included
    return [f"````{{dropdown}} {file}", *included, "````"]


def setup(app):
    app.add_directive("benchmark", Benchmark)
    return {"parallel_read_safe": True}
