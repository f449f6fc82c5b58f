"""How a model is trained over several parties' tables: options as objects, insecure ones looking it."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Literal, get_args

from hedgerow.agreement.plan import Align, ColumnNames, CutPoints, Protection
from hedgerow.errors import ParameterError
from hedgerow.privacy.lattice.cipher import Lattice
from hedgerow.privacy.paillier.cipher import Paillier


@dataclass(frozen=True)
class SecureAggregation:
    """Masks: the driver sees sums over all parties, and no party's own."""

    @property
    def protection(self) -> Protection:
        """The plan's word for it."""
        return "masked"


@dataclass(frozen=True)
class NoPrivacy:
    """Nothing is hidden; to be accepted in words.

    The driver sees every party's own sums, from which rows can be reconstructed. In a vertical federation the passive
    parties see every gradient, and with it the labels.
    """

    i_accept_disclosure: bool = False

    def __post_init__(self) -> None:
        if self.i_accept_disclosure is not True:
            raise ParameterError(
                "Without privacy the driver reads every party's sums, from which rows can be reconstructed, and in a "
                "vertical federation passive parties read every gradient, and with it the labels; "
                "say NoPrivacy(i_accept_disclosure=True) if that is meant."
            )

    @property
    def protection(self) -> Protection:
        """The plan's word for it."""
        return "plain"


@dataclass(frozen=True)
class Horizontal:
    """Same columns, different rows: trees grown from sums over all parties.

    `cut_points` are found from masked counts, or ("local") merged from the parties' own quantiles as FedTree does;
    `columns` are those all parties share, or "all"; fewer than half of those of the party that has most are refused
    without `allow_few_columns`; with `column_names="private"` a name that not all have stays
    unknown to everybody else; `party_share` is the share of parties drawn for each tree.
    With encryption (`Lattice`, `Paillier`) the driver sees no sums: `opener` names the party that opens and chooses.
    """

    privacy: SecureAggregation | Lattice | Paillier | NoPrivacy = SecureAggregation()
    cut_points: CutPoints = "counts"
    columns: Literal["shared", "all"] = "shared"
    party_share: float = 1.0
    opener: str = ""
    column_names: ColumnNames = "open"
    allow_few_columns: bool = False

    def __post_init__(self) -> None:
        _check_kind("privacy", self.privacy, (SecureAggregation, Lattice, Paillier, NoPrivacy))
        _check_words(self, cut_points=get_args(CutPoints), columns=("shared", "all"))
        _check_words(self, column_names=get_args(ColumnNames), allow_few_columns=(True, False))
        _check_numbers(self, party_share=Real)
        if not isinstance(self.opener, str):
            raise ParameterError(f"opener must be the name of a party; it is {_shown(self.opener)}.")


@dataclass(frozen=True)
class WholeTrees:
    """Baselines of the literature: each party grows trees on its own rows, and the trees are shared.

    `order` is "bagging" (all at once, averaged) or "sequential" (in turn, each on what the trees before it left);
    `allow_few_columns` is as for `Horizontal`.
    """

    order: Literal["bagging", "sequential"] = "bagging"
    allow_few_columns: bool = False

    def __post_init__(self) -> None:
        _check_words(self, order=("bagging", "sequential"), allow_few_columns=(True, False))


@dataclass(frozen=True)
class Vertical:
    """Same rows, different columns: the active party, which has the labels, grows trees over everybody's columns.

    `active` names it; without a name it is the one party whose table has labels. `align` says whether rows are the same
    everywhere and in order ("given"), or found by their ids ("private"); None: found, where they are not the same. The
    first `local_trees` rounds are grown from its own columns only; `party_share` is the share of passive parties that
    each later tree asks. With `hidden_rows` the others do not learn which rows share a node, at several times the cost.
    """

    privacy: Lattice | Paillier | NoPrivacy = Lattice()  # noqa: RUF009  # frozen
    active: str | None = None
    align: Align | None = None
    local_trees: int = 0
    party_share: float = 1.0
    hidden_rows: bool = False

    def __post_init__(self) -> None:
        _check_kind("privacy", self.privacy, (Lattice, Paillier, NoPrivacy))
        _check_words(self, align=(*get_args(Align), None), hidden_rows=(True, False))
        _check_numbers(self, party_share=Real, local_trees=Integral)
        if not isinstance(self.active, str | None):
            raise ParameterError(f"active must be the name of a party, or None; it is {_shown(self.active)}.")


Federation = Horizontal | Vertical | WholeTrees


def check_federation(given: object) -> None:
    """Refuse anything that is no federation, such as its name."""
    if given is not None:
        _check_kind("federation", given, (Horizontal, Vertical, WholeTrees), " (None for one table)")


def _check_kind(name: str, given: object, kinds: tuple[type, ...], more: str = "") -> None:
    if not isinstance(given, kinds):
        calls = [f"{k.__name__}({'i_accept_disclosure=True' if k is NoPrivacy else ''})" for k in kinds]
        allowed = f"{', '.join(calls[:-1])} or {calls[-1]}"
        raise ParameterError(f"{name} must be {allowed}{more}; it is {_shown(given)}.")


def _check_words(own: object, **allowed: tuple[object, ...]) -> None:
    for name, words in allowed.items():
        given = getattr(own, name)
        if not any(given is word or (isinstance(given, str) and given == word) for word in words):
            shown = [repr(word) for word in words]
            choice = f"{', '.join(shown[:-1])} or {shown[-1]}"
            raise ParameterError(f"{name} must be {choice}; it is {_shown(given)}.")


def _check_numbers(own: object, **kinds: type) -> None:
    for name, kind in kinds.items():
        given = getattr(own, name)
        if not isinstance(given, kind) or isinstance(given, bool):
            what = "a whole number" if kind is Integral else "a number"
            raise ParameterError(f"{name} must be {what}; it is {_shown(given)}.")


def _shown(given: object) -> str:
    """A value in a sentence; a class is one that was not called."""
    return f"the class {given.__name__}, which is not called" if isinstance(given, type) else repr(given)


__all__ = [
    "FEW_BITS",
    "LEAST_CUT_ROWS",
    "Federation",
    "Horizontal",
    "Lattice",
    "NoPrivacy",
    "Paillier",
    "SecureAggregation",
    "Vertical",
    "WholeTrees",
    "check_federation",
]
LEAST_CUT_ROWS = 50
"""In a federation values that fewer rows share are not told apart by a cut, unless it says otherwise."""
FEW_BITS = 8
"""Of sealed gradients of classes whose rows weigh the same, unless it says otherwise; what that costs:
`benchmarks.gradient_bits`. Beside a heavy row or a large number, light rows would be lost in so few."""
