"""Files on disk: fitted models, and data by columns. They are checked, and never executed."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dplasso.storage.archive import ModelFileError, read, write
    from dplasso.storage.column_builder import build_store
    from dplasso.storage.column_store import ColumnStore, open_store

__all__ = ["ColumnStore", "ModelFileError", "build_store", "open_store", "read", "write"]

# Where each stands. Column stores bring numba, which who only writes a file does without.
_HOMES = {
    "archive": ("ModelFileError", "read", "write"),
    "column_builder": ("build_store",),
    "column_store": ("ColumnStore", "open_store"),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            module = import_module(f"dplasso.storage.{home}")
            globals()[name] = found = getattr(module, name)
            return found
    raise AttributeError(f"module 'dplasso.storage' has no attribute {name!r}")
