"""Roles of columns, guessed from their names alone."""

import re
from collections.abc import Sequence


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split("|"))


# Words in the names of columns, and the role that they suggest; the first that fits counts.
_HINTS = {
    "identifier": _set("id|ids|uuid|guid|key|index|nr|nummer|rowid|identifier"),
    "date": _set("date|time|datetime|timestamp|day|dob|birthday|created|updated|at|on|since|until"),
    "text": _set(
        "note|notes|text|comment|comments|description|message|review|remark|remarks|body|"
        "title|summary|letter|abstract|question|answer|feedback"
    ),
    "number": _set(
        "age|count|num|number|amount|price|cost|income|salary|balance|score|rate|ratio|"
        "weight|height|bmi|size|length|width|total|sum|mean|median|average|min|max|percent|hours|"
        "days|years|months|minutes|rooms|bedrooms|population|households|latitude|longitude|lat|lon|"
        "temperature|pressure|dose|duration|distance|tenure|charges|gain|loss|value|visits|quantity|"
        "area|speed|year"
    ),
    "category": _set(
        "type|kind|category|class|group|status|state|country|region|city|town|ward|sex|"
        "gender|race|occupation|education|marital|relationship|department|code|level|plan|contract|"
        "method|payment|service|language|colour|color|smoker|proximity|partner|dependents|workclass"
    ),
}
_TARGETS = _set("target|label|outcome|y|churn|sick|default|response|classification")
# Words for people: a column that consists of one, or that names one and ends as identifiers do.
_PEOPLE = _set(
    "patient|pat|customer|user|member|subject|client|person|participant|respondent|employee|worker|"
    "staff|student|pupil|teacher|citizen|resident|individual|applicant|borrower|debtor|donor|"
    "subscriber|policyholder|insured|insuree|beneficiary|claimant|taxpayer|voter|tenant|guest|"
    "passenger|driver|player|visitor|buyer|seller|shopper|cardholder|accountholder|holder|owner|"
    "account|enrollee|child|mother|father|victim|offender|defendant|author|contact"
)
_NAMES_ONE = _set(
    "id|ids|uid|uuid|guid|key|index|nr|no|num|number|code|ref|reference|hash|token|pseudonym|"
    "identifier|name"
)
# Words that name a person on their own.
_PERSONAL = _set(
    "email|mail|phone|ssn|iban|mrn|nino|pid|uid|passport|username|login|usubjid|subjid|pseudonym|"
    "surname|forename|firstname|lastname|fullname|familyname|givenname|vorname|nachname"
)
# What may stand before "name" in the name of a person; nothing may, too.
_OF_A_NAME = _set("first|last|full|family|given|middle|maiden|birth")
# Words for what a row is, or belongs to, other than a person.
_NO_PEOPLE = _set(
    "row|record|line|entry|event|visit|encounter|admission|episode|stay|case|appointment|order|"
    "transaction|purchase|invoice|bill|payment|claim|document|doc|note|message|comment|post|article|"
    "review|rating|question|answer|report|request|ticket|session|trip|ride|flight|product|item|"
    "article|sample|test|lab|specimen|image|file|page|hospital|clinic|ward|department|store|shop|"
    "branch|school|region|device|station|machine|sensor|version|batch"
)


def guessed(column: str) -> str:
    """The role that the name of a column suggests; empty if none.

    >>> guessed("visit_id"), guessed("visitDate"), guessed("hours-per-week"), guessed("x7")
    ('identifier', 'date', 'number', '')
    """
    words = _words(column)
    for role, known in _HINTS.items():
        if role in ("identifier", "date"):  # these words come last: visit_id, created_at
            if words and words[-1] in known:
                return role
        elif known.intersection(words):
            return role
    return ""


def names_people(column: str) -> bool:
    """Whether the name of a column says that its cells identify people.

    >>> names_people("patient_id"), names_people("customerID"), names_people("USERID")
    (True, True, True)
    >>> names_people("Name"), names_people("last_name"), names_people("product_name")
    (True, True, False)
    >>> names_people("visit_id"), names_people("user_age"), names_people("SeniorCitizen")
    (False, False, False)
    """
    *first, last = _words(column) or [""]
    if last in _PERSONAL or (last in _PEOPLE and not first):
        return True
    if last in ("name", "names") and _OF_A_NAME.issuperset(first):
        return True
    joined = any(last.removesuffix(end) in _PEOPLE for end in _NAMES_ONE if last.endswith(end))
    return joined or (last in _NAMES_ONE and not _PEOPLE.isdisjoint(first))


def may_name_people(column: str) -> bool:
    """Whether the cells of a column identify people, or could: nothing says that they are of rows.

    >>> may_name_people("patient_id"), may_name_people("kvnr"), may_name_people("fall_id")
    (True, True, True)
    >>> may_name_people("visit_id"), may_name_people("id"), may_name_people("age")
    (False, False, False)
    """
    words = _words(column)
    if names_people(column) or not words:
        return names_people(column)
    *first, last = words
    numbered = any(last.endswith(end) and last != end for end in ("nr", "nummer"))
    ends_as_one = first and (guessed(column) or last) in ("identifier", "no")
    return bool(numbered or ends_as_one) and _NO_PEOPLE.isdisjoint(words)


def likely_target(columns: Sequence[str]) -> str | None:
    """The last column that is called as a target often is."""
    fitting = [column for column in columns if _TARGETS.intersection(_words(column))]
    return fitting[-1] if fitting else None


def _words(column: str) -> list[str]:
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", column)
    return re.findall(r"[a-z]+|[0-9]+", parted.lower())
