"""20 Newsgroups from raw text: hashed words, the group and the author of every article.

Words are hashed to 2^18 columns, so that the vocabulary is public, and only their presence counts:
entries are 0 or 1. Of an article the body is kept. The header is dropped, up to the first empty
line, as are lines of the body that name one of the 20 groups, which would tell the label; quotes
and signatures stay. Cross-posts, which repeat a body, stay too.
"""

import json
import lzma
import re

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import HashingVectorizer

from harness import datasets

TEXT = "news20_rebuilt/20_newsgroups_raw.jsonl.xz"
COLUMNS = 2**18


def load() -> tuple[sp.csr_array, np.ndarray, list[str]] | None:
    """Rows, the place of every article's group, and the names of the groups.

    None where the text is not at hand.
    """
    articles = _articles()
    if articles is None:
        return None
    names, groups = np.unique([article["group"] for article in articles], return_inverse=True)
    telling = re.compile("|".join(map(re.escape, names)), re.IGNORECASE)
    words = HashingVectorizer(n_features=COLUMNS, binary=True, norm=None, alternate_sign=False)
    X = words.transform(_body(article["text"], telling) for article in articles)
    return sp.csr_array(X).astype(np.float32), groups, list(names)


def authors() -> np.ndarray | None:
    """The author of every article: the address in its header, in lower case."""
    articles = _articles()
    return None if articles is None else np.array([_author(a["text"]) for a in articles])


def _articles() -> list[dict[str, str]] | None:
    place = datasets.folder() / TEXT
    if not place.exists():
        return None
    with lzma.open(place, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _author(text: str) -> str:
    header = text.partition("\n\n")[0]
    line = re.search(r"^From:(.*)$", header, re.MULTILINE | re.IGNORECASE)
    written = "" if line is None else line[1]
    address = re.search(r"[\w.+%!/=-]+@[\w.-]+", written)
    return (written.strip() if address is None else address[0]).lower()


def _body(text: str, telling: re.Pattern[str]) -> str:
    lines = text.partition("\n\n")[2].split("\n")
    return "\n".join(line for line in lines if not telling.search(line))
