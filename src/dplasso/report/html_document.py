"""The frame of every page: one file that needs no other file and makes no network request."""

import base64
import hashlib
from importlib.resources import files

from dplasso.report.markup import Markup, join, tag


def html_document(title: str, main: Markup, *, again: int | None = None) -> str:
    """Return the whole page around its main part; ``again`` seconds later, it loads itself anew."""
    style, script = _resource("page.css"), _resource("page.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        Markup('<meta charset="utf-8">'),
        # The policy comes before everything that it restricts.
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        Markup('<meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup('<meta name="referrer" content="no-referrer">'),
        Markup("" if again is None else f'<meta http-equiv="refresh" content="{again}">'),
        tag("title", title),
        tag("style", style),
    )
    skip = tag("a", "Skip to the report", href="#main", class_="skip")
    theme = tag("button", "Dark mode", type="button", id="theme", aria_pressed="false")
    body = tag("body", skip, theme, main, tag("script", script))
    return f"<!doctype html>\n{tag('html', join(head, body), lang='en')}\n"


def _resource(name: str) -> Markup:
    return Markup(files("dplasso.report").joinpath(name).read_text("utf-8"))


def _hash(text: str) -> str:
    """Return the hash by which a content security policy allows one style or script."""
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"
