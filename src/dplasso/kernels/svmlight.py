"""Lines of svmlight text into arrays, every number rounded as ``float`` rounds it.

Text is whole lines, the last one ended: the line end stops every scan, so none of them looks for
the end of the text. Positions are signed for their arithmetic; `_at` turns them into unsigned ones,
which spares the check for negative indices.
"""

import math

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

from dplasso.kernels.arithmetic import double_of_bits

# Reasons to reject a line.
NOT_A_NUMBER, NOT_FINITE, NO_LABEL, MULTILABEL, NOT_A_PAIR = 1, 2, 3, 4, 5
UNORDERED, INDEX_TOO_SMALL, INDEX_TOO_LARGE, BAD_QUERY = 6, 7, 8, 9

# A number left to `float`: not a number, with the position of its text in the low bits.
UNDECIDED, POSITION_BITS = 0x7FF8000000000000, (1 << 51) - 1

_LINE_END, _SPACE, _HASH, _COLON, _COMMA, _POINT, _PLUS, _MINUS = b"\n #:,.+-"
_LETTER_E, _LETTER_I, _LETTER_N, _LETTER_Q = b"einq"
_LOWER = 32  # this bit makes a letter lower case
_BLANKS = sum(1 << blank for blank in b" \t\r\v\f")
_TEN = np.uint64(10)
_MOST_DIGITS = 19  # of a mantissa of 64 bits
_MOST_INDEX_DIGITS = 18
_HUGE_EXPONENT = 1 << 40  # more than any text has digits

_EXACT_MANTISSA, _EXACT_POWER = np.uint64(1 << 53), 22
_EXACT_POWERS = np.array([float(10**power) for power in range(_EXACT_POWER + 1)])
_LEAST_POWER, _GREATEST_POWER = -342, 308


def _leading_bits(power: int) -> int:
    """The 128 leading bits of 5^power, cut off; one more where 5^-power fits 64 bits, since an
    exact quotient must not fall short."""
    if power >= 0:
        exact = 5**power
        return exact << 128 >> exact.bit_length()
    divisor = 5**-power
    return (1 << 127 + divisor.bit_length()) // divisor + (divisor < 1 << 64)


_POWERS_OF_FIVE = [_leading_bits(power) for power in range(_LEAST_POWER, _GREATEST_POWER + 1)]
_FIVES_HIGH = np.array([bits >> 64 for bits in _POWERS_OF_FIVE], np.uint64)
_FIVES_LOW = np.array([bits & (1 << 64) - 1 for bits in _POWERS_OF_FIVE], np.uint64)


@njit(cache=True, nogil=True, error_model="numpy")
def count(text):  # type: ignore[no-untyped-def]
    """Lines and colons of ``text``: room enough for its rows and its entries."""
    lines = 0
    colons = 0
    for first in range(0, text.size, 128):
        run = text[first : first + 128]
        # Small counters: as many bytes as fit a register are compared at once.
        few_lines = np.uint8(0)
        few_colons = np.uint8(0)
        for k in range(run.size):
            few_lines += np.uint8(run[k] == _LINE_END)
            few_colons += np.uint8(run[k] == _COLON)
        lines += int(few_lines)
        colons += int(few_colons)
    return lines, colons


@njit(cache=True, nogil=True, error_model="numpy")
def after_line(text, position):  # type: ignore[no-untyped-def]
    """Position where the next line after ``position`` begins."""
    while _at(text, position) != _LINE_END:
        position += 1
    return position + 1


@njit(cache=True, nogil=True, error_model="numpy")
def parse(text, base, last, labels, indptr, indices, values):  # type: ignore[no-untyped-def]
    """Fill the arrays with the rows of ``text``; indices run from ``base`` to ``last``.

    Returns how many rows, entries and undecided numbers there are, why the parsing stopped early (0
    if it did not), and the number of lines before it stopped.
    """
    position = 0
    lines = 0
    rows = 0
    entries = 0
    undecided = 0
    indptr[0] = 0
    while position < text.size:
        position = _after_blanks(text, position)
        byte = _at(text, position)
        if byte not in (_LINE_END, _HASH):
            labels[rows], position, reason = _label(text, position)
            undecided += labels[rows] != labels[rows]
            if reason == 0:
                position, entries, open_values, reason = _pairs(
                    text, position, base, last, entries, indices, values
                )
                undecided += open_values
            if reason != 0:
                return rows, entries, undecided, reason, lines
            rows += 1
            indptr[rows] = entries
        position = after_line(text, position)
        lines += 1
    return rows, entries, undecided, 0, lines


@njit(cache=True, nogil=True, error_model="numpy")
def _label(text, position):  # type: ignore[no-untyped-def]
    """The label, the position after it and after the query's number if there is one, the reason."""
    label, position, reason = _number(text, position)
    byte = _at(text, position)
    if byte == _COLON:
        reason = NO_LABEL
    elif byte == _COMMA:
        reason = MULTILABEL
    elif reason == 0 and not _ends_word(byte):
        reason = NOT_A_NUMBER
    if reason != 0:
        return label, position, reason
    position = _after_blanks(text, position)
    if _at(text, position) == _LETTER_Q:
        return label, *_after_query(text, position)
    return label, position, 0


