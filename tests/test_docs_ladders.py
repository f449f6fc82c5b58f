"""Each conversation has a ladder on a page of explanation, and the messages in it are those of the code."""

import re
from pathlib import Path

import pytest

from hedgerow.corridor import messages

EXPLANATION = Path(__file__).resolve().parent.parent / "docs/explanation"
NAMED = re.compile(r"\b[A-Z][a-z]+(?:[A-Z][a-z]+)+\b")
CONVERSATIONS = {
    "horizontal": ("AskHistograms", "MaskedSums"),
    "horizontal with an opener": ("PassSum", "ToEveryParty"),
    "differential privacy": ("AskNoisedSums", "NoisedSums"),
    "vertical": ("AskSealedSums", "SealedSums"),
    "hidden rows": ("AskHiddenSums", "HiddenSides"),
    "alignment of rows": ("BlindIds", "MarkCommon"),
    "linkage of rows": ("LinkIds", "LinkedIds"),
    "hybrid": ("ShareColumns", "AskSides"),
    "prediction by asking": ("AskWays", "Known"),
    "sealed prediction": ("AskScores", "ScoresReady"),
}
"""Two messages by which its ladder is known."""


def ladders(text):
    blocks = re.findall(r"^```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [block for block in blocks if "--->" in block]


ALL = [ladder for page in sorted(EXPLANATION.glob("*.md")) for ladder in ladders(page.read_text())]


@pytest.mark.parametrize("conversation", CONVERSATIONS)
def test_a_conversation_has_a_ladder(conversation):
    assert any(all(name in ladder for name in CONVERSATIONS[conversation]) for ladder in ALL)


def test_ladders_name_messages_that_exist():
    assert {name for ladder in ALL for name in NAMED.findall(ladder) if not hasattr(messages, name)} == set()


def test_a_message_that_does_not_exist_is_seen():
    (ladder,) = ladders("```text\nAskNothing   ----------->\n```\n")
    assert not hasattr(messages, NAMED.findall(ladder)[0])
