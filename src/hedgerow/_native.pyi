"""Kernels: arrays in, arrays out, the GIL released. Arrays are row-major; what does not fit together is a ValueError.

Pairs are (gradient, hessian). A node's rows are a span of its tree's row of `orders`: `spans` (trees x nodes x 2) tells
where it begins and ends. `nodes` are the tree and the number of each node asked for.
"""

from collections.abc import Sequence
from typing import Protocol, TypeAlias, overload

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "add_bin_values",
    "add_contributions",
    "add_pads",
    "add_scores",
    "add_values",
    "best_cuts",
    "bin_dense",
    "bin_sparse",
    "bin_sums",
    "blind_ids",
    "blind_points",
    "clipped_pairs",
    "columns_of",
    "count_prefixes",
    "count_rows",
    "cut_cells",
    "discrete_gaussian",
    "discrete_laplace",
    "divide_by_sides",
    "divide_rows",
    "draws",
    "exp",
    "find_cuts_dense",
    "find_cuts_sparse",
    "follow_cuts",
    "follow_step",
    "gradient_pairs",
    "histograms",
    "key_values",
    "lattice_add_rows",
    "lattice_add_sums",
    "lattice_belongs",
    "lattice_check_rows",
    "lattice_check_sums",
    "lattice_entry_sums",
    "lattice_group_sums",
    "lattice_is_proven",
    "lattice_new_secret",
    "lattice_open_rows",
    "lattice_open_sums",
    "lattice_proof_bytes",
    "lattice_prove_key",
    "lattice_public_half",
    "lattice_read_public",
    "lattice_read_switch",
    "lattice_returned_bytes",
    "lattice_reveal",
    "lattice_seal_rows",
    "lattice_seal_rows_publicly",
    "lattice_secret_of",
    "lattice_switch_halves",
    "leaf_numbers",
    "leaf_places",
    "leaf_sums",
    "log",
    "logistic",
    "name_nodes",
    "narrow",
    "pad_words",
    "paillier_add",
    "paillier_add_numbers",
    "paillier_add_plain",
    "paillier_group_sums",
    "paillier_negate",
    "paillier_open",
    "paillier_open_numbers",
    "paillier_own_seal",
    "paillier_own_tables",
    "paillier_pack",
    "paillier_primes",
    "paillier_raised",
    "paillier_randomise",
    "paillier_read",
    "paillier_roots",
    "paillier_table",
    "paillier_write",
    "plain_group_sums",
    "put_sides",
    "reached_sides",
    "reduce_scalar",
    "row_sides",
    "set_portable_only",
    "slots_coefficients",
    "slots_combine",
    "slots_filter",
    "slots_is_proven",
    "slots_key_coefficients",
    "slots_new_key",
    "slots_open",
    "slots_prove_key",
    "slots_seal",
    "slots_seal_public",
    "slots_sums",
    "slots_well_formed",
    "softmax",
    "sorted_keys",
    "subtract",
    "sum_words",
    "sums_by_number",
    "take_sides",
    "take_steps",
    "wanted_cells",
]

class _SlotTable(Protocol):
    @property
    def rows(self) -> int: ...
    @property
    def entries(self) -> int: ...
    @property
    def block_rows(self) -> int: ...
    @property
    def lanes(self) -> int: ...
    @property
    def moduli(self) -> tuple[int, ...]: ...

class _SealedTable(Protocol):
    @property
    def data(self) -> bytes: ...
    @property
    def start(self) -> int: ...
    @property
    def primes(self) -> int: ...
    @property
    def seed(self) -> bytes | None: ...
    @property
    def transformed(self) -> bool: ...

class _SlotsLeaving(Protocol):
    @property
    def flood_bits(self) -> int: ...
    @property
    def primes(self) -> int: ...

_Bools: TypeAlias = NDArray[np.bool_]
_I32: TypeAlias = NDArray[np.int32]
_I64: TypeAlias = NDArray[np.int64]
_U8: TypeAlias = NDArray[np.uint8]
_U32: TypeAlias = NDArray[np.uint32]
_U64: TypeAlias = NDArray[np.uint64]
_F32: TypeAlias = NDArray[np.float32]
_F64: TypeAlias = NDArray[np.float64]
_Nodes: TypeAlias = tuple[_I64, _I64]
_Pads: TypeAlias = tuple[_U8, _Bools, bytes]
_Entries: TypeAlias = NDArray[np.uint16] | NDArray[np.uint32]

