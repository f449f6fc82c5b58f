"""Conversations with different parties, held at the same time: one exchange for the next question of each."""

from collections.abc import Generator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from hedgerow.corridor.messages import Answer, Request
from hedgerow.protocols.session.group import PartyGroup


class Question(NamedTuple):
    """What parties are asked in one step of a conversation."""

    requests: Mapping[str, Request]
    most_bytes: int
    """Of an answer."""


A = TypeVar("A", bound=Answer)
T = TypeVar("T")
Conversation = Generator[Question, Mapping[str, A], T]
"""Asks question after question, each with what was answered to the one before."""


def together(group: PartyGroup, conversations: Sequence[Conversation[A, T]], kind: type[A]) -> list[T]:
    """What each conversation comes to; no party is asked in two of them."""
    ends: dict[int, T] = {}
    answers: dict[str, A] = {}
    asked: dict[int, Question | None] = dict.fromkeys(range(len(conversations)))
    while asked:
        for number, last in list(asked.items()):
            try:
                told = None if last is None else {party: answers[party] for party in last.requests}
                asked[number] = next(conversations[number]) if told is None else conversations[number].send(told)
            except StopIteration as stop:
                ends[number] = stop.value
                del asked[number]
        questions = [question for question in asked.values() if question is not None]
        requests = {party: request for one in questions for party, request in one.requests.items()}
        if requests:
            answers = group.ask(requests, kind, max(one.most_bytes for one in questions))
    return [ends[number] for number in range(len(conversations))]
