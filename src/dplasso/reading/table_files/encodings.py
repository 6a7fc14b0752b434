"""The encoding of a text: by its first bytes, by what is stated, or by all of its bytes."""

import codecs
from typing import Any

from dplasso.base.wording import ParameterError

# How a text begins that says how it is encoded; UTF-32 first, since UTF-16 begins like it.
MARKS = {
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_BLOCK = 1 << 20


def mark_of(head: bytes) -> str | None:
    """The encoding that the first bytes of a text say; None if they say none."""
    return next((name for mark, name in MARKS.items() if head.startswith(mark)), None)


def is_utf8(stream: Any) -> bool:
    """Whether all bytes are text in UTF-8. NUL is none: it shows a text in UTF-16.

    Formal guarantees
    -----------------
    The answer depends on all rows at once. It must not decide how training rows are read, where a
    row would change how the others are read.
    """
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        while block := stream.read(_BLOCK):
            if b"\0" in block:
                return False
            decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def encoding_of(head: bytes, given: str | None, path: str) -> str:
    """The encoding of a text that begins with ``head``, by the name that Python has for it."""
    marked = mark_of(head)
    if given is None:
        return marked or "utf-8"
    try:
        known = codecs.lookup(given)
        "".encode(given)  # fails for codecs that do not make text
    except (LookupError, ValueError):
        raise ParameterError(
            "{encoding} must be the name of an encoding, such as utf-8, latin-1 or cp1252"
        ) from None
    name = known.name.removesuffix("-sig")
    if marked is not None and not name.startswith(marked):
        raise ParameterError(
            "{path} begins with the mark of {marked}; leave out {encoding}",
            path=path,
            marked=marked.upper(),
        )
    return name
