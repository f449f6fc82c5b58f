"""A generated payment network: payments that one party sees, accounts that its banks know, a few payments anomalous.

What makes a payment anomalous is a handful of rules. A rule has a share of all anomalous payments and a precision: so
many of the payments that meet it are anomalous, the others look the same and are not. It covers just so many payments
as follow from the two; accounts of which a rule speaks are picked until their payments reach that. Payments that meet
no rule are anomalous by chance, rarely. The best possible area under the precision-recall curve is about the sum of
share times precision over the rules that a party can see, so that the gap between the payments alone and all tables
together is set by a preset: `AD` and `DEV` have the gaps of the two payment sets of the HybridTree paper.

Rare signals are whole numbers in columns of few values: in a column of many, quantile bins would hide them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hedgerow.data.hybrid_partition import HybridTables
from hedgerow.data.table import Column, Table
from hedgerow.errors import ParameterError

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

PAYMENT_COLUMNS = (
    "amount", "hour", "weekday", "settlement_days", "currency", "amount_difference", "sender_risk", "receiver_risk",
    "earlier_payments",
)  # fmt: skip
"""Of the active party: amounts are logarithms, a difference is to the account's usual amounts, in ten classes or so."""
ACCOUNT_COLUMNS = ("status", "flag", "kyc_risk", "age_months")
"""Of the banks: status 3 is closed, 2 frozen; of the flags, 4, 7 and 9 are bad ones."""

BIG, RISKY, NIGHT = 7 + 1.5 * 0.6745, 0.7, 6.5
"""The upper quarter of amounts, the upper three tenths of receivers' risks, and the hour at which night ends."""
CLOSED, FROZEN, WATCHED = 3, 2, 1
BAD_FLAGS, OTHER_FLAGS = (4, 7, 9), (1, 2, 3, 5, 6, 8, 10, 11)


@dataclass(frozen=True)
class Network:
    """The knobs of the generator."""

    rate: float = 0.005
    """Share of payments that are anomalous."""
    payment_share: float = 0.53
    """Share of these that payments alone give away."""
    account_share: float = 0.265
    """Share that takes an account's columns."""
    interaction: float = 0.5
    """Share of the latter that takes a column of the payment, too."""
    precision: float = 0.86
    """How many of the payments that meet a rule are anomalous, in the mean over rules."""
    payments_per_account: int = 20
    bank_skew: float = 1.0
    """How much banks differ in size; 0: not at all."""
    odd_banks: float = 0.0
    """How much banks differ in how many odd accounts they have; 0: not at all."""
    coverage: float = 1.0
    """Share of accounts that any bank knows."""

    def __post_init__(self) -> None:
        shares = (self.rate, self.payment_share, self.account_share, self.interaction, self.precision, self.coverage)
        if not all(0 <= share <= 1 for share in shares) or self.payment_share + self.account_share > 1:
            raise ParameterError("The shares of a payment network lie between 0 and 1, and add up to 1 at most.")
        if self.payments_per_account < 1 or self.bank_skew < 0 or self.odd_banks < 0:
            raise ParameterError("A payment network has a payment an account at least, and no skew below 0.")


PRESETS = {"AD": Network(), "DEV": Network(payment_share=0.115, account_share=0.52)}
SIZES = {"AD": (4_691_615, 705_108), "DEV": (2_993_804, 1_003_675)}
"""Training and test payments of the sets of the HybridTree paper that the presets are made after."""


class Payments(NamedTuple):
    """A network's tables."""

    payments: Table
    """The active party's, with labels; a row's id is its number."""
    account: NDArray[np.int64]
    """The account of each payment, by which banks know it."""
    banks: dict[str, Table]
    """What each bank knows of its accounts, whose numbers are the ids."""

    def together(self) -> Table:
        """Payments with their accounts' columns, missing where no bank knows the account."""
        rows = np.full((self._n_accounts(), len(ACCOUNT_COLUMNS)), np.nan, np.float32)
        for bank in self.banks.values():
            rows[bank.ids] = np.asarray(bank.values)
        values = np.concatenate([self.payments.values, rows[self.account]], axis=1)
        columns = (*self.payments.columns, *(Column(name) for name in ACCOUNT_COLUMNS))
        return Table(columns, values, labels=self.payments.labels, ids=self.payments.ids)

    def _n_accounts(self) -> int:
        """Up to the last that has a payment or a bank; it need not have both."""
        known = [int(np.max(bank.ids, initial=0)) for bank in self.banks.values() if bank.ids is not None]
        return max(int(self.account.max()), *known) + 1

    def by_payment(self, rows: NDArray[np.int64]) -> HybridTables:
        """These payments, and at each bank a row for each of them that is of one of its accounts."""
        known = np.concatenate([np.asarray(bank.ids) for bank in self.banks.values()])
        sizes = [bank.n_rows for bank in self.banks.values()]
        bank_of, place = (np.full(self._n_accounts(), -1) for _ in range(2))
        bank_of[known] = np.repeat(np.arange(len(sizes)), sizes)
        place[known] = np.concatenate([np.arange(size) for size in sizes])
        passive = {}
        for number, (name, bank) in enumerate(self.banks.items()):
            own = rows[bank_of[self.account[rows]] == number]
            passive[name] = replace(bank.take(place[self.account[own]]), ids=own)
        return HybridTables(self.payments.take(rows), passive)

    def by_account(self, rows: NDArray[np.int64]) -> HybridTables:
        """These payments, with their accounts' numbers as ids, and what each bank knows of its accounts."""
        return HybridTables(replace(self.payments.take(rows), ids=self.account[rows]), dict(self.banks))


