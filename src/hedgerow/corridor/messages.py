"""Everything one party may ever say to another, who says it to whom, and who can read it.

Each message is declared with its sender and its receivers (`@message`); one that is not cannot be sent, because nobody
can decode it. The driver of a vertical run is the active party. Each field says how it travels: *clear* (its receiver
reads it), *masked* (noise alone; only the sum over all parties means anything), *sealed* (only the holder of a secret
key can open it), *blinded* (nobody can; equal things match), *noised* (masked, and the sum has the plan's noise).
`disclosures()` is the table in the documentation; tests compare fields, senders and receivers with real runs.
"""

from collections.abc import Callable, Iterator
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, TypeVar, get_type_hints

import msgspec
import numpy as np
from numpy.typing import NDArray

from hedgerow.data.table import Column

How = Literal["clear", "masked", "sealed", "blinded", "noised"]


class Travels(NamedTuple):
    """How a field travels, and what it tells."""

    how: How
    tells: str


def clear(tells: str) -> Travels:
    """Its receiver reads it."""
    return Travels("clear", tells)


def masked(tells: str) -> Travels:
    """Noise alone; only the sum over all parties means anything."""
    return Travels("masked", tells)


def sealed(tells: str) -> Travels:
    """Only the holder of the secret key, which never travels, can open it."""
    return Travels("sealed", tells)


def noised(tells: str) -> Travels:
    """As masked, and the sum over all parties has the noise that the plan's promise needs."""
    return Travels("noised", tells)


def blinded(tells: str) -> Travels:
    """Nobody can open it; equal things that have passed the same secrets are equal, and nothing else shows."""
    return Travels("blinded", tells)


ClassLabel = int | float | str | bool
U8: TypeAlias = NDArray[np.uint8]
I32: TypeAlias = NDArray[np.int32]
U16: TypeAlias = NDArray[np.uint16]
U32: TypeAlias = NDArray[np.uint32]
I64: TypeAlias = NDArray[np.int64]
U64: TypeAlias = NDArray[np.uint64]
F32: TypeAlias = NDArray[np.float32]
F64: TypeAlias = NDArray[np.float64]
Bools: TypeAlias = NDArray[np.bool_]


class Role(NamedTuple):
    """Who sends or receives a message."""

    name: str
    alike: bool = False
    """Whether all who receive it receive the same bytes at the same time."""


DRIVER = Role("driver")
"""The coordinator; in a vertical run and a prediction the active party."""
PARTY = Role("party")
EVERY_PARTY = Role("every party", alike=True)
"""Of those that answer the driver: in a vertical run the passive ones."""
EACH_PARTY = Role("each party, its own")
EACH_ALONE = Role("each party alone, then all together", alike=True)
IN_TURN = Role("party whose turn it is (bagging: every party)", alike=True)
OPENER = Role("opener")
ACTIVE = Role("active party")
PASSIVE = Role("passive party")
EVERY_PASSIVE = Role("every passive party", alike=True)
EACH_PASSIVE = Role("each passive party, its own")
EVERY_SPLITTABLE = Role("every passive party with columns that can be cut", alike=True)
EACH_SPLITTABLE = Role("every passive party with columns that can be cut, in a hybrid run its own")
EVERY_DRAWN = Role("every passive party drawn for the tree", alike=True)
"""And with columns that can be cut."""
EACH_DRAWN = Role("every passive party drawn for the tree, in a hybrid run its own")
"""The same to all where all have the same rows."""
OWNER = Role("owner of the cuts")
LIST_HOLDER = Role("holder of the list")
"""In an alignment: its owner at first, then whoever blinded it last."""
NEXT_IN_RING = Role("next party in the ring")
BACK_IN_RING = Role("previous party in the ring")


class Route(NamedTuple):
    """Who says a message to whom, and to whom the driver passes it on as it stands, or in the finished model."""

    by: Role
    to: Role
    then: Role | None = None

    def __str__(self) -> str:
        """As the disclosure table has it."""
        return f"{self.by.name} to {self.to.name}"


class Request(msgspec.Struct, frozen=True, array_like=True, eq=False):
    """From the driver."""


class Answer(msgspec.Struct, frozen=True, array_like=True, eq=False):
    """From one party, to the driver."""


ROUTES: dict[type[Any], Route] = {}
"""Every message that can be sent."""
M = TypeVar("M", bound=Request | Answer)


def message(by: Role, to: Role, then: Role | None = None) -> Callable[[type[M]], type[M]]:
    """Declares that a message can be sent, by whom and to whom."""

    def declared(kind: type[M]) -> type[M]:
        ROUTES[kind] = Route(by, to, then)
        return kind

    return declared


# Joining


@message(by=DRIVER, to=EACH_ALONE)
class Probe(Request, frozen=True, tag=95):
    """How long do bytes take to you and back? Asked before the plan is proposed, where it depends on the link."""

    padding: Annotated[bytes, clear("random bytes that mean nothing")]
    back: Annotated[int, clear("how many such bytes are wanted back")]


@message(by=PARTY, to=DRIVER)
class Echo(Answer, frozen=True, tag=95):
    """So many bytes; the time they take is all that is learnt."""

    padding: Annotated[bytes, clear("random bytes that mean nothing")]


