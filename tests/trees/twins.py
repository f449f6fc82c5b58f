"""What every kernel means, in plain Python and NumPy: to be read, not to be fast.

Floating-point operations come in the order of the kernels, so that results can be compared with `==`.
"""

import math
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

# Cuts


def key(value):
    """A float's place among all floats; -0 is 0."""
    bits = int((np.float32(value) + np.float32(0)).view(np.uint32))
    return bits ^ 0xFFFFFFFF if bits >> 31 else bits | 0x80000000


def key_value(key):
    return np.uint32(key ^ 0x80000000 if key >> 31 else key ^ 0xFFFFFFFF).view(np.float32)


def cells(keys, min_rows):
    """(least key, rows): each distinct key, or the first prefix with fewer than `min_rows` rows."""
    return prefix_cells(keys, min_rows, 0, 32) if min_rows > 1 else sorted(Counter(keys).items())


def prefix_cells(keys, min_rows, start, open_bits):
    if not keys or open_bits == 0 or len(keys) < min_rows:
        return [(start, len(keys))] if keys else []
    shift = open_bits - 4
    groups = {}
    for k in keys:
        groups.setdefault(k >> shift, []).append(k)
    return [cell for p in sorted(groups) for cell in prefix_cells(groups[p], min_rows, p << shift, shift)]


def cap(counts, max_bin):
    """The `tau` for which the counts, none counted beyond `tau`, add up to `max_bin * tau`."""
    heaviest = sorted(counts, reverse=True)
    for heavy, count in enumerate(heaviest):
        tau = Fraction(sum(heaviest[heavy:]), max_bin - heavy)
        if count < tau:
            return tau
    raise AssertionError("there are at most `max_bin` cells")


def bins_of_cells(counts, max_bin):
    """The bin of each cell: its own, or where the middle of its capped rows lies among equal shares."""
    if len(counts) <= max_bin:
        return list(range(len(counts)))
    tau, before, found = cap(counts, max_bin), Fraction(0), []
    for count in counts:
        capped = min(Fraction(count), tau)
        found.append(math.floor((before + capped / 2) / tau))
        before += capped
    return found


def column_cuts(values, max_bin, min_rows):
    """A column's cuts, and the rows of its bins with the missing last."""
    keys = [key(v) for v in values if not np.isnan(v)]
    found = cells(keys, min_rows)
    bins = bins_of_cells([count for _, count in found], max_bin)
    rows = Counter()
    for b, (_, count) in zip(bins, found, strict=True):
        rows[b] += count
    cuts = [key_value(found[i][0]) for i in range(1, len(found)) if bins[i] != bins[i - 1]]
    return cuts, [*(rows[b] for b in sorted(rows) or [0]), len(values) - len(keys)]


# Bins


def bin_of(value, cuts, missing_bin):
    return missing_bin if np.isnan(value) else sum(bool(cut <= value) for cut in cuts)


@dataclass
class Matrix:
    """A table of bins as the kernels read it."""

    dense: np.ndarray
    dense_columns: np.ndarray
    starts: np.ndarray
    entries: np.ndarray
    offsets: np.ndarray
    defaults: np.ndarray
    by_column: np.ndarray


def laid_out(bins, sizes, defaults, twice=False):
    """Columns with a default (not -1) become entries for rows outside it, the others a byte a row."""
    offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint32)
    defaults = np.asarray(defaults, np.int32)
    dense_columns = np.flatnonzero(defaults < 0)
    lists = [[offsets[c] + b for c, b in enumerate(row) if defaults[c] not in (-1, b)] for row in bins.tolist()]
    starts = np.concatenate([[0], np.cumsum([len(entries) for entries in lists])])
    if len(dense_columns) == len(sizes):
        starts = starts[:0]
    kind = np.uint16 if offsets[-1] <= 1 << 16 else np.uint32
    return Matrix(
        np.ascontiguousarray(bins[:, dense_columns], np.uint8),
        dense_columns.astype(np.uint32),
        starts.astype(np.int64),
        np.array([e for entries in lists for e in entries], kind),
        offsets,
        defaults,
        np.ascontiguousarray(bins.T if twice else np.empty((0, len(bins))), np.uint8),
    )