def hybrid_payments(
    preset: str = "AD",
    scale: float = 1.0,
    *,
    banks: int = 25,
    rows: Literal["payments", "accounts"] = "payments",
    network: Network | None = None,
    seed: int = 0,
) -> tuple[HybridTables, HybridTables]:
    """Training and test payments of one network as an active party and its banks; `scale` 1 is the paper's size.

    Both are payments of the same accounts. A bank's table has a row for each payment of its accounts, with the
    payment's id, or (`rows="accounts"`) for each account: payments then have their account's number as their id, which
    repeats. `network` takes the place of the preset's.
    """
    if preset not in PRESETS or not 0 < scale <= 1 or rows not in ("payments", "accounts"):
        raise ParameterError(
            f"Payments are of preset 'AD' or 'DEV', a scale above 0 and at most 1, and rows 'payments' or 'accounts'; "
            f"not {preset!r}, {scale!r} and {rows!r}."
        )
    n_training, n_test = (max(1, round(scale * size)) for size in SIZES[preset])
    made = generate_payments(n_training + n_test, network or PRESETS[preset], banks, seed)
    training, test = np.arange(n_training), n_training + np.arange(n_test)
    tables = made.by_payment if rows == "payments" else made.by_account
    return tables(training), tables(test)


class _Rule(NamedTuple):
    share: float
    precision: float