class _Grid(Protocol):
    """Cuts of all columns one after the other, and each column's bin for missing values."""

    @property
    def cuts(self) -> _F32: ...
    @property
    def cut_starts(self) -> _I64: ...
    @property
    def missing_bins(self) -> _U8: ...

class _Matrix(Protocol):
    """Bins of a table: a dense block, a sparse one (bins other than the default), and maybe all columns once more."""

    @property
    def dense(self) -> _U8: ...
    @property
    def dense_columns(self) -> _U32: ...
    @property
    def starts(self) -> _I64: ...
    @property
    def entries(self) -> _Entries: ...
    @property
    def offsets(self) -> _U32: ...
    @property
    def defaults(self) -> _I32:
        """-1 for a dense column."""

    @property
    def by_column(self) -> _U8: ...

class _SparseRows(Protocol):
    """A sparse table by rows, columns ascending in each."""

    @property
    def indptr(self) -> _I64: ...
    @property
    def indices(self) -> _I32: ...
    @property
    def data(self) -> _F32: ...

class _Layout(Protocol):
    """The columns of a histogram."""

    @property
    def offsets(self) -> _U32: ...
    @property
    def has_missing(self) -> _Bools: ...
    @property
    def categorical(self) -> _Bools: ...

class _Cuts(Protocol):
    """Cuts of nodes, and the sets of bins that go left."""

    @property
    def nodes(self) -> _Nodes: ...
    @property
    def child(self) -> _I64: ...
    @property
    def column(self) -> _I32: ...
    @property
    def bin(self) -> _I32: ...
    @property
    def missing_left(self) -> _Bools: ...
    @property
    def left_bins(self) -> _U64: ...

class _Agreed(Protocol):
    """The columns of a grid."""

    @property
    def n_values(self) -> _I64: ...
    @property
    def has_missing(self) -> _Bools: ...
    @property
    def categorical(self) -> _Bools: ...

class _Step(Protocol):
    """What a table's rows do next: parts are bins, order and spans, of the rows that count and of those that follow."""

    @property
    def begins(self) -> tuple[tuple[str, float], tuple[float, float, bool], _F32, _F32, _F32] | None: ...
    @property
    def parts(self) -> Sequence[tuple[_Matrix, _U32, _I64]]: ...
    @property
    def cuts(self) -> _Cuts | None: ...
    @property
    def nodes(self) -> _Nodes: ...
    @property
    def leaves(self) -> bool: ...
    @property
    def summed(self) -> _Matrix | None:
        """None: the first part's."""

    @property
    def counted(self) -> bool: ...
    @property
    def pairs(self) -> _I32: ...
    @property
    def gradient_bits(self) -> int: ...

class _Rules(Protocol):
    """What a cut is worth and what is allowed; `monotone` is empty or holds -1, 0 or 1 for each column."""

    @property
    def gradient_unit(self) -> float: ...
    @property
    def hessian_unit(self) -> float: ...
    @property
    def reg_lambda(self) -> float: ...
    @property
    def reg_alpha(self) -> float: ...
    @property
    def gamma(self) -> float: ...
    @property
    def min_child_weight(self) -> float: ...
    @property
    def min_child_rows(self) -> int: ...
    @property
    def monotone(self) -> NDArray[np.int8]: ...

class _Forest(Protocol):
    """Nodes of all trees one after the other; a leaf's column is -1, a numeric cut's set is -1."""

    @property
    def columns(self) -> _I32: ...
    @property
    def thresholds(self) -> _F32: ...
    @property
    def missing_left(self) -> _Bools: ...
    @property
    def children(self) -> _I32: ...
    @property
    def sets(self) -> _I32: ...
    @property
    def category_sets(self) -> _U64: ...
    @property
    def values(self) -> _F32: ...
    @property
    def roots(self) -> _I64: ...

class _RowsLayout(Protocol):
    """How rows and sums lie in lattice ciphertexts."""

    @property
    def step(self) -> int: ...
    @property
    def merges(self) -> int: ...
    @property
    def lanes(self) -> int: ...
    @property
    def flood_bits(self) -> int: ...
    @property
    def filling(self) -> int: ...

