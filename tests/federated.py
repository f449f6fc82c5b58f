"""Federations in one process for tests: every frame can be heard, lost or altered on its way."""

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import msgspec
import numpy as np
import pytest

from hedgerow.agreement.link_speeds import LinkSpeed
from hedgerow.agreement.options import (
    Horizontal,
    Hybrid,
    Lattice,
    NoPrivacy,
    Paillier,
    SecureAggregation,
    Vertical,
    WholeTrees,
)
from hedgerow.agreement.plan import Goal, Member, Plan
from hedgerow.agreement.policy import ALLOW_ALL
from hedgerow.corridor.wire import Corridor, decode_request, encode
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.errors import ProtocolError
from hedgerow.identity.identity import Identity
from hedgerow.model import labels as ground
from hedgerow.model import part as parts
from hedgerow.model.model import classes_of
from hedgerow.model.train import Task, train
from hedgerow.protocols.driver import Driver, run
from hedgerow.protocols.party import Owner, Party
from hedgerow.protocols.probe import measured
from hedgerow.protocols.session.owner import Active
from hedgerow.transports.inproc import InProcess
from hedgerow.trees.losses import Loss
from hedgerow.trees.params import TreeParams

SMALL = TreeParams(n_estimators=3, max_depth=3, min_cut_rows=5)
TINY = replace(SMALL, n_estimators=2, max_depth=2)
_KNOWN: dict[str, Identity] = {}


def identity(name: str) -> Identity:
    """The same one for a name throughout the tests; making keys takes time."""
    return _KNOWN.setdefault(name, Identity.fresh(name))


class Heard(NamedTuple):
    """A message that crossed."""

    sender: str
    receiver: str
    message: object
    frame: bytes

    @property
    def kind(self) -> str:
        return type(self.message).__name__


def method_of(method="horizontal", protection=None, key_bits=3072, link_mbit=None, **options):
    """The options of a method by the words of a run file; what is hidden may be said in one word."""
    usual = {"horizontal": "masked", "vertical": "lattice", "hybrid": "lattice"}
    word = protection or usual.get(method)
    made = {"masked": SecureAggregation, "lattice": lambda: Lattice(link_mbit), "paillier": lambda: Paillier(key_bits)}
    privacy = made.get(word, lambda: NoPrivacy(i_accept_disclosure=True))()
    if method == "vertical":
        return Vertical(privacy, **{"align": "given", **options})
    if method == "hybrid":
        return Hybrid(privacy, **options)
    return Horizontal(privacy, **options) if method == "horizontal" else WholeTrees(method, **options)


def with_method(plan: Plan, **options) -> Plan:
    """The plan with other options of its method."""
    return replace(plan, method=msgspec.structs.replace(plan.method, **options))


class OpenParty(Party):
    """A party that a test looks into: what its role holds, whatever the role."""

    @property
    def _rows_role(self):
        return getattr(self.role, "rows_party", self.role)

    @property
    def journal(self):
        return self.role.context.journal

    @property
    def steps(self):
        """A horizontal party's, once it is introduced."""
        return getattr(self._rows_role, "steps", None)

    @property
    def rows(self):
        """A horizontal party's, once columns and classes are agreed."""
        return self._rows_role.schema.rows

    @property
    def names(self):
        """The names of its columns that are aligned privately."""
        return self._rows_role.names

    @property
    def side(self):
        """A passive party's answers."""
        return self.role

    @property
    def passive(self):
        """A passive party's rows."""
        return self.role.rows

    @property
    def sets(self):
        """Its rows that are aligned privately."""
        return self.role.sets


