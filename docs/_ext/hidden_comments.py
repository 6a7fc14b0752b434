"""Comments of a page, which are for its authors and for tests, stay out of the site."""

import re

from docutils import nodes

COMMENT = re.compile(r"\s*<!--.*-->\s*", re.DOTALL)


def setup(app):
    app.connect("doctree-read", _without_comments)
    return {"parallel_read_safe": True}


def _without_comments(app, doctree):
    for node in list(doctree.findall(nodes.raw)):
        if COMMENT.fullmatch(node.astext()):
            node.parent.remove(node)