class _SealedData(Protocol):
    """Sealed rows: packed residues from `start` on, both halves or, with a seed, the first."""

    @property
    def data(self) -> bytes: ...
    @property
    def start(self) -> int: ...
    @property
    def seed(self) -> bytes | None: ...
    @property
    def lanes(self) -> int: ...

class _ReturnedData(Protocol):
    """Returned sums: packed residues from `start` on."""

    @property
    def data(self) -> bytes: ...
    @property
    def start(self) -> int: ...
    @property
    def layout(self) -> _RowsLayout: ...
    @property
    def nodes(self) -> int: ...
    @property
    def groups(self) -> int: ...

class _Selection(Protocol):
    """Codes (columns x rows) and groups of each column."""

    @property
    def own_codes(self) -> _U8: ...
    @property
    def widths(self) -> _I64: ...

class _RowSets(Protocol):
    """Rows of each node."""

    @property
    def rows(self) -> _I64: ...
    @property
    def starts(self) -> _I64: ...

def find_cuts_dense(values: _F32, max_bin: int, min_rows: int, n_threads: int) -> tuple[_F32, _I64, _I64]:
    """All cuts, where each column's begin, and the rows of each column's bins, the missing behind them."""

def find_cuts_sparse(
    starts: _I64, stored: _F32, rows: int, absent_is_zero: bool, max_bin: int, min_rows: int, n_threads: int
) -> tuple[_F32, _I64, _I64]:
    """The same of a table stored by columns."""

def sorted_keys(columns: Sequence[_F32], n_threads: int) -> list[_U32]:
    """Of each column the keys in the order of the floats they stand for, without the missing, ascending."""

def key_values(keys: _U32) -> _F32:
    """The floats that keys stand for."""

def count_prefixes(columns: Sequence[tuple[_U32, _U32, int]], n_threads: int) -> _I64:
    """How many sorted keys of a column are each prefix once some low bits are left off, column after column."""

def wanted_cells(cells: tuple[_I64, _I64, _Bools], max_bin: int) -> _Bools:
    """Whether each cell of prefixes must be refined, for cuts into `max_bin` bins.

    Given are where each column's cells begin, the rows of all cells, and whether they can be refined.
    """

def cut_cells(cells: tuple[_I64, _I64, _Bools], max_bin: int) -> _Bools:
    """Whether the least key of each of these cells is a cut."""

def bin_dense(
    grid: _Grid, values: _F32, dense_columns: _U32, offsets: _U32, defaults: _I32, n_threads: int
) -> tuple[_U8, _I64, _Entries]:
    """A matrix's `dense`, `starts` and `entries`."""

def bin_sparse(
    grid: _Grid,
    table: _SparseRows,
    absent_bins: _U8,
    dense_columns: _U32,
    offsets: _U32,
    defaults: _I32,
    n_threads: int,
) -> tuple[_U8, _I64, _Entries]:
    """The same of a sparse table; `absent_bins` are the bins of what it does not store."""

def columns_of(matrix: _Matrix, n_threads: int) -> _U8:
    """A matrix's `by_column` (columns x rows)."""

def gradient_pairs(
    loss: tuple[str, float],
    scales: tuple[float, float, bool],
    scores: _F32,
    labels: _F32,
    weights: _F32,
    out: _I32,
    n_threads: int,
) -> int:
    """Fill `out` (trees x rows x 2) with wide pairs; returns how many were clipped. No weights: all 1.

    `loss` is its name and parameter, `scales` what gradients and hessians are multiplied by and whether hessians are 1.
    """

def narrow(pairs: _I32, gradient_bits: int) -> _I32:
    """Wide pairs rounded to so many bits, sign included."""

def histograms(
    matrix: _Matrix, pairs: _I32, gradient_bits: int, orders: _U32, spans: _I64, nodes: _Nodes, n_threads: int
) -> _I64:
    """Sums of narrow pairs (nodes x bins x 2) of all columns' bins, each node's total last."""

def count_rows(matrix: _Matrix, orders: _U32, spans: _I64, nodes: _Nodes, n_threads: int) -> _I64:
    """Numbers of rows (nodes x bins) of all columns' bins, each node's total last."""

