"""`TableEncoder`: frames to features, by a public schema alone."""

from os import PathLike
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from dplasso.base.wording import ParameterError
from dplasso.data.rows_of_people import of_people
from dplasso.schema import FeatureSpace, Schema

GROUPS, IGNORED = "groups", "ignored"


class TableEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]  # untyped
    """Turn the rows of a frame into features, as a public schema says.

    Fitting learns nothing. A pipeline of an encoder and a private model is therefore as private as
    the model: ``make_pipeline(TableEncoder(schema), PrivateLassoClassifier(1.0, ...))``.

    Parameters
    ----------
    schema : Schema or path
        The role of every column, or the file that states them.
    scaled : bool, default=True
        Whether numbers are centred and scaled by their public bounds to [-1, 1]. The names of such
        features say so: "age (scaled)". False leaves them in the units of the table, only clipped.
        `TableEncoder.like` chooses what a fitted model takes.
    person : {"groups", "ignored"} or None, default=None
        What becomes of a column with the role `Person`. It makes no feature, so a model protects
        rows, and not people, unless it gets the identifiers. "groups" declares that it does:
        ``pipeline.fit(X, y, privatelassoclassifier__groups=groups)`` with ``X, y, groups =
        schema.split(frame)``; a private model then rejects a fit without them. "ignored" protects
        rows one by one, also those of one person. None rejects a schema with such a column.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns that make features.
    feature_names_in_ : ndarray of str
        Names of these columns. A frame may have them in any order, and may have other columns.
    bounds_ : SparseBounds
        Public bounds of the features, to be passed to a model as ``x_bound``.

    Formal guarantees
    -----------------
    A row of the result is a function of the same row of the frame and of the schema, to the last
    bit: of the values of its cells, whatever type, order or chunks the frame holds them in. Numbers
    are within public bounds: [-1, 1] if they are scaled, those of the schema otherwise. All other
    features are 0 or 1.

    Examples
    --------
    >>> from dplasso import Schema, TableEncoder
    >>> from dplasso.schema import Category, Number
    >>> encoder = TableEncoder(Schema({"age": Number(0, 120), "town": Category(["Ulm", "Graz"])}))
    >>> frame = {"age": [90, None], "town": ["Graz", "Rome"]}
    >>> encoder.fit_transform(frame).toarray().tolist()
    [[0.5, 0.0, 1.0], [0.0, 0.0, 0.0]]
    >>> encoder.get_feature_names_out().tolist()
    ['age (scaled)', 'town=Ulm', 'town=Graz']
    """

    schema: Schema | str | PathLike[str]
    scaled: bool
    person: str | None
    n_features_in_: int
    feature_names_in_: NDArray[Any]

    def __init__(
        self,
        schema: Schema | str | PathLike[str],
        *,
        scaled: bool = True,
        person: str | None = None,
    ) -> None:
        self.schema = schema
        self.scaled = scaled
        self.person = person

    @classmethod
    def like(cls, model: Any) -> Self:
        """Return the encoder that makes the features of a fitted model, in the model's units.

        What `to_sklearn`, `to_onnx` and `to_csv` export takes the same features.

        Parameters
        ----------
        model : fitted model
            A model of a table, which keeps the table's schema.

        Examples
        --------
        >>> from dplasso import PrivateLassoClassifier, Schema, TableEncoder, read_rows
        >>> from dplasso.schema import Number, Target
        >>> schema = Schema({"age": Number(0, 120), "sick": Target(["no", "yes"])}, n_rows=1000)
        >>> frame = {"age": [30, 80] * 500, "sick": ["no", "yes"] * 500}
        >>> rows = read_rows(frame, schema=schema)
        >>> model = PrivateLassoClassifier(5.0, classes=["no", "yes"], n_rows=1000)
        >>> model = model.fit(rows.described(), rows.y)
        >>> encoder = TableEncoder.like(model)
        >>> encoder.transform({"age": [90]}).toarray().tolist()
        [[90.0]]
        >>> encoder.get_feature_names_out().tolist() == list(model.feature_names_in_)
        True
        """
        plan = getattr(model, "table_plan_", {})
        if "target" not in plan:
            raise ParameterError(
                "{model} keeps no schema; pass a model that was fitted to a table, or use the "
                "TableEncoder whose output it was fitted to",
            )
        schema, scaled = Schema.from_dict(plan), bool(plan.get("scaled", False))
        return cls(schema, scaled=scaled, person=None if schema.person is None else GROUPS)

    def fit(self, X: object = None, y: object = None) -> Self:
        """Check the schema; nothing is learned, and ``X`` and ``y`` are not read.

        Parameters
        ----------
        X : object, default=None
            Ignored.
        y : object, default=None
            Ignored.

        Returns
        -------
        self
        """
        space = self._space()
        self._check_person(space.schema)
        columns = list(space.columns)
        self.n_features_in_ = len(columns)
        self.feature_names_in_ = np.array(columns, dtype=object)
        return self

    def transform(self, X: object) -> sp.csr_array:
        """Turn the rows of a frame into features.

        Parameters
        ----------
        X : pandas or polars frame, pyarrow table, or dict of lists
            It has the columns of the schema that make features, in any order.

        Returns
        -------
        csr_array
            Rows x features.
        """
        from dplasso.schema.frames import encode_rows

        space = self._space()
        rows = encode_rows(space, X)
        return of_people(rows) if self._check_person(space.schema) == GROUPS else rows

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """Return the names of the features.

        Parameters
        ----------
        input_features : object, default=None
            Ignored.

        Returns
        -------
        ndarray of str
        """
        return np.asarray(self._space().names)

    @property
    def bounds_(self) -> Any:
        """Public bounds of the features."""
        return self._space().bounds

    def _check_person(self, schema: Schema) -> str | None:
        """Reject a schema that names people unless it is stated what that means; return that."""
        person = vars(self).get("person")  # which earlier pickles do not have
        if person not in (None, GROUPS, IGNORED):
            raise ParameterError("{person} must be 'groups', 'ignored' or None")
        if schema.person is None:
            return None
        if person is None:
            raise ParameterError(
                "{schema} says that rows belong to people (column {name!r}), and a model that is "
                "fitted to features protects rows unless it gets the identifiers, too; pass "
                "person='groups' here and groups to the model's fit, or person='ignored' to "
                "protect rows one by one",
                name=schema.person,
            )
        return str(person)

    def _space(self) -> FeatureSpace:
        schema = self.schema
        if isinstance(schema, str | PathLike):
            schema = Schema.from_toml(schema)
        if not isinstance(schema, Schema):
            raise ParameterError("{schema} must be a Schema or the path of a schema file")
        return FeatureSpace(schema, scaled=vars(self).get("scaled", True))  # of earlier pickles

    def __sklearn_is_fitted__(self) -> bool:
        return True  # there is nothing to learn

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.two_d_array = False
        tags.input_tags.categorical = tags.input_tags.string = tags.input_tags.allow_nan = True
        return tags
