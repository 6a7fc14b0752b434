"""Fitted models for programs that do not have this package: scikit-learn, ONNX, CSV."""

from dplasso.estimators.export.exportable import Exportable

__all__ = ["Exportable"]