@message(by=DRIVER, to=EVERY_PARTY)
class Propose(Request, frozen=True, tag=1):
    """The run's plan; nothing but a `Probe` is said to a party that has not consented to it."""

    plan: Annotated[bytes, clear("the plan: parties, parameters, protection")]
    certificate: Annotated[bytes, clear("the driver's certificate; empty in one process")]
    signature: Annotated[bytes, clear("the driver's signature of the plan")]


@message(by=PARTY, to=DRIVER, then=EVERY_PARTY)
class Consent(Answer, frozen=True, tag=1):
    """The party's own rules allow the run."""

    public_key: Annotated[bytes, clear("this process's X25519 key for masks")]
    certificate: Annotated[bytes, clear("the party's certificate")]
    signature: Annotated[bytes, clear("the party's signature of the plan and the key")]


class Key(msgspec.Struct, frozen=True, array_like=True):
    """A party's consent as the others are shown it."""

    name: str
    public_key: bytes
    certificate: bytes
    signature: bytes


@message(by=DRIVER, to=EVERY_PARTY)
class Introduce(Request, frozen=True, tag=2):
    """The parties of this attempt, so that each can check the others' keys and make secrets with them."""

    attempt: Annotated[int, clear("counts the starts of this run")]
    keys: Annotated[tuple[Key, ...], clear("every party's key, certificate and signature")]


@message(by=PARTY, to=DRIVER)
class Facts(Answer, frozen=True, tag=2):
    """What must be agreed on before anything can be summed."""

    columns: Annotated[tuple[Column, ...], clear("names, kinds and categories of the party's columns")]
    classes: Annotated[tuple[ClassLabel, ...], clear("classes among the party's labels; none for numbers")]
    weighted: Annotated[bool, clear("whether rows have weights")]
    absent: Annotated[str, clear("what a sparse table's gaps mean; empty for a dense one")]
    validated: Annotated[bool, clear("whether the party holds validation rows")]


@message(by=DRIVER, to=EVERY_PARTY)
class Agree(Request, frozen=True, tag=3):
    """The columns and classes of all parties together."""

    columns: Annotated[tuple[Column, ...], clear("names, kinds and categories of the model's columns")]
    classes: Annotated[tuple[ClassLabel, ...], clear("all classes")]
    absent: Annotated[str, clear("what a sparse table's gaps mean")]


@message(by=PARTY, to=DRIVER)
class Done(Answer, frozen=True, tag=3):
    """Nothing to say."""


# Before the first tree


@message(by=DRIVER, to=EVERY_PARTY)
class AskCounts(Request, frozen=True, tag=4):
    """How many rows have keys with these prefixes (columns in order; then label, weight, and the validation rows')."""

    step: Annotated[int, clear("counts the requests for counts")]
    column: Annotated[I32, clear("columns of interest")]
    prefix: Annotated[U32, clear("high bits of the ordered keys of values")]
    shift: Annotated[U8, clear("how many low bits are left off")]


@message(by=DRIVER, to=EVERY_PARTY)
class AskLocalCuts(Request, frozen=True, tag=5):
    """Each party's own quantiles (FedTree's way)."""


@message(by=PARTY, to=DRIVER)
class LocalCuts(Answer, frozen=True, tag=5):
    """The party's own cut points: values of its rows."""

    cuts: Annotated[F32, clear("quantiles of the party's own rows: some are one person's value")]
    starts: Annotated[I64, clear("where each column's begin")]
    missing: Annotated[Bools, clear("which columns have missing values")]


@message(by=DRIVER, to=EVERY_PARTY)
class AskMoments(Request, frozen=True, tag=6):
    """The sum of labels and the sum of weights, in units of the greatest."""

    low: Annotated[float, clear("the least label of all parties")]
    high: Annotated[float, clear("the greatest label of all parties")]
    max_weight: Annotated[float, clear("the greatest weight of all parties")]


class Trees(msgspec.Struct, frozen=True, array_like=True, eq=False):
    """Trees as flat arrays, as in `trees.forest.Forest`."""

    columns: I32
    thresholds: F32
    missing_left: Bools
    children: I32
    sets: I32
    category_sets: U64
    values: F32
    gains: F64
    covers: F32
    roots: I64


@message(by=DRIVER, to=EVERY_PARTY)
class Begin(Request, frozen=True, tag=7):
    """All that is fixed before the first tree, and the trees there are already."""

    low: Annotated[float, clear("the least label of all parties")]
    high: Annotated[float, clear("the greatest label of all parties")]
    max_weight: Annotated[float, clear("the greatest weight of all parties")]
    valid_facts: Annotated[tuple[float, float, float], clear("the same of the validation rows")]
    base: Annotated[float, clear("the first score of every row, from the mean label")]
    cuts: Annotated[F32, clear("cut points of all columns")]
    cut_starts: Annotated[I64, clear("where each column's begin")]
    has_missing: Annotated[Bools, clear("which columns have missing values at some party")]
    forest: Annotated[Trees, clear("the trees grown so far")]


# Trees


