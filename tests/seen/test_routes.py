"""Each message goes from whom to whom its declaration says, and to nobody else.

What the transport carried in runs of every method is compared with `messages.ROUTES`: senders, receivers, whether
all of them got the same bytes, and who was given another party's answer.
"""

from collections import Counter, defaultdict
from functools import cache

import numpy as np
import pytest

from hedgerow.agreement.options import Vertical
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import decode_answer, decode_request, encode
from hedgerow.model import file
from hedgerow.model import part as parts
from hedgerow.privacy.intersection import PROOF_BYTES
from hedgerow.protocols.session.participants import asked
from runs import MORE, RUNS, run_of

ALL = RUNS | MORE
MOST = 1 << 30
LEAST_BYTES = 32
"""Of what is recognised in another message; less could be there by chance."""
RING = {m.LIST_HOLDER, m.NEXT_IN_RING, m.BACK_IN_RING}


class Transcript:
    """What crossed in a run, decoded, and who is who in it."""

    def __init__(self, crossed) -> None:
        self.plan, self.model = crossed.plan, crossed.model
        self.calls = [
            (
                {name: decode_request(frame, MOST) for name, frame in frames.items()},
                {name: decode_answer(frame, MOST) for name, frame in answers.items()},
            )
            for frames, answers in crossed.calls
        ]
        self.frames = [frames for frames, _ in crossed.calls]
        self.kinds = [type(next(iter(requests.values()))) for requests, _ in self.calls]
        self.everyone = max((set(requests) for requests, _ in self.calls), key=len)
        described = {
            name: answer
            for _, answers in self.calls
            for name, answer in answers.items()
            if isinstance(answer, m.OwnColumns)
        }
        self.splittable = (
            set(self.plan.answering)
            if self.plan.groups
            else {name for name, own in described.items() if (own.n_values + own.has_missing > 1).any()}
        )

    def alone_first(self, kind):
        """Whether a request went to each party by itself, and then to all."""
        asked_of = {frozenset(requests) for (requests, _), k in zip(self.calls, self.kinds, strict=True) if k is kind}
        return asked_of == {frozenset([name]) for name in self.everyone} | {frozenset(self.everyone)}

    @property
    def owners(self):
        """Whose cut each node of the forest is; empty for leaves."""
        parties = np.array([party for party, n in self.model.ownership.columns for _ in range(n)])
        columns = self.model.forest.columns
        return np.where(columns >= 0, parties[columns], "")

    def cuts_of(self, party, round_):
        """How many nodes of a round's tree are cut by a party."""
        first, last = self.model.forest.roots[round_ : round_ + 2]
        return int((self.owners[first:last] == party).sum())


@cache
def transcript(name):
    return Transcript(run_of(name))


def together(seen, number):
    """The receivers of a request and what each was sent; of a batch of sealed scores, over all its calls."""
    first = next(iter(seen.calls[number][0].values()))
    if not isinstance(first, m.AskScores):
        return list(seen.frames[number].items())
    batches = [{getattr(request, "batch", None) for request in requests.values()} for requests, _ in seen.calls]
    calls = [i for i, kind in enumerate(seen.kinds) if kind is m.AskScores and batches[i] == {first.batch}]
    return [sent for call in calls for sent in seen.frames[call].items()]


def wrong_receivers(seen, number, to):
    """What is wrong with the receivers of a request, were it declared to go to these."""
    requests, sent = seen.calls[number][0], together(seen, number)
    names, request = {name for name, _ in sent}, next(iter(requests.values()))
    if len(names) < len(sent):
        return "a party twice"
    if to.alike and len({frame for _, frame in sent}) > 1:
        return "different bytes"
    passive = (
        m.EVERY_PASSIVE,
        m.EACH_PASSIVE,
        m.EVERY_SPLITTABLE,
        m.EACH_SPLITTABLE,
        m.EVERY_DRAWN,
        m.EACH_DRAWN,
        m.OWNER,
    )
    if to in passive and not seen.plan.active:
        return "nobody is passive"
    expected = {
        m.EVERY_PARTY: seen.everyone,
        m.EACH_PARTY: seen.everyone,
        m.EVERY_PASSIVE: set(seen.plan.answering),
        m.EACH_PASSIVE: set(seen.plan.answering),
        m.OPENER: {seen.plan.opener},
        m.EVERY_SPLITTABLE: seen.splittable,
        m.EACH_SPLITTABLE: seen.splittable,
        m.EACH_ALONE: names if seen.alone_first(type(request)) else None,
    }
    if to in expected:
        return "" if names == expected[to] else "other receivers"
    if to in (m.EVERY_DRAWN, m.EACH_DRAWN):
        drawn = set(seen.plan.answering)
        if isinstance(seen.plan.method, Vertical):
            drawn = set(asked(seen.plan, getattr(request, "round", 0), seen.plan.answering))
        return "" if names == drawn & seen.splittable else "other receivers"
    if to == m.IN_TURN:
        if not hasattr(request, "turn"):
            return "nobody's turn"
        turn = {seen.plan.names[request.turn]}
        return "" if names == (turn if seen.plan.method.in_turn else seen.everyone) else "other receivers"
    if to == m.OWNER:
        return next(filter(None, (wrong_owner(seen, name, request) for name, request in requests.items())), "")
    assert to in RING, "a role that nobody checks"
    return "" if hasattr(request, "owner") else "no list"


