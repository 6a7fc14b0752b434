"""The tables of docs/explanation/online.md, from what the benchmarks of streams saved."""

from typing import Any

Found = dict[str, Any]
EPSILONS, LARGER = ("1", "4"), "always the larger class"
LONG = ("imdb_uni", "reuters21578_usa", "a9a", "w8a", "kddcup99_10pct", "phishing")
SPANS = ("last 100 rows", "last 1,000 rows", "last 10,000 rows", "every row for good")
SHORT_SPANS = ("last 100 rows", "last 1,000 rows", "every row")


def long_streams(found: Found) -> str:
    """Accuracy on long streams: a line per learner, a column per set."""
    sets, rivals = found["sets"], ("DP-FTRL", "DP-SGD")
    heads = [name + (" (held out)" if sets[name]["held_out"] else "") for name in LONG]
    lines = [
        ("river, not private", ["river, not private"]),
        ("ours, not private", ["ours, not private"]),
        *((f"ours, {_span(span)}", _both(span)) for span in SPANS),
        *((f"{rival}, every row forever", _both(f"{rival}, {SPANS[-1]}")) for rival in rivals),
        (LARGER, [LARGER]),
    ]
    rows = [
        [told, *(_cell(sets[name]["accuracy"], keys, " / ") for name in LONG)]
        for told, keys in lines
    ]
    seeds = f"Means of {found['seeds']} seeds; of DP-FTRL and DP-SGD, {found['rival_seeds']}."
    return "\n".join([*_table(["epsilon 1 / 4", *heads], rows), "", seeds])


def bins(found: Found) -> str:
    """Accuracy on the last 1,000 rows without bins and with 8 of them."""
    rows = []
    for name, scores in found["scores"].items():
        by_epsilon = [scores[f"{epsilon}, 1000"] for epsilon in ("0.3", *EPSILONS)]
        with_bins = found["bins"].index(8)
        rows.append([name, *(f"{each[0]:.3f} / {each[with_bins]:.3f}" for each in by_epsilon)])
    return "\n".join(_table(["no bins / 8 bins", "epsilon 0.3", *EPSILONS], rows))


def running_sums(found: list[Found]) -> str:
    """The worst error of constructions of private running sums, a line per window."""
    kinds = {
        "window tree, published noise": "published noise",
        "window tree": "window tree",
        "tree, root kept": "tree",
        "sliding band": "band",
        "fading buffers": "buffered",
    }
    worst = {(each["window"], each["construction"]): each["worst"] for each in found}
    rows = [
        [f"{window:,}", *(f"{worst[window, kind]:.1f}" for kind in kinds)]
        for window in (64, 1024, 4096)
    ]
    return "\n".join(_table(["W", *kinds.values()], rows))


def short_streams(found: Found) -> str:
    """Accuracy on short streams: a line per learner and epsilon, a column per set."""
    sets = found["sets"]
    lines = [
        ("river, not private, public bounds", ["river, public bounds"]),
        ("river, not private, StandardScaler", ["river, StandardScaler"]),
    ]
    for kind in ("ours", "ours, no bins", "ours, 16 bins"):
        for epsilon in EPSILONS:
            keys = [f"{kind}, epsilon {epsilon}, {span}" for span in SHORT_SPANS]
            lines.append((f"{kind}, epsilon {epsilon}", keys))
    keys = [f"ours, epsilon {epsilon}, length not declared" for epsilon in EPSILONS]
    lines.append(("ours, epsilon 1 / 4, length not declared", keys))
    for epsilon in EPSILONS:
        keys = [f"edges to 255, epsilon {epsilon}, {span}" for span in SHORT_SPANS]
        lines.append((f"edges to 255, epsilon {epsilon}", keys))
    for rival in ("DP-FTRL", "DP-SGD"):
        keys = [f"{rival}, epsilon {epsilon}, every row" for epsilon in EPSILONS]
        lines.append((f"{rival}, epsilon 1 / 4, every row", keys))
    lines.append(("always the largest class", ["always the largest class"]))
    rows = [[told, *(_cell(each, keys, " / ") for each in sets.values())] for told, keys in lines]
    seeds = (
        "Ours: the last 100 rows / the last 1,000 / every row protected. Means of "
        f"{found['seeds']} seeds; of DP-FTRL and DP-SGD, {found['rival_seeds']}."
    )
    return "\n".join([*_table(["", *sets], rows), "", seeds])


def flips(found: Found) -> str:
    """Accuracy in the 2,500 rows after labels flip, and before."""
    lives = {"None": "no half-life", "5000": "5,000 rows", "1000": "1,000 rows"}
    rows = []
    for name in ("kddcup99_10pct", "a9a"):
        runs = {key: scores for key, scores in found["flips"].items() if key.startswith(name)}
        river = _flip(runs[f"{name}, river, not private"])
        for epsilon in EPSILONS:
            cells = [_flip(runs[f"{name}, epsilon {epsilon}, half-life {life}"]) for life in lives]
            rows.append([f"{name}, epsilon {epsilon}", river, *cells])
    return "\n".join(_table(["", "river, not private", *lives.values()], rows))


def speed(found: Found) -> str:
    """Rows per second, and as a share of river's."""
    rows = []
    for name, told in (("kddcup99_10pct", "118 columns"), ("reuters21578_usa", "2^16 columns")):
        theirs = found[name]["river, not private"]["rows_per_second"]
        for run, each in found[name].items():
            rate = each["rows_per_second"]
            rows.append([f"{told}: {_span(run)}", f"{rate:,.0f}", f"{rate / theirs:.2f}"])
    for name, each in found["own_sets"].items():
        told = f"{name} of river, window 1000: predict_one and learn_one"
        rows.append([told, f"{each['ours']:,.0f}", f"{each['ours'] / each['river']:.2f}"])
    return "\n".join(_table(["", "rows per second", "relative to river"], rows))


def parts(found: Found) -> str:
    """What takes the time of wide rows with a release each, in a sentence."""
    touched, whole, weights = (f"{100 * share:.0f} %" for share in found["parts"].values())
    return (
        f"In the last run, {touched} of the time drew noise for the columns that rows touch, "
        f"{whole} drew noise for all columns once per block, and {weights} computed all weights "
        "once per block."
    )


def _table(heads: list[str], rows: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *rows)]


def _both(what: str) -> list[str]:
    return [f"epsilon {epsilon}, {what}" for epsilon in EPSILONS]


def _span(span: str) -> str:
    for said, better in (
        ("for good", "forever"),
        ("a release a row", "one release per row"),
        ("a release every", "one release per"),
    ):
        span = span.replace(said, better)
    return span


def _cell(scores: Found, keys: list[str], between: str) -> str:
    """Scores of one set; empty where they were not measured on it."""
    if keys[0] not in scores:
        return ""
    return between.join(f"{scores[key]:.3f}" for key in keys)


def _flip(scores: list[float]) -> str:
    before, soon, _ = scores
    return f"{soon:.3f} (before {before:.3f})"
