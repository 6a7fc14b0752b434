"""What a signal handler raised, where Python reports something else.

Compiled loops return arrays through Python code, in which a signal may be handled. Python then
raises a SystemError ("returned a result with an exception set"), whose cause is what the handler
raised.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn


@contextmanager
def interrupts_as_raised() -> Iterator[None]:
    """Raise what a signal handler raised, such as a KeyboardInterrupt, itself.

    >>> try:
    ...     with interrupts_as_raised():
    ...         raise SystemError("a result with an exception set") from KeyboardInterrupt()
    ... except KeyboardInterrupt as error:
    ...     print(error.__cause__)
    None
    """
    try:
        yield
    except SystemError as error:
        raise_interrupt(error)


def raise_interrupt(error: SystemError) -> NoReturn:
    """Raise what a signal handler raised, or the error itself if that was no handler.

    For functions that are called once per row: `try` takes no time, whereas a context does.
    """
    found: BaseException = error
    while isinstance(found, SystemError) and found.__cause__ is not None:
        found = found.__cause__
    if isinstance(found, SystemError):
        raise error
    raise found from None