class CutList(msgspec.Struct, frozen=True, array_like=True, eq=False):
    """Cuts of nodes of the trees of a round, as in `trees.splits.Cuts`."""

    tree: I64
    node: I64
    child: I64
    column: I32
    bin: I32
    missing_left: Bools
    left_bins: U64


class NodeList(msgspec.Struct, frozen=True, array_like=True, eq=False):
    """Nodes of the trees of a round."""

    tree: I64
    node: I64


@message(by=DRIVER, to=EVERY_PARTY)
class AskHistograms(Request, frozen=True, tag=8):
    """Divide the rows by these cuts, then sum gradients per bin at these nodes."""

    round: Annotated[int, clear("which round of trees")]
    level: Annotated[int, clear("which request of the round")]
    parties: Annotated[tuple[int, ...], clear("whose sums are added, by number in the plan")]
    cuts: Annotated[CutList, clear("cuts of the level before")]
    nodes: Annotated[NodeList, clear("nodes to be summed; of two siblings one is")]


@message(by=DRIVER, to=EVERY_PARTY)
class AskLeafSums(Request, frozen=True, tag=9):
    """Divide the rows by these cuts, then sum gradients of these leaves."""

    round: Annotated[int, clear("which round of trees")]
    level: Annotated[int, clear("which request of the round")]
    parties: Annotated[tuple[int, ...], clear("whose sums are added, by number in the plan")]
    cuts: Annotated[CutList, clear("cuts of the last level")]
    leaves: Annotated[NodeList, clear("all leaves of the round's trees")]


@message(by=DRIVER, to=EVERY_PARTY)
class FinishRound(Request, frozen=True, tag=10):
    """The leaves' values; asks for the metric's sums over the validation rows, and how many gradients were cut off."""

    round: Annotated[int, clear("which round of trees")]
    level: Annotated[int, clear("which request of the round")]
    parties: Annotated[tuple[int, ...], clear("whose sums are added, by number in the plan")]
    leaves: Annotated[NodeList, clear("all leaves of the round's trees")]
    values: Annotated[F32, clear("their values")]


@message(by=DRIVER, to=EVERY_PARTY)
class NextRound(Request, frozen=True, tag=19):
    """`FinishRound`, and the next round's first `AskHistograms`, for its roots: one request instead of two."""

    round: Annotated[int, clear("which round of trees ends")]
    level: Annotated[int, clear("which request of that round")]
    parties: Annotated[tuple[int, ...], clear("whose sums are added, by number in the plan")]
    leaves: Annotated[NodeList, clear("all leaves of the round's trees")]
    values: Annotated[F32, clear("their values")]


@message(by=PARTY, to=DRIVER)
class MaskedSums(Answer, frozen=True, tag=8):
    """A party's part of sums that only all parts together show."""

    masked_words: Annotated[U64, masked("counts, sums of gradients or of a metric over the party's rows")]


@message(by=PARTY, to=DRIVER)
class PlainSums(Answer, frozen=True, tag=9):
    """A party's own sums, where the parties have accepted in words that the driver reads them."""

    words: Annotated[I64, clear("counts, sums of gradients or of a metric over the party's own rows")]


# Differential privacy: see `protocols.noised`. Trees have public shapes; nothing is opened but sums with noise.


@message(by=PARTY, to=DRIVER)
class NoisedSums(Answer, frozen=True, tag=90):
    """A party's part of sums with noise, its share of the noise in it, that only all parts together show."""

    noised_words: Annotated[U64, noised("counts or sums of clipped gradients over the party's rows, with noise")]


@message(by=DRIVER, to=EVERY_PARTY)
class AskNoisedCounts(Request, frozen=True, tag=90):
    """How many rows there are (no prefixes), or how many have values with these prefixes, one length for all."""

    release: Annotated[int, clear("which of the plan's releases")]
    opened: Annotated[bool, clear("whether its sums are known already; then they are not asked for again")]
    column: Annotated[I32, clear("columns of interest")]
    prefix: Annotated[U32, clear("high bits of the ordered keys of values")]
    shift: Annotated[U8, clear("how many low bits are left off")]


@message(by=DRIVER, to=EVERY_PARTY)
class BeginNoised(Request, frozen=True, tag=91):
    """All that is fixed before the first tree; what is released from here on follows from it."""

    n_rows: Annotated[float, clear("how many rows all parties have, with noise")]
    cuts: Annotated[F32, clear("cut points of all columns, from counts with noise")]
    cut_starts: Annotated[I64, clear("where each column's begin")]
    has_missing: Annotated[Bools, clear("which columns have a bin for missing values: all")]


@message(by=DRIVER, to=EVERY_PARTY)
class AskNoisedSums(Request, frozen=True, tag=92):
    """The plan's next sums over own rows, whose scores follow from what is told here."""

    release: Annotated[int, clear("which of the plan's releases")]
    opened: Annotated[bool, clear("whether its sums are known already; then they are not asked for again")]
    base: Annotated[F32, clear("first scores of all rows; none where they go on from before")]
    values: Annotated[F32, clear("what every bin adds, or every leaf of the tree before; made of sums with noise")]


