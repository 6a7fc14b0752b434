"""Texts that stand for nothing: a missing cell of a table, or no identifier of a person."""

BLANKS = frozenset(
    {"", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"}
    | {"N/A", "NA", "NULL", "NaN", "n/a", "nan", "null"}
)
