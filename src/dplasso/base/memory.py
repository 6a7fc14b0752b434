"""Reject work that does not fit in memory before it starts, and report how much it would need."""

import resource
from pathlib import Path

LITTLE = 64 << 20  # bytes that are available wherever Python runs
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_CONTAINER = (  # files with a container's limit and its usage; the newer form first
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    (
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ),
)


class TooLargeError(ValueError):
    """Something would need more memory than is available or allowed."""


def check(needed: int, what: str, remedy: str, most: int | None = None) -> None:
    """Raise an error if ``needed`` bytes exceed ``most``, or the available memory if that is None.

    >>> check(3 << 40, "this matrix", "declare fewer columns", most=1 << 30)
    Traceback (most recent call last):
        ...
    dplasso.base.memory.TooLargeError: this matrix would need about 3 TiB of memory, and 1 GiB \
may be used; declare fewer columns
    """
    allowed = available() if most is None else most
    if allowed is not None and needed > allowed:
        raise TooLargeError(
            f"{what} would need about {size_text(needed)} of memory, and {size_text(allowed)} may "
            f"be used; {remedy}"
        )


def check_private_size(needed: int, what: str, remedy: str) -> None:
    """Check a size that follows from private numbers: the error does not state it."""
    allowed = available()
    if allowed is not None and needed > allowed:
        raise TooLargeError(f"{what} would need more memory than there is; {remedy}")


def available() -> int | None:
    """Bytes that this process can still allocate; None where the system does not report it."""
    found = [_free_on_machine(), _free_in_container(), _free_by_limit()]
    return min((size for size in found if size is not None), default=None)


def size_text(size: int) -> str:
    """The size in a readable unit, with about two digits.

    >>> size_text(800), size_text(10 * 2**30), size_text(3 * 2**20 // 2)
    ('800 bytes', '10 GiB', '1.5 MiB')
    """
    amount, unit = float(size), 0
    while amount >= 1000.0 and unit + 1 < len(_UNITS):
        amount, unit = amount / 1024.0, unit + 1
    return f"{amount:.3g} {_UNITS[unit]}" if amount >= 100.0 else f"{amount:.2g} {_UNITS[unit]}"


def _free_on_machine() -> int | None:
    for line in _read("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return None


def _free_in_container() -> int | None:
    for most, taken in _CONTAINER:
        limit, usage = _read(most).strip(), _read(taken).strip()
        if limit.isdecimal() and usage.isdecimal():
            return max(0, int(limit) - int(usage))
    return None


def _free_by_limit() -> int | None:
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    pages = _read("/proc/self/statm").split()
    if limit == resource.RLIM_INFINITY or not pages:
        return None
    return max(0, limit - int(pages[0]) * resource.getpagesize())


def _read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