def bin_at(matrix, row, column):
    """The bin that a matrix says a row has in a column."""
    if matrix.defaults[column] < 0:
        return matrix.dense[row, list(matrix.dense_columns).index(column)]
    low, high = matrix.offsets[column], matrix.offsets[column + 1]
    stored = [e - low for e in matrix.entries[matrix.starts[row] : matrix.starts[row + 1]] if low <= e < high]
    return stored[0] if stored else matrix.defaults[column]


# Arithmetic and gradients

LN2_HIGH, LN2_LOW = 6.931471803691238e-1, 1.9082149292705877e-10


def exp(x):
    """e to the x by halving the range and a Taylor series, without fused operations."""
    x = np.clip(np.asarray(x, np.float64), -708, 709)
    n = np.rint(x * math.log2(math.e))
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    p = np.full_like(x, 1 / math.factorial(13))
    for k in range(12, -1, -1):
        p = p * r + 1 / math.factorial(k)
    return np.ldexp(p, n.astype(int))


def log(x):
    """The natural logarithm from the series of artanh, without fused operations."""
    m, n = np.frexp(np.asarray(x, np.float64))
    low = m < math.sqrt(0.5)
    m, n = np.where(low, 2 * m, m), np.where(low, n - 1, n)
    f = m - 1
    s = f / (m + 1)
    z = s * s
    p = np.full_like(s, 1 / 21)
    for k in range(19, 1, -2):
        p = p * z + 1 / k
    half_square = 0.5 * f * f
    tail = s * (half_square + 2 * z * p) + n * LN2_LOW
    return n * LN2_HIGH + (f - (half_square - tail))


def softmax(scores):
    """Probabilities of the classes; scores are classes x rows."""
    powers = [exp(s - scores.max(axis=0)) for s in scores]
    return np.array([p / sum(powers, np.zeros(len(p))) for p in powers])


def derivatives(name, parameter, scores, labels):
    """Gradients and hessians (trees x rows) of a loss."""
    s, y = np.asarray(scores, np.float64), np.asarray(labels, np.float64)
    is_class = y == np.arange(len(s))[:, None]
    if name == "squared":
        return s - y, np.ones_like(s)
    if name == "logistic":
        p = 1 / (1 + exp(-s))
        return p - y, p * (1 - p)
    if name == "softmax":
        p = softmax(s)
        return np.where(is_class, p - 1, p), 2 * p * (1 - p)
    if name == "shares":
        return -1.0 * is_class, np.ones_like(s)
    if name == "poisson":
        return exp(s) - y, exp(s)
    if name == "tweedie":
        a, b = y * exp((1 - parameter) * s), exp((2 - parameter) * s)
        return b - a, (2 - parameter) * b - (1 - parameter) * a
    z = (s - y) / parameter
    root = np.sqrt(1 + z * z)
    return z * parameter / root, 1 / root  # of the parabola that touches the loss from above


def quantised(g, h, weights, scales):
    """Wide pairs, and how many numbers lay beyond plus or minus 2^30."""
    limit = 2.0**30
    w = np.asarray(weights, np.float64) if len(weights) else 1.0
    g, h = g * w * scales[0], (np.ones_like(h) if scales[2] else h) * w * scales[1]
    beyond = (np.abs(g) > limit).sum() + (h > limit).sum()
    pairs = np.stack([np.rint(np.clip(g, -limit, limit)), np.rint(np.clip(h, 0, limit))], axis=-1)
    return pairs.astype(np.int32), int(beyond)


def narrow(pairs, bits):
    """`floor(x / 2^(31 - bits) + 1/2)`."""
    unit = 1 << (31 - bits)
    return (2 * pairs.astype(np.int64) + unit) // (2 * unit)


