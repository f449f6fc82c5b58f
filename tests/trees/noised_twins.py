"""What the kernels of trees that depend on no row mean, in plain Python and NumPy: to be read, not to be fast."""

import math

import numpy as np
import twins


def gradients(loss, scores, labels):
    """First and second derivatives; for the squared loss in units of the declared range, labels kept within it."""
    name, low, high = loss
    s, y = np.asarray(scores, np.float64), np.asarray(labels, np.float64)
    if name == "logistic":
        p = 1 / (1 + twins.exp(-s))
        return p - y, p * (1 - p)
    return (s - np.clip(np.where(np.isnan(y), low, y), low, high)) / (high - low), np.ones_like(s)


def clipped(pair, radius):
    """The pair, or where its length is above the radius, times radius / (the length rounded up), toward zero."""
    square = sum(x * x for x in pair)
    if square <= radius * radius:
        return list(pair)
    length = math.isqrt(square - 1) + 1
    return [int(math.copysign(abs(x) * radius // length, x)) for x in pair]


def clipped_pairs(loss, units, radius, scores, labels):
    with np.errstate(invalid="ignore", over="ignore"):
        wide = [
            np.nan_to_num(x * unit, nan=0.0) for x, unit in zip(gradients(loss, scores, labels), units, strict=True)
        ]
    whole = np.rint(np.clip(np.stack(wide, axis=1), -(2.0**30), 2.0**30)).astype(int)
    return np.array([clipped(pair, radius) for pair in whole.tolist()], np.int32).reshape(-1, 2)


def bin_sums(bins, offsets, pairs):
    """Each row adds its pair to its bin in every column."""
    out = np.zeros((offsets[-1], 2), np.int64)
    for row, pair in zip(bins, pairs, strict=True):
        for column, bin_ in enumerate(row):
            out[offsets[column] + bin_] += pair
    return out


def add_bin_values(bins, offsets, values, scores):
    """Values are multiples of 2^-32, added up exactly, then to the score in 64 bits."""
    units = [math.floor(abs(v) * 2**32 + 0.5) * (1 if v > 0 else -1) for v in values.tolist()]
    sums = [sum(units[offsets[column] + bin_] for column, bin_ in enumerate(row)) for row in bins]
    return np.array([float(s) + total / 2**32 for s, total in zip(scores, sums, strict=True)], np.float32)


def leaf_numbers(bins, columns, children, left_bins):
    """Where each row ends; `left_bins` are sets."""
    out = []
    for row in bins:
        node = 0
        while columns[node] >= 0:
            node = children[node] + (row[columns[node]] not in left_bins[node])
        out.append(node)
    return np.array(out, np.int32)


def sums_by_number(pairs, numbers, n):
    return np.array([pairs[numbers == i].sum(axis=0, dtype=np.int64) for i in range(n)]).reshape(n, 2)