class Federation:
    """Parties with tables, a plan, and what crossed between them and the driver."""

    def __init__(self, tables, params=SMALL, goal=Goal(), valid=None, policy=ALLOW_ALL, logs=None, **plan):  # noqa: B008
        self.tables, self.valid, self.policy, self.logs = tables, valid or {}, policy, logs or {}
        members = tuple(Member(name, identity(name).fingerprint) for name in tables)
        run, coordinator = plan.pop("run", "a test"), plan.pop("coordinator", "")
        self.plan = Plan(run, members, goal, params, method_of(**plan), coordinator)
        self.heard: list[Heard] = []
        self.kept: dict[str, bytes] = {}
        self.parties = {name: self.party(name) for name in self.plan.answering}
        self.transport = InProcess({name: self._answer(name) for name in self.plan.answering})

    def party(self, name: str) -> OpenParty:
        """A party as it is at the start of its process."""
        policy = self.policy[name] if isinstance(self.policy, dict) else self.policy
        owner = Owner(name, self.tables[name], self.valid.get(name), policy, identity(name), self.logs.get(name))
        return OpenParty(owner, 1, partial(self.kept.__setitem__, name))

    def _answer(self, name: str):
        return lambda frame: self.parties[name].answer(frame)

    def restart(self, name: str) -> None:
        """The process of this party ends and another begins."""
        self.parties[name] = self.party(name)

    def _listen(self, *what) -> None:
        self.heard.append(Heard(*what))

    def measure(self) -> None:
        """The link to every party is measured, and said to be one of 100 Mbit/s."""
        speeds = measured(Corridor(self.transport, (self._listen,)), self.plan, 1.0)
        self.plan = replace(self.plan, link_speeds=tuple(LinkSpeed(one.party, 100.0, 20) for one in speeds))

    def driver(self, **more) -> Driver:
        more = {"deadline": 1.0, "patience": 0.1, **more}
        if active := self.plan.active:
            more.setdefault("own", Active(self.tables[active], self.valid.get(active)))
        return Driver(self.plan, Corridor(more.pop("transport", self.transport), (self._listen,)), **more)

    def run(self, state=None, **more):
        """The model and the driver's last state."""
        return run(self.driver(**more), state)

    def model(self, **more):
        return self.run(**more)[0]

    def whole(self, **more):
        """The model of a vertical run with the parts of all parties put together."""
        model = self.model(**more)
        return parts.joined(model, {name: parts.decoded(part, name) for name, part in self.kept.items()})

    def of(self, *kinds: str) -> list[Heard]:
        """Messages of these kinds, in order."""
        return [heard for heard in self.heard if heard.kind in kinds]