def subtract(slabs: Sequence[_I64], parents: _I32, children: _I32) -> None:
    """Take children's sums or counts from their parents', in the parents' places; a place is (slab, row)."""

def best_cuts(
    slabs: Sequence[_I64],
    counts: Sequence[_I64],
    places: _I32,
    layout: _Layout,
    rules: _Rules,
    allowed: _Bools,
    bounds: _F64,
    n_threads: int,
) -> tuple[_I64, _I32, _I32, _Bools, _F64, _I64, _I64, _U64]:
    """Which nodes to cut, and of each the column, bin, missing left, gain, left sums, right sums and set of left bins.

    The bin is -1 for a categorical column, where only the set tells.
    `counts` are slabs like those of the sums, or none: rows are not counted.
    No rows of `allowed`: all columns; no rows of `bounds`: any value.
    """

def divide_rows(
    matrix: _Matrix,
    orders: _U32,
    spans: _I64,
    nodes: _Nodes,
    children: _I64,
    columns: _I32,
    left_bins: _U64,
    n_threads: int,
) -> _I64:
    """Move the rows of each node whose bin is in its set to the front; returns the rows of both sides (nodes x 2).

    Changes `orders`, and `spans` at each node's child and the one behind it. Nodes come in the order of their spans.
    """

def row_sides(
    matrix: _Matrix, orders: _U32, spans: _I64, nodes: _Nodes, columns: _I32, left_bins: _U64, n_threads: int
) -> _Bools:
    """For every row of these nodes, in their order, whether its bin is in the node's set."""

def divide_by_sides(orders: _U32, spans: _I64, nodes: _Nodes, children: _I64, left: _Bools, n_threads: int) -> _I64:
    """As `divide_rows`, by sides that are given."""

def put_sides(
    orders: _U32, spans: _I64, nodes: _Nodes, numbers: _U32, left: _Bools, by_row: _Bools, n_threads: int
) -> None:
    """Write the sides of every row of these nodes, in their order, to `by_row` (trees x rows of a table).

    `numbers` are the table's rows that the orders' rows are; empty: those of the same number.
    """

def take_sides(orders: _U32, spans: _I64, nodes: _Nodes, numbers: _U32, by_row: _Bools, n_threads: int) -> _Bools:
    """The sides that `by_row` has of every row of these nodes, in their order."""

def leaf_sums(pairs: _I32, orders: _U32, spans: _I64, nodes: _Nodes, n_threads: int) -> _I64:
    """Sums of wide pairs over each node's rows."""

@overload
def take_steps(steps: Sequence[_Step], n_threads: int) -> list[tuple[_I64, int]]: ...
@overload
def take_steps(
    steps: Sequence[_Step],
    n_threads: int,
    leaving: Sequence[tuple[_I64, _Pads | None, _I64 | None] | None] | None = None,
) -> list[tuple[_I64 | _U64, int]]:
    """Rows of several tables begin a round, are divided and summed; the words of each, and how many were clipped.

    In order, as far as a step says so: its gradients are computed (`gradient_pairs`), the rows of all its parts divided
    (`divide_rows`), and those of the first summed at its nodes: pairs per bin (`histograms`) and, if they are counted,
    numbers of rows (`count_rows`); or where they are leaves, wide pairs (`leaf_sums`).

    Words that leave get others behind them, then over all of them noise and pads (`add_pads`), both or one of these,
    modulo 2^64; only they are unsigned. The noise is of as many words as leave: it is the place of differential
    privacy, under the pads, so that own sums without it are nowhere in Python.
    """

def add_values(tables: Sequence[tuple[_F32, Sequence[tuple[_U32, _I64]], _Nodes, _F32]], n_threads: int) -> None:
    """Add each node's value to its rows' scores, table by table.

    Each are scores (trees x rows), orders and spans of parts of the rows, nodes and values.
    """

def follow_cuts(status: _U8, sizes: _I64, cuts: _Cuts, grid: _Agreed) -> int:
    """Check told cuts and mark their nodes in `status` (trees x nodes) and `sizes`; 0, or what is wrong.

    1: a node is not at the lowest level, named twice or out of order; 2: children are misnumbered; 3: no such column;
    4: the bins that go left are not a cut of the grid. Nothing is changed then.
    """

