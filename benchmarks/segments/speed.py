"""What the README and the pages of results say of speed, from saved results."""

from harness.results import saved


def seconds(value: float) -> str:
    if value >= 1:
        return f"{value:,.1f} s" if value < 100 else f"{value:,.0f} s"
    return f"{1e3 * value:.1f} ms"


def times(value: float) -> str:
    return f"{value:,.0f}x" if value >= 10 else f"{value:.1f}x"


def selection() -> str:
    found = saved("selection")
    lines = [
        "| data | epsilon | lazy | set-up in it | noisy_max | big_step_little_step "
        "| rounds / replay |",
        "|---|---|---|---|---|---|---|",
    ]
    rows = {(row["set"], row["epsilon"], row["rule"]): row for row in found["rows"]}
    for (name, epsilon, rule), row in rows.items():
        if rule != "lazy":
            continue
        rivals = [rows[name, epsilon, rival] for rival in ("noisy_max", "big_step_little_step")]
        cells = [f"{seconds(r['total'])} ({times(r['total'] / row['total'])})" for r in rivals]
        shape = f"{name} {row['rows']:,} x {row['columns']:,}"
        lines.append(
            f"| {shape} | {epsilon:g} | {seconds(row['total'])} | {seconds(row['setup'])} "
            f"| {' | '.join(cells)} | {row['rounds_over_replay']:.1f} |"
        )
    head = (
        f"{found['rounds']:,} rounds, radius {found['radius']:g}, delta {found['delta']:g}, "
        f"logistic loss; wall-clock medians over seeds, from the held matrix to the weights; "
        f"{found['machine']}."
    )
    return "\n".join([head, "", *lines])


def speed_line() -> str:
    """What the README says of speed."""
    sentence = selection_sentence().removesuffix(").")
    return f"**Speed.** {sentence}; [speed](docs/results/speed.md))."


def selection_sentence() -> str:
    """Lazy selection next to the standard algorithm and the published one: one set, one epsilon."""
    found = saved("selection")
    name, epsilon = "news20_rebuilt", 1.0
    rows = {r["rule"]: r for r in found["rows"] if (r["set"], r["epsilon"]) == (name, epsilon)}
    lazy = rows["lazy"]
    standard, published = (
        f"{seconds(rows[rule]['total'])} ({rows[rule]['total'] / lazy['total']:,.0f} times as long)"
        for rule in ("noisy_max", "big_step_little_step")
    )
    return (
        f"{found['rounds']:,} rounds of Frank-Wolfe on {lazy['rows']:,} rows and "
        f"{lazy['columns']:,} columns at epsilon {epsilon:g} take {seconds(lazy['total'])}; the "
        f"standard algorithm takes {standard}, the published fast one {published} "
        f"({found['machine']})."
    )


def default_fits() -> str:
    """Times of the solvers that the default takes: a step for text, whole fits."""
    steps, card, table = saved("gradient_step"), saved("gpu"), saved("dense")
    name = "news20_rebuilt"
    step = next(r["step"] for r in steps["rows"] if (r["set"], r["threads"]) == (name, 1))
    fit = next(r for r in card["sets"] if r["set"] == name)
    dense = table["rows"][0]
    shape, size = (f"{r['rows']:,} x {r['columns']:,}" for r in (fit, dense))
    lines = [
        "| data | what | time | rows x columns | machine |",
        "|---|---|---|---|---|",
        f"| text, {name} | a step of gradient descent, one thread | {seconds(step / 1000)} "
        f"| {shape} | {steps['machine']} |",
        f"| the same | a whole fit of {fit['whole fit_steps']} steps on a card | "
        f"{seconds(fit['whole fit_seconds'])} | | {card['card']} |",
        f"| a dense table | a whole fit of {dense['steps']} steps | "
        f"{seconds(dense['ours']['seconds'])} | {size} | {table['machine']} |",
        "| the same | `LogisticRegression` of scikit-learn | "
        f"{seconds(dense['sklearn']['seconds'])} | | {table['machine']} |",
    ]
    return "\n".join(lines)


