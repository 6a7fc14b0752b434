"""The built site: its links lead somewhere, it is small, and it works in a real browser."""

import functools
import os
import re
import shutil
import threading
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / os.environ["SITE"]
PAGES = [page for page in sorted(SITE.rglob("*.html")) if "_static" not in page.parts]

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
in_a_browser = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")

# What tells tests how to treat a block, or marks figures that a script writes.
COMMENT = re.compile(
    r"<!-- (?:file: |run by |within |\w+ vary|part of |not printed|/?(?:compiling|speed|fits) -->)"
)

KINDS = ["index", "tutorials/index", "how_to/index", "gallery/index", "reference/index"]
KINDS += ["explanation/index", "results/index", "development/index"]


class Page(HTMLParser):
    """The targets that a page links to, and the names that others may link to."""

    def __init__(self, path):
        super().__init__()
        self.targets, self.names, self.images = [], set(), []
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        known = dict(attributes)
        if "id" in known:
            self.names.add(known["id"])
        if tag == "a" and "href" in known:
            self.targets.append(known["href"])
        if tag in ("img", "script") and "src" in known:
            self.targets.append(known["src"])
        if tag == "link" and "href" in known:
            self.targets.append(known["href"])
        if tag == "img":
            self.images.append(known)


@functools.cache
def parsed(path):
    return Page(path)


def test_every_link_within_the_site_leads_to_a_place_that_exists():
    assert len(PAGES) > 50
    broken = []
    for page in PAGES:
        for target in parsed(page).targets:
            found = urlsplit(urljoin(page.as_uri(), target))
            if found.scheme != "file":
                continue
            path = Path(unquote(found.path))
            if not path.is_file() or not path.is_relative_to(SITE):
                broken.append(f"{page.relative_to(SITE)}: {target}")
            elif not found.fragment or path.suffix != ".html":
                continue
            elif unquote(found.fragment) not in parsed(path).names:
                broken.append(f"{page.relative_to(SITE)}: {target}")
    assert not broken, "\n".join(sorted(set(broken)))


def test_pages_need_nothing_from_elsewhere():
    """Whoever reads the site asks no other server for scripts, styles or pictures."""
    for page in PAGES:
        text = page.read_text()
        for mark in ('<script src="http', '<img src="http', 'rel="stylesheet" href="http'):
            assert mark not in text, page.relative_to(SITE)


def test_every_picture_says_what_it_shows():
    for page in PAGES:
        for picture in parsed(page).images:
            # The name stands beside a logo, and the title beside a small picture of an example.
            is_named = "logo__image" in picture.get("class", "") or "_thumb." in picture["src"]
            assert is_named or picture.get("alt"), f"{page.relative_to(SITE)}: {picture['src']}"


def test_the_site_is_smaller_than_30_megabytes():
    assert sum(path.stat().st_size for path in SITE.rglob("*") if path.is_file()) < 30e6


def test_comments_of_pages_are_not_shown():
    for page in PAGES:
        text = page.read_text()
        assert not COMMENT.search(text), page.relative_to(SITE)


def test_every_example_of_the_gallery_is_there_and_has_run():
    examples = sorted((ROOT / "examples").glob("plot_*.py"))
    assert len(examples) >= 10
    for example in examples:
        page = SITE / "gallery" / f"{example.stem}.html"
        assert "Total running time" in page.read_text(), example.name


def test_the_examples_of_the_gallery_run_in_a_few_minutes():
    """The site is to be built in less than ten minutes on two cores."""
    texts = [page.read_text() for page in sorted((SITE / "gallery").glob("plot_*.html"))]
    found = [
        re.search(r"running time of the script:</strong> \((\d+) minutes ([\d.]+)", t)
        for t in texts
    ]
    assert sum(60 * int(one[1]) + float(one[2]) for one in found) < 420


@pytest.fixture(scope="module")
def server():
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=str(SITE))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as found:
        thread = threading.Thread(target=found.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{found.server_port}"
        found.shutdown()


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield launched
        launched.close()


@in_a_browser
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("PrivateLassoClassifier", "reference/generated/dplasso.PrivateLassoClassifier.html"),
        ("threat model", "explanation/threat_model.html"),
        ("dplasso train", "reference/command_line.html"),
    ],
)
def test_search_finds_a_page(browser, server, words, expected):
    page = browser.new_page()
    page.goto(f"{server}/index.html")
    page.keyboard.press("Control+k")
    page.locator("input[name=q]:visible").fill(words)
    page.keyboard.press("Enter")
    page.wait_for_selector("#search-results li a")
    page.wait_for_function("document.querySelector('.search-summary')?.innerText.includes('found')")
    found = page.eval_on_selector_all("#search-results li a", "links => links.map(a => a.href)")
    page.close()
    assert any(expected in address for address in found[:10]), found[:10]


@in_a_browser
def test_no_page_is_wider_than_a_phone(browser, server):
    page = browser.new_page(viewport={"width": 390, "height": 800})
    wide = []
    for path in PAGES:
        page.goto(f"{server}/{path.relative_to(SITE)}", wait_until="domcontentloaded")
        # The theme lets the text scroll sideways in a box of its own, which the page does not show.
        width = page.evaluate(
            "Math.max(document.documentElement.scrollWidth, "
            "document.querySelector('.bd-article-container')?.scrollWidth ?? 0)"
        )
        if width > 390:
            wide.append(f"{path.relative_to(SITE)}: {width}")
    page.close()
    assert not wide, wide


@in_a_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_have_no_errors_in_both_themes(browser, server, scheme):
    context = browser.new_context(color_scheme=scheme)
    page, errors = context.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("requestfailed", lambda request: errors.append(request.url))
    for name in KINDS:
        # To leave a page before it has all its pictures would count as a failed request.
        page.goto(f"{server}/{name}.html", wait_until="networkidle")
        assert page.evaluate("document.documentElement.dataset.theme") == scheme
    context.close()
    assert not errors


@in_a_browser
def test_code_can_be_copied(browser, server):
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(f"{server}/index.html")
    page.locator("button.copybtn").first.click(force=True)
    copied = page.evaluate("navigator.clipboard.readText()")
    context.close()
    assert copied.startswith("from dplasso import ")