def follow_step(status: _U8, sizes: _I64, cuts: _Cuts | None, grid: _Agreed, nodes: _Nodes, leaves: bool) -> int:
    """As `follow_cuts`, then that nodes are there to be summed; 5: one is not at the lowest level, or was before.

    With `leaves` the nodes must be all leaves there are (else 6).
    """

def name_nodes(status: _U8, nodes: _Nodes, wanted: Sequence[int], becomes: int) -> bool:
    """Whether the nodes are there, each once and of a wanted kind; if so they become that (0: stay)."""

def logistic(scores: _F32) -> _F64: ...
def softmax(scores: _F32) -> _F64:
    """Probabilities (rows x classes) from scores (classes x rows)."""

def exp(values: _F64) -> _F64: ...
def log(values: _F64) -> _F64: ...
def draws(keys: _U64, seed: int, stream: int) -> _U64:
    """SipHash-2-4 of each key."""

def add_scores(
    forest: _Forest, table: _F32 | _SparseRows, n_columns: int, absent: float, scores: _F32, n_threads: int
) -> None:
    """Add the trees' values to `scores` (rows x trees of a round)."""

def add_contributions(
    forest: _Forest,
    covers: _F32,
    known: _Bools,
    table: _F32 | _SparseRows,
    absent: float,
    out: _F64,
    n_threads: int,
) -> None:
    """Add each column's path-dependent SHAP value to `out` (rows x trees of a round x columns and one more).

    The last place is for the mean over the covers. At cuts of columns that are not `known` a row goes both ways.
    """

def leaf_places(forest: _Forest, values: _F32, n_threads: int) -> _I32:
    """The leaf (rows x trees) that each row reaches, counted from the tree's root."""

def reached_sides(
    cuts: tuple[_I32, _F32, _Bools, _U64, _I64], categorical: _Bools, values: _F32, n_threads: int
) -> _Bools:
    """Whether each row may come out of each of a party's own cuts on its left, then on its right (rows x 2 cuts).

    It must go that way there, and be able to come there as far as the party's own cuts above say. A cut has a column,
    a threshold, the way of missing values, the set of categories that go left, and the nearest own cut above it: twice
    its number, one more right of it. `categorical` says which cuts are by sets.
    """

def add_pads(hidden: Sequence[tuple[_U64, _Pads]], n_threads: int) -> None:
    """Add to words, or take from them, in place and modulo 2^64, a ChaCha20 keystream for each of their secrets.

    Pads are secrets (n x 32), which of their keystreams are taken, and what the request is. A keystream's key is
    HKDF-Expand with SHA-256 of the secret and the request. The nonce is zero: a request may be used once only.
    """

def pad_words(n: int, keys: _U8, subtract: _Bools) -> _U64:
    """So many words of the pads of these keys (k x 32 bytes), added up modulo 2^64 or taken."""

def sum_words(parts: Sequence[_U64]) -> _I64:
    """The sum of rows of words, modulo 2^64 and signed."""

def reduce_scalar(wide: bytes) -> bytes:
    """The scalar of ristretto255 (32 bytes) that 64 uniform bytes stand for."""

def blind_ids(text: bytes, ends: _I64, tag: bytes, scalar: bytes, n_threads: int) -> _U8:
    """The points (ids x 32) that ids are hashed to under this tag (RFC 9380), multiplied by the scalar.

    Id i is the text up to `ends[i]`, from the end of the one before.
    """

def blind_points(points: _U8, scalar: bytes, n_threads: int) -> _U8:
    """Points (n x 32) multiplied by the scalar; refuses what is not a point, and the identity."""

def paillier_primes(bits: int, n_threads: int) -> tuple[_U64, _U64]:
    """Two primes of half as many bits, from the system's generator (SECRET: 2 x words), and their product n.

    Both primes are 3 modulo 4.

    Here and below numbers are rows of words, the lowest first. Ciphertexts and tables are in Montgomery form modulo the
    square of n; n, primes and `plain` are not. Integers (ciphertexts x fields) lie in the plaintext side by side, each
    in a field of so many bits as `widths` tells.
    """

