"""Figures that pages quote from a result are those that its script last wrote."""

import pytest

import quoted
from doc_pages import ROOT, pages

QUOTED = [
    pytest.param(quotation, id=f"{page.relative_to(ROOT)}-{number}")
    for page in pages()
    for number, quotation in enumerate(quoted.quotations(page.read_text()))
    if quoted.figures(quotation.text)
]
ROW = "| correct | 700, as many as in a quick audit | 0.953 | 1.23 |"


@pytest.mark.parametrize("quotation", QUOTED)
def test_a_figure_is_that_of_the_result_that_is_named_next_to_it(quotation):
    wrong = quotation.wrong()
    assert not wrong, f"{sorted(quotation.results)} have no {wrong}:\n{quotation.text}"


def canary(text):
    return quoted.Quotation(text, frozenset({"canary"})).wrong()


def test_figures_are_compared_as_they_were_rounded():
    assert canary("It certifies 0.953, or 0.95, and 1.2.") == []
    assert canary("It certifies 0.954 and 1.7.") == ["0.954", "1.7"]


def test_figures_of_a_row_stand_in_one_line():
    assert canary(ROW) == []
    assert canary(ROW.replace("1.23", "1.432")) == ["0.953", "1.432"]


def test_settings_and_code_are_no_quotations():
    assert quoted.figures("At epsilon 0.3, ε = 0.1 or `theta=0.7` it takes 5 of 64 columns.") == []
    assert quoted.figures("At ε = 0.1, 3 and 8 it takes 1,200 ms, and 1.5 times as long.") == [
        "1,200",
        "1.5",
    ]


def test_a_text_has_the_results_that_it_names():
    page = (
        "It is 2.5 (`benchmarks/canary.py`).\n\n| a |\n|---|\n| 1.5 |\n\n- No name: 4.5.\n\n"
        "```text\ncanary.txt 7.5\n```\n\n<!-- speed -->\n`canary.txt` 8.5\n<!-- /speed -->\n\n"
        "| b |\n|---|\n| 2.25, `people.txt` |\n| 3.5 |\n"
    )
    found = {tuple(quoted.figures(each.text)): each.results for each in quoted.quotations(page)}
    del found[()]
    assert found == {("2.5",): {"canary"}, ("1.5",): {"canary"}, ("2.25",): {"people"}}