def generate_payments(rows: int, network: Network = PRESETS["AD"], banks: int = 25, seed: int = 0) -> Payments:
    """So many payments, and the accounts of so many banks."""
    if rows < 1 or banks < 1:
        raise ParameterError("A payment network has at least one payment and one bank.")
    rng = np.random.default_rng([seed, rows, banks])
    n_accounts = max(rows // network.payments_per_account, 4 * banks)
    sizes = rng.dirichlet(np.full(banks, 2 / network.bank_skew)) if network.bank_skew else np.full(banks, 1 / banks)
    bank_of = rng.choice(banks, n_accounts, p=sizes)
    activity = rng.lognormal(0, 1, n_accounts)
    activity /= activity.sum()
    account = rng.choice(n_accounts, rows, p=activity)
    rules = _rules(network)
    oddness = np.exp(network.odd_banks * rng.standard_normal(banks))[bank_of]
    known = _accounts(rng, rules, network.rate, activity, oddness)
    own, met = _payments(rng, rules, network.rate, rows)
    met |= _met_by_accounts(known[account], own)
    chance = np.full(rows, network.rate * (1 - network.payment_share - network.account_share))
    for name, meets in met.items():
        np.maximum(chance, meets * rules[name].precision, out=chance)
    labels = (rng.random(rows) < chance).astype(np.int64)
    covered = rng.random(n_accounts) < network.coverage
    tables = {}
    for bank, name in enumerate(bank_names(banks)):
        own_accounts = np.flatnonzero((bank_of == bank) & covered)
        columns = tuple(Column(name) for name in ACCOUNT_COLUMNS)
        tables[name] = Table(columns, known[own_accounts], ids=own_accounts)
    columns = tuple(Column(name) for name in PAYMENT_COLUMNS)
    return Payments(Table(columns, own, labels=labels, ids=np.arange(rows)), account, tables)


def bank_names(n: int) -> tuple[str, ...]:
    """What so many banks are called."""
    return tuple(f"bank{bank + 1:0{len(str(n))}d}" for bank in range(n))


def _rules(network: Network) -> dict[str, _Rule]:
    """Each rule's share of the anomalous payments, and its precision: some are surer than others."""
    pure, mixed = network.account_share * (1 - network.interaction), network.account_share * network.interaction
    shares = {"difference": network.payment_share / 2, "first_at_night": network.payment_share / 2}
    shares |= {"closed": pure / 2, "kyc": pure / 2, "frozen": 0.34 * mixed, "flag": 0.33 * mixed, "new": 0.33 * mixed}
    surer = (0.05, -0.05, 0.08, -0.05, 0.05, 0.0, -0.08)
    precise = (min(0.99, network.precision + more) for more in surer)
    return {name: _Rule(share, p) for (name, share), p in zip(shares.items(), precise, strict=True)}


def _covered(rule: _Rule, rate: float) -> float:
    """The share of payments that meet a rule."""
    return rate * rule.share / rule.precision


def _accounts(
    rng: np.random.Generator, rules: Mapping[str, _Rule], rate: float, activity: Floats, oddness: Floats
) -> NDArray[np.float32]:
    """What banks know of each account: those that a rule speaks of, and the rest as accounts are."""
    n, free, odd = len(activity), np.ones(len(activity), np.bool_), {}
    also = {"frozen": 0.25, "flag": 0.3, "new": 0.25}  # share of payments that have the rule's other condition
    for name in ("closed", "frozen", "flag", "kyc", "new"):
        wanted = _covered(rules[name], rate) / also.get(name, 1.0)
        order = np.argsort(rng.exponential(size=n) / oddness)
        order = order[free[order] & (activity[order] <= max(wanted / 3, 1.5 / n))]  # no single account fills it
        picked = order[: int(np.searchsorted(np.cumsum(activity[order]), wanted)) + 1]
        odd[name] = np.zeros(n, np.bool_)
        odd[name][picked] = True
        free[picked] = False
    watched = rng.random(n) < 0.05
    status = np.select([odd["closed"], odd["frozen"], watched], [CLOSED, FROZEN, WATCHED], 0)
    flagged = np.where(rng.random(n) < 0.1, rng.choice(OTHER_FLAGS, n), 0)
    flag = np.where(odd["flag"], rng.choice(BAD_FLAGS, n), flagged)
    kyc = np.where(odd["kyc"], rng.integers(8, 11, n), rng.binomial(7, 0.12, n))
    age = np.where(odd["new"], 0, np.minimum(rng.gamma(2, 15, n).astype(np.int64) + 1, 30))
    return np.column_stack([status, flag, kyc, age]).astype(np.float32)


def _payments(
    rng: np.random.Generator, rules: Mapping[str, _Rule], rate: float, n: int
) -> tuple[NDArray[np.float32], dict[str, Bools]]:
    """What the active party knows of each payment, and which meet the rules of payments alone."""
    own = np.empty((n, len(PAYMENT_COLUMNS)), np.float32)
    own[:, 0] = rng.normal(7, 1.5, n)
    own[:, 1] = np.clip(rng.normal(13, 4.5, n), 0, 23.99)
    own[:, 2] = rng.integers(0, 7, n)
    own[:, 3] = rng.poisson(1, n)
    own[:, 4] = rng.choice(12, n, p=rng.dirichlet(np.full(12, 2.0)))
    rare = rng.random(n) < _covered(rules["difference"], rate) / (1 - RISKY)
    own[:, 5] = np.where(rare, rng.integers(10, 21, n), rng.binomial(9, 0.1, n))
    own[:, 6], own[:, 7] = rng.random(n), rng.random(n)
    night = own[:, 1] < NIGHT
    first = rng.random(n) < _covered(rules["first_at_night"], rate) / (0.25 * max(float(night.mean()), 1e-9))
    own[:, 8] = np.where(first, 0, np.minimum(rng.geometric(0.1, n), 30))
    big, risky = _conditions(own)
    return own, {"difference": rare & risky, "first_at_night": first & night & big}


def _met_by_accounts(known: NDArray[np.float32], own: NDArray[np.float32]) -> dict[str, Bools]:
    """Which payments meet the rules that take an account's columns."""
    big, risky = _conditions(own)
    status, flag, kyc, age = known.T
    return {
        "closed": status == CLOSED,
        "kyc": kyc >= 8,
        "frozen": (status == FROZEN) & big,
        "flag": np.isin(flag, BAD_FLAGS) & risky,
        "new": (age < 1) & big,
    }


def _conditions(own: NDArray[np.float32]) -> tuple[Bools, Bools]:
    return own[:, 0] > BIG, own[:, 7] > RISKY