@message(by=DRIVER, to=EVERY_PARTY)
class AskNoisedRoot(Request, frozen=True, tag=93):
    """How many rows there are, and how far their labels lie from the middle: what greedy trees begin with."""

    release: Annotated[int, clear("which of the plan's releases")]
    opened: Annotated[bool, clear("whether its sums are known already; then they are not asked for again")]


@message(by=DRIVER, to=EVERY_PARTY)
class AskNoisedLevel(Request, frozen=True, tag=94):
    """Take the values of the round before, divide the rows by these cuts, then sum at these nodes or leaves."""

    release: Annotated[int, clear("which of the plan's releases")]
    opened: Annotated[bool, clear("whether its sums are known already; then they are not asked for again")]
    base: Annotated[F32, clear("the first score, before the first tree; made of sums with noise")]
    before: Annotated[NodeList, clear("all leaves of the round before; none within a round")]
    values: Annotated[F32, clear("their values; made of sums with noise")]
    cuts: Annotated[CutList, clear("cuts of the level before, chosen by sums with noise")]
    nodes: Annotated[NodeList, clear("nodes to be summed per bin, or all leaves")]


# Sums that one named party opens: see `protocols.opener`. What it chooses, the driver passes on as it stands.


@message(by=DRIVER, to=OPENER)
class Lead(Request, frozen=True, tag=70):
    """Begin to choose, or go on after these trees."""

    weighted: Annotated[bool, clear("whether any party's rows have weights")]
    validated: Annotated[bool, clear("whether any party holds validation rows")]
    begin: Annotated[bytes, clear("what was fixed before the first tree and the trees so far; empty: nothing is")]
    history: Annotated[F64, clear("the metric after every round so far")]


@message(by=DRIVER, to=EVERY_PARTY)
class FromOpener(Request, frozen=True, tag=71):
    """What the opener asks of every party, passed on."""

    request: Annotated[bytes, clear("a request as the opener wrote it: prefixes, cut points, cuts, leaf values, trees")]
    public_key: Annotated[bytes, clear("the opener's public key, new for every tree; empty: as before")]
    signature: Annotated[bytes, clear("the opener's signature of both")]


@message(by=DRIVER, to=OPENER)
class PassSum(Request, frozen=True, tag=72):
    """What came of the opener's request."""

    sealed_sum: Annotated[bytes, sealed("to the opener: counts, sums of gradients or of a metric over all parties")]
    lost: Annotated[tuple[int, ...], clear("parties that were lost meanwhile, by number in the plan")]


@message(by=DRIVER, to=OPENER)
class GoOn(Request, frozen=True, tag=73):
    """The trees that the opener chose are kept."""

    stop: Annotated[bool, clear("whether training ends here")]


@message(by=PARTY, to=DRIVER)
class SealedWords(Answer, frozen=True, tag=70):
    """A party's own sums, which only the opener could open; the driver adds them up."""

    sealed_words: Annotated[bytes, sealed("counts, sums of gradients or of a metric over the party's rows")]


@message(by=OPENER, to=DRIVER, then=EVERY_PARTY)
class ToEveryParty(Answer, frozen=True, tag=71):
    """What the driver is to ask every party next."""

    request: Annotated[bytes, clear("a request as the opener wrote it: prefixes, cut points, cuts, leaf values, trees")]
    public_key: Annotated[bytes, clear("the opener's public key, new for every tree; empty: as before")]
    signature: Annotated[bytes, clear("the opener's signature of both")]
    n_words: Annotated[int, clear("how many sums are asked for")]


@message(by=OPENER, to=DRIVER, then=EVERY_PARTY)
class RoundGrown(Answer, frozen=True, tag=72):
    """The trees of a round, as the opener chose them."""

    trees: Annotated[Trees, clear("the trees, with gains and covers as in the model")]
    complete: Annotated[bool, clear("whether the round is finished, or was closed early and is only to be kept")]
    value: Annotated[float | None, clear("the metric on the validation rows of all parties")]
    best: Annotated[int | None, clear("the round with the best value so far")]
    clipped: Annotated[bool, clear("whether any party had to cut off gradients")]


@message(by=OPENER, to=DRIVER)
class Led(Answer, frozen=True, tag=73):
    """Training has ended."""

    n_trees: Annotated[int, clear("how many of the trees the model keeps")]


@message(by=DRIVER, to=IN_TURN)
class AskTrees(Request, frozen=True, tag=11):
    """Grow whole trees on your own rows, on top of those there are (whole-tree methods)."""

    turn: Annotated[int, clear("whose turn it is")]
    n_rounds: Annotated[int, clear("how many rounds of trees")]
    base: Annotated[float | None, clear("the first score, where trees are continued")]
    forest: Annotated[Trees, clear("the trees so far")]


@message(by=PARTY, to=DRIVER, then=EVERY_PARTY)
class OwnTrees(Answer, frozen=True, tag=11):
    """Trees grown on one party's rows alone."""

    base: Annotated[float, clear("the party's first score: its mean label")]
    forest: Annotated[Trees, clear("trees with the sums of one party's rows in their leaves")]


# Vertical: same rows, different columns. The driver is the active party, the others are passive.