@njit(cache=True, nogil=True, error_model="numpy")
def _after_query(text, position):  # type: ignore[no-untyped-def]
    """The position after ``qid:`` and a whole number, and the reason to reject it or 0."""
    for byte in b"qid:":
        if _at(text, position) != byte:
            return position, BAD_QUERY
        position += 1
    byte = _at(text, position)
    position += byte in (_MINUS, _PLUS)
    first = position
    while _digit(text, position) < 10:
        position += 1
    fine = position > first and _ends_word(_at(text, position))
    return position, 0 if fine else BAD_QUERY


@njit(cache=True, nogil=True, error_model="numpy")
def _pairs(text, position, base, last, entries, indices, values):  # type: ignore[no-untyped-def]
    """Store the pairs of a line; the position after them, entries so far, undecided, reason."""
    previous = np.int64(-1)
    undecided = 0
    while True:
        position = _after_blanks(text, position)
        byte = _at(text, position)
        if byte in (_LINE_END, _HASH):
            return position, entries, undecided, 0
        index, position, reason = _index(text, position, base, last)
        if reason == 0 and index <= previous:
            reason = UNORDERED
        if reason != 0:
            return position, entries, undecided, reason
        value, position, reason = _number(text, position)
        if reason == 0 and not _ends_word(_at(text, position)):
            reason = NOT_A_NUMBER
        if reason != 0:
            return position, entries, undecided, reason
        undecided += value != value
        indices[np.uint64(entries)] = index - base
        values[np.uint64(entries)] = value
        entries += 1
        previous = index


@njit(cache=True, nogil=True, error_model="numpy")
def _index(text, position, base, last):  # type: ignore[no-untyped-def]
    """An index and its colon: the index, the position after the colon, the reason or 0."""
    first = position
    index = np.int64(0)
    digit = _digit(text, position)
    while digit < 10:
        index = index * 10 + digit
        position += 1
        digit = _digit(text, position)
    byte = _at(text, position)
    if position == first or byte != _COLON:
        negative = position == first and byte == _MINUS and _digit(text, position + 1) < 10
        return index, position, INDEX_TOO_SMALL if negative else NOT_A_PAIR
    if position - first > _MOST_INDEX_DIGITS or index > last:
        return index, position, INDEX_TOO_LARGE
    return index, position + 1, 0 if index >= base else INDEX_TOO_SMALL


@njit(cache=True, nogil=True, error_model="numpy")
def _number(text, start):  # type: ignore[no-untyped-def]
    """The decimal number at ``start``, the position after it, the reason to reject it or 0."""
    byte = _at(text, start)
    negative = byte == _MINUS
    first = start + (negative or byte == _PLUS)
    mantissa, position = _digits(text, first, np.uint64(0))
    digits = position - first
    exponent = 0
    if _at(text, position) == _POINT:
        mantissa, end = _digits(text, position + 1, mantissa)
        exponent = position + 1 - end
        digits -= exponent
        position = end
    if digits == 0:
        letter = _at(text, first) | _LOWER
        word = letter in (_LETTER_I, _LETTER_N)
        return 0.0, position, NOT_FINITE if word else NOT_A_NUMBER
    rest = 0
    if digits > _MOST_DIGITS:
        mantissa, dropped, rest = _leading_digits(text, first, position)
        exponent += dropped
    if _at(text, position) | _LOWER == _LETTER_E:
        power, position, reason = _power(text, position + 1)
        if reason != 0:
            return 0.0, position, reason
        exponent += power
    value = nearest_double(mantissa, exponent)
    if rest != 0 and nearest_double(mantissa + np.uint64(1), exponent) != value:
        return double_of_bits(np.int64(UNDECIDED | start)), position, 0
    return -value if negative else value, position, 0 if value < math.inf else NOT_FINITE


@njit(cache=True, nogil=True, error_model="numpy")
def _digits(text, position, mantissa):  # type: ignore[no-untyped-def]
    """Append digits to a mantissa, which may overflow; the position after them."""
    digit = _digit(text, position)
    while digit < 10:
        mantissa = mantissa * _TEN + np.uint64(digit)
        position += 1
        digit = _digit(text, position)
    return mantissa, position


@njit(cache=True, nogil=True, error_model="numpy")
def _leading_digits(text, first, end):  # type: ignore[no-untyped-def]
    """The 19 leading digits of a long mantissa, how many are dropped, whether those are not 0."""
    mantissa = np.uint64(0)
    taken = 0
    dropped = 0
    rest = 0
    for position in range(first, end):
        digit = _digit(text, position)
        if digit > 9:  # the decimal point
            continue
        if taken == _MOST_DIGITS:
            dropped += 1
            rest |= digit
        elif taken > 0 or digit > 0:
            mantissa = mantissa * _TEN + np.uint64(digit)
            taken += 1
    return mantissa, dropped, rest


