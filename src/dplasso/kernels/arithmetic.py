"""Scalar arithmetic that every compiled loop shares.

There is one exponential and one sigmoid in the whole engine. They are written without branches or
library calls so that loops over them vectorise, and so that a score computed in one loop is the
same number, to the last bit, as the score computed in another.
"""

from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic, overload

LN2 = 0.6931471805599453
_LOG2E = 1.4426950408889634
# ln 2 in two parts: the first has enough trailing zeros for n * _LN2_HIGH to be exact.
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
# Adding 1.5 * 2^52 rounds to the nearest integer and leaves that integer in the low mantissa bits.
_ROUND = 6755399441055744.0
_ROUND_BITS = 0x4338000000000000


@intrinsic
def double_of_bits(typing_context, bits):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), generate


@intrinsic
def bits_of_double(typing_context, value):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.bitcast(args[0], ir.IntType(64))

    return types.int64(types.float64), generate


@intrinsic
def prefetch(typing_context, array, index):  # type: ignore[no-untyped-def]
    """Ask the cache for ``array[index]``; a hint without effect on any value."""
    if isinstance(array, types.NoneType):
        return types.void(array, index), lambda context, builder, signature, args: None

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        view = context.make_array(signature.args[0])(context, builder, args[0])
        pointer = builder.gep(view.data, [args[1]])
        pointer = builder.bitcast(pointer, ir.IntType(8).as_pointer())
        kind = ir.FunctionType(
            ir.VoidType(),
            [ir.IntType(8).as_pointer(), ir.IntType(32), ir.IntType(32), ir.IntType(32)],
        )
        function = builder.module.declare_intrinsic(
            "llvm.prefetch", [ir.IntType(8).as_pointer()], kind
        )
        flags = [ir.Constant(ir.IntType(32), flag) for flag in (0, 3, 1)]
        builder.call(function, [pointer, *flags])
        return context.get_dummy_value()

    return types.void(array, types.int64), generate


def entry(values, position):  # type: ignore[no-untyped-def]
    """``values[position]``, or 1 where the matrix holds only ones and keeps no values."""
    return 1.0 if values is None else values[position]


@overload(entry, inline="always")
def _compiled_entry(values, position):  # type: ignore[no-untyped-def]
    if isinstance(values, types.NoneType):
        return lambda values, position: 1.0
    return lambda values, position: values[position]


def column(columns, place):  # type: ignore[no-untyped-def]
    """``columns[place]``, or the place itself where a loop is over all columns."""
    return place if columns is None else columns[place]


@overload(column, inline="always")
def _compiled_column(columns, place):  # type: ignore[no-untyped-def]
    if isinstance(columns, types.NoneType):
        return lambda columns, place: place
    return lambda columns, place: columns[place]


@njit(inline="always")
def exponential(x: float) -> float:
    """e^x to within 1e-14 of itself for |x| <= 708: Cody-Waite reduction, Taylor polynomial."""
    shifted = x * _LOG2E + _ROUND
    n = shifted - _ROUND
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    tail = 1 / 5040.0 + r * (
        1 / 40320.0 + r * (1 / 362880.0 + r * (1 / 3628800.0 + r * (1 / 39916800.0)))
    )
    p = 1.0 + r * (
        1.0
        + r * (0.5 + r * (1 / 6.0 + r * (1 / 24.0 + r * (1 / 120.0 + r * (1 / 720.0 + r * tail)))))
    )
    return p * double_of_bits((bits_of_double(shifted) + 1023) << 52)


@njit(inline="always")
def sigmoid(x: float) -> float:
    """1 / (1 + e^-x). Beyond |x| = 700 the argument is clamped, which changes no relevant bit."""
    x = -700.0 if x < -700.0 else x
    x = 700.0 if x > 700.0 else x
    return 1.0 / (1.0 + exponential(-x))


@njit(inline="always")
def logarithm(x: float) -> float:
    """log x for any normal x > 0, with an absolute or relative error of at most 1e-14.

    x = 2^n m with m in [0.75, 1.5), and log m = 2 atanh(f), f = (m - 1) / (m + 1): |f| <= 0.2.
    """
    bits = bits_of_double(x)
    # Adding 2^51 carries into the exponent where the mantissa is 1.5 or more.
    n = ((bits + (1 << 51)) >> 52) - 1023
    m = double_of_bits(bits - (n << 52))
    f = (m - 1.0) / (m + 1.0)
    s = f * f
    tail = 1 / 13.0 + s * (1 / 15.0 + s * (1 / 17.0 + s * (1 / 19.0 + s * (1 / 21.0))))
    series = 1.0 + s * (
        1 / 3.0 + s * (1 / 5.0 + s * (1 / 7.0 + s * (1 / 9.0 + s * (1 / 11.0 + s * tail))))
    )
    return n * LN2 + 2.0 * f * series


@njit(inline="always")
def nearest_integer(x: float) -> int:
    """The integer nearest to x, for |x| < 2^51, by the same trick: a cast may not vectorise."""
    return bits_of_double(x + _ROUND) - _ROUND_BITS
