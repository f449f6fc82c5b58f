"""A page as tests look at it: its elements, its texts, and what it would load or run."""

import base64
import re
from html.parser import HTMLParser

EMPTY = ("img", "meta", "br", "hr")


class Page(HTMLParser):
    """Elements with their attributes, texts by the section they stand in; refuses what is not well nested."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.sections: dict[str, str] = {}
        self.scripts: list[str] = []
        self._open: list[str] = []
        self._section = ""
        self.feed(text)
        assert self._open == [], "every element ends"

    def handle_starttag(self, name, attributes):
        self.elements.append((name, dict(attributes)))
        if name == "section":
            self._section = dict(attributes)["id"]
        if name not in EMPTY:
            self._open.append(name)

    def handle_endtag(self, name):
        assert self._open.pop() == name
        if name == "section":
            self._section = ""

    def handle_data(self, data):
        if self._open and self._open[-1] == "script":
            self.scripts.append(data)
        elif self._section:
            self.sections[self._section] = self.sections.get(self._section, "") + data

    def of(self, name: str) -> list[dict[str, str]]:
        return [attributes for found, attributes in self.elements if found == name]

    @property
    def pictures(self) -> list[str]:
        """The drawings, as SVG."""
        begin = "data:image/svg+xml;base64,"
        assert all(image["src"].startswith(begin) for image in self.of("img"))
        return [base64.b64decode(image["src"].removeprefix(begin)).decode() for image in self.of("img")]


def loads(text: str) -> list[str]:
    """Whatever a page would fetch, or run: sources but for images inside it, links elsewhere, handlers, styles."""
    found = Page(text)
    places, inside = ("src", "href", "srcset", "action", "data", "poster"), ("#", "data:image/svg+xml;base64,")
    given = [pair for _, attributes in found.elements for pair in attributes.items()]
    said = [f"{key}={value}" for key, value in given if key in places and not value.startswith(inside)]
    said += [f"{key}={value}" for key, value in given if key.startswith("on")]
    said += [name for name, _ in found.elements if name in ("link", "iframe", "object", "embed", "form", "base")]
    said += re.findall(r"@import[^;]*|url\([^)]*\)", text)
    return said
