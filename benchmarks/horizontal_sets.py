"""The sets of the horizontal benchmark: those of the others, and the two small ones of FedTree's tables."""

from benchmarks.sets import SETS as OTHERS
from benchmarks.sets import DataSet, Split, data_folder, quartered, read_libsvm

BREAST, ABALONE = "breast-cancer.libsvm.gz", "abalone.csv.gz"
SEXES = {"M": 1, "F": 2, "I": 3}  # as LIBSVM's file has them


def load_breast() -> Split:
    """Breast cancer, dense."""
    X, y = read_libsvm(BREAST, 10)
    return quartered(X.toarray(), y)


def load_abalone() -> Split:
    """Abalone; its rings are scaled to [0, 1], without which FedTree's figures would make no sense."""
    import pandas as pd

    frame = pd.read_csv(data_folder() / ABALONE)
    rings = frame.pop("Rings").to_numpy(dtype="float64")
    frame["Sex"] = frame["Sex"].map(SEXES)
    return quartered(frame.to_numpy(dtype="float32"), (rings - rings.min()) / (rings.max() - rings.min()))


SETS = {
    **OTHERS,
    "breast": DataSet("breast", load_breast, (BREAST,)),
    "abalone": DataSet("abalone", load_abalone, (ABALONE,)),
}
