"""Text from files and other people, as a terminal may be given it."""


def printable(text: str) -> str:
    r"""Text in one line, of which every character is shown and none is obeyed.

    Names in files may hold escape sequences that move the cursor, clear the screen or reorder what
    is read. Such characters, and all others that are not shown, appear as Python writes them.

    >>> printable("age"), printable("\x1b[2Jage\n"), printable("user\u202egnp.exe")
    ('age', '\\x1b[2Jage\\n', 'user\\u202egnp.exe')
    """
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else _escaped(sign) for sign in text)


def printable_lines(text: str, indent: str = "") -> str:
    r"""The same of several lines; those after the first begin with ``indent``.

    >>> printable_lines("one\ntwo\x07", "  ")
    'one\n  two\\x07'
    """
    return f"\n{indent}".join(map(printable, text.split("\n")))


def _escaped(sign: str) -> str:
    return sign.encode("unicode_escape").decode("ascii")
