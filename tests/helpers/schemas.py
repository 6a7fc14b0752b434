"""Schemas of every role, at random and by hand, for tests of tables."""

from datetime import date, timedelta

from hypothesis import strategies as st

from dplasso.schema import (
    Category,
    Date,
    Hashed,
    Identifier,
    Ignore,
    Number,
    Person,
    Schema,
    Target,
    Text,
)

# What breaks careless parsers of names: quotes, dots, commas, brackets, breaks, signs of TOML.
HOSTILE = [
    "a.b",
    "a,b",
    'say "x"',
    "it's",
    " spaced ",
    "[x]",
    "é日",
    "a=b",
    "#1",
    "\t",
    "\n",
    "\\",
    "",
]
texts = st.one_of(
    st.sampled_from([*HOSTILE, "NA", "null", "true", "1.0"]),
    st.text(st.characters(codec="utf-8"), max_size=8),
)
distinct_texts = st.lists(texts, min_size=2, max_size=4, unique=True)
finite = st.floats(-1e12, 1e12)


@st.composite
def numbers(draw):
    low = draw(finite)
    high = low + draw(st.floats(0.5, 1e12))
    bins = draw(st.sampled_from([None, 2, 7]))
    if bins is None and draw(st.booleans()):
        bins = sorted({low + (high - low) * share for share in (0.25, 0.5, 0.75)})
        bins = [edge for edge in bins if low < edge < high] or None
    log = not isinstance(bins, list) and draw(st.booleans())
    fill = draw(st.sampled_from([None, 0.0, low, low / 2 + high / 2]))
    return Number(low, high, log, bins, draw(st.sampled_from([None, "indicator"])), fill)


@st.composite
def dates(draw):
    chosen = st.sampled_from(["year", "trend", "month", "weekday", "hour"])
    start = draw(st.dates(date(1900, 1, 1), date(2090, 1, 1)))
    return Date(
        draw(st.lists(chosen, min_size=1, unique=True)),
        start,
        start + timedelta(days=draw(st.integers(1, 3000))),
        draw(st.sampled_from([None, "%d.%m.%Y", "%Y%m%d"])),
        draw(st.sampled_from([None, "indicator"])),
    )


roles = st.one_of(
    numbers(),
    st.builds(Number),
    dates(),
    st.builds(Category, distinct_texts, st.sampled_from([None, "level"])),
    st.builds(Category),
    st.builds(Hashed, st.integers(1, 2**40)),
    st.builds(Text, st.integers(1, 2**40)),
    st.builds(Identifier),
    st.builds(Ignore),
)


@st.composite
def targets(draw):
    if draw(st.booleans()):
        return Target(low=-1.5, high=draw(st.floats(0.0, 1e9)))
    classes = draw(distinct_texts)
    weights = draw(st.dictionaries(st.sampled_from(classes), st.floats(0.001, 1.0)))
    return Target(classes, class_weight=weights)


@st.composite
def schemas(draw):
    columns = draw(st.dictionaries(texts, roles, min_size=1, max_size=5))
    facts = {"n_rows": draw(st.none() | st.integers(1, 10**9))}
    facts["delimiter"] = draw(st.sampled_from([None, ";", "\t", "|"]))
    facts["encoding"] = draw(st.sampled_from([None, "utf-8", "latin-1"]))
    if draw(st.booleans()):
        columns[draw(texts)] = Person()
        people = [name for name, role in columns.items() if isinstance(role, Person)]
        facts |= {"n_people": 10, "rows_per_person": draw(st.none() | st.integers(1, 9))}
        assert len(people) == 1
    name = draw(texts.filter(lambda name: not isinstance(columns.get(name), Person)))
    columns[name] = draw(targets())
    return Schema(columns, **facts)


SMALL = Schema(
    {
        "age": Number(0, 120, missing="indicator"),
        "income": Number(0, 1000, log=True),
        "dose": Number(0, 10, bins=[2, 5]),
        "town": Category(["Ulm", "Graz", "NA"], missing="level"),
        "ward": Hashed(8),
        "visit": Date(["trend", "year", "month", "weekday", "hour"], "2020-01-01", "2024-01-01"),
        "note": Text(16),
        "id": Identifier(),
        "patient": Person(),
        "sick": Target(["no", "yes"], class_weight={"no": 0.5}),
    },
    n_rows=100,
    n_people=50,
)
