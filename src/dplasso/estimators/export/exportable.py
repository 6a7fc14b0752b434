"""The methods by which fitted models are exported."""

from abc import abstractmethod
from os import PathLike
from typing import TYPE_CHECKING, Any

from sklearn.utils.validation import check_is_fitted

if TYPE_CHECKING:
    from dplasso.estimators.export.portable import Portable


class Exportable:
    """Methods of fitted models for programs without this package: see :doc:`/how_to/export`."""

    @abstractmethod
    def _portable(self) -> "Portable":
        """Describe the fitted model in public numbers."""

    def _exported(self) -> "Portable":
        check_is_fitted(self)
        return self._portable()

    def to_sklearn(self) -> Any:
        """Return a scikit-learn object with the same predictions, which works without dplasso.

        Returns
        -------
        estimator
            A linear model (``LogisticRegression``, ``LinearSVC``, ``SGDClassifier``,
            ``LinearRegression`` or ``SGDRegressor``) if the model weighs rows as they are.
            Otherwise a ``Pipeline`` that maps rows, dense or sparse, as the model does; its last
            step is the linear model of mapped rows, and ``columns_`` has the numbers of the columns
            that it reads (None for all). Where predicted numbers are clipped, a
            ``TransformedTargetRegressor`` around it clips them. The privacy statement is in
            ``privacy_``, a plain dict, and as a paragraph in ``privacy_text_``.

        Formal guarantees
        -----------------
        Post-processing of the fitted model: it costs nothing.

        Examples
        --------
        >>> import numpy as np
        >>> from dplasso import PrivateLassoClassifier
        >>> X, y = np.tile([[1.0, 0.0], [0.0, 1.0]], (500, 1)), np.tile([1, 0], 500)
        >>> model = PrivateLassoClassifier(
        ...     5.0, classes=[0, 1], n_rows=1000, x_bound=1.0, solver="gradient"
        ... ).fit(X, y)
        >>> plain = model.to_sklearn()
        >>> type(plain).__module__, np.allclose(plain.predict_proba(X), model.predict_proba(X))
        ('sklearn.pipeline', True)
        """
        from dplasso.estimators.export.scikit import scikit_model

        return scikit_model(self._exported())

    def to_onnx(self, path: str | PathLike[str], *, inputs: str = "auto") -> str:
        """Write an ONNX file with the same predictions, which ONNX runtimes read.

        All numbers are in double precision. The outputs are ``label`` and ``probabilities`` (rows x
        classes), ``label`` and ``scores`` if the loss has no probabilities, or ``variable`` (rows x
        1) for numbers. The file's metadata has the privacy statement (``privacy``, as JSON, and
        ``privacy_text``), the form of its inputs, and the names of its columns.

        Parameters
        ----------
        path : str or path
            The file to write. It is replaced in one step if it exists.
        inputs : {"auto", "all", "used", "entries"}, default="auto"
            "all" takes a dense matrix ``X`` of all columns, and "used" one of only those columns
            that the metadata list as ``columns``. "entries" is for rows with few entries: it takes
            ``columns`` (int64) and ``values``, both rows x largest number of entries, where shorter
            rows are filled up with values of 0. A column may occur once in a row. "auto" is "all"
            for up to 10,000 columns; for more, it is "used", or "entries" if the model divides rows
            by their length, for which all columns count.

        Returns
        -------
        str
            The form of the inputs.

        Formal guarantees
        -----------------
        Post-processing of the fitted model: it costs nothing.

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np
        >>> from dplasso import PrivateLassoClassifier
        >>> X, y = np.tile([[1.0, 0.0], [0.0, 1.0]], (500, 1)), np.tile([1, 0], 500)
        >>> model = PrivateLassoClassifier(5.0, classes=[0, 1], n_rows=1000, x_bound=1.0).fit(X, y)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.to_onnx(f"{folder}/model.onnx")
        'all'
        """
        from dplasso.estimators.export.onnx_file import write_onnx

        return write_onnx(self._exported(), path, inputs)

    def to_csv(self, path: str | PathLike[str]) -> str:
        """Write intercepts and all coefficients that are not 0 as a CSV file for spreadsheets.

        A second file, with ``.privacy.json`` appended to the name, has the privacy statement and
        what is done with a row before coefficients apply. Names that a spreadsheet would read as
        formulas are marked as text.

        Parameters
        ----------
        path : str or path
            The file to write. It is replaced in one step if it exists, and so is the second file.

        Returns
        -------
        str
            The path of the second file.

        Formal guarantees
        -----------------
        Post-processing of the fitted model: it costs nothing.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import numpy as np
        >>> from dplasso import PrivateLassoClassifier
        >>> X, y = np.tile([[1.0, 0.0], [0.0, 1.0]], (500, 1)), np.tile([1, 0], 500)
        >>> model = PrivateLassoClassifier(5.0, classes=[0, 1], n_rows=1000, x_bound=1.0).fit(X, y)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = model.to_csv(f"{folder}/model.csv")
        ...     Path(f"{folder}/model.csv").read_text().splitlines()[0]
        'column,class,coefficient,low,high'
        """
        from dplasso.estimators.export.coefficient_table import write_table

        return write_table(self._exported(), path)
