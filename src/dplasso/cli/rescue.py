"""Save a paid result elsewhere if its file cannot be written."""

import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path


def kept(output: Path, write: Callable[[Path], None], what: str) -> None:
    """Write a file. If that fails, write it elsewhere, and raise an error that says where.

    Outputs are checked before anything is charged. A disk may still fill up, or be taken away,
    while a fit runs.
    """
    try:
        write(output)
        return
    except (OSError, ValueError) as error:
        failed = error
    name = f"dplasso-rescued-{secrets.token_hex(8)}{output.suffix}"
    for folder in (output.absolute().parent, Path.cwd(), Path(tempfile.gettempdir())):
        place = folder / name
        try:
            write(place)
        except (OSError, ValueError):
            continue
        raise OSError(
            f"{output} could not be written ({_reason(failed)}). The {what} was saved as {place}; "
            "move it where it belongs"
        ) from failed
    raise failed


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)
