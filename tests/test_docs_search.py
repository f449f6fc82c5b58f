"""The search of the built pages finds what a reader looks for under the field's words."""

import io
import json
import re
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("index", "how-to/explain-a-model", "how-to/deploy", "how-to/choose-epsilon", "reference/glossary")


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    """What the search in the browser reads, for a few pages."""
    application = pytest.importorskip("sphinx.application")
    out = tmp_path_factory.mktemp("site")
    others = [
        str(page.relative_to(ROOT / "docs"))
        for page in (ROOT / "docs").rglob("*.md")
        if str(page.relative_to(ROOT / "docs").with_suffix("")) not in PAGES
    ]
    settings = {"exclude_patterns": ["_build", *others], "html_theme": "basic"}
    words = (ROOT / "docs", ROOT / "docs", out, out / "trees", "html", settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of Sphinx and its extensions about each other
        application.Sphinx(*words, status=None, warning=io.StringIO()).build()
    return json.loads(re.fullmatch(r"Search\.setIndex\((.*)\)", (out / "searchindex.js").read_text(), re.DOTALL)[1])


def pages_with(index, words):
    """Pages that hold every word, as the script of the search decides it: by their stems, in titles or text."""
    from sphinx.search.en import SearchEnglish

    stem = SearchEnglish({}).stem
    found = []
    for word in words.split():
        places = [index[where].get(stem(word), []) for where in ("terms", "titleterms")]
        found.append({n for place in places for n in (place if isinstance(place, list) else [place])})
    return {index["docnames"][n] for n in set.intersection(*found)}


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("feature importance", "how-to/explain-a-model"),
        ("shap", "how-to/explain-a-model"),
        ("systemd", "how-to/deploy"),
        ("docker", "how-to/deploy"),
        ("differential privacy", "how-to/choose-epsilon"),
        ("secure aggregation", "reference/glossary"),
        ("homomorphically encrypt", "reference/glossary"),
    ],
)
def test_a_page_is_found_by_the_fields_words(index, words, page):
    assert page in pages_with(index, words)


def test_feature_importance_is_a_heading_which_the_search_puts_first(index):
    (page, _), *more = index["alltitles"]["Feature importance"]
    assert (index["docnames"][page], more) == ("how-to/explain-a-model", [])


def test_what_is_on_no_page_is_not_found(index):
    assert pages_with(index, "feature unheardof") == set()
