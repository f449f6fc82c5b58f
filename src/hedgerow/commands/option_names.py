"""Sentences of the library in the words of the command line: where Python has a keyword, it has an option."""

from hedgerow.errors import Keyword, Sentence

OPTIONS = {
    "label": "--label", "id_column": "--id", "weight": "--weight", "categorical": "--categorical",
    "delimiter": "--delimiter", "decimal": "--decimal", "ignore": "--ignore",
}  # fmt: skip


def in_options(sentence: str) -> str:
    """The sentence with options in place of keywords."""
    return sentence.reworded(_option) if isinstance(sentence, Sentence) else sentence


def _option(keyword: Keyword) -> str:
    return str(keyword) if keyword.value is not None else OPTIONS.get(keyword.name, str(keyword))