@njit(cache=True, nogil=True, error_model="numpy")
def _power(text, position):  # type: ignore[no-untyped-def]
    """What follows the letter e: the power of ten, the position after it, the reason or 0."""
    byte = _at(text, position)
    negative = byte == _MINUS
    position += negative or byte == _PLUS
    first = position
    power = 0
    digit = _digit(text, position)
    while digit < 10:
        power = min(power * 10 + digit, _HUGE_EXPONENT)
        position += 1
        digit = _digit(text, position)
    reason = NOT_A_NUMBER if position == first else 0
    return -power if negative else power, position, reason


@njit(cache=True, nogil=True, error_model="numpy")
def nearest_double(mantissa, power):  # type: ignore[no-untyped-def]
    """The double nearest to mantissa times 10^power, ties to even; infinity if too large."""
    if mantissa < _EXACT_MANTISSA and -_EXACT_POWER <= power <= _EXACT_POWER:
        # Both factors are doubles, so that there is one rounding only.
        exact = np.float64(np.int64(mantissa))
        if power < 0:
            return exact / _EXACT_POWERS[np.uint64(-power)]
        return exact * _EXACT_POWERS[np.uint64(power)]
    if mantissa == np.uint64(0) or power < _LEAST_POWER:
        return 0.0
    if power > _GREATEST_POWER:
        return math.inf
    return _eisel_lemire(mantissa, power)


@njit(cache=True, nogil=True, error_model="numpy")
def _eisel_lemire(mantissa, power):  # type: ignore[no-untyped-def]
    """Number parsing at a gigabyte per second (Lemire, 2021), without the fallback, which is
    never needed (Mushtak and Lemire, 2023): the product of two 64-bit numbers has the 55 bits that
    decide, or the low half of the power of five supplies them.
    """
    zeros = _leading_zeros(mantissa)
    high, low = _product(mantissa << np.uint64(zeros), np.uint64(power - _LEAST_POWER))
    upper = np.int64(high >> np.uint64(63))
    shift = np.uint64(upper + 9)
    bits = np.int64(high >> shift)  # the 53 of the result, and one to round by
    exponent = (217706 * power >> 16) + 63 + upper - zeros + 1023  # log2 10 is 217706 / 65536
    if exponent <= 0:  # subnormal, or rounded up to the least normal number
        if exponent <= -63:
            return 0.0
        bits >>= 1 - exponent
        return double_of_bits((bits + (bits & 1)) >> 1)
    # A tie is possible for these powers only; it goes to the even neighbour.
    tie = low <= np.uint64(1) and -4 <= power <= 23 and bits & 3 == 1
    if tie and np.uint64(bits) << shift == high:
        bits -= 1
    bits = (bits + (bits & 1)) >> 1
    if bits >= 1 << 53:
        bits = np.int64(1 << 52)
        exponent += 1
    if exponent >= 0x7FF:
        return math.inf
    return double_of_bits((bits & ((1 << 52) - 1)) | exponent << 52)


@njit(cache=True, nogil=True, error_model="numpy")
def _product(mantissa, place):  # type: ignore[no-untyped-def]
    """Leading bits of a mantissa times a power of five, in two halves."""
    high = _high_product(mantissa, _FIVES_HIGH[place])
    low = mantissa * _FIVES_HIGH[place]
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):  # a carry could reach the bits that count
        more = _high_product(mantissa, _FIVES_LOW[place])
        low += more
        if more > low:
            high += np.uint64(1)
    return high, low


@njit(cache=True, nogil=True, error_model="numpy")
def _at(text, position):  # type: ignore[no-untyped-def]
    return text[np.uint64(position)]


@njit(cache=True, nogil=True, error_model="numpy")
def _digit(text, position):  # type: ignore[no-untyped-def]
    """The digit at ``position``; more than 9 if there is none."""
    return np.uint8(text[np.uint64(position)] - 48)


@njit(cache=True, nogil=True, error_model="numpy")
def _is_blank(byte):  # type: ignore[no-untyped-def]
    return byte <= _SPACE and _BLANKS >> np.int64(byte) & 1 == 1


@njit(cache=True, nogil=True, error_model="numpy")
def _ends_word(byte):  # type: ignore[no-untyped-def]
    return byte in (_SPACE, _LINE_END, _HASH) or _is_blank(byte)


@njit(cache=True, nogil=True, error_model="numpy")
def _after_blanks(text, position):  # type: ignore[no-untyped-def]
    while _is_blank(_at(text, position)):
        position += 1
    return position


@intrinsic
def _high_product(typing_context, a, b):  # type: ignore[no-untyped-def]
    """The upper 64 bits of the product of two 64-bit numbers."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(arg, wide) for arg in args))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), generate


@intrinsic
def _leading_zeros(typing_context, bits):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        return builder.ctlz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), generate