def paillier_roots(primes: _U64, numbers: _U64, n_threads: int) -> _U64:
    """For each number x of Jacobi symbol 1 (plain, as long as n) the square whose 2n-th power modulo n is x or -x.

    Primes that are not 3 modulo 4 are a ValueError.
    """

def paillier_raised(n: _U64, numbers: _U64, n_threads: int) -> _U64:
    """Each number (plain, as long as n) to the power of 2n, modulo n."""

def paillier_table(n: _U64, bases: int, digits: int, window: int, even: bool, n_threads: int) -> _U64:
    """Powers of random n-th powers (digits x words), so many digits of `window` bits for all bases together.

    `even`: the bases are squares.
    """

def paillier_own_tables(primes: _U64, digits: int, window: int, n_threads: int) -> _U64:
    """The same of one base modulo the square of each prime, one table behind the other. SECRET."""

def paillier_own_seal(primes: _U64, tables: _U64, values: _I64, widths: Sequence[int], n_threads: int) -> _U64:
    """Ciphertexts of these integers, with randomness from the tables."""

def paillier_open(primes: _U64, sealed: _U64, widths: Sequence[int], n_threads: int) -> _I64 | None:
    """The integers in each ciphertext; none if one holds anything beside its fields."""

def paillier_open_numbers(primes: _U64, sealed: _U64, n_threads: int) -> _U64:
    """The whole plaintext of each ciphertext, as long as n."""

def paillier_read(n: _U64, plain: _U64, n_threads: int) -> tuple[int, _U64]:
    """0 and ciphertexts that came in; or what is wrong, and none.

    1: not below the square of n; 2: 0 or 1; 3: one shares a factor with n.
    """

def paillier_write(n: _U64, sealed: _U64, n_threads: int) -> _U64:
    """Ciphertexts out of Montgomery form."""

def paillier_add_plain(n: _U64, sealed: _U64, values: _I64, widths: Sequence[int], n_threads: int) -> _U64:
    """Ciphertexts with plain integers added."""

def paillier_add_numbers(n: _U64, sealed: _U64, numbers: _U64, n_threads: int) -> _U64:
    """Ciphertexts with plain numbers added, one each, as long as n and below it."""

def paillier_randomise(n: _U64, table: _U64, blind: bool, sealed: _U64, n_threads: int) -> _U64:
    """Ciphertexts times random n-th powers: from the table, or, if it has no digits, a fresh power of its own each.

    `blind`: every power of a digit is read, so that memory does not tell which was used.
    """

def paillier_add(n: _U64, sealed: _U64, others: _U64, n_threads: int) -> _U64:
    """Ciphertexts of the sums."""

def paillier_negate(n: _U64, sealed: _U64, n_threads: int) -> _U64:
    """Ciphertexts of the negatives."""

def paillier_group_sums(
    n: _U64, sealed: _U64, parts: int, codes: _U8, widths: _I64, nodes: tuple[_I64, _I64], n_threads: int
) -> _U64:
    """Products of rows' ciphertexts (`parts` a row) for each node, column and group: NOT YET randomised.

    `codes` are columns x rows; `nodes` are the rows of all nodes and where each node's begin.
    """

def paillier_pack(n: _U64, sealed: _U64, per: int, distance: int, n_threads: int) -> _U64:
    """Ciphertexts of `per` plaintexts each, side by side at so many bits' distance."""

def lattice_new_secret() -> _U32:
    """A lattice secret key from the system's generator: 4 primes x 2 x 4096 words, one after the other."""

def lattice_public_half(own_secret: _U32, seed: bytes) -> bytes:
    """The half of a public key that is not its seed's, packed."""

def lattice_read_public(packed: bytes, seed: bytes) -> _U32 | None:
    """A public key, 4 primes x 2 x 4096 words; None if a residue is not below its prime."""

def lattice_proof_bytes(n: int) -> int:
    """The length of a proof that a public key of the ring of n coefficients, 4096 or 8192, is well formed."""

def lattice_prove_key(own_secret: _U32, packed: bytes, seed: bytes, n_threads: int) -> bytes:
    """A proof that a public key is well formed, from its secret."""

def lattice_is_proven(public: _U32, packed: bytes, seed: bytes, proof: bytes, n_threads: int) -> bool:
    """Whether a public key is proven: as it is read, and in its wire form."""

