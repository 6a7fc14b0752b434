"""Sections *Formal guarantees* of docstrings, which numpydoc does not know, and would drop.

They are taken out before numpydoc renders a docstring, and put back as its last section.
"""

from numpydoc.docscrape import NumpyDocString

TITLE = "Formal guarantees"


def setup(app):
    kept = {}
    NumpyDocString.sections[TITLE.title()] = ""  # numpydoc reads signatures in docstrings, too

    def take_out(app, what, name, obj, options, lines):
        first = next((i for i, line in enumerate(lines) if line.strip() == TITLE), None)
        if first is None:
            return
        end = next(
            (i for i in range(first + 2, len(lines) - 1) if _is_rule(lines[i + 1])), len(lines)
        )
        kept[name] = lines[first + 2 : end]
        del lines[first:end]

    def put_back(app, what, name, obj, options, lines):
        if name in kept:
            lines += ["", f".. rubric:: {TITLE}", "", *kept.pop(name), ""]

    app.setup_extension("sphinx.ext.autodoc")
    app.connect("autodoc-process-docstring", take_out, priority=400)
    app.connect("autodoc-process-docstring", put_back, priority=600)
    return {"parallel_read_safe": True}


def _is_rule(line):
    """Whether a line underlines the title of a section."""
    return len(line.strip()) > 3 and not line.strip("- ")
