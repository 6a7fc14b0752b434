"""A stream while it runs: a page for its owner, that says what it shows and to whom."""

import math
import os
import re
import stat

import numpy as np
import pytest

from dplasso import PrivateOnlineClassifier, StreamSession
from dplasso.cli.stream_view import StreamView, sparkline, spent
from dplasso.report.live_page import LivePage, live_page
from dplasso.report.progress import Progress

pytestmark = pytest.mark.filterwarnings("ignore:.*seed.*")


def lines(count, seed=0):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(count, 3))
    return b"".join(f"{int(a > 0)} 1:{a:.3f} 2:{b:.3f} 3:{c:.3f}\n".encode() for a, b, c in rows)


def session(folder, **options):
    model = PrivateOnlineClassifier(2.0, window=40, classes=[0, 1], n_features=3, random_state=1)
    return StreamSession(folder, model, every=25, **options)


def test_a_page_is_for_its_owner_and_shows_what_is_spent_and_what_has_expired(tmp_path):
    page = tmp_path / "page.html"
    with session(tmp_path / "state") as running:
        view = StreamView(running, line=False, page=page)
        for part in range(3):
            running.learn(lines(25, part))
            view._next = 0.0
            view.look()
            text = page.read_text("utf-8")
            assert 'http-equiv="refresh"' in text and "The stream is running." in text
            assert stat.S_IMODE(page.stat().st_mode) == 0o600
        accuracy = running.scores()["accuracy"]
        view.end(quiet=True)
    text = page.read_text("utf-8")
    assert "refresh" not in text and "The stream has stopped." in text
    assert text.count("NOT PRIVATE") >= 3 and "for the owner of the data only" in text
    assert "epsilon 2, delta 1e−06" in text and "the last 40 rows" in text
    numbers = dict(re.findall(r'<th scope="row">([^<]+)</th><td>([^<]+)</td>', text))
    assert numbers["Protected now"] == "40" and numbers["Expired: no longer protected"] == "35"
    assert f"{accuracy:.4f}" in text
    for rows in ("25", "50", "75"):  # every look is a point
        assert f'<th scope="row">{rows}</th>' in text
    assert not list(tmp_path.glob(".dplasso-*"))


def test_a_page_keeps_the_points_of_earlier_runs_and_not_too_many(tmp_path):
    statement = {
        "epsilon": 1.0, "delta": 1e-6, "rows_seen": 9, "rows_expired": 0, "window_rows": "all",
        "mechanism": "buffered", "secure_rng": True,
    }  # fmt: skip
    page = LivePage(tmp_path / "page.html")
    points = [[10.0 * k, 0.5, 0.6] for k in range(1, 901)]
    for end in (1, 300, 899, 900):
        curve = {"score": "accuracy", "recent_rows": 1000, "points": points[:end]}
        page.write(statement, {"curve": curve}, ends=False)
    assert len(page._points) <= 500 and page._points[-1][0] == 9000.0
    text = live_page(statement, Progress("accuracy", 1000, ()), ends=False)
    assert "No row was learned from yet." in text and "every row, forever" in text
    assert "NOT SECURE" not in text


@pytest.mark.parametrize(
    ("epsilon", "told"), [(2.0, "NOT SECURE"), (math.inf, "protect no row")], ids=["seed", "inf"]
)
def test_a_page_says_so_where_rows_are_not_protected(tmp_path, epsilon, told):
    page = tmp_path / "page.html"
    model = PrivateOnlineClassifier(
        epsilon, window=40, classes=[0, 1], n_features=3, random_state=1
    )
    with StreamSession(tmp_path / "state", model) as running:
        running.learn(lines(25))
        StreamView(running, line=False, page=page).end(quiet=True)
    text = page.read_text("utf-8")
    assert told in text
    assert ("Protected now" in text) == (epsilon < math.inf)


@pytest.fixture
def shown(monkeypatch):
    """What a terminal was shown."""
    texts = []

    class Line:
        def update(self, text, refresh):
            texts.append(text)

        def stop(self):
            texts.append("stopped")

    monkeypatch.setattr("dplasso.cli.stream_view.live_line", Line)
    return texts


def test_a_page_that_cannot_be_written_leaves_the_terminal_in_order(tmp_path, shown):
    with session(tmp_path / "state") as running:
        view = StreamView(running, line=True, page=tmp_path)
        running.learn(lines(25))
        with pytest.raises(ValueError, match="not a regular file"):
            view.end(quiet=True)
    assert shown == ["stopped"]


def test_a_page_does_not_follow_a_link_of_another_user(tmp_path, monkeypatch):
    """The link could lead to any file of the owner's."""
    kept = tmp_path / "kept"
    kept.write_text("mine")
    page = tmp_path / "page.html"
    page.symlink_to(kept)
    if os.geteuid() == 0:  # links of root are trusted, and only root can give one away
        os.lchown(page, 1000, 1000)
    with session(tmp_path / "state") as running:
        running.learn(lines(25))
        view, someone = StreamView(running, line=False, page=page), os.lstat(page).st_uid + 1
        with monkeypatch.context() as patched, pytest.raises(ValueError, match="another user"):
            patched.setattr("os.geteuid", lambda: someone)
            view.end(quiet=True)
    assert kept.read_text() == "mine"


def test_a_terminal_shows_a_line_with_the_warning_and_what_is_spent(tmp_path, shown):
    with session(tmp_path / "state") as running:
        view = StreamView(running, line=True, page=None)
        running.learn(lines(60))
        view.look()
        view.look()  # too soon to be shown again
        view.end(quiet=True)
    assert len(shown) == 3 and shown[-1] == "stopped"
    assert "NOT PRIVATE" in shown[0] and "20 expired" in shown[0] and "rows 60" in shown[0]


def test_a_sparkline_is_as_high_as_its_values_and_what_is_spent_is_one_sentence():
    assert sparkline([]) == "" and sparkline([1.0, 1.0]) == "▁▁"
    assert sparkline([0.0, 0.5, 1.0]) == "▁▅█"
    statement = {"window_rows": "all", "rows_expired": 0, "epsilon": 0.5}
    assert spent(statement) == "epsilon 0.5 spent by every row"
