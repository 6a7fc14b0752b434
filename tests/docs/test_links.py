"""Links of pages lead to files and headings that exist, as they are in the repository."""

import re

import pytest

from doc_pages import ROOT, pages

PAGES = {str(path.relative_to(ROOT)): path for path in [*pages(), ROOT / "CHANGELOG.md"]}
LINK = re.compile(r"(?<!`)\[(?:[^\[\]]|\[[^\]]*\])*?\]\((?P<target>[^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
BLOCK = re.compile(r"^ *(`{3,}|~{3,}).*?^ *\1 *$", re.MULTILINE | re.DOTALL)
GENERATED = ("gallery/", "generated/")


def anchors(path):
    """The anchors that Sphinx and hosts of repositories give to the headings of a page."""
    text = BLOCK.sub("", path.read_text())
    found = set(re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE))
    for heading in HEADING.findall(text):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        found.add(re.sub(r"[^\w\- ]", "", plain).replace(" ", "-"))
    return found


@pytest.mark.parametrize("page", list(PAGES))
def test_links_of_a_page_lead_somewhere(page):
    path = PAGES[page]
    for found in LINK.finditer(BLOCK.sub("", path.read_text())):
        target, _, anchor = found["target"].partition("#")
        if re.match(r"https?:|mailto:", target) or any(part in target for part in GENERATED):
            continue
        place = (path.parent / target).resolve() if target else path
        assert place.exists(), f"{page} links to {found['target']}"
        if anchor and place.suffix == ".md":
            assert anchor in anchors(place), f"{page} links to {found['target']}"
