"""HTML from small functions. What is not marked as HTML already is text, and is escaped: names come from strangers."""

import base64
import hashlib
from collections.abc import Callable, Collection, Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from hedgerow.errors import MissingExtra
from hedgerow.report.pictures.canvas import content_of
from hedgerow.report.tree_text import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EMPTY_TAGS = ("img", "meta", "br", "hr")


class Html(str):
    """Text that is HTML already: it was made here, and everything in it that came from elsewhere is escaped."""


def safe(part: object) -> Html:
    """A part as HTML: itself if it is, else as text."""
    return part if isinstance(part, Html) else Html(escape(plain(str(part)), quote=True))


def joined(*parts: object) -> Html:
    """Parts one after the other."""
    return Html("".join(safe(part) for part in parts))


def tag(name: str, /, *parts: object, **attributes: object) -> Html:
    """An element; `class_` and `for_` lose their underscore, attributes that are None are left out."""
    given = "".join(f' {key.rstrip("_").replace("_", "-")}="{safe(value)}"'
                    for key, value in attributes.items() if value is not None)  # fmt: skip
    return Html(f"<{name}{given}>" if name in EMPTY_TAGS else f"<{name}{given}>{joined(*parts)}</{name}>")


def paragraph(*parts: object, **attributes: object) -> Html:
    """A paragraph."""
    return tag("p", *parts, **attributes)


def bullets(items: Iterable[object]) -> Html:
    """A list; nothing where it is empty."""
    lines = [tag("li", item) for item in items]
    return tag("ul", *lines) if lines else Html("")


def preformatted(text: str) -> Html:
    """Text whose line breaks are meant."""
    return tag("pre", Html("\n".join(map(safe, text.split("\n")))))


def table(
    head: Sequence[object],
    rows: Sequence[Sequence[object]],
    numbers: Collection[int] = (),
    caption: str | None = None,
    class_: str = "",
) -> Html:
    """A table whose rows become cards on a narrow screen; `numbers` are the columns that hold numbers.

    Cards of class `brief` have no names of columns.
    """
    kinds = ["number" if i in numbers else None for i in range(len(head))]
    top = [tag("th", name, scope="col", class_=kind) for name, kind in zip(head, kinds, strict=True)]
    lines = [
        tag("tr", *(tag("td", tag("span", cell), class_=kind, data_label=name)
                    for cell, kind, name in zip(row, kinds, head, strict=True)))
        for row in rows
    ]  # fmt: skip
    above = tag("caption", caption) if caption else ""
    return tag(
        "div", tag("table", above, tag("thead", tag("tr", *top)), tag("tbody", *lines)), class_=f"wide {class_}".strip()
    )


def facts(pairs: Iterable[tuple[object, object]]) -> Html:
    """Names and what they are, one below the other."""
    return tag("dl", *(joined(tag("dt", name), tag("dd", value)) for name, value in pairs))


def folded(title: object, *parts: object) -> Html:
    """What is shown when asked for; printing opens it."""
    return tag("details", tag("summary", title), *parts)


def bar(share: float, below: bool = False) -> Html:
    """A bar of this share of its place; one of a number below 0 is hollow."""
    return tag(
        "span",
        class_="bar minus" if below else "bar",
        style=f"width:{max(0.0, min(share, 1.0)) * 100:.1f}%",
        aria_hidden="true",
    )


def picture(draw: Callable[[], "Axes"], alt: str, caption: object = "", class_: str | None = None) -> Html:
    """A drawing inside the page, as an image in which nothing can run; nothing where matplotlib is missing."""
    try:
        content = content_of(draw(), "svg")
    except MissingExtra:
        return Html("")
    source = f"data:image/svg+xml;base64,{base64.b64encode(content).decode()}"
    below = tag("figcaption", caption) if caption else ""
    return tag("figure", tag("img", src=source, alt=alt), below, class_=class_)


def document(title: str, style: str, script: str, *parts: object, calls_home: bool = False) -> str:
    """A whole page; its own rules forbid it to load anything, or to run any other script than its own.

    A page that calls home may ask the address it came from, for what is new.
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    rules = f"default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    rules += "; connect-src 'self'" if calls_home else ""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=rules),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", title),
        tag("style", Html(style)),
    )
    body = tag("body", *parts, tag("script", Html(script)))
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"
