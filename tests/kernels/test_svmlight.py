"""Compiled parsing of svmlight text: numbers as `float` gives them, and reasons for refusals."""

import math
import struct

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dplasso.kernels import svmlight as kernels

LARGEST = 2**31 - 1


def parse(text, base=1, last=LARGEST):
    """Rows as (label, indices, values), the number of undecided numbers, reason, lines."""
    text = np.frombuffer(bytearray(text), np.uint8)
    lines, colons = kernels.count(text)
    labels, indptr = np.empty(lines), np.empty(lines + 1, np.int64)
    indices, values = np.empty(colons, np.int32), np.empty(colons)
    rows, entries, undecided, reason, lines = kernels.parse(
        text, base, last, labels, indptr, indices, values
    )
    parts = [slice(indptr[row], indptr[row + 1]) for row in range(rows)]
    found = [(labels[k], indices[p].tolist(), values[p].tolist()) for k, p in enumerate(parts)]
    return found, undecided, reason, lines


def number(word):
    """What the kernel makes of a word; where it is left to `float`, the word it points at."""
    text = b"7 1:" + word.encode() + b" \n"
    [(_, _, [value])], undecided, reason, _ = parse(text)
    assert reason == 0
    assert undecided == math.isnan(value)
    if not undecided:
        return value
    [bits] = struct.unpack("<q", struct.pack("<d", value))
    position = bits & kernels.POSITION_BITS
    return float(text[position:].split()[0])


def bits_of(value):
    return struct.pack("<d", value)


def assert_as_float(word):
    if math.isinf(float(word)):
        assert parse(b"7 1:" + word.encode() + b"\n")[2] == kernels.NOT_FINITE
        return
    assert bits_of(number(word)) == bits_of(float(word)), word


FINITE = st.floats(allow_nan=False, allow_infinity=False)


@given(FINITE, st.sampled_from(["%r", "%.16g", "%.17g", "%.3g", "%.19e", "%.20e", "%.40e"]))
@example(5e-324, "%.17g")
@example(2.2250738585072014e-308, "%.16g")  # the least normal number, rounded
@example(2.225073858507201e-308, "%.17g")
@example(1.7976931348623157e308, "%.40e")
@example(-0.0, "%r")
@settings(max_examples=1000, deadline=None)
def test_printed_numbers_come_back_as_float_reads_them(value, form):
    assert_as_float(form % value)


@given(
    st.text("0123456789", min_size=1, max_size=40),
    st.text("0123456789", max_size=40),
    st.integers(-400, 250),
    st.sampled_from(["", "-", "+"]),
    st.sampled_from(["e", "E"]),
)
@settings(max_examples=1000, deadline=None)
def test_long_mantissas_and_all_exponents_are_read_as_float_reads_them(
    whole, fraction, power, sign, letter
):
    assert_as_float(f"{sign}{whole}.{fraction}{letter}{power}")


@given(st.integers(2**52, 2**53 - 1), st.integers(-1100, 960), st.integers(-1, 1))
@settings(max_examples=500, deadline=None)
def test_ties_and_their_neighbours_are_read_as_float_reads_them(mantissa, power, off):
    """Numbers half-way between two doubles, to the last digit, and one digit more or less."""
    half = 2 * mantissa + 1
    if power >= 0:
        digits, tens = half << power, 0
    else:
        digits, tens = half * 5**-power, power
    assert_as_float(f"{digits * 10 + off}e{tens - 1}")


@given(st.integers(2**52, 2**53 - 1), st.integers(0, 4))
@settings(max_examples=300, deadline=None)
def test_ties_of_few_digits_go_to_the_even_neighbour(mantissa, power):
    half = 2 * mantissa + 1
    assert_as_float(f"{half * 5**power}e-{power}")
    assert_as_float(f"{half << power}")


def test_a_number_that_19_digits_do_not_decide_is_left_to_float():
    word = "9007199254740993." + "0" * 30 + "1"  # just over a tie
    _, undecided, reason, _ = parse(b"7 1:" + word.encode() + b"\n")
    assert (undecided, reason) == (1, 0)
    assert_as_float(word)


