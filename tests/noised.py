"""Federations with differential privacy for tests, whose noise is known: what each party drew, in order."""

import numpy as np

from federated import Federation, OpenParty, identity
from hedgerow import DP
from hedgerow.agreement.plan import Goal
from hedgerow.agreement.policy import ALLOW_ALL
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import decode_answer, decode_request
from hedgerow.data import partition
from hedgerow.data.table import Table
from hedgerow.model.noised_terms import terms_of
from hedgerow.model.prepare import n_categories
from hedgerow.privacy import noise
from hedgerow.privacy.ledger import RELEASED
from hedgerow.privacy.noised_words import KeptWords
from hedgerow.protocols.columns import loss_of
from hedgerow.protocols.party import Owner
from hedgerow.transports.inproc import InProcess
from hedgerow.trees.noised.fit import fit
from hedgerow.trees.noised.sums import OwnRows, OwnSums
from hedgerow.trees.params import TreeParams

LOOSE, PLAIN = DP(5.0), TreeParams()


def rows(n=600, columns=3, seed=0, classes=2) -> Table:
    """A table whose label depends on two of its columns; some values are missing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, columns)).astype(np.float32)
    score = X[:, 0] - X[:, 1] + rng.normal(size=n)
    X[rng.random(X.shape) < 0.05] = np.nan
    return Table.of(X, np.digitize(score, np.linspace(-1, 1, classes - 1) if classes > 2 else [0]))


class Drawn:
    """Noise that is known: drawn from a seed in place of the system's randomness, and written down."""

    def __init__(self, monkeypatch, seed=1, scale=1.0):
        self.rng, self.all, self.scale = np.random.default_rng(seed), [], scale
        monkeypatch.setattr(noise, "gaussian", self.draw)

    def draw(self, n, variance):
        """As `noise.gaussian`."""
        words = np.rint(self.rng.normal(0, self.scale * np.sqrt(variance), n)).astype(np.int64)
        self.all.append((variance, words))
        return words

    def of_release(self, number, n_parties):
        """The sum of what all parties drew for the release that was the so manyth."""
        return sum(words for _, words in self.all[number * n_parties : (number + 1) * n_parties])


def noised(tables=None, n=4, dp=LOOSE, goal=None, params=PLAIN, **more) -> Federation:
    """A federation whose sums have noise."""
    tables = partition.rows(rows(), n=n) if tables is None else tables
    return Federation(tables, params, goal or Goal(), dp=dp, **more)


class ExactReleases:
    """What `fit` asks for, from one table that all parties' rows are in, with noise that was drawn before."""

    def __init__(self, own: OwnSums, of_release):
        self.own, self.of_release, self.number, self.opened = own, of_release, 0, []

    def _with_noise(self, words):
        self.opened.append(words + self.of_release(self.number))
        self.number += 1
        return self.opened[-1]

    def rows(self):
        return self._with_noise(self.own.rows())

    def counts(self, asked):
        return self._with_noise(self.own.counts(asked))

    def begin(self, grid, schedule, trees):
        self.own.begin(grid, schedule, trees)

    def bin_counts(self):
        return self._with_noise(self.own.bin_counts())

    def additive(self, round_, base, values):
        return self._with_noise(self.own.additive(round_, base, values))

    def restart(self, base, values):
        self.own.restart(base, values)

    def leaves(self, round_, values):
        if round_:
            self.own.follow(round_ - 1, values)
        return self._with_noise(self.own.leaves(round_))


def pooled(fed: Federation, model, drawn: Drawn):
    """The same trees of one table with all rows, under the noise that the parties drew together."""
    whole = partition.pooled({name: table.aligned(model.columns) for name, table in fed.tables.items()})
    numbers = {label: i for i, label in enumerate(model.classes)}
    labels = np.array([numbers.get(label, label) for label in whole.labels.tolist()], np.float32)
    terms = terms_of(fed.plan.method.dp, model.columns, len(model.classes))
    releases = ExactReleases(
        OwnSums(OwnRows(whole.values, whole.absent, labels), terms),
        lambda number: drawn.of_release(number, len(fed.tables)),
    )
    assert loss_of(fed.plan, model.classes) == model.loss
    return fit(releases, terms, n_categories(model.columns), fed.plan.params.random_state), releases.opened


def same(forest, other) -> bool:
    """Whether two forests are the same to the last bit."""
    return all(np.array_equal(getattr(forest, f), getattr(other, f)) for f in forest.__dataclass_fields__)


class Killed(Exception):
    """A process ends here."""


class DurableLog:
    """A log that has lost, after its process was killed, what was not synced."""

    def __init__(self):
        self.synced, self.pending = [], []

    def note(self, event, /, **facts):
        self.pending.append({"event": event, **facts})

    def lines(self):
        return iter([*self.synced, *self.pending])

    def sync(self):
        self.synced += self.pending
        self.pending = []

    def lose_power(self):
        self.pending = []

    def released(self):
        """The keys of releases that are counted, as often as they are."""
        return [line["key"] for line in self.synced if line["event"] == RELEASED]


class OnDisk(Federation):
    """A federation whose parties keep logs and noised words, in a folder, beyond their processes."""

    def __init__(self, folder, dp, tables=None, **more):
        self.folder = folder
        tables = partition.rows(rows(300, 2), n=3) if tables is None else tables
        super().__init__(tables, PLAIN, logs={name: DurableLog() for name in tables}, dp=dp, **more)

    def party(self, name):
        owner = Owner(
            name, self.tables[name], None, ALLOW_ALL, identity(name), self.logs[name], durable=True,
            noised=KeptWords(self.folder / name, "a run"),
        )  # fmt: skip
        return OpenParty(owner, 1, lambda content: self.kept.__setitem__(name, content))

    def restart(self, name):
        self.logs[name].lose_power()
        super().restart(name)


class Deadly(InProcess):
    """Parties that are killed come back as new processes; every noised sum that leaves was counted on disk before."""

    def __init__(self, federation: OnDisk, loses=lambda _name, _request: False):
        super().__init__(federation.transport.answers)
        self.federation, self.loses, self.given = federation, loses, {}
        self.deaths = 0

    def carry(self, frames, deadline, most_bytes):
        answers = {}
        for name in frames:
            request = decode_request(frames[name])
            try:
                answer = self.answers[name](frames[name])
            except Killed:
                self.kill(name)
                continue
            self._check_counted(name, request, answer)
            if self.loses(name, request):
                self.kill(name)
            else:
                answers[name] = answer
        return answers, frozenset(frames) - frozenset(answers)

    def kill(self, name):
        self.deaths += 1
        self.federation.restart(name)

    def _check_counted(self, name, request, answer):
        if isinstance(decode_answer(answer, 1 << 26), m.NoisedSums):
            self.given.setdefault(name, set()).add(request.release)
            assert len(self.federation.logs[name].released()) >= len(self.given[name]), "a release was not counted"