@message(by=DRIVER, to=EVERY_PARTY)
class AskSetSize(Request, frozen=True, tag=41):
    """An alignment by private set intersection begins: how many ids there are. See `protocols.align`.

    Ids are those of rows, or in a horizontal run the names of columns.
    """

    held_out: Annotated[bool, clear("whether it is about the validation rows")]
    aligned: Annotated[bytes, clear("a hash of what the asker has found before to be common to all, if anything")] = b""


@message(by=PARTY, to=DRIVER)
class SetSize(Answer, frozen=True, tag=41):
    """How many rows, or columns, a party has."""

    n_ids: Annotated[int, clear("how many rows (of a horizontal run: columns) the party has")]
    aligned: Annotated[bool, clear("whether this process has found the same before to be common to all")]


@message(by=DRIVER, to=EVERY_PARTY)
class BeginBlinding(Request, frozen=True, tag=42):
    """How long everybody's list of ids is."""

    held_out: Annotated[bool, clear("whether it is about the validation rows")]
    sizes: Annotated[I64, clear("how many rows (of a horizontal run: columns) each party has")]


@message(by=DRIVER, to=LIST_HOLDER)
class AskBlinded(Request, frozen=True, tag=43):
    """The next part of a list, shuffled: the party's own ids, or another's that it has blinded too."""

    held_out: Annotated[bool, clear("whether it is about the validation rows")]
    owner: Annotated[int, clear("whose list, by number in the plan")]
    first: Annotated[int, clear("where in the list the part begins")]


@message(by=PARTY, to=DRIVER, then=NEXT_IN_RING)
class BlindedIds(Answer, frozen=True, tag=43):
    """A part of a list."""

    blinded_ids: Annotated[U8, blinded("ids (or names of columns) of one party, as points under one more secret")]


@message(by=DRIVER, to=NEXT_IN_RING)
class BlindIds(Request, frozen=True, tag=44):
    """Another party's list, part by part, to be blinded by this one too."""

    held_out: Annotated[bool, clear("whether it is about the validation rows")]
    owner: Annotated[int, clear("whose list, by number in the plan")]
    first: Annotated[int, clear("where in the list the part begins")]
    blinded_ids: Annotated[U8, blinded("ids (or names) of another party, under the secrets of all before")]


@message(by=DRIVER, to=BACK_IN_RING)
class MarkCommon(Request, frozen=True, tag=45):
    """Which places of a shuffled list are ids that all parties have; of its own list the party keeps these rows."""

    held_out: Annotated[bool, clear("whether it is about the validation rows")]
    owner: Annotated[int, clear("whose list, by number in the plan")]
    marks: Annotated[U8, clear("a bit for every place: in the party's own list, which of its ids all parties have")]


@message(by=PARTY, to=DRIVER, then=BACK_IN_RING)
class Marks(Answer, frozen=True, tag=45):
    """The same places as they were before the party shuffled."""

    marks: Annotated[U8, clear("a bit for every place: in the active party's list, which of its ids all parties have")]


@message(by=DRIVER, to=EVERY_PARTY)
class AskProofs(Request, frozen=True, tag=48):
    """Names of columns are aligned (`private_columns`): what shows every other party that it found the same."""


@message(by=PARTY, to=DRIVER, then=EACH_PARTY)
class Proofs(Answer, frozen=True, tag=48):
    """For each other party a hash of the names that all have, under the secret of the pair, which the driver lacks."""

    blinded_names: Annotated[bytes, blinded("hashes of the common names under the secrets of pairs of parties")]


@message(by=DRIVER, to=EACH_PARTY)
class AskCommonColumns(Request, frozen=True, tag=46):
    """What the columns that all parties have are; told only to whoever brings the proofs of all others."""

    blinded_names: Annotated[bytes, blinded("the others' hashes of the common names, under the secrets of pairs")]


@message(by=PARTY, to=DRIVER)
class CommonColumns(Answer, frozen=True, tag=46):
    """The columns that all parties have, as this one has them."""

    columns: Annotated[tuple[Column, ...], clear("names, kinds and categories of the columns that all parties have")]


@message(by=ACTIVE, to=EACH_PASSIVE)
class AskColumns(Request, frozen=True, tag=13):
    """How many bins the columns have; nothing of what is in them."""

    rows: Annotated[bytes, clear("a hash of the ids of all rows, in order; none could be told from it")]
    held_out: Annotated[bytes, clear("the same of the validation rows")]
    lacks: Annotated[bool, clear("whether the active party has rows that this party lacks, as in a hybrid run")] = False


@message(by=PASSIVE, to=ACTIVE)
class OwnColumns(Answer, frozen=True, tag=13):
    """The party's columns by number."""

    n_values: Annotated[I64, clear("bins of each of the party's columns")]
    has_missing: Annotated[Bools, clear("which of them have a bin for missing values")]
    categorical: Annotated[Bools, clear("which of them are categorical")]


@message(by=PASSIVE, to=ACTIVE)
class NamedColumns(OwnColumns, frozen=True, tag=47):
    """The same from a party whose owner allows names to be told."""

    names: Annotated[tuple[str, ...], clear("names of the party's columns, because its owner's policy tells them")]


