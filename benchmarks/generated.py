"""Generated tables: one with the vices of real ones, and one of applicants for credit, whose columns each say a little.

The vices: skew, ties, missing values, idle columns, noisy labels.
"""

import numpy as np
from numpy.typing import NDArray

COLUMNS = 20
CHUNK = 250_000
SKEWED = slice(8, 11)
ROUNDED = slice(11, 14)
MISSING = {14: 0.05, 15: 0.2, 16: 0.5}


def generate(rows: int, seed: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """A table and its binary labels, filled a chunk at a time so that only the table itself is large."""
    X = np.empty((rows, COLUMNS), dtype=np.float32)
    y = np.empty(rows, dtype=np.int64)
    for start in range(0, rows, CHUNK):
        rng = np.random.default_rng([seed, start])
        chunk = rng.standard_normal((min(CHUNK, rows - start), COLUMNS), dtype=np.float32)
        y[start : start + CHUNK] = label(chunk, rng)
        X[start : start + CHUNK] = disfigure(chunk, rng)
    return X, y


def label(chunk: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Labels drawn with a probability that is no straight line in the columns; 17 to 19 have no part in it.

    The products are off centre: of a centred one no single cut gains, luck chooses the first, and XGBoost differs from
    itself by .005 of AUC between 64 and 66 bins.
    """
    x = chunk.T
    score = 0.5 * (x[0] + 1) * (x[1] + 1) + np.sin(2 * x[2]) + np.where(x[3] > 0.5, x[4], -0.5) + 0.5 * np.abs(x[5])
    score += 0.6 * x[8] + 0.3 * (x[11] - 1) * (x[12] + 1) + 0.5 * (x[14] > 0) - 0.7 * x[15] + 0.4 * x[16] - 1.5
    drawn: NDArray[np.bool_] = rng.random(len(chunk), dtype=np.float32) < 1 / (1 + np.exp(-score))
    return drawn


def disfigure(chunk: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.float32]:
    """The chunk with some columns skewed, some rounded and some with holes, in place."""
    np.exp(2 * chunk[:, SKEWED], out=chunk[:, SKEWED])
    np.rint(3 * chunk[:, ROUNDED], out=chunk[:, ROUNDED])
    for column, share in MISSING.items():
        chunk[rng.random(len(chunk), dtype=np.float32) < share, column] = np.nan
    return chunk


APPLICANT_COLUMNS = 113
ACTIVE_COLUMNS = 5
"""Those at the front of an applicant's, in products with which others have a say too."""


def generate_applicants(rows: int, columns: int, seed: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Applicants and whether they failed to pay; filled a chunk at a time, and weak signal in all columns."""
    X = np.empty((rows, columns), dtype=np.float32)
    y = np.empty(rows, dtype=np.int64)
    for start in range(0, rows, CHUNK):
        rng = np.random.default_rng([seed, start])
        chunk = rng.standard_normal((min(CHUNK, rows - start), columns), dtype=np.float32)
        y[start : start + CHUNK] = label_applicants(chunk, rng)
        X[start : start + CHUNK] = chunk
    return X, y


def label_applicants(chunk: NDArray[np.float32], rng: np.random.Generator) -> NDArray[np.bool_]:
    """Labels of which the first columns say most, the others less and less, and products of both something."""
    columns = chunk.shape[1]
    signs = np.where(np.random.default_rng(0).random(APPLICANT_COLUMNS) < 0.5, -1, 1)[:columns]
    weights = (signs * 0.35 / np.sqrt(1 + np.arange(columns) / ACTIVE_COLUMNS)).astype(np.float32)
    score = chunk @ weights - 1.5
    for j in range(ACTIVE_COLUMNS, min(columns, 3 * ACTIVE_COLUMNS)):
        score += 0.15 * (chunk[:, j % ACTIVE_COLUMNS] > 0) * chunk[:, j]
    drawn: NDArray[np.bool_] = rng.random(len(chunk), dtype=np.float32) < 1 / (1 + np.exp(-score))
    return drawn
