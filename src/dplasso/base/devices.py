"""Names of the devices that a fit can run on."""

from typing import Any

DEVICES = ("cpu", "cuda")


def on_card(device: Any) -> bool:
    """Whether a fit runs on a graphics card; a ValueError lists the names.

    >>> on_card("cuda"), on_card("cpu")
    (True, False)
    """
    if not isinstance(device, str) or device not in DEVICES:
        kind = repr(device) if isinstance(device, str) else type(device).__name__
        raise ValueError(f"device must be 'cpu' or 'cuda', got {kind}")
    return device == "cuda"