@message(by=ACTIVE, to=EACH_SPLITTABLE)
class BeginSealed(Request, frozen=True, tag=14):
    """All that is fixed before the first tree."""

    done: Annotated[int, clear("rounds that are complete")]
    n_trees: Annotated[int, clear("trees of a round, one a class")]
    bound: Annotated[int, clear("the largest gradient or hessian, as integers")]
    groups: Annotated[int, clear("sums asked for at a node: over all parties that have all rows, or of this one")]
    columns: Annotated[int, clear("columns of the party with most of them")]
    run_sums: Annotated[int, clear("sums that the whole run opens")]
    together: Annotated[
        int, clear("linked rows of all that share these columns, whose sums are opened in total only; 0: not")
    ] = 0


class Moves(msgspec.Struct, frozen=True, array_like=True, eq=False):
    """Where rows went at cuts of nodes."""

    tree: I64
    node: I64
    child: I64
    left: U8
    """A bit for every row at these nodes, in order."""


@message(by=ACTIVE, to=EACH_DRAWN)
class AskSealedSums(Request, frozen=True, tag=15):
    """Move the rows, then add up the sealed gradients per bin at these nodes."""

    round: Annotated[int, clear("which round of trees")]
    level: Annotated[int, clear("which level of the trees")]
    moves: Annotated[
        tuple[Moves, ...], clear("which rows share a node: sides of all rows at the cuts of the levels before")
    ]
    nodes: Annotated[NodeList, clear("nodes to be summed; of two siblings one is")]
    public_key: Annotated[bytes, clear("the active party's public key: new for every tree, told once")]
    sealed_gradients: Annotated[bytes, sealed("gradients and hessians of the rows at these nodes")]
    together: Annotated[
        int, clear("rows of the largest of these nodes, of all that share the party's columns; 0: none do")
    ] = 0


@message(by=PASSIVE, to=ACTIVE)
class SealedSums(Answer, frozen=True, tag=15):
    """Sums that only the active party can open."""

    sealed_sums: Annotated[bytes, sealed("sums of gradients per node, numbered column and bin")]


@message(by=PASSIVE, to=ACTIVE)
class AllowedSums(SealedSums, frozen=True, tag=56):
    """The same where the plan bounds the rows of a child (`min_child_rows`); of siblings, too, what is said of rows."""

    allowed: Annotated[U8, clear("per node and place to cut a numbered column, whether both sides have enough rows")]
    counts: Annotated[I64, clear("numbers of rows per node and category of numbered columns of categories")]


@message(by=ACTIVE, to=OWNER)
class AskSides(Request, frozen=True, tag=16):
    """Which rows go left at these cuts."""

    round: Annotated[int, clear("which round of trees")]
    level: Annotated[int, clear("which level of the trees")]
    cuts: Annotated[CutList, clear("chosen cuts of the party's own columns, by number")]


@message(by=OWNER, to=ACTIVE, then=EACH_DRAWN)
class Sides(Answer, frozen=True, tag=16):
    """Which rows go left at the chosen cuts."""

    left: Annotated[U8, clear("a bit for every row at the nodes that are cut")]


@message(by=ACTIVE, to=OWNER)
class AskDrawnSides(Request, frozen=True, tag=85):
    """Move the rows, then tell which go left at cuts that a public hash has drawn. Answered by `Sides`."""

    round: Annotated[int, clear("which round of trees")]
    level: Annotated[int, clear("which level of the trees")]
    moves: Annotated[
        tuple[Moves, ...], clear("which rows share a node: sides of all rows at the cuts of the levels before")
    ]
    cuts: Annotated[CutList, clear("cuts of the party's own columns, by number, that a hash of the node has drawn")]


# Vertical with hidden rows: no node is ever named, see `protocols.vertical.hidden_active`.


@message(by=ACTIVE, to=EACH_PASSIVE)
class AskBatch(Request, frozen=True, tag=86):
    """Add up these sealed gradients in all bins of the own columns, with noise; asked once in a run."""

    scores: Annotated[int, clear("how many scores a row has: one, or one a class")]
    first: Annotated[int, clear("number of the first tree that is made of the sums")]
    public_key: Annotated[bytes, clear("the active party's public key, new for this request")]
    sealed_gradients: Annotated[bytes, sealed("gradients and hessians of all rows, as its own trees leave them")]


@message(by=PASSIVE, to=ACTIVE)
class BatchSums(Answer, frozen=True, tag=86):
    """Sums that only the active party can open, each with the noise of the plan's promise."""

    sealed_sums: Annotated[bytes, sealed("sums of gradients per numbered column and bin, with noise")]


@message(by=ACTIVE, to=EVERY_DRAWN)
class AskHiddenSums(Request, frozen=True, tag=50):
    """Add up some of a level's sealed gradients per bin, over all rows that count."""

    round: Annotated[int, clear("which round of trees")]
    level: Annotated[int, clear("which level of the trees; every tree has all of them")]
    first: Annotated[int, clear("which of the level's nodes these begin with; every level has as many as it can have")]
    public_key: Annotated[bytes, clear("the active party's public key, once in every round; new for each")]
    sealed_gradients: Annotated[bytes, sealed("gradients and hessians of all rows, zero for those outside a node")]


