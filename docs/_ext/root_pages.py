"""Pages of the repository's root that the site includes: their links to each other hold there, too.

CONTRIBUTING.md is docs/development/contributing.md on the site; so for every name in capitals.
"""

import re

LINK = re.compile(r"\]\(([A-Z_]+)\.md(?=[)#])")


def setup(app):
    app.connect("include-read", _with_links)
    return {"parallel_read_safe": True}


def _with_links(app, path, docname, content):
    content[0] = LINK.sub(lambda link: f"](docs/development/{link[1].lower()}.md", content[0])