def wrong_owner(seen, name, request):
    if isinstance(request, m.AskSides | m.AskDrawnSides):
        cuts = request.cuts
        owner = (seen.plan.group_of(name) or (name,))[0]
        own = seen.owners[seen.model.forest.roots[request.round + cuts.tree] + cuts.node] == owner
        return "" if own.all() else "another's cut"
    if isinstance(request, m.AskWays):
        own = parts.part_of(seen.model, name)
        known = set(zip(own.tree.tolist(), own.node.tolist(), strict=True))
        return "" if set(zip(request.tree.tolist(), request.node.tolist(), strict=True)) <= known else "another's cut"
    return "" if isinstance(request, m.AskHiddenSides) else "no cuts"


def wrong_counts(seen, routes):
    """Hidden cuts come without their nodes: each owner must have been asked as often as its columns are cut."""
    found = Counter()
    for requests, _ in seen.calls:
        for name, request in requests.items():
            if isinstance(request, m.AskHiddenSides) and routes[type(request)].to == m.OWNER:
                found[name, request.round] += len(request.cuts.column)
    return {f"{name} {round_}" for (name, round_), n in found.items() if n != seen.cuts_of(name, round_)}


def wrong_rings(seen, routes):
    """Every list goes once round the ring, and its marks go back."""
    names, n, ways = seen.plan.names, len(seen.plan.names), defaultdict(list)
    for (requests, _), kind in zip(seen.calls, seen.kinds, strict=True):
        if routes[kind].to in RING:
            for name, request in requests.items():
                ways[kind, getattr(request, "owner", 0)].append(name)
    steps = {m.LIST_HOLDER: range(n), m.NEXT_IN_RING: range(1, n), m.BACK_IN_RING: range(n - 1, -1, -1)}
    return {
        kind.__name__
        for (kind, owner), way in ways.items()
        if way != [at for s in steps[routes[kind].to] if (at := names[(owner + s) % n]) != seen.plan.active]
    }


def wrong_senders(seen, routes):
    """Answers that a party gave which cannot be the one declared, and requests of a driver that cannot."""
    found = set()
    for (_, answers), asked_for in zip(seen.calls, seen.kinds, strict=True):
        if (routes[asked_for].by == m.ACTIVE) > bool(seen.plan.active):
            found.add(asked_for.__name__)
        for name, answer in answers.items():
            by, to, _ = routes[type(answer)]
            may = {
                m.PARTY: True,
                m.OPENER: name == seen.plan.opener,
                m.PASSIVE: name in seen.plan.answering and bool(seen.plan.active),
                m.OWNER: routes[asked_for].to == m.OWNER,
            }
            reads = {m.DRIVER: True, m.ACTIVE: bool(seen.plan.active)}
            if not may.get(by) or not reads.get(to):
                found.add(type(answer).__name__)
    return found


def wrong(seen, routes=m.ROUTES):
    """Messages that went otherwise than declared."""
    found = {kind.__name__ for i, kind in enumerate(seen.kinds) if wrong_receivers(seen, i, routes[kind].to)}
    return found | wrong_counts(seen, routes) | wrong_rings(seen, routes) | wrong_senders(seen, routes)


@pytest.mark.parametrize("name", ALL)
def test_every_message_went_to_whom_it_is_declared_to_go(name):
    seen = transcript(name)
    for requests, answers in seen.calls:
        assert len({type(request) for request in requests.values()}) == 1
        assert set(answers) == set(requests)
    assert wrong(seen) == set()


def changed(kind, **more):
    return {**m.ROUTES, kind: m.ROUTES[kind]._replace(**more)}