class HiddenCuts(msgspec.Struct, frozen=True, array_like=True, eq=False):
    """Cuts of the receiver's own columns, without the nodes that they cut."""

    column: I32
    bin: I32
    missing_left: Bools
    left_bins: U64


@message(by=ACTIVE, to=OWNER)
class AskHiddenSides(Request, frozen=True, tag=51):
    """Filter what is sealed by which rows go left at these cuts."""

    round: Annotated[int, clear("which round of trees")]
    level: Annotated[int, clear("which level of the trees")]
    cuts: Annotated[HiddenCuts, clear("chosen cuts of the party's own columns, by number; not their nodes")]
    sealed_members: Annotated[bytes, sealed("which rows are at the node of each cut")]
    public_key: Annotated[bytes, clear("a key of its own for sides, where gradients need another; once a round")] = b""


@message(by=OWNER, to=ACTIVE)
class HiddenSides(Answer, frozen=True, tag=51):
    """Sides that only the active party can open, and only where it sealed a one."""

    sealed_sides: Annotated[bytes, sealed("which rows go left at the cut of the node they are at")]


@message(by=ACTIVE, to=EVERY_SPLITTABLE)
class EndRound(Request, frozen=True, tag=17):
    """The trees of the round are complete: the party keeps its own cuts of them."""

    round: Annotated[int, clear("which round of trees")]


@message(by=ACTIVE, to=EACH_PASSIVE)
class KeepPart(Request, frozen=True, tag=18):
    """The model is complete: every party keeps its part of it."""

    model: Annotated[str, clear("the id that all parts of the model share")]
    first: Annotated[int, clear("the number of the party's first column among all")]
    n_trees: Annotated[int, clear("trees of the model")]
    commitment: Annotated[bytes, clear("a salted hash of the leaf values")]


# Prediction over a vertical model: the active party asks the owners of cuts which way its rows go.


@message(by=ACTIVE, to=EVERY_PASSIVE)
class AskKnown(Request, frozen=True, tag=60):
    """Rows that are to be predicted: which of them the party has."""

    ids: Annotated[tuple[str, ...], clear("ids of the rows that are predicted")]


@message(by=PASSIVE, to=ACTIVE)
class Known(Answer, frozen=True, tag=60):
    """Which of the rows the party has; the others go the default way at its cuts."""

    known: Annotated[U8, clear("a bit for every row that was asked about: whether the party has it")]
    follows: Annotated[bool, clear("whether its part says how its own cuts lie below each other")] = False


@message(by=ACTIVE, to=OWNER)
class AskWays(Request, frozen=True, tag=61):
    """Which way rows go at cuts of the party's own columns, as far as they meet no other's. Answered by `Sides`."""

    tree: Annotated[I32, clear("trees of cuts that rows have come to, and of own cuts that follow these directly")]
    node: Annotated[I32, clear("which nodes of these trees")]
    n_rows: Annotated[I32, clear("how many rows have come to each; none to those that follow")]
    rows: Annotated[U16, clear("which of the rows that were asked about have come to each")]


# Sealed prediction: see `protocols.scores.active`.


class SlotsTold(msgspec.Struct, frozen=True, array_like=True, eq=False):
    """The slots of one class as their chooser is told them; `model.score_slots.PartySlots` has what each means."""

    entries: I64
    sources: I64
    shared: I64
    relays: I64
    relay_sources: I64
    targets: I64


@message(by=ACTIVE, to=EACH_PASSIVE)
class BeginScores(Request, frozen=True, tag=62):
    """What a sealed prediction's batches have in common, until it is told anew."""

    session: Annotated[bytes, clear("fresh random bytes, the same for all parties")]
    keys: Annotated[tuple[Key, ...], clear("the asked parties' keys, certificates and signatures")]
    slots: Annotated[tuple[SlotsTold, ...], clear("which own cuts, and which sides, have a slot; who relays to whom")]
    public_key: Annotated[bytes, clear("the active party's public key")]


@message(by=PASSIVE, to=ACTIVE)
class ScoresReady(Answer, frozen=True, tag=61):
    """The party agrees to the slots."""

    reasons: Annotated[tuple[str, ...], clear("columns, or groups of them, whose contributions the owner lets be told")]
    least_paths: Annotated[int, clear("how many ways through the party's cuts its owner wants to share a score")]
    blur_permille: Annotated[int, clear("thousandths of the largest score by which the owner blurs each at most")]


@message(by=ACTIVE, to=EACH_PASSIVE)
class AskScores(Request, frozen=True, tag=63):
    """One batch of rows: choose among their weights."""

    batch: Annotated[int, clear("counts the batches of this process")]
    ids: Annotated[tuple[str, ...], clear("ids of the rows that are predicted")]
    reasons: Annotated[bool, clear("whether contributions of columns are asked for")]
    sealed_weights: Annotated[tuple[bytes, ...], sealed("weights of the party's slots, one table a class")]
    sealed_relays: Annotated[tuple[bytes, ...], sealed("weights that go on to another party, one table a class")]
    signature: Annotated[bytes, clear("the active party's signature of model, key, ids and weights")]


