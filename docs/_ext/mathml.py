"""Formulas as MathML, which browsers draw themselves: no script, and nothing from elsewhere."""

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

logger = logging.getLogger(__name__)


def _formula(node, as_block):
    try:
        return tex2mathml(node.astext(), as_block=as_block)
    except MathError as error:
        logger.warning("a formula cannot be drawn: %s: %s", node.astext(), error, location=node)
        return f"<code>{node.astext()}</code>"


def _inline(translator, node):
    translator.body.append(_formula(node, as_block=False))
    raise nodes.SkipNode


def _block(translator, node):
    translator.body.append(f'<div class="formula">{_formula(node, as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
