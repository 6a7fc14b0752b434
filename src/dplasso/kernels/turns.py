"""Runs of items that threads take in turns, inside compiled code.

Some cores are slow, or wake late. If every thread had one run, the others would wait for the
slowest. A thread that asked the interpreter for its next run would wait for the interpreter's
lock instead: with many threads, for longer than a run takes.
"""

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def next_run(typing_context, taken):  # type: ignore[no-untyped-def]
    """The number of the next run, which no other thread gets. ``taken[0]`` counts them."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        view = context.make_array(signature.args[0])(context, builder, args[0])
        return builder.atomic_rmw("add", view.data, ir.Constant(ir.IntType(64), 1), "monotonic")

    return types.int64(taken), generate