RECEIVERS = {m.ROUTES[kind].to for kind in m.REQUESTS}
WEAKER = {
    m.EVERY_PARTY: {m.EACH_PARTY},
    m.EVERY_PASSIVE: {m.EACH_PASSIVE, m.EVERY_PARTY, m.EACH_PARTY},
    m.EACH_PASSIVE: {m.EACH_PARTY},
    m.EVERY_DRAWN: {m.EACH_DRAWN},
    m.EVERY_SPLITTABLE: {m.EACH_SPLITTABLE},
    **{role: {m.EACH_PARTY} for role in RING},
}
"""What holds of a message to these, too. One that is the same for all is told from others by a test below."""
ALWAYS = {
    m.ShareColumns: {m.EACH_DRAWN, m.EACH_SPLITTABLE},  # of parties that share columns, all always are
    m.AskBatch: {m.EACH_DRAWN, m.EACH_SPLITTABLE},  # all passive parties are asked, and there is always a missing bin
}


@pytest.mark.parametrize("kind", m.REQUESTS, ids=lambda kind: kind.__name__)
def test_a_wrong_receiver_in_a_declaration_is_noticed(kind):
    """The sabotage, for every request and every other receiver."""
    seen = [transcript(name) for name in ALL]
    for to in RECEIVERS - {m.ROUTES[kind].to} - WEAKER.get(m.ROUTES[kind].to, set()) - ALWAYS.get(kind, set()):
        assert any(wrong(one, changed(kind, to=to)) for one in seen if kind in one.kinds), to


def test_a_wrong_sender_in_a_declaration_is_noticed():
    for kind, by in ((m.Facts, m.OPENER), (m.MaskedSums, m.PASSIVE), (m.SealedSums, m.OWNER), (m.Done, m.PASSIVE)):
        assert any(kind.__name__ in wrong(transcript(name), changed(kind, by=by)) for name in ALL)
    assert "Propose" in wrong(transcript("masked"), changed(m.Propose, by=m.ACTIVE))


def test_what_is_not_alike_is_another_for_each_in_some_run():
    """Else it were the same for all, and the table ought to say so."""
    several, differ = set(), set()
    for seen in map(transcript, ALL):
        for frames, kind in zip(seen.frames, seen.kinds, strict=True):
            several |= {kind} if len(frames) > 1 else set()
            differ |= {kind} if len(set(frames.values())) > 1 else set()
    assert several - differ == {kind for kind in several if m.ROUTES[kind].to.alike}


# What is passed on


def contents(message):
    """What of a message could be recognised in another."""
    values = [getattr(message, name) for name in message.__struct_fields__]
    values += [getattr(v, name) for v in values if isinstance(v, m.Trees) for name in v.__struct_fields__]
    values = [value.tobytes() if isinstance(value, np.ndarray) else value for value in values]
    if isinstance(message, m.Proofs):  # one for every other party
        values = [message.blinded_names[i : i + PROOF_BYTES] for i in range(0, len(message.blinded_names), PROOF_BYTES)]
    return [v for v in values if isinstance(v, bytes) and len(v) >= LEAST_BYTES and len(set(v)) > 4]


def readable(frame):
    """A frame, and of a model the arrays that are in it."""
    message = decode_request(frame, MOST)
    if not isinstance(message, m.Farewell) or not message.model.startswith(b"{"):
        return frame
    return b"".join([frame, *(getattr(file.decoded(message.model, "").forest, n) for n in m.Trees.__struct_fields__)])


def passed_on(seen):
    """Answers that others than the driver were given, and where these were told to go."""
    found, said = set(), {}
    for (_, answers), frames, kind in zip(seen.calls, seen.frames, seen.kinds, strict=True):
        for frame in set(frames.values()):
            others, read = {name for name, one in frames.items() if one == frame}, readable(frame)
            for content, (name, of) in said.items():
                if others - {name} and content in read:
                    found.add((of, m.ROUTES[kind].to))
        said |= {content: (name, type(answer)) for name, answer in answers.items() for content in contents(answer)}
    return found


def test_no_party_is_given_anothers_answer_but_where_it_is_declared():
    found = {what for name in ALL for what in passed_on(transcript(name))}
    declared = {(kind, m.ROUTES[kind].then) for kind in m.ANSWERS if m.ROUTES[kind].then}
    everybody = {kind for kind, to in declared if to == m.EVERY_PARTY}
    assert {(kind, m.EVERY_PARTY if kind in everybody else to) for kind, to in found} == declared


def test_an_answer_that_is_passed_on_is_recognised():
    """The sabotage: a driver that tells one party another's masked sums."""
    seen = Transcript(run_of("masked"))
    sums = [(name, one) for _, answers in seen.calls for name, one in answers.items() if isinstance(one, m.MaskedSums)]
    name, answer = next((name, one) for name, one in sums if len(one.masked_words) > 8)
    other, leak = min(seen.everyone - {name}), m.Farewell(answer.masked_words.tobytes())
    seen.calls.append(({other: leak}, {}))
    seen.frames.append({other: encode(leak)})
    seen.kinds.append(m.Farewell)
    assert (m.MaskedSums, m.EVERY_PARTY) in passed_on(seen)
