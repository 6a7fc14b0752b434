"""How fitted models are kept in files: a header and arrays, checked, and nothing that can run."""

from dplasso.storage.archive import ModelFileError, read, write

__all__ = ["ModelFileError", "read", "write"]
