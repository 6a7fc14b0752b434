"""The section with the words of whoever publishes the model."""

from dataclasses import asdict, dataclass

from dplasso.report.markup import Markup, section, tag

_CALLED = {"intended_use": "Intended use", "owner": "Owner", "contact": "Contact"}


@dataclass(frozen=True)
class About:
    """Free text about a model. It is shown as it is, and never as markup."""

    intended_use: str = ""
    owner: str = ""
    contact: str = ""

    @property
    def given(self) -> dict[str, str]:
        """The texts that are not empty."""
        return {name: text for name, text in asdict(self).items() if text.strip()}


def about_section(about: About, heading: str = "About this model") -> Markup:
    """Return the texts that were given; empty if there are none."""
    if not about.given:
        return Markup()
    parts = [
        tag("div", tag("dt", _CALLED[name]), tag("dd", text, dir="auto"))
        for name, text in about.given.items()
    ]
    return section("about", heading, tag("dl", *parts, class_="texts"))