def lattice_switch_halves(own_secret: _U32, seed: bytes, steps: Sequence[int], n_threads: int) -> bytes:
    """Keys for merging results at these steps, without the halves that are the seed's, packed."""

def lattice_read_switch(packed: bytes, seed: bytes, steps: Sequence[int], n_threads: int) -> _U32 | None:
    """The same, unpacked; None if a residue is not below its prime."""

def lattice_seal_rows(
    own_secret: _U32, seed: bytes, values: _I64, step: int, scale: Sequence[int], front: bytes, n_threads: int
) -> bytes:
    """Seals values (lanes x rows), `step` rows a ciphertext, times a scale given modulo each prime, behind `front`.

    The seed is public, and may serve once.
    """

def lattice_seal_rows_publicly(
    public: _U32, values: _I64, step: int, scale: Sequence[int], front: bytes, n_threads: int
) -> bytes:
    """The same under a public key: both halves."""

def lattice_check_rows(sealed: _SealedData, n_threads: int) -> bool:
    """Whether all residues of sealed rows are below their primes."""

def lattice_add_rows(sealed: _SealedData, other: _SealedData, subtract: bool, front: bytes, n_threads: int) -> bytes:
    """Sealed rows added to others, or taken from them: both halves, packed behind `front`."""

def plain_group_sums(values: _I64, selection: _Selection, nodes: _RowSets, n_threads: int) -> _I64:
    """Sums of clear rows (rows x channels) by node, group and channel; codes beyond a column's groups are left out."""

def lattice_group_sums(
    keys: tuple[_U32, _U32],
    sealed: _SealedData,
    selection: _Selection,
    nodes: _RowSets,
    plus: _I64,
    layout: _RowsLayout,
    scale: Sequence[int],
    front: bytes,
    n_threads: int,
) -> bytes:
    """Sums of sealed rows by node and group, sanitised, merged, packed behind `front`.

    No summands (nodes x groups x lanes): none.
    """

def lattice_entry_sums(
    keys: tuple[_U32, _U32],
    sealed: _SealedData,
    own_choice: _Bools,
    shared: int,
    plus: _I64,
    layout: _RowsLayout,
    scale: Sequence[int],
    front: bytes,
    n_threads: int,
) -> bytes:
    """Each row's sum of chosen entries (rows x entries, the last `shared` those of all rows), sanitised and merged.

    Sealed are the rows' own entries, one row after the other, and the shared ones; where these would not end in the
    same 4096, zeros up to the next stand between. No summands (one a row): none.
    """

def lattice_returned_bytes(layout: _RowsLayout, nodes: int, groups: int) -> int:
    """The length of what `lattice_group_sums` gives behind `front`."""

def lattice_check_sums(sums: _ReturnedData, n_threads: int) -> bool:
    """Whether all residues of returned sums are below their primes."""

def lattice_add_sums(sums: _ReturnedData, other: _ReturnedData, subtract: bool, front: bytes) -> bytes:
    """Returned sums added to others, or taken from them, packed behind `front`."""

def lattice_open_sums(own_secret: _U32, sums: _ReturnedData, factor: tuple[int, int], n_threads: int) -> _I64:
    """Opened sums, nodes x groups x lanes; a coefficient is multiplied by the factor and shifted right."""

def lattice_reveal(own_secret: _U32) -> bytes:
    """The coefficients of a secret key, a signed byte each: whoever has them has the key."""

def lattice_secret_of(told: bytes) -> _U32 | None:
    """The secret key with these coefficients; None if there are not 4096, or one is not -1, 0 or 1."""

def lattice_belongs(secret: _U32, public: _U32) -> bool:
    """Whether a public key as `lattice_read_public` gives it is one of this secret, with a sampled error."""

def lattice_open_rows(secret: _U32, sealed: _SealedData, scale: Sequence[int], modulus: int, n_threads: int) -> _I64:
    """Integers of sealed rows, 4096 a ciphertext; the least int64 where one lies off this scale."""

def slots_new_key(seed: bytes) -> tuple[NDArray[np.int8], bytes]:
    """A fresh ternary secret, and the public half that belongs to it and to the seed."""

def slots_prove_key(own_secret: NDArray[np.int8], half: bytes, seed: bytes, n_threads: int) -> bytes:
    """A proof that a public half is well formed, from its secret."""