# Sums


def histograms(bins, offsets, narrow_pairs, orders, spans):
    out = np.zeros((len(spans), int(offsets[-1]) + 1, 2), np.int64)
    for sums, (tree, begin, end) in zip(out, spans, strict=True):
        rows = orders[tree, begin:end]
        for column in range(bins.shape[1]):
            np.add.at(sums, int(offsets[column]) + bins[rows, column].astype(int), narrow_pairs[tree, rows])
        sums[-1] = narrow_pairs[tree, rows].sum(axis=0)
    return out


def count_rows(bins, offsets, orders, spans):
    ones = np.ones((*orders.shape[:1], len(bins), 2), np.int64)
    return histograms(bins, offsets, ones, orders, spans)[:, :, 0]


def leaf_sums(pairs, orders, spans):
    return np.array([pairs[t, orders[t, a:b]].astype(np.int64).sum(axis=0) for t, a, b in spans]).reshape(-1, 2)


def divided(rows, bins, left_bins):
    """Rows whose bin is in the set first, the order kept on each side; and how many they are."""
    left = [r for r in rows if bins[r] in left_bins]
    return left + [r for r in rows if bins[r] not in left_bins], len(left)


# Cuts of nodes


@dataclass
class Rules:
    """What a cut is worth and what is allowed."""

    gradient_unit: float = 1.0
    hessian_unit: float = 1.0
    reg_lambda: float = 1.0
    reg_alpha: float = 0.0
    gamma: float = 0.0
    min_child_weight: float = 0.0
    min_child_rows: int = 1
    monotone: np.ndarray = None

    def __post_init__(self):
        self.monotone = np.asarray(() if self.monotone is None else self.monotone, np.int8)

    def shrunk(self, g):
        return math.copysign(max(abs(g) - self.reg_alpha, 0.0), g)

    def ratio(self, pair):
        """What categories are ordered by."""
        g, h = pair[0] * self.gradient_unit, pair[1] * self.hessian_unit
        return g / h if h else math.copysign(math.inf, g)

    def weight(self, pair, bounds):
        g, h = pair[0] * self.gradient_unit, pair[1] * self.hessian_unit
        return min(max(-self.shrunk(g) / (h + self.reg_lambda), bounds[0]), bounds[1])

    def score(self, pair, bounds):
        g, h = pair[0] * self.gradient_unit, pair[1] * self.hessian_unit
        g, h = self.shrunk(g), h + self.reg_lambda
        if not len(self.monotone):
            return g * g / h
        w = self.weight(pair, bounds)
        return -(2 * (pair[0] * self.gradient_unit * w + self.reg_alpha * abs(w)) + h * w * w)

    def allow(self, left, right, column, bounds):
        """Whether a cut with these sums and numbers of rows may be made."""
        if min(left[2], right[2]) < self.min_child_rows:
            return False
        left, right = left[:2], right[:2]
        if any(h <= 0 or h * self.hessian_unit < self.min_child_weight for _, h in (left, right)):
            return False
        direction = self.monotone[column] if len(self.monotone) else 0
        return not direction or direction * (self.weight(right, bounds) - self.weight(left, bounds)) >= 0


@dataclass
class Layout:
    """The columns of a histogram; the last bin of a column with `has_missing` is for missing values."""

    offsets: np.ndarray
    has_missing: np.ndarray
    categorical: np.ndarray


@dataclass
class Cut:
    column: int = -1
    bin: int = -1
    missing_left: bool = True
    gain: float = 0.0
    left: tuple = (0, 0)
    right: tuple = (0, 0)
    left_bins: frozenset = frozenset()


NOTHING = (0, 0, 0)


def plus(*parts):
    """Sums and number of rows of several parts together."""
    return tuple(map(sum, zip(NOTHING, *parts, strict=True)))


