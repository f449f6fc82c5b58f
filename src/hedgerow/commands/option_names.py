"""Sentences of the library in the words of the command line: where Python has a keyword, it has an option."""

import re

OPTIONS = {
    "label": "--label", "id_column": "--id", "weight": "--weight", "categorical": "--categorical",
    "delimiter": "--delimiter", "decimal": "--decimal", "ignore": "--ignore",
}  # fmt: skip
KEYWORD = re.compile(rf"\b({'|'.join(OPTIONS)})=(?=[\s,;.]|$)")
"""What Python's callers write where the command line has an option, as errors mention it."""


def in_options(sentence: str) -> str:
    """The sentence with options in place of keywords."""
    return KEYWORD.sub(lambda found: OPTIONS[found[1]], sentence)
