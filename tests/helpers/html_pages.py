"""Parsed pages, and names that try to inject markup."""

from html.parser import HTMLParser

HOSTILE = [
    "<script>alert(1)</script>",
    "</style><script>alert(2)</script>",
    '"><img src=x onerror=alert(3)>',
    "' onmouseover='alert(4)",
    "javascript:alert(5)",
    "\u202eright to left",
    "half a pair \ud800",
    "nul \x00",
    "&lt;b&gt;",
]
VOID = {"meta", "input"}


class Page(HTMLParser):
    """Elements with their attributes and text; rejects tags that do not match."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open = [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, name, attributes):
        element = {"name": name, "text": "", **dict(attributes)}
        assert len(dict(attributes)) == len(attributes)
        self.elements.append(element)
        if name not in VOID:
            self.open.append(element)

    def handle_endtag(self, name):
        assert self.open.pop()["name"] == name

    def handle_data(self, data):
        for element in self.open:
            element["text"] += data

    def all(self, name, **attributes):
        wanted = {"name": name, **{key.strip("_"): value for key, value in attributes.items()}}
        return [e for e in self.elements if wanted.items() <= e.items()]

    def one(self, name, **attributes):
        (found,) = self.all(name, **attributes)
        return found

    def text_of(self, section):
        return self.one("section", id=section)["text"]