def scattered(table: Table, n: int, seed=0) -> tuple[dict[str, Table], Table]:
    """Parties by columns, each without some of the rows and in an order of its own; and the rows that all have."""
    rng, everywhere, parties = np.random.default_rng(seed), np.ones(table.n_rows, bool), {}
    for name, part in partition.columns(table, n=n).items():
        rows = rng.permutation(table.n_rows)[: table.n_rows * 9 // 10]
        everywhere &= np.isin(np.arange(table.n_rows), rows)
        parties[name] = part.take(rows)
    return parties, table.take(everywhere)


class MemoryLog:
    """A party's log, which outlives its process."""

    def __init__(self):
        self.kept = []

    def note(self, event, /, **facts):
        self.kept.append({"event": event, **facts})

    def lines(self):
        return iter(list(self.kept))

    def sync(self):
        pass


def vertical(params=SMALL, **plan) -> Federation:
    """A federation by columns, the first party being the active one; the others have the better columns."""
    table = partition.pooled(two_class(1))
    last = table.n_columns - 1
    parties = partition.columns(table, share=[[last], [0], list(range(1, last))])
    plan = {"method": "vertical", "protection": "plain", "active": next(iter(parties)), "align": "private", **plan}
    return Federation(parties, params, **plan)


class Lossy(InProcess):
    """Loses what `lose(party, request)` says, until `back` is called."""

    def __init__(self, federation: Federation, lose) -> None:
        super().__init__(federation.transport.answers)
        self.lose, self.gone, self.returning = lose, set(), True

    def here(self):
        return super().here() - self.gone

    def wait(self, parties, deadline):
        if self.returning:
            self.gone -= parties
        return parties & frozenset(self.gone)

    def carry(self, frames, deadline, most_bytes):
        self.gone |= {name for name, frame in frames.items() if self.lose(name, decode_request(frame))}
        there = {name: frame for name, frame in frames.items() if name not in self.gone}
        answers, _ = super().carry(there, deadline, most_bytes)
        return answers, frozenset(frames) - frozenset(answers)


class Stopped(Exception):
    """The driver stops before it says this."""


class Stopping(InProcess):
    """Carries everything up to a request for which `here(request)` is true."""

    def __init__(self, federation: Federation, here) -> None:
        super().__init__(federation.transport.answers)
        self.stops = here

    def carry(self, frames, deadline, most_bytes):
        request = decode_request(next(iter(frames.values())))
        if self.stops(request):
            raise Stopped(request)
        return super().carry(frames, deadline, most_bytes)


def until(federation: Federation, here, state=None):
    """The request for which `here(request)` is true, which nobody has heard; all before it was said and answered."""
    try:
        federation.run(state, transport=Stopping(federation, here))
    except Stopped as stop:
        return stop.args[0]
    raise AssertionError("the run ended before that request")


def loss_of(goal: Goal, params: TreeParams, labels) -> tuple[Loss, tuple]:
    if goal.objective is not None:
        return Loss(goal.objective, goal.parameter), ()
    classes = classes_of(labels)
    return ground.loss_of_classes(len(classes), params.average), classes


def pooled_model(tables, params=SMALL, goal=Goal(), valid=None):  # noqa: B008
    """What a federation of these tables must equal."""
    table = tables if isinstance(tables, Table) else partition.pooled(tables)
    loss, classes = loss_of(goal, params, table.labels)
    held_out = None
    if goal.follow:
        held_out = valid if isinstance(valid, Table) else partition.pooled(valid)
    task = Task(
        loss,
        classes,
        goal.base_score,
        goal.scale_pos_weight,
        held_out,
        goal.eval_metric,
        goal.early_stopping_rounds if goal.follow else None,
    )
    return train(table, params, task)


def same(one, other, table=None) -> bool:
    """Models alike to the last bit."""
    alike = one.forest == other.forest and (one.base_score, one.history, one.columns, one.classes, one.loss) == (
        other.base_score,
        other.history,
        other.columns,
        other.classes,
        other.loss,
    )
    if table is None:
        return alike
    return alike and np.array_equal(one.predict(table), other.predict(table))


def values(n=400, n_columns=5, seed=0, missing=0.1):
    """Numbers with ties and gaps, and a signal in them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_columns)).astype(np.float32)
    X[:, 1] = np.round(X[:, 1] * 2)
    signal = X[:, 0] + X[:, 1] * X[:, 2] / 2 + rng.normal(size=n) / 2
    X[rng.random(X.shape) < missing] = np.nan
    return X, signal


def labels(kind: str, signal):
    """Labels of a kind: two, many, numbers or counts."""
    if kind == "two":
        return (signal > 0.2).astype(int)
    if kind == "many":
        return np.digitize(signal, [-1, 0.5, 1.5])
    if kind == "counts":
        return np.round(np.exp(np.clip(signal, -2, 2)))
    return signal.astype(np.float32)


def two_class(n_parties: int, how="even", n=300, **more) -> dict[str, Table]:
    """Parties with two classes."""
    X, signal = values(n)
    return partition.rows(X, labels("two", signal), n_parties, how=how, **more)


def params_of(**more) -> TreeParams:
    return replace(SMALL, **more)


def step(kind, round_=0, level=None):
    """Whether a request is this step of this round."""
    return lambda r: isinstance(r, kind) and r.round == round_ and level in (None, r.level)


def stopped(here, **more):
    """A party, and the request that it would hear next."""
    fed = Federation(two_class(3), TINY, **more)
    request = until(fed, here)
    return fed.parties["party1"], request


def refuses(party, request, match, kind=ProtocolError):
    """The party refuses the request with this kind of error; it is then put back where it was, to hear another."""
    steps = getattr(party, "steps", None)
    before = steps and (steps.growing, party.transcript.chain)
    with pytest.raises(kind, match=match):
        party.answer(encode(request))
    if steps is not None:
        steps.growing, party.transcript.chain = before


def changed(array, at, value):
    """A copy with one entry changed."""
    out = np.array(array)
    out[at] = value
    return out
