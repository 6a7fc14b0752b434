"""The header of a column store, and its checks."""

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from dplasso.data.columns import MOST_ROWS

FORMAT, VERSION = "dplasso-columns", 1
HEADER = "store.json"
LARGEST_INT32 = (1 << 31) - 1
DIGEST = 32  # bytes of the digest of a person's identifier


class ColumnStoreError(ValueError):
    """A directory is not a valid column store, or data cannot be stored in one."""


def sealed(content: dict[str, Any]) -> bytes:
    """The header with a digest of itself."""
    digest = hashlib.sha256(_json(content)).hexdigest()
    return json.dumps({**content, "sha256": digest}, indent=2, ensure_ascii=False).encode()


def _json(content: dict[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True, ensure_ascii=False).encode()


def read_header(folder: Path) -> dict[str, Any]:
    if not (folder / HEADER).is_file():
        raise FileNotFoundError(f"{folder} is no column store: it has no {HEADER}")
    try:
        header: dict[str, Any] = json.loads((folder / HEADER).read_bytes())
        kind, version = header.get("format"), header.get("version")
        digest = header.pop("sha256", None)
    except (ValueError, AttributeError, RecursionError):
        raise damaged(folder, f"{HEADER} is no JSON object") from None
    if kind != FORMAT:
        raise ColumnStoreError(f"{folder} is no column store; give a directory made by build_store")
    if isinstance(version, int) and version > VERSION:
        raise ColumnStoreError(f"{folder} was written by a newer dplasso; upgrade dplasso")
    if hashlib.sha256(_json(header)).hexdigest() != digest:
        raise damaged(folder, f"the digest of {HEADER} does not fit")
    if not _consistent(header):
        raise damaged(folder, f"{HEADER} contradicts itself")
    return header


def _consistent(header: dict[str, Any]) -> bool:
    """Whether files have the types and sizes that the shape requires.

    A matching digest does not ensure that: the author of a header can compute it.
    """
    try:
        (rows, columns), entries, files = header["shape"], header["entries"], header["files"]
        wanted = {
            "indptr.bin": (columns + 2, ("<i4", "<i8")),
            "indices.bin": (entries + rows, ("<i4",)),
            "labels.bin": (rows, ("<f8",)),
        }
        if "feature_names.json" in files:
            wanted["feature_names.json"] = (files["feature_names.json"]["bytes"], ("|u1",))
        if "values.bin" in files:
            wanted["values.bin"] = (entries + rows, ("<f4", "<f8"))
            if "sums.bin" in files:  # in stores of earlier versions; no longer used
                wanted["sums.bin"] = (columns + 1, ("<f8",))
        if "people.bin" in files:
            wanted["people.bin"] = (DIGEST * rows, ("|u1",))
        if "bounds.bin" in files:
            wanted["bounds.bin"] = (columns, ("<f8",))
        return (
            all(type(number) is int for number in (rows, columns, entries))
            and 1 <= rows <= MOST_ROWS
            and 1 <= columns <= LARGEST_INT32
            and entries >= 0
            and isinstance(header["largest"], float)
            and 0.0 <= header["largest"] < math.inf
            and _distinct_texts(header["classes"])
            and isinstance(header.get("source"), dict | None)
            and set(files) == set(wanted)
            and all(
                files[name]["dtype"] in kinds
                and type(files[name]["bytes"]) is int
                and files[name]["bytes"] == count * np.dtype(files[name]["dtype"]).itemsize
                and isinstance(files[name]["sha256"], str)
                for name, (count, kinds) in wanted.items()
            )
        )
    except (KeyError, TypeError, ValueError):
        return False


def _distinct_texts(classes: Any) -> bool:
    """Whether these are valid classes; None means that labels are numbers."""
    return classes is None or (
        isinstance(classes, list)
        and 1 <= len(classes) == len({name for name in classes if isinstance(name, str)})
    )


def damaged(folder: Path, why: str) -> ColumnStoreError:
    return ColumnStoreError(
        f"{folder} is incomplete or altered: {why}; build it again or take it from a backup"
    )
