"""`Schema`: the role of every column of a table, and the public facts about the table."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any, Self

from dplasso.base.wording import ParameterError
from dplasso.schema.guesses import may_name_people
from dplasso.schema.roles import ROLES, Hashed, Ignore, Number, Person, Role, Target, Text
from dplasso.schema.roles.base import check_unicode
from dplasso.schema.roles.category import BUCKETS
from dplasso.schema.roles.unused import Undecided
from dplasso.storage.atomic import replace_file

# The version of the rule that turns cells into texts. Under rule 1 the text depended on the
# column's type; under rule 2 blank texts were missing in CSV files only.
CELL_RULE = 3
FACTS = ("n_rows", "n_people", "rows_per_person", "delimiter", "encoding")
_MOST_FEATURES = (1 << 63) - 1  # column indices have 64 bits


@dataclass(frozen=True, eq=False)
class Schema:
    """The columns of a table, each with its role, and public facts about the table.

    Everything in a schema is public. The owner of the table states it without looking at the
    rows. A column of a file that the schema does not name is left out.

    Parameters
    ----------
    columns : dict of str to role
        The columns, in order: `Number`, `Category`, `Hashed`, `Date`, `Text`, `Identifier`,
        `Ignore`, at most one `Person`, and at most one `Target`.
    n_rows : int, default=None
        The number of rows; a round number near it suffices. The number of buckets of columns that
        state none follows from it.
    n_people : int, default=None
        The number of people that the rows belong to, if there is a column `Person`.
    rows_per_person : int, default=None
        How many rows of a person count, if there is a column `Person`.
    delimiter : str, default=None
        The character between the columns of a CSV file; by default a comma, or a tab for ``.tsv``.
    encoding : str, default=None
        The encoding of a CSV file; by default UTF-8.
    cell_rule : int
        The version of the rules by which cells are read, which a saved model states. Leave it out.

    Examples
    --------
    >>> from dplasso import Schema
    >>> from dplasso.schema import Category, Identifier, Number, Target
    >>> schema = Schema({
    ...     "age": Number(0, 120),
    ...     "town": Category(["Ulm", "Graz"]),
    ...     "id": Identifier(),
    ...     "sick": Target(["no", "yes"]),
    ... }, n_rows=10_000)
    >>> schema.target, schema.blanks
    ('sick', {})
    >>> frame = {"age": [50], "town": ["Ulm"], "id": [7], "sick": ["no"]}
    >>> X, y, groups = schema.split(frame)
    >>> X, y.tolist(), groups
    ({'age': [50], 'town': ['Ulm']}, ['no'], None)
    """

    columns: Mapping[str, Role]
    n_rows: int | None = field(default=None, kw_only=True)
    n_people: int | None = field(default=None, kw_only=True)
    rows_per_person: int | None = field(default=None, kw_only=True)
    delimiter: str | None = field(default=None, kw_only=True)
    encoding: str | None = field(default=None, kw_only=True)
    cell_rule: int = field(default=CELL_RULE, kw_only=True, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Mapping):
            raise ParameterError("{columns} must be a mapping from names of columns to roles")
        object.__setattr__(self, "columns", dict(self.columns))
        for name, role in self.columns.items():
            if not isinstance(name, str) or not isinstance(role, Role):
                raise ParameterError(
                    "{columns} must map names, which are texts, to roles such as Number(0, 120)"
                )
            check_unicode("the name of a column", name)
        for kind in (Target, Person):
            if len(found := self._with(kind)) > 1:
                raise ParameterError(
                    "columns {first!r} and {second!r} both have the role {role}; give it to one",
                    first=found[0],
                    second=found[1],
                    role=kind.kind,
                )
        _check_facts(self)
        sized = {
            name: role.for_rows(self.n_rows) if isinstance(role, Hashed) else role
            for name, role in self.columns.items()
        }
        object.__setattr__(self, "columns", sized)
        if self.cell_rule not in range(1, CELL_RULE + 1):
            raise ValueError("cell_rule is of a newer version of dplasso; install that one")

    @classmethod
    def from_toml(cls, path: str | PathLike[str]) -> Self:
        """Read a schema file; see :doc:`/tutorials/tables` for its form.

        Parameters
        ----------
        path : str or path
            The file, which ``dplasso schema`` or `to_toml` wrote, or you did.

        Raises
        ------
        SchemaError
            The file is not valid. The error names the key and the remedy. It is a `ValueError`.
        """
        from dplasso.schema.toml import read

        return cls(**read(path))

    def to_toml(self, path: str | PathLike[str] | None = None) -> str:
        """Return the text of a schema file, and write it if a path is given.

        Parameters
        ----------
        path : str, path or None, default=None
            The file to write, if any.

        Returns
        -------
        str
        """
        from dplasso.schema.toml import text_of

        text = text_of(self)
        if path is not None:
            replace_file(path, text.encode(), released=True)
        return text

    def to_dict(self) -> dict[str, Any]:
        """Return the schema as JSON values; `from_dict` reads them.

        Returns
        -------
        dict
        """
        return {
            "target": self.target,
            # A list, because features are numbered in this order.
            "columns": [
                [name, {"role": role.kind, **role.settings()}]
                for name, role in self.columns.items()
            ],
            **{name: getattr(self, name) for name in FACTS},
            "cell_rule": self.cell_rule,
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Read a schema that `to_dict` wrote, or that a model of an earlier version holds.

        Parameters
        ----------
        content : mapping
            What `to_dict` returned.

        Returns
        -------
        Schema
        """
        if "columns" not in content:
            return cls(**_of_earlier(content))
        columns = {}
        for name, settings in content["columns"]:
            own = dict(settings)
            kind = own.pop("role")
            if kind in (Hashed.kind, Text.kind):  # earlier versions left out their default
                own.setdefault("buckets", BUCKETS)
            columns[name] = ROLES[kind](**own) if kind else Undecided()
        facts = {name: content.get(name) for name in FACTS}
        return cls(columns, **facts, cell_rule=content["cell_rule"])

    @property
    def target(self) -> str | None:
        """The column to predict, if there is one."""
        return next(iter(self._with(Target)), None)

    @property
    def labels(self) -> Target:
        """The role of the column to predict; one without any facts if there is no such column."""
        found = self.columns.get(self.target or "")
        return found if isinstance(found, Target) else Target()

    @property
    def person(self) -> str | None:
        """The column that says whose row it is, if there is one."""
        return next(iter(self._with(Person)), None)

    @property
    def features(self) -> dict[str, Role]:
        """The columns that make features, in order."""
        return {name: role for name, role in self.columns.items() if role.makes_features}

    @property
    def blanks(self) -> dict[str, tuple[str, ...]]:
        """The columns that lack public facts, and what they lack."""
        return {name: role.blanks for name, role in self.columns.items() if role.blanks}

    def check_filled(self, labelled: bool = True) -> None:
        """Reject a schema with blanks; ``labelled`` says whether labels are needed.

        Parameters
        ----------
        labelled : bool, default=True
            Whether a target is needed, too.
        """
        blanks = dict(self.blanks)
        if not labelled:
            blanks.pop(self.target or "", None)
        if labelled and self.target is None:
            raise ParameterError(
                '{schema} has no column to predict; give one column the role "target"'
            )
        if blanks:
            told = "; ".join(_lacking(name, self.columns[name]) for name in blanks)
            raise ParameterError(
                "{schema} has blanks: {told}. Fill them in with what is publicly known, never "
                'with what the rows say, or give the column the role "ignore"',
                told=told,
            )
        if sum(role.size for role in self.columns.values()) > _MOST_FEATURES:
            raise ParameterError(
                "{buckets} of all columns must be at most {most:,}; give fewer", most=_MOST_FEATURES
            )

    def without_target(self) -> "Schema":
        """Return the same schema for rows without labels.

        Returns
        -------
        Schema
        """
        kept = {name: role for name, role in self.columns.items() if not isinstance(role, Target)}
        return replace(self, columns=kept)

    def split(self, frame: Any) -> tuple[Any, Any, Any]:
        """Split a frame into features, labels and people.

        Parameters
        ----------
        frame : pandas or polars frame, pyarrow table, or dict of lists
            It has the columns of the schema, in any order, and possibly others.

        Returns
        -------
        X : frame
            The columns that make features, of the kind that was given.
        y : ndarray or None
            Labels: texts if there are classes, else numbers. None if the schema has no target.
        groups : ndarray of str or None
            The identifier of the person of each row, to the letter, and None where it is missing.
            None if the schema has no column of people.
        """
        from dplasso.schema.frames import split

        return split(self, frame)

    def _with(self, kind: type[Role]) -> list[str]:
        return [name for name, role in self.columns.items() if isinstance(role, kind)]

    def __eq__(self, other: object) -> Any:
        if not isinstance(other, Schema):
            return NotImplemented
        return list(self._compared()) == list(other._compared())  # also in the same order

    __hash__ = None  # type: ignore[assignment]  # as a mapping

    def _compared(self) -> Iterator[Any]:
        yield from self.columns.items()
        yield from (getattr(self, name) for name in (*FACTS, "cell_rule"))