@message(by=PASSIVE, to=ACTIVE)
class Scores(Answer, frozen=True, tag=62):
    """One sealed score a row and class, which the active party opens."""

    sealed_scores: Annotated[
        tuple[bytes, ...], sealed("each row's sum of chosen weights, under pads if several answer")
    ]
    sealed_relays: Annotated[tuple[bytes, ...], sealed("sums under pads that the party has which chooses next")]
    sealed_reasons: Annotated[tuple[bytes, ...], sealed("the same sums with columns taken as missing, if asked for")]


# Hybrid: rows of the active party are linked with each passive party's ids, by itself. See `protocols.link`.


@message(by=ACTIVE, to=EACH_PASSIVE)
class BeginLink(Request, frozen=True, tag=80):
    """A linkage with this party begins: how many ids there are on both sides."""

    held_out: Annotated[bool, clear("whether it is about the validation rows")]
    n_ids: Annotated[int, clear("how many different ids the active party's rows have")]
    linked: Annotated[bytes, clear("a hash of the ids linked with this party before and of their rows, if any were")]


@message(by=PASSIVE, to=ACTIVE)
class LinkSize(Answer, frozen=True, tag=80):
    """How many ids the party has, or that the same were linked before."""

    n_ids: Annotated[int, clear("how many ids the party has; 0 where ids are shown, which tell it no sooner")]
    linked: Annotated[bool, clear("whether this process has linked the same before")]


@message(by=ACTIVE, to=EACH_PASSIVE)
class LinkIds(Request, frozen=True, tag=81):
    """The active party's different ids, part by part and shuffled, under a secret for this party alone."""

    held_out: Annotated[bool, clear("whether it is about the validation rows")]
    first: Annotated[int, clear("where in the lists of both the part begins")]
    blinded_ids: Annotated[U8, blinded("ids of the active party's rows as points under its secret")]


@message(by=PASSIVE, to=ACTIVE)
class LinkedIds(Answer, frozen=True, tag=81):
    """The same part under both secrets, and the same part of the party's own list."""

    blinded_ids: Annotated[
        U8, blinded("the active party's ids under both secrets, as they came: which of them the party has")
    ]
    blinded_own: Annotated[U8, blinded("the party's ids as points under its secret, shuffled")]


@message(by=ACTIVE, to=EVERY_PASSIVE)
class ShowIds(Request, frozen=True, tag=82):
    """Ids that are no secret, part by part: only where the plan says that they are none."""

    held_out: Annotated[bool, clear("whether it is about the validation rows")]
    first: Annotated[int, clear("where in the list the part begins")]
    ids: Annotated[tuple[str, ...], clear("the different ids of the active party's rows, sorted")]


@message(by=PASSIVE, to=ACTIVE)
class HeldIds(Answer, frozen=True, tag=82):
    """Which of the ids that were shown the party has."""

    held: Annotated[U8, clear("a bit for every id that was shown: whether the party has it")]


@message(by=ACTIVE, to=EACH_PASSIVE)
class ShareColumns(Request, frozen=True, tag=84):
    """The cut points of columns that all passive parties have, found from counts over all of them."""

    rows: Annotated[bytes, clear("a hash of the ids of the party's linked rows, in order")]
    held_out: Annotated[bytes, clear("the same of the validation rows")]
    cuts: Annotated[F32, clear("cut points of the shared columns")]
    cut_starts: Annotated[I64, clear("where each column's begin")]
    has_missing: Annotated[Bools, clear("which have missing values somewhere, or rows that no passive party has")]
    lacks: Annotated[bool, clear("whether the active party has rows that no passive party has")]


@message(by=ACTIVE, to=EACH_PASSIVE)
class LinkCounts(Request, frozen=True, tag=83):
    """How often an account of the party's stands in the linked rows."""

    held_out: Annotated[bool, clear("whether it is about the validation rows")]
    counts: Annotated[
        U32, clear("which of the party's ids the active party has, and how many of its rows each has (0: none)")
    ]


@message(by=DRIVER, to=EVERY_PARTY)
class Farewell(Request, frozen=True, tag=12):
    """The finished model, for every party to keep."""

    model: Annotated[bytes, clear("the model file")]


REQUESTS: tuple[type[Request], ...] = tuple(kind for kind in ROUTES if issubclass(kind, Request))
ANSWERS: tuple[type[Answer], ...] = tuple(kind for kind in ROUTES if issubclass(kind, Answer))


class Disclosure(NamedTuple):
    """A line of the disclosure table; its direction is the message's `Route` in words."""

    message: str
    direction: str
    field: str
    how: How
    tells: str
    passed_on_to: str


def travels(message: type[Any]) -> dict[str, Travels]:
    """How each field of a message travels."""
    hints = get_type_hints(message, include_extras=True)
    found = {name: [m for m in getattr(hints[name], "__metadata__", ()) if isinstance(m, Travels)] for name in hints}
    return {name: found[name][0] for name in message.__struct_fields__}


def disclosures() -> Iterator[Disclosure]:
    """Every field of every message: who says it to whom, how it travels, what it tells."""
    for kind in (*REQUESTS, *ANSWERS):
        route = ROUTES[kind]
        for name, how in travels(kind).items():
            yield Disclosure(kind.__name__, str(route), name, *how, route.then.name if route.then else "")
