"""Make text from files and other people safe to print on a terminal."""


def printable(text: str) -> str:
    r"""The text in one line, in which the terminal shows every character and interprets none.

    Names in files may hold escape sequences that move the cursor, clear the screen or reorder the
    text. Such characters, and all others that are not printable, appear as Python escapes them.

    >>> printable("age"), printable("\x1b[2Jage\n"), printable("user\u202egnp.exe")
    ('age', '\\x1b[2Jage\\n', 'user\\u202egnp.exe')
    """
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else _escaped(sign) for sign in text)


def printable_lines(text: str, indent: str = "") -> str:
    r"""As `printable`, for several lines; lines after the first begin with ``indent``.

    >>> printable_lines("one\ntwo\x07", "  ")
    'one\n  two\\x07'
    """
    return f"\n{indent}".join(map(printable, text.split("\n")))


def _escaped(sign: str) -> str:
    return sign.encode("unicode_escape").decode("ascii")
