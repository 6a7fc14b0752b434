"""One file for a small header and named arrays: a line with a digest, then a plain zip archive.

The file is written whole or not at all, and read without executing or unpacking anything in it. The
digest detects damage; it does not prove who wrote the file, so its content is not trusted either.
The format is described in docs/reference/model_format.md.
"""

import hashlib
import io
import json
import math
import os
import re
import stat
import zipfile
from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from dplasso.storage import npy
from dplasso.storage.atomic import NotReplaceableError, replace_file

KIND, VERSION = "dplasso-model", 1

_Path = str | os.PathLike[str]
_Arrays = dict[str, NDArray[Any]]

_LONGEST_LINE = 256
_DEEPEST = 64  # levels of a header
_HEADER = "header.json"
_ARRAY = re.compile(r"arrays/([A-Za-z0-9_]{1,100})\.npy")


class ModelFileError(ValueError):
    """A file is not a valid model file, or content cannot be stored in one."""


def write(path: _Path, header: dict[str, Any], arrays: _Arrays, *, released: bool = True) -> None:
    """Write header and arrays to a file, which is replaced in one step if it exists.

    Whatever interrupts it, the file is the complete old one or the complete new one. The same
    content gives the same bytes. The header has values that JSON can hold. Others may read a file
    that is ``released``, as the umask allows; otherwise only its owner may.
    """
    name = os.fsdecode(path)
    try:
        members = {_HEADER: _json_bytes(header)}
        for key in sorted(arrays):
            members[_member_name(key)] = _array_bytes(key, arrays[key])
    except ValueError as error:
        raise ModelFileError(f"{name} was not written: {error}") from error
    content = _zip_bytes(members)
    line = f"{KIND} {VERSION} sha256={hashlib.sha256(content).hexdigest()}\n"
    try:
        replace_file(name, line.encode("ascii"), content, released=released)
    except NotReplaceableError as error:
        raise ModelFileError(str(error)) from error


def read(path: _Path) -> tuple[dict[str, Any], _Arrays]:
    """Read header and arrays of a file made by `write`; any other file raises `ModelFileError`."""
    name = os.fsdecode(path)
    content = _verified_content(name)
    try:
        members = _zip_members(content)
        header = _json_header(members.pop(_HEADER))
        arrays = dict(_named_array(*member) for member in members.items())
    # The digest fits, so somebody made this content on purpose: it may raise any error.
    except Exception as error:
        reason = str(error) or type(error).__name__
        raise ModelFileError(
            f"{name} is not a sound model file ({reason}); do not use it, and save the model again"
        ) from error
    return header, arrays


def _verified_content(name: str) -> bytes:
    """The content after the first line, once kind, version and digest are verified."""
    try:
        # Opening a pipe would wait for a writer.
        if not stat.S_ISREG(os.stat(name).st_mode):
            raise ModelFileError(f"{name} is not a regular file; give the path of a model file")
        with open(name, "rb") as file:
            digest = _digest_in(file.readline(_LONGEST_LINE), name)
            content = file.read()
    except FileNotFoundError:
        raise
    except MemoryError:
        raise ModelFileError(f"{name} is larger than the memory that is left") from None
    except OSError as error:
        raise ModelFileError(f"{name} cannot be read: {error.strerror}") from error
    if hashlib.sha256(content).hexdigest() != digest:
        _refuse_damaged(name)
    return content


def _digest_in(line: bytes, name: str) -> str:
    start = re.match(rb"%s ([1-9][0-9]{0,8}) " % KIND.encode(), line)
    if start is None:
        raise ModelFileError(f"{name} is not a dplasso model file; give a file that dplasso wrote")
    if int(start[1]) > VERSION:
        raise ModelFileError(f"{name} was written by a newer dplasso; upgrade dplasso to read it")
    rest = re.fullmatch(rb"sha256=([0-9a-f]{64})\n", line[start.end() :])
    if rest is None:
        _refuse_damaged(name)
    return rest[1].decode("ascii")


def _refuse_damaged(name: str) -> NoReturn:
    raise ModelFileError(
        f"{name} is truncated or altered: its digest does not fit; "
        "take it from a backup or save the model again"
    )


def _zip_bytes(members: dict[str, bytes]) -> bytes:
    """An archive without compression: the same bytes whatever the library, and no zip bombs."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, data in members.items():
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            archive.writestr(entry, data)
    return buffer.getvalue()


def _zip_members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        entries = archive.infolist()
        if any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
            raise ValueError("it has compressed members")
        # Members of a crafted archive may overlap; their total size then exceeds the file.
        if sum(entry.file_size for entry in entries) > len(content):
            raise ValueError("its members are larger than the file")
        members = {entry.filename: archive.read(entry) for entry in entries}
    if len(members) != len(entries) or _HEADER not in members:
        raise ValueError("it has members of the same name, or no header")
    return members


def _member_name(key: str) -> str:
    name = f"arrays/{key}.npy"
    if not _ARRAY.fullmatch(name):
        raise ValueError(f"array name {key!r} is not made of 1 to 100 letters, digits and _")
    return name


def _array_bytes(key: str, array: NDArray[Any]) -> bytes:
    try:
        return npy.to_bytes(np.asarray(array))
    except ValueError as error:
        raise ValueError(f"array {key} {error}") from error


def _named_array(member: str, data: bytes) -> tuple[str, NDArray[Any]]:
    found = _ARRAY.fullmatch(member)
    if found is None:
        raise ValueError(f"it has an unexpected member {member!r}")
    try:
        return found[1], npy.from_bytes(data)
    except ValueError as error:
        raise ValueError(f"array {found[1]} {error}") from error


def _json_bytes(header: dict[str, Any]) -> bytes:
    try:
        text = json.dumps(header, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
        data = text.encode("utf-8")
        same = _json_header(data) == header
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"header is not strict JSON ({error})") from error
    if not same:
        raise ValueError("header changes in JSON; use lists, and dicts with keys of type str")
    return data


def _json_header(data: bytes) -> dict[str, Any]:
    header = json.loads(
        data.decode("utf-8"),
        parse_float=_finite_float,
        parse_constant=_finite_float,
        object_pairs_hook=_distinct_keys,
    )
    if not isinstance(header, dict):
        raise ValueError("header is no JSON object")
    _check_depth(header)
    return header


def _check_depth(header: dict[str, Any]) -> None:
    """Reject values nested so deeply that a function calling itself for each might not end.

    How deeply the parser itself reads differs between versions of Python.
    """
    level: list[Any] = [header]
    for _ in range(_DEEPEST):
        level = [item for value in level for item in _items(value)]
        if not level:
            return
    raise ValueError(f"header is nested more than {_DEEPEST} levels deep")


def _items(value: Any) -> Iterable[Any]:
    """The values that a JSON value holds."""
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _finite_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"header has the number {text}")
    return number


def _distinct_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("header has a key twice")
    return found
