"""What a page shows differs from what is printed only where noise or a clock may change it."""

import pytest

from printed import difference

FIT = "accuracy 0.862\nwords ['rash', 'fever']\n"


def test_equal_texts_do_not_differ_however_lines_are_broken():
    assert difference("accuracy 0.862 words\n['rash', 'fever']\n", FIT) is None


@pytest.mark.parametrize("changed", ["accuracy 0.861", "precision 0.862", "accuracy 0.862\nmore"])
def test_another_number_word_or_line_is_a_difference(changed):
    assert difference(FIT, FIT.replace("accuracy 0.862", changed)) is not None


def test_what_is_left_out_may_be_any_text():
    assert difference("accuracy [...]", FIT) is None
    assert difference("words [...]", FIT) is not None


def test_numbers_within_a_bound_do_not_differ():
    assert difference(FIT, FIT.replace(".862", ".91"), "within 0.05") is None
    assert difference(FIT, FIT.replace(".862", ".92"), "within 0.05") is not None
    assert difference(FIT, FIT.replace("rash", "cough"), "within 0.05") is not None


def test_numbers_that_vary_have_their_places():
    assert difference(FIT, FIT.replace("0.862", "-7e+03"), "numbers vary") is None
    assert difference(FIT, FIT.replace("0.862", "none"), "numbers vary") is not None


def test_rows_that_vary_are_as_many():
    table = "word  weight\nrash  1.5\nfever  -0.2\n"
    assert difference(table, "word  weight\ncough  0.1\nrash  3\n", "rows vary") is None
    assert difference(table, "word  weight\ncough  0.1\n", "rows vary") is not None
    assert difference(table, "word  height\ncough  0.1\nrash  3\n", "rows vary") is not None


def test_dates_hashes_and_the_padding_of_arrays_may_be_any():
    shown = f"2026-11-18 12:06:43 head {'0a' * 32}\n[[0.9  0.1 ]\n [0.25 0.75]]"
    printed = f"2027-01-02 03:04:05 head {'b1' * 32}\n[[0.9 0.1]\n [0.25 0.75]]"
    assert difference(shown, printed) is None
    assert difference(shown.replace("head", "tail"), printed) is not None
    assert difference("0.7376339619900469", "0.7376339619900468") is not None  # no hash


def test_a_part_of_a_file_has_lines_of_it():
    assert difference("role = 1\n", "name = 2\nrole = 1\n", "part of x.toml") is None
    assert difference("role = 3\n", "name = 2\nrole = 1\n", "part of x.toml") is not None


def test_a_comparison_that_does_not_exist_is_rejected():
    with pytest.raises(ValueError, match="no comparison"):
        difference(FIT, FIT, "about")