def repeated(names: Sequence[str]) -> list[str]:
    """The names that occur more than once."""
    return [name for name, count in Counter(names).items() if count > 1]


def _lacking(name: str, role: Role) -> str:
    """What a column lacks."""
    if isinstance(role, Undecided) and may_name_people(name):
        return (
            f'{name!r} needs a role: "person" (all rows of a person are protected together) or '
            '"identifier" (rows are protected one by one)'
        )
    return f"{name!r} needs {' and '.join(role.blanks)}"


def _check_facts(schema: Schema) -> None:
    for name in ("n_rows", "n_people", "rows_per_person"):
        value = getattr(schema, name)
        whole = isinstance(value, int) and not isinstance(value, bool)
        if value is not None and not (whole and 1 <= value <= 10**15):
            raise ParameterError(
                "{fact} must be a positive whole number; correct it, or leave it out", fact=name
            )
        if value is not None and name != "n_rows" and schema.person is None:
            raise ParameterError(
                '{fact} needs a column with the role "person"; give one that role, or leave it out',
                fact=name,
            )
    mark = schema.delimiter
    if mark is not None and not (isinstance(mark, str) and len(mark) == 1 and mark not in '\r\n"'):
        raise ParameterError("{delimiter} must be one character, such as ; or a tab")
    if schema.encoding is not None:
        try:
            "".encode(schema.encoding)
        except (LookupError, TypeError, ValueError):
            raise ParameterError(
                "{encoding} must be the name of an encoding, such as utf-8, latin-1 or cp1252"
            ) from None


def _of_earlier(content: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a schema from the plan of a model of an earlier version.

    Numbers came first, each with an indicator; a missing number was 0.
    """
    texts = frozenset(content["text"])
    columns: dict[str, Role] = {}
    for name, low, high in content["bounds"]:
        columns[name] = Number(low, high, missing="indicator", fill=0.0)
    for name, count in content["hashed"]:
        columns[name] = Text(count) if name in texts else Hashed(count)
    columns |= dict.fromkeys(content["ignore"], Ignore())
    known = len(content["bounds"]) + len(content["hashed"]) + len(content["ignore"])
    if len(columns) < known or content["target"] in columns:
        raise ValueError("a column has two roles; give it one")
    columns[content["target"]] = Target(content["classes"])
    return {
        "columns": columns,
        "delimiter": content["delimiter"],
        "cell_rule": content.get("cell_rule", 1),
    }
