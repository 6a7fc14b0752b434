"""The page in a real browser: what people see, with a mouse, a keyboard, a phone or a printer."""

import math
import shutil
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from dplasso import (
    Budget,
    PrivateLassoClassifier,
    PrivateLassoRegressor,
    PrivateOnlineClassifier,
)
from dplasso.report import (
    About,
    Curve,
    Progress,
    Subject,
    evaluate,
    examine,
    write_report,
    write_several,
)
from refitted import refitted

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
CHROMIUM = next(filter(None, map(shutil.which, NAMES)), None)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")

FLAGS = [
    *("--no-sandbox", "--headless", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
HOSTILE = [
    "<script>window.hit = 1</script>",
    "<img src=x onerror='window.hit = 1'>",
    '"><svg onload="window.hit = 1">',
    "</style></script><script>window.hit = 1</script>",
    "onebigword" * 30,
]
FEATURES = HOSTILE + [f"feature {k}" for k in range(35)]
CLASSES = ["ant", "bee", "<b>cat</b>" + "x" * 70]

# Contrast of every text on the page with the ground it stands on.
CONTRASTS = """() => {
  const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
  const brush = canvas.getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    brush.clearRect(0, 0, 1, 1);
    brush.fillStyle = colour;
    brush.fillRect(0, 0, 1, 1);
    return brush.getImageData(0, 0, 1, 1).data;
  };
  const ground = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const found = rgba(getComputedStyle(e).backgroundColor);
      if (found[3] === 255) return found;
      if (found[3] !== 0) throw new Error("half transparent ground");
    }
    throw new Error("no ground");
  };
  const light = (colour) => {
    const [r, g, b] = Array.from(colour, (c) =>
      c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const found = [];
  for (const e of document.body.querySelectorAll("*:not(option, title, desc)")) {
    const own = Array.from(e.childNodes).some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || e.getClientRects().length === 0) continue;
    const style = getComputedStyle(e);
    const ink = light(rgba(e instanceof SVGElement ? style.fill : style.color));
    const paper = light(ground(e));
    const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    found.push([ratio, e.tagName + ": " + e.textContent.slice(0, 40)]);
  }
  return found;
}"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A page of three classes with all there can be, and one without privacy."""
    folder = tmp_path_factory.mktemp("pages")
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (300, 40))
    y = np.array(CLASSES)[np.digitize(X[:, 1], [-0.3, 0.3])]
    model = PrivateLassoClassifier(
        epsilon=20.0, classes=CLASSES, max_iter=90, radius=10.0, n_rows=300
    ).fit(X, y)
    points = ((0.1, 0.4, 0.3, 0.5), (1.0, 0.6, 0.5, 0.7), (math.inf, 0.9, 0.9, 0.9))
    groups = {HOSTILE[0]: [HOSTILE[k % 5] if k % 3 else "Ulm" for k in range(300)]}
    found = examine(model, X, y, by=groups, curve=Curve(points, 200, 100, 5))
    # Every name is to be on the page, whatever was drawn; so is every warning.
    model.feature_names_in_ = np.array(FEATURES, dtype=object)
    refitted(model, weights=sp.csr_array(rng.normal(size=(3, 40))))
    model.privacy_ = type(model.privacy_)(model.privacy_, secure_rng=False)
    model.privacy_["public"]["classes"]["source"] = "READ FROM THE DATA"
    title = "An unbreakable title" + "e" * 200 + HOSTILE[0]
    about = About("onebigword" * 30, HOSTILE[0], HOSTILE[2])
    known = {"evaluation": found, "title": title, "about": about, "command": HOSTILE[1] * 9}
    write_report(folder / "three.html", model, **known)
    plain = PrivateLassoRegressor(epsilon=math.inf, max_iter=30).fit(X, X[:, 0])
    towns = {"town": [f"town {k % 30}" for k in range(300)]}
    numbers = examine(plain, X, 3e5 * X[:, 0], by=towns)
    write_report(folder / "plain.html", plain, evaluation=numbers)
    budget = Budget(100.0, 1e-6, store=folder / "ledger.sqlite")
    given = {"classes": [0, 1], "max_iter": 30, "radius": 10.0, "n_rows": 300}
    charged = [
        PrivateLassoClassifier(epsilon, **given, accountant=budget).fit(X, X[:, 1] > 0)
        for epsilon in (5.0, 0.5, 1.0, 2.0)
    ]
    two = examine(charged[0], X, X[:, 1] > 0, by={"half": ["left", "right"] * 150})
    write_report(folder / "two.html", charged[0], evaluation=two, ledger=budget)
    compared = [Subject(one, evaluation=examine(one, X, X[:, 1] > 0)) for one in charged]
    titles = [HOSTILE[4], HOSTILE[0], "a", "b"]
    compared = [replace(one, title=name) for one, name in zip(compared, titles, strict=True)]
    compared[0].model.feature_names_in_ = np.array(FEATURES, dtype=object)
    write_several(folder / "several.html", compared, title=HOSTILE[3])
    many = PrivateLassoClassifier(
        epsilon=20.0, classes=[0, 1], max_iter=90, radius=10.0, x_bound=np.linspace(0.5, 50.0, 40)
    ).fit(X, X[:, 1] > 0)
    sizes = 10.0 ** rng.integers(-6, 4, (1, 40))
    refitted(many, weights=sp.csr_array(rng.normal(size=(1, 40)) * sizes))
    write_report(folder / "bounds.html", many, evaluation=evaluate(many, X, np.zeros(300, int)))
    stream = PrivateOnlineClassifier(window=50, classes=CLASSES, feature_names=FEATURES).fit(X, y)
    points = tuple((1e4 * k, 0.5 + 0.01 * k, 0.6 + 0.03 * (k % 3)) for k in range(1, 21))
    progress = Progress("accuracy", 1000, points)
    write_report(
        folder / "stream.html", stream, evaluation=evaluate(stream, X, y), progress=progress
    )
    return folder


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield launched
        launched.close()


@pytest.fixture
def visit(browser, pages):
    """Open a page; at the end, it must have asked for nothing, and complained of nothing."""
    contexts, asked, complaints = [], [], []

    def go(name="three", **options):
        context = browser.new_context(**{"viewport": {"width": 1100, "height": 800}} | options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        address = (pages / f"{name}.html").as_uri()
        page.goto(address)
        assert asked.pop(0) == address
        return page

    yield go
    for context in contexts:
        context.close()
    assert (asked, complaints) == ([], [])


def rows(page):
    return page.locator("#bars tbody tr:visible")


def ground(page):
    return page.evaluate("getComputedStyle(document.body).backgroundColor")


def test_filter_finds_features(visit):
    page = visit()
    assert rows(page).count() == 30
    page.get_by_label("Find a feature").fill("FEATURE 12")
    assert rows(page).count() == 3  # one a class
    assert all("feature 12" in text for text in rows(page).all_inner_texts())
    assert page.get_by_role("status").first.inner_text() == "3 of 3 shown"
    page.get_by_label("Find a feature").fill("no such thing")
    assert rows(page).count() == 0
    page.get_by_label("Find a feature").fill("")
    assert rows(page).count() == 30


def test_show_all_and_back_with_the_keyboard(visit):
    page = visit()
    button = page.get_by_role("button", name="Show all 120")
    button.focus()
    page.keyboard.press("Enter")
    assert rows(page).count() == 120
    assert page.locator("#all").get_attribute("aria-expanded") == "true"
    page.keyboard.press("Space")
    assert rows(page).count() == 30
    button.click()
    assert rows(page).count() == 120


def test_class_selector(visit):
    page = visit()
    page.get_by_role("combobox", name="Class").select_option(label="bee")
    assert rows(page).count() == 30
    page.locator("#all").click()
    texts = rows(page).all_inner_texts()
    assert len(texts) == 40 and all("class bee" in text for text in texts)
    page.get_by_role("combobox", name="Class").focus()
    page.keyboard.press("ArrowUp")
    assert all("class ant" in text for text in rows(page).all_inner_texts())


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_dark_mode_follows_the_system_until_told_otherwise(visit, scheme):
    page = visit(color_scheme=scheme)
    button = page.get_by_role("button", name="Dark mode")
    dark = scheme == "dark"
    first = ground(page)
    assert (sum(map(int, first[4:-1].split(","))) < 384) == dark
    assert button.get_attribute("aria-pressed") == str(dark).lower()
    button.focus()
    page.keyboard.press("Space")
    assert ground(page) != first
    assert button.get_attribute("aria-pressed") == str(not dark).lower()
    page.keyboard.press("Enter")
    assert ground(page) == first


def test_tab_reaches_every_control_and_shows_it(visit):
    page = visit()
    controls = page.locator("a, button, input, select, summary, [tabindex='0']")
    expected = {control.evaluate("e => e.outerHTML.slice(0, 150)") for control in controls.all()}
    assert len(expected) == controls.count() > 50  # 40 columns can be unfolded
    reached = set()
    for _ in range(len(expected)):
        page.keyboard.press("Tab")
        html, style, width = page.evaluate(
            """() => {
              const e = document.activeElement, s = getComputedStyle(e);
              return [e.outerHTML.slice(0, 150), s.outlineStyle, parseFloat(s.outlineWidth)];
            }"""
        )
        assert style == "solid" and width >= 2
        reached.add(html)
    assert reached == expected


def test_the_skip_link_appears_and_skips(visit):
    page = visit()
    page.keyboard.press("Tab")
    assert page.get_by_role("link", name="Skip to the report").bounding_box()["x"] >= 0
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def test_rounds_by_keyboard_and_by_pointer(visit):
    page = visit()
    told, slider = page.locator("#released"), page.get_by_label("Look at a round")
    assert told.inner_text().startswith("Round 90 released")
    slider.focus()
    page.keyboard.press("ArrowLeft")
    assert told.inner_text().startswith("Round 89 released")
    assert slider.get_attribute("aria-valuetext") == "round 89"
    page.keyboard.press("Home")
    assert told.inner_text().startswith("Round 1 released")
    drawing = page.locator("#count svg")
    drawing.scroll_into_view_if_needed()
    box, (left, right, *_) = drawing.bounding_box(), map(float, (48, 346, 0, 90))
    middle = box["x"] + box["width"] * (left + right) / 2 / 360
    page.mouse.move(middle, box["y"] + box["height"] / 2)
    assert told.inner_text().startswith("Round 45 released")
    cursors = page.locator(".cursor").evaluate_all("all => all.map(c => +c.getAttribute('x1'))")
    assert cursors[0] == pytest.approx((left + right) / 2, abs=1.0) and len(cursors) == 3


PAGES = ["three", "plain", "two", "several", "bounds", "stream"]


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [320, 390, 768, 1600])
def test_nothing_is_wider_than_the_screen(visit, name, width):
    page = visit(name, viewport={"width": width, "height": 740})
    for _ in range(page.locator("#all").count() + 1):
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        page.get_by_role("button").last.click()
    page.evaluate("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_print_has_everything_but_the_controls(visit):
    page = visit(color_scheme="dark")
    page.get_by_label("Find a feature").fill("feature 1")
    page.emulate_media(media="print", color_scheme="dark")
    assert rows(page).count() == 120
    assert page.locator("button:visible, input:visible, select:visible").count() == 0
    assert ground(page) == "rgb(255, 255, 255)"
    assert page.locator("section:visible").count() == 10


def test_folded_bounds_unfold_by_keyboard_and_on_paper(visit):
    page = visit("bounds")
    listed = page.get_by_text("column 39", exact=True).last
    assert not listed.is_visible()
    page.get_by_text("Columns by falling bound").first.focus()
    page.keyboard.press("Enter")
    assert listed.is_visible()
    page.keyboard.press("Enter")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert listed.is_visible()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert not listed.is_visible()


@pytest.mark.parametrize("name", ["three", "plain", "two", "bounds", "stream"])
@pytest.mark.parametrize("width", [390, 1100])
def test_no_words_of_a_chart_overlap(visit, name, width):
    page = visit(name, viewport={"width": width, "height": 740})
    overlapping = page.evaluate(
        """() => Array.from(document.querySelectorAll(".chart svg, .ends")).flatMap((drawing) => {
          const words = Array.from(drawing.querySelectorAll("text, span"));
          const boxes = words.map((word) => word.getBoundingClientRect());
          return boxes.flatMap((a, i) => boxes.slice(i + 1).filter((b) =>
            a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom
          ).map(() => words[i].textContent));
        })"""
    )
    assert overlapping == []
    cut = page.evaluate(
        """() => Array.from(document.querySelectorAll(".chart svg")).flatMap((drawing) => {
          const frame = drawing.getBoundingClientRect();
          return Array.from(drawing.querySelectorAll("text")).filter((word) => {
            const box = word.getBoundingClientRect();
            return box.left < frame.left - 1 || box.right > frame.right + 1;
          }).map((word) => word.textContent);
        })"""
    )
    assert cut == []


@pytest.mark.parametrize("width", [390, 1100])
@pytest.mark.parametrize("name", ["three", "plain", "two", "bounds", "stream"])
def test_numbers_in_tables_are_not_broken(visit, name, width):
    page = visit(name, viewport={"width": width, "height": 740})
    heights = page.locator(".charts td, .figures td, #bars td.amount").evaluate_all(
        "all => all.filter(e => e.getClientRects().length).map((e) => {"
        " const range = document.createRange(); range.selectNodeContents(e.firstChild);"
        " return range.getClientRects().length; })"
    )
    assert len(heights) > 10 and set(heights) == {1}


def test_columns_unfold_by_keyboard_and_on_paper(visit):
    page = visit()
    first = page.locator("summary.column").first
    parts = page.locator(".columns li").first.locator("table")
    assert not parts.is_visible()
    first.focus()
    page.keyboard.press("Enter")
    assert parts.is_visible()
    page.keyboard.press("Enter")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert parts.is_visible()


def test_whom_it_protects_is_the_largest_text(visit):
    page = visit("two")
    sizes = page.evaluate(
        """() => Array.from(document.body.querySelectorAll("*:not(script, style)"))
          .filter((e) => Array.from(e.childNodes).some((n) => n.nodeType === 3 && n.data.trim()))
          .map((e) => [parseFloat(getComputedStyle(e).fontSize), e.firstChild.textContent])"""
    )
    assert max(sizes)[1] == "Protects each row"


def test_without_scripts_everything_is_there(visit):
    page = visit(java_script_enabled=False)
    assert rows(page).count() == 120
    assert page.locator("button:visible, input:visible, select:visible").count() == 0


def test_charts_and_tables_have_names_in_the_accessibility_tree(visit):
    page = visit()
    session = page.context.new_cdp_session(page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]

    def named(*roles):
        heard = (node for node in nodes if not node["ignored"] and node["role"]["value"] in roles)
        return [node.get("name", {}).get("value", "") for node in heard]

    assert named("image", "img") == [
        "ROC, mean of each class against the rest",
        "Calibration",
        "If only sure answers count",
        "Precision and recall, mean of each class against the rest",
        "Gain, mean of each class against the rest",
        "Accuracy by epsilon",
        "Nonzero coefficients",
        "Sum of the sizes of the weights",
        "Paths of the largest coefficients",
    ]
    tables = named("table")
    assert len(tables) == 7 and all(tables) and "Confusion matrix" in tables
    for role, count in {"button": 2, "searchbox": 1, "combobox": 1, "slider": 1}.items():
        assert len(named(role)) == count and all(named(role))
    assert len(named("rowheader")) > 30 and len(named("columnheader")) > 10
    assert all(named("region"))


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out(visit, name, scheme):
    found = visit(name, color_scheme=scheme).evaluate(CONTRASTS)
    assert len(found) > 80
    assert [entry for entry in found if entry[0] < 4.5] == []


def test_hostile_names_do_nothing(visit):
    page = visit()
    page.locator("#all").click()
    assert rows(page).filter(has_text=HOSTILE[1]).count() == 3
    page.get_by_label("Look at a round").focus()
    for _ in range(90):
        page.keyboard.press("ArrowLeft")
    assert page.evaluate("window.hit") is None
    assert page.locator("script").count() == 1 and page.locator("img").count() == 0


def test_the_policy_stops_what_would_slip_through(browser, pages):
    """Escaping is the first line; this is the second, tried by putting markup in on purpose."""
    context = browser.new_context()
    page = context.new_page()
    page.goto((pages / "three.html").as_uri())
    stopped = page.evaluate(
        """() => new Promise((resolve) => {
          const stopped = new Set();
          document.addEventListener("securitypolicyviolation", (event) => {
            stopped.add(event.effectiveDirective);
            if (stopped.size === 4) resolve(Array.from(stopped));
          });
          document.body.insertAdjacentHTML("beforeend",
            `<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">
             <p id="dyed" style="color: rgb(1, 2, 3)" onclick="window.hit = 1">x</p>`);
          document.getElementById("dyed").click();
          const script = document.createElement("script");
          script.textContent = "window.hit = 1";
          document.body.append(script);
        })"""
    )
    hit = page.evaluate("window.hit")
    colour = page.evaluate("getComputedStyle(document.getElementById('dyed')).color")
    context.close()
    assert set(stopped) == {"img-src", "style-src-attr", "script-src-attr", "script-src-elem"}
    assert hit is None and colour != "rgb(1, 2, 3)"
