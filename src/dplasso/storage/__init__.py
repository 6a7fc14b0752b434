"""Files on disk: fitted models, and data by columns. They are checked, and never executed."""

from dplasso.storage.archive import ModelFileError, read, write
from dplasso.storage.column_builder import build_store
from dplasso.storage.column_store import ColumnStore, open_store

__all__ = ["ColumnStore", "ModelFileError", "build_store", "open_store", "read", "write"]
