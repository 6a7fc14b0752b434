"""Build HTML by nested calls; text is escaped unless it is marked as markup."""

from html import escape
from typing import Any


class Markup(str):
    """Text that is already HTML."""

    __slots__ = ()


def tag(name: str, *children: Any, **attributes: Any) -> Markup:
    """Return an element. Attributes None or False are left out; ``_`` in names becomes ``-``.

    >>> tag("td", "<b>", class_="name", hidden=True)
    '<td class="name" hidden>&lt;b&gt;</td>'
    """
    shown = "".join(
        f" {key.strip('_').replace('_', '-')}" + ("" if value is True else f'="{_safe(value)}"')
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    return Markup(f"<{name}{shown}>{join(*children)}</{name}>")


def join(*children: Any) -> Markup:
    """Concatenate markup; other values are escaped."""
    return Markup("".join(c if isinstance(c, Markup) else _safe(c) for c in children))


def section(name: str, heading: str, *children: Any) -> Markup:
    title = tag("h2", heading, id=f"{name}-heading")
    return tag("section", title, *children, id=name, aria_labelledby=f"{name}-heading")


def callout(kind: str, title: str, *children: Any) -> Markup:
    """Return a prominent box: ``kind`` is "danger", "warning" or "note"."""
    return tag("div", tag("strong", title), " ", *children, class_=f"callout {kind}", role="note")


def table(
    caption: Markup | str,
    heads: tuple[str, ...],
    rows: list[tuple[Any, ...]],
    kind: str | None = None,
) -> Markup:
    """Return a table whose first column names the rows.

    If all other columns are numbers, its ``kind`` is "figures".
    """
    head = tag("tr", *(tag("th", cell, scope="col") for cell in heads))
    body = (
        tag("tr", tag("th", first, scope="row"), *(tag("td", cell) for cell in rest))
        for first, *rest in rows
    )
    whole = (tag("caption", caption), tag("thead", head), tag("tbody", *body))
    return tag("table", *whole, class_=kind)


def cards(shown: dict[str, Any]) -> Markup:
    """Return numbers with their names, each on a card."""
    every = (tag("div", tag("dt", name), tag("dd", value)) for name, value in shown.items())
    return tag("dl", *every, class_="numbers")


def folded(summary: Markup | str, *children: Any) -> Markup:
    """Return content that is hidden until the reader opens it, but always printed."""
    return tag("details", tag("summary", summary), *children)


def scroller(label: str, content: Markup) -> Markup:
    """Return a box that scrolls wide content, also by keyboard."""
    return tag("div", content, class_="scroller", role="region", tabindex=0, aria_label=label)


def _safe(value: Any) -> str:
    # Python accepts half a surrogate pair as text, but cannot write it to a file.
    return escape(str(value)).encode("utf-8", "replace").decode("utf-8")