@pytest.mark.parametrize("word", ["1.", ".5", "+1", "007", "1e5", "1E+05", "-.0e-0", "0e999999999"])
def test_spellings_of_numbers(word):
    assert_as_float(word)


@pytest.mark.parametrize(
    "word", ["0." + "0" * 400 + "1e401", "1" + "0" * 400 + "e-400", "0" * 500 + "1.5"]
)
def test_many_zeros_count_for_the_exponent_only(word):
    assert_as_float(word)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"x 1:1", kernels.NOT_A_NUMBER),
        (b"1x 1:1", kernels.NOT_A_NUMBER),
        (b"1_0 1:1", kernels.NOT_A_NUMBER),
        (b"1 1:", kernels.NOT_A_NUMBER),
        (b"1 1:.", kernels.NOT_A_NUMBER),
        (b"1 1:1e", kernels.NOT_A_NUMBER),
        (b"1 1:1e+", kernels.NOT_A_NUMBER),
        (b"1 1:--1", kernels.NOT_A_NUMBER),
        (b"1 1:0x10", kernels.NOT_A_NUMBER),
        (b"1 1:2:3", kernels.NOT_A_NUMBER),
        (b"nan 1:1", kernels.NOT_FINITE),
        (b"1 1:-Infinity", kernels.NOT_FINITE),
        (b"1 1:1e309", kernels.NOT_FINITE),
        (b"1e400", kernels.NOT_FINITE),
        (b"1:1 2:2", kernels.NO_LABEL),
        (b"1,2 1:1", kernels.MULTILABEL),
        (b"1 2", kernels.NOT_A_PAIR),
        (b"1 :2", kernels.NOT_A_PAIR),
        (b"1 +2:2", kernels.NOT_A_PAIR),
        (b"1 1.5:2", kernels.NOT_A_PAIR),
        (b"1 1:1 \x00", kernels.NOT_A_PAIR),
        (b"1 1:1 qid:3", kernels.NOT_A_PAIR),
        (b"1 2:1 1:1", kernels.UNORDERED),
        (b"1 2:1 2:1", kernels.UNORDERED),
        (b"1 0:1", kernels.INDEX_TOO_SMALL),
        (b"1 -3:1", kernels.INDEX_TOO_SMALL),
        (b"1 2147483648:1", kernels.INDEX_TOO_LARGE),
        (b"1 18446744073709551617:1", kernels.INDEX_TOO_LARGE),
        (b"1 qid:x 1:1", kernels.BAD_QUERY),
        (b"1 qid: 1:1", kernels.BAD_QUERY),
        (b"1 qid 1:1", kernels.BAD_QUERY),
    ],
)
def test_what_is_refused_and_why(line, reason):
    rows, _, found, lines = parse(b"3 1:2\n\n" + line + b"\n4 1:2\n")
    assert (rows, found, lines) == ([(3.0, [0], [2.0])], reason, 2)


def test_layout_between_the_numbers_does_not_matter():
    text = b"# all\n\n \t\r\n1 qid:-7\t1:2\v 3:4\f\r\n-2#9\n+3 \t2:5#x 1:y\n"
    rows, undecided, reason, lines = parse(text)
    assert rows == [(1.0, [0, 2], [2.0, 4.0]), (-2.0, [], []), (3.0, [1], [5.0])]
    assert (undecided, reason, lines) == (0, 0, 6)


def test_indices_run_from_base_to_last():
    assert parse(b"1 0:5 4:6\n", base=0, last=4)[0] == [(1.0, [0, 4], [5.0, 6.0])]
    assert parse(b"1 0:5 5:6\n", base=0, last=4)[2] == kernels.INDEX_TOO_LARGE
    assert parse(b"1 2147483647:1\n", base=0)[0] == [(1.0, [LARGEST], [1.0])]


def test_lines_and_colons_are_counted():
    text = b":\n" * 1000 + b"a:b:" * 77 + b"\n"
    assert kernels.count(np.frombuffer(bytearray(text), np.uint8)) == (1001, 1154)


def test_the_line_after():
    text = np.frombuffer(bytearray(b"ab\n\nc\n"), np.uint8)
    assert [kernels.after_line(text, place) for place in range(6)] == [3, 3, 3, 4, 6, 6]