def kdda() -> str:
    """What Frank-Wolfe takes on the shape of KDDA."""
    found = saved("kdda")
    runs = " and ".join(
        f"{seconds(r['total'])} at epsilon {r['epsilon']:g} "
        f"({r['rounds'] / r['replay']:.1f} times replay, "
        f"`noisy_max` {r['noisy_max'] / r['total']:.0f} times as long)"
        for r in found["rows"]
    )
    peak = max(r["peak_mib"] for r in found["rows"]) / 1024
    return (
        f"It takes {runs}, with {peak:.1f} GiB at the peak, the data included ({found['machine']})."
    )


def proposals() -> str:
    """What lazy selection looks at in a round."""
    lines = [
        r"| data | $\varepsilon$ | proposals per round | scores computed per round "
        "| entries read per round |",
        "|---|---|---|---|---|",
    ]
    for row in saved("breakdown")["rows"]:
        numbers = f"{row['proposals a round']:.2f} | {row['scores a round']:.2f}"
        entries = f"{row['entries a round']:,.0f}"
        lines.append(f"| {row['set']} | {row['epsilon']:g} | {numbers} | {entries} |")
    return "\n".join(lines)


def breakdown() -> str:
    """Where the time of a fit by Frank-Wolfe goes: shares of whole fits."""
    rows = {(row["set"], row["epsilon"]): row for row in saved("breakdown")["rows"]}
    zipf = rows.pop(("zipf", 1.0))
    ends = [(row["set-up"] + row["weights"]) / row["total"] for row in rows.values()]
    outer = (zipf["set-up"] + zipf["weights"]) / zipf["total"]
    inner = (zipf["moves"] + zipf["long"] + zipf["scores"]) / zipf["total"]
    return (
        f"Set-up and adding up the weights take {100 * min(ends):.0f} to {100 * max(ends):.0f} % "
        f"of a fit. On zipf at epsilon 1 they take {100 * outer:.0f} %, and moving margins and "
        f"computing scores take {100 * inner:.0f} %."
    )


def first_fit() -> str:
    """What a first fit takes, from a new process."""
    found = saved("first_fit")
    return (
        f"A new process spends {seconds(found['compiled'])} of processor time until its first "
        f"small model is fitted, imports included, and {seconds(found['new'])} if it has to "
        f"compile its loops ({found['machine']})."
    )


def compiling() -> str:
    """How long the very first fit compiles, in few words."""
    found = saved("first_fit")
    return f"{found['new'] - found['compiled']:.0f} seconds of processor time"


def reading() -> str:
    """Reading svmlight text next to scikit-learn."""
    found = saved("reading")
    lines = ["| file | MiB | reader | time | peak memory |", "|---|---|---|---|---|"]
    lines += [
        f"| {row['file']} | {row['file_mib']:.0f} | {row['reader']} | {seconds(row['seconds'])} "
        f"| {row['peak_mib']:.0f} MiB |"
        for row in found["rows"]
    ]
    return "\n".join(lines)


def end_to_end() -> str:
    """A whole command next to reading alone, and the memory that it takes."""
    found = saved("end_to_end")
    time, memory = found["seconds"], found["memory"]
    convert, text = memory["convert"], memory["train from text"]
    store = memory["train from store"]
    return (
        f"`dplasso train` on news20_rebuilt takes {seconds(time['train'])}, "
        f"{found['times_reading']:.2f} times as long as only reading the file "
        f"({seconds(time['read'])}). `dplasso convert --memory {memory['memory_mib']}M` on "
        f"{memory['file_mib']:.0f} MiB of text grows by {convert['growth']:.0f} MiB. "
        f"`dplasso train` grows by {text['own']:.0f} MiB from that text, and from the store by "
        f"{store['own']:.0f} MiB and the pages of the mapped file."
    )