def candidates(triples, layout, rules, column):
    """(bin, missing left, left part, left bins) behind every bin that holds something, in order of preference.

    Categories are ordered by G / H; those without sums go with the missing.
    """
    bins = [tuple(t) for t in triples[layout.offsets[column] : layout.offsets[column + 1]].tolist()]
    missing = bins.pop() if layout.has_missing[column] else NOTHING
    filled = [b for b, triple in enumerate(bins) if triple != NOTHING]
    categorical = layout.categorical[column]
    with_missing = {len(bins)} if layout.has_missing[column] else set()
    if categorical:
        filled = sorted((b for b in filled if bins[b][:2] != (0, 0)), key=lambda b: rules.ratio(bins[b]))
        bare = set(range(len(bins))) - set(filled)
        with_missing |= bare
        missing = plus(missing, *(bins[b] for b in bare))
    left = NOTHING
    for i, b in enumerate(filled):
        left = plus(left, bins[b])
        inside = set(filled[: i + 1]) if categorical else set(range(b + 1))
        yield (-1 if categorical else b), True, plus(left, missing), inside | with_missing
        if missing != NOTHING:
            yield (-1 if categorical else b), False, left, inside


def best_cut(sums, counts, layout, rules, allowed, bounds):
    """The first cut of the greatest gain above gamma (and 1e-6); `Cut()` if there is none.

    Without counts, rows are not counted and no number of them is asked for.
    """
    if counts is None:
        counts, rules = np.zeros(len(sums), np.int64), replace(rules, min_child_rows=0)
    triples = np.column_stack([sums, counts])
    *total, rows = triples[-1].tolist()
    best = Cut()
    if total[1] <= 0:
        return best
    whole = rules.score(total, bounds)
    best_score = whole + max(rules.gamma, 1e-6)
    for column in np.flatnonzero(allowed):
        for bin_, missing_left, left, left_bins in candidates(triples, layout, rules, column):
            right = total[0] - left[0], total[1] - left[1], rows - left[2]
            if not rules.allow(left, right, column, bounds):
                continue
            left, right = left[:2], right[:2]
            score = rules.score(left, bounds) + rules.score(right, bounds)
            if score > best_score:
                best_score = score
                best = Cut(int(column), bin_, missing_left, score - whole, left, right, frozenset(left_bins))
    return best


# Forests


def goes_left(forest, node, x):
    category_set = forest.sets[node]
    if np.isnan(x) or (category_set >= 0 and not 0 <= x < 256):
        return forest.missing_left[node]
    if category_set < 0:
        return x < forest.thresholds[node]
    word, bit = divmod(int(x), 64)
    return bool(int(forest.category_sets[category_set, word]) >> bit & 1)


def leaf_of(forest, tree, row):
    """The leaf that a row reaches, counted over the whole forest."""
    at = forest.roots[tree]
    while forest.columns[at] >= 0:
        at = forest.children[at] + (not goes_left(forest, at, row[forest.columns[at]]))
    return at


# Draws


def siphash(key, seed, stream):
    """SipHash-2-4 of a 64-bit number under the key (seed, stream), as its authors published it."""
    mask = (1 << 64) - 1
    v = [seed ^ 0x736F6D6570736575, stream ^ 0x646F72616E646F6D, seed ^ 0x6C7967656E657261, stream ^ 0x7465646279746573]

    def half_round(a, b, c, d, s, t):
        v[a] = (v[a] + v[b]) & mask
        v[c] = (v[c] + v[d]) & mask
        v[b] = (v[b] << s | v[b] >> (64 - s)) & mask ^ v[a]
        v[d] = (v[d] << t | v[d] >> (64 - t)) & mask ^ v[c]
        v[a] = (v[a] << 32 | v[a] >> 32) & mask

    def rounds(n):
        for _ in range(n):
            half_round(0, 1, 2, 3, 13, 16)
            half_round(2, 1, 0, 3, 17, 21)

    for word in (key, 8 << 56):
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]
