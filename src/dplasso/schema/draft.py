"""A first schema file for a table, from the names and types of its columns alone."""

from collections.abc import Mapping, Sequence

from dplasso.schema.guesses import guessed, likely_target, may_name_people
from dplasso.schema.roles.date import FEATURES
from dplasso.schema.toml import key, value_text

_HEADER = """\
# Schema of {name}: how every column of the table becomes features.
#
# Only names (and types, if the file declares them) were read, no rows. Roles are guesses: correct
# them. Lines that begin with "# " and have a value to fill in are blanks: remove the "# " and state
# what is publicly known. Never look at the rows for it: bounds, levels and classes that were read
# from the data would not be private. Everything in this file is public.
#
# Roles: number, category, hashed, date, text, identifier, ignore, person, target.
# One column needs the role "target". Columns that are not named here are left out.
# Of numbers: log = true takes log(1 + x - low), for amounts of which a few are very large; bins is
# a number of bins or a list of edges; a missing cell counts as the middle of the range, or as
# fill = ...; missing = "indicator" adds a feature for missing cells.

# The number of rows; a round number near it suffices. The number of features that texts are hashed
# into follows from it.
# n_rows = 10000
"""
_PEOPLE_FACTS = """
# If a person may have several rows, give the column that names the person the role "person".
# Otherwise the model protects one row of a person, and not the person. With the role, you may say:
# n_people = 5000       # the number of people; a round number near it suffices
# rows_per_person = 1   # how many rows of a person count; 1 has the least noise
"""
_BLANKS = {
    "number": """\
# low = 0     # fill in: the least number that is possible, or that matters
# high = 100  # fill in: the largest one; cells beyond both are clipped
# If wanted: log = true, bins = 10, missing = "indicator", fill = 0
""",
    "category": """\
# levels = ["a", "b"]  # fill in: the levels, to the letter; all others are "other"
# If wanted: missing = "level". If levels cannot be listed: role = "hashed"
""",
    "hashed": "",
    "text": """\
# If wanted: buckets = ..., features that words are hashed into; by default about n_rows / 16
""",
    "date": """\
features = ["trend", "month", "weekday"]  # of {features}
# start = "2020-01-01"  # fill in: the first day of the public period, for trend and year
# end = "2024-12-31"    # fill in: its last day
# If wanted: missing = "indicator"; format = "%d.%m.%Y" if dates are not as 2020-01-31
""",
    "person or identifier": """\
# role = "person"      # fill in: all rows of a person are protected together
# role = "identifier"  # or this one: rows are protected one by one, also those of one person
""",
    "identifier": """\
# role = "person" instead, if rows with the same value belong to one person
""",
    "target": """\
# classes = ["no", "yes"]  # fill in: all labels, to the letter
# low = 0                  # or, if labels are numbers: their bounds, low and high
# high = 100
# If wanted: class_weight = {{no = 0.5, yes = 1}}, weights of at most 1
""",
    "boolean": """\
levels = ["0", "1"]  # false and true
""",
    "ignore": "",
    "": """\
# role = "number"  # fill in: one of the roles above, then its settings as for other columns
""",
}


def draft(
    name: str,
    columns: Sequence[str],
    kinds: Mapping[str, str],
    target: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> str:
    """The text of a schema file for a table with these columns.

    ``kinds`` are the roles that the declared types of columns suggest, where they have any.
    """
    target = target or likely_target(columns)
    shown = "".join(sign if sign.isprintable() else "?" for sign in name)
    text = _HEADER.format(name=shown)
    for fact, stated in (("delimiter", delimiter), ("encoding", encoding)):
        text += "" if stated is None else f"{fact} = {value_text(stated)}\n"
    text += _PEOPLE_FACTS
    for column in columns:
        kind = "target" if column == target else _kind(column, kinds)
        text += f"\n[columns.{key(column)}]\n"
        role = {"boolean": "category", "person or identifier": ""}.get(kind, kind)
        text += f"role = {value_text(role)}\n" if role else ""
        text += _BLANKS[kind].format(features=", ".join(FEATURES))
    return text


def _kind(column: str, kinds: Mapping[str, str]) -> str:
    """What a column seems to be. Whether people are protected is nothing to guess."""
    if may_name_people(column):
        return "person or identifier"
    return kinds.get(column) or guessed(column)