def slots_is_proven(half: bytes, seed: bytes, proof: bytes, n_threads: int) -> bool:
    """Whether a public half is proven."""

def slots_seal(
    values: _I64, table: _SlotTable, own_secret: NDArray[np.int8], seed: bytes, primes: int, head: bytes, n_threads: int
) -> bytes:
    """Seal rows x entries with the secret key: the head, then first halves; the seed gives the second ones."""

def slots_seal_public(
    values: _I64, table: _SlotTable, public: bytes, seed: bytes, primes: int, head: bytes, n_threads: int
) -> bytes:
    """Seal rows x entries with the public key: the head, then both halves."""

def slots_sums(
    sealed: _SealedTable,
    table: _SlotTable,
    own_choice: _Bools,
    plus: _I64,
    public: bytes,
    public_seed: bytes,
    leaving: _SlotsLeaving,
    head: bytes,
    n_threads: int,
) -> bytes:
    """Each row's sum of chosen entries, sanitised: the head, then both halves."""

def slots_filter(
    sealed: _SealedTable,
    table: _SlotTable,
    own_choice: _Bools,
    summed: bool,
    public: bytes,
    public_seed: bytes,
    leaving: _SlotsLeaving,
    head: bytes,
    n_threads: int,
) -> bytes:
    """The chosen integers, zero for the others, sanitised: the head, then both halves."""

def slots_combine(
    a: _SealedTable, b: _SealedTable, table: _SlotTable, subtract: bool, head: bytes, n_threads: int
) -> bytes:
    """The sum or difference of two sealed tables: the head, then both halves."""

def slots_open(
    sealed: _SealedTable, table: _SlotTable, summed: bool, own_secret: NDArray[np.int8], n_threads: int
) -> _I64:
    """Rows x entries, or one sum a row."""

def slots_well_formed(data: bytes, start: int, end: int, primes: int, n_threads: int) -> bool:
    """Whether every residue between these bytes is below its prime."""

def slots_coefficients(sealed: _SealedTable, table: _SlotTable, ciphertext: int, half: int) -> _U32:
    """One half of a ciphertext (primes x 8192), for tests against a reference."""

def slots_key_coefficients(public: bytes, seed: bytes) -> _U32:
    """Both halves of a public key, prime after prime (16 x 8192), for tests against a reference."""

def clipped_pairs(
    loss: tuple[str, float, float], units: tuple[int, int], radius: int, scores: _F32, labels: _F32, n_threads: int
) -> _I32:
    """Pairs (rows x 2) in these units, none with an L2 norm above the radius, whatever its row holds.

    Losses are "logistic", and "squared" with the range of labels: one unit gradient, labels outside count as its ends.
    Longer pairs are shortened toward zero. No units of hessians: they are 0, and gradients alone are held within.
    """

def bin_sums(matrix: _Matrix, pairs: _I32, n_threads: int) -> _I64:
    """Sums of all rows' pairs over every bin of all columns (bins x 2), without a total."""

def add_bin_values(matrix: _Matrix, values: _F64, scores: _F32, n_threads: int) -> None:
    """Add to each row's score the values of its bins in all columns.

    They are rounded to multiples of 2^-32 and added as integers, however the table is laid out.
    """

def leaf_numbers(matrix: _Matrix, columns: _I32, children: _I32, left_bins: _U64, n_threads: int) -> _I32:
    """The node of a given tree at which each row ends.

    A leaf's column is -1; children of a cut stand side by side, numbered in the order of the cuts from 1 on.
    """

def sums_by_number(pairs: _I32, numbers: _I32, n: int, n_threads: int) -> _I64:
    """Sums of the pairs (n x 2) of rows that have the same number."""

def discrete_gaussian(n: int, variance_num: int, variance_den: int = 1) -> _I64:
    """Exact draws, each x with a chance in proportion to exp(-x^2 / (2 variance)), from the system's randomness."""

def discrete_laplace(n: int, scale_num: int, scale_den: int = 1) -> _I64:
    """Exact draws, each x with a chance in proportion to exp(-|x| / scale), from the system's randomness."""

def set_portable_only(on: bool) -> None:
    """Take the path for any CPU from now on, or again the best one."""
