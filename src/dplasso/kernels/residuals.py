"""How compiled loops call the residual of any loss.

A loss with one margin per row brings two plain loops (`Loops`): one turns margins into residuals,
the other into curvatures. They are compiled once, on their own, to one C signature, and the kernels
call them by address. So every kernel computes the same residual to the last bit, no kernel is
compiled again for a new loss, and a compiled kernel on disk can never hold an outdated loss. A call
handles many rows, so its overhead is negligible and the loop inside vectorises.

The residual of a row is the slope of its loss in its margin.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import cfunc, njit, types
from numba.core.errors import TypingError
from numba.extending import intrinsic

_DOUBLES = types.CPointer(types.float64)
_SIGNATURE = types.void(_DOUBLES, _DOUBLES, types.int64, types.float64, types.float64)

# loop(margins, labels, count, scale, shape) replaces ``margins[k]``, for k below ``count``, by a
# function of ``margins[k] * scale``, ``labels[k]`` and ``shape``, the loss's own number.
Loop = Callable[[Any, Any, int, float, float], None]


class Loops(NamedTuple):
    """The loops of one loss, in plain Python that numba can compile."""

    residuals: Loop
    curvatures: Loop  # the second derivative of the loss in the margin
    # The number of the same residual in ``cuda/residuals.cuh``; None if a card has no such loop.
    on_card: int | None = None


class Residual(NamedTuple):
    """A compiled loss: addresses of its two loops, and its own number."""

    residuals: int
    curvatures: int
    shape: float


# The residuals that a card computes, too.
LOGISTIC, SQUARED, HINGE = 0, 1, 2

# Rows with several margins use `dplasso.kernels.softmax`: nothing is called by address.
SEVERAL_MARGINS = Residual(0, 0, 0.0)


def compiled(loops: Loops, shape: float) -> Residual:
    """A loss in the form that kernels take; compiled at most once per machine."""
    return Residual(_compiled(loops.residuals).address, _compiled(loops.curvatures).address, shape)


@cache
def _compiled(loop: Loop) -> Any:
    return cfunc(_SIGNATURE, cache=True, error_model="numpy")(loop)


@intrinsic
def _call(typing_context, address, margins, labels, count, scale, shape):  # type: ignore[no-untyped-def]
    """Call the loop at ``address`` on the first ``count`` places of two arrays."""
    for array in (margins, labels):
        if not (isinstance(array, types.Array) and array.dtype == types.float64):
            raise TypingError(f"a loop of a loss takes arrays of doubles, got {array}")
        if array.ndim != 1 or array.layout != "C":
            raise TypingError(f"a loop of a loss takes vectors without gaps, got {array}")

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        double, whole = ir.DoubleType(), ir.IntType(64)
        pointer = double.as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [pointer, pointer, whole, double, double])
        arrays = [
            context.make_array(signature.args[place])(context, builder, args[place]).data
            for place in (1, 2)
        ]
        function = builder.inttoptr(args[0], kind.as_pointer())
        builder.call(function, [*arrays, *args[3:]])
        return context.get_dummy_value()

    numbers = (types.int64, types.float64, types.float64)
    return types.void(types.int64, margins, labels, *numbers), generate


@njit(inline="always")
def to_residuals(loss, margins, labels, count, scale):  # type: ignore[no-untyped-def]
    """Replace the first ``count`` margins, times ``scale``, by the residuals of their rows."""
    _call(loss.residuals, margins, labels, np.int64(count), scale, loss.shape)


@njit(inline="always")
def to_curvatures(loss, margins, labels, count, scale):  # type: ignore[no-untyped-def]
    """Replace the first ``count`` margins, times ``scale``, by the curvatures of their rows."""
    _call(loss.curvatures, margins, labels, np.int64(count), scale, loss.shape)
