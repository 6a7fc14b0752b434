"""Which columns may name people, told from names alone."""

import pytest

from dplasso.schema.guesses import may_name_people, names_people


@pytest.mark.parametrize(
    "name", ["pat_id", "kvnr", "Patientennummer", "fall_id", "policy_no", "group key", "member_id"]
)
def test_whoever_drafts_a_schema_is_asked_about_columns_that_could_name_people(name: str) -> None:
    assert may_name_people(name)


@pytest.mark.parametrize(
    "name", ["id", "nr", "no", "visit_id", "order_no", "encounterId", "row_index", "smoker_no", ""]
)
def test_columns_that_identify_rows_are_no_question(name: str) -> None:
    assert not may_name_people(name)


@pytest.mark.parametrize("name", ["fall_id", "kvnr", "policy_no"])
def test_a_name_that_could_be_of_anything_is_no_claim(name: str) -> None:
    assert may_name_people(name) and not names_people(name)


@pytest.mark.parametrize(
    "name", ["Name", "first name", "lastName", "FULL_NAME", "surname", "Nachname"]
)
def test_names_of_people_name_people(name: str) -> None:
    assert names_people(name) and may_name_people(name)


@pytest.mark.parametrize("name", ["product_name", "file name", "ward_name", "rename", "first", "n"])
def test_names_of_things_name_no_people(name: str) -> None:
    assert not names_people(name) and not may_name_people(name)
