"""FedTree's configuration files, run unchanged as simulations: each key is honoured, refused or remarked upon.

Their relative paths begin in the folder the command is run in. Where FedTree does not do what its documentation says of
a key, the documentation is followed.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

from hedgerow.agreement.dp import MOST_EPSILON
from hedgerow.agreement.plan import MOST_PARTIES
from hedgerow.errors import ParameterError, RunError
from hedgerow.run.file.description import RunFile, run_of
from hedgerow.run.file.fedtree_keys import Conf, file_text
from hedgerow.trees.params import LIMITS, Limit

METHODS = {
    "horizontal": "horizontal", "vertical": "vertical", "ensemble": "bagging", "solo": "alone", "centralized": "pooled",
}  # fmt: skip
OF_CLASSES = ("binary:logistic", "reg:logistic", "multi:softprob", "multi:softmax")
OBJECTIVES = ("reg:linear", *OF_CLASSES, "rank:pairwise", "rank:ndcg")
CUT_POINTS = {"server": "counts", "party": "local", "client_pre": "local", "client_post": "local"}
TREES: dict[str, tuple[str, float]] = {
    "n_trees": ("n_estimators", 40),
    "max_depth": ("max_depth", 6),
    "learning_rate": ("learning_rate", 1.0),
    "lambda": ("reg_lambda", 1.0),
    "gamma": ("gamma", 1.0),
    "min_child_weight": ("min_child_weight", 1.0),
    "max_num_bin": ("max_bin", 32),
    "ins_bagging_fraction": ("subsample", 1.0),
    "column_sampling_rate": ("colsample_bytree", 1.0),
    "seed": ("random_state", 42),
}
"""Names of parameters here, and FedTree's defaults."""
HYBRID_KEYS = ("n_hori", "n_verti", "alpha")
NO_EFFECT = {
    "n_gpus": "trees are grown on the CPU",
    "verbose": "progress is shown wherever there is a terminal",
    "profiling": "the seconds are printed at the end",
    "ip_address": "all parties of a simulation live in this process; real ones need a run file with [driver]",
    "joint_prediction": "the model is always measured as a whole",
    "pred_output": "it belongs to FedTree-predict; use `hedgerow predict MODEL DATA --out FILE`",
    "num_class": "the classes are those found among the labels of all parties",
    "tree_method": "trees are always grown from histograms",
    "n_hori": "it belongs to partition_mode=hybrid",
    "n_verti": "it belongs to partition_mode=hybrid",
    "alpha": "it belongs to partition_mode=hybrid; a run file's [partition] has alpha for rows",
    "key_length": "it belongs to privacy_tech=he",
}


def read_conf(path: Path) -> RunFile:
    """The run that one of FedTree's files describes."""
    try:
        notes: list[str] = []
        tables = _Reading(Conf(file_text(path)), notes).tables(path.stem)
        return run_of(tables, path, Path(), notes)
    except (ParameterError, RunError) as error:
        raise type(error)(str(error) if str(path) in str(error) else f"{path}: {error}") from None


class Distributed(NamedTuple):
    """What one of FedTree's files says of a run between machines."""

    method: str
    task: str
    n_parties: int
    host: str
    trees: dict[str, Any]
    privacy: dict[str, Any]


def read_distributed(path: Path) -> Distributed:
    """One of FedTree's files as its distributed runs have it: every party names its own data, none is read here."""
    try:
        return _Reading(Conf(file_text(path)), []).distributed()
    except (ParameterError, RunError) as error:
        raise type(error)(str(error) if str(path) in str(error) else f"{path}: {error}") from None


class _Reading:
    """From FedTree's keys to the sections of a run file."""

    def __init__(self, conf: Conf, notes: list[str]) -> None:
        self.conf, self.notes = conf, notes

    def tables(self, name: str) -> dict[str, Any]:
        """The sections."""
        conf = self.conf
        self._refuse()
        method = self._method()
        run: dict[str, Any] = {"name": re.sub(r"[^A-Za-z0-9_.-]|^[.-]", "_", name)[:64], "method": method}
        if "model_path" in conf:
            run["model"] = conf.text("model_path")
            self.notes.append("model_path: the model is also written there, as hedgerow's JSON and not in FedTree's.")
        tables = {"run": run, "data": self._data(method), "trees": self._trees(), **self._parties(method)}
        if method == "vertical" and "party" in tables:
            run["active"] = "party1"
            self.notes.append("The first file of data is that of the active party, whose labels are used.")
        privacy = self._privacy(method)
        if privacy:
            tables["privacy"] = privacy
        self._remark()
        return tables

    def distributed(self) -> Distributed:
        """What is the same for all parties of a run between machines."""
        conf = self.conf
        self._refuse()
        method = self._method()
        n = int(conf.number("n_parties", Limit(1, MOST_PARTIES, whole=True), 2))
        host = conf.text("ip_address", "localhost")
        return Distributed(method, self._task(), n, host, self._trees(), self._privacy(method))

    def _refuse(self) -> None:
        """What is not there, with what to use instead."""
        conf = self.conf
        conf.word("merge_histogram", ("server", "client"), "server")
        conf.word("tree_method", ("auto", "hist"), "hist")
        refused = [
            ("merge_histogram", "client", "is not available; the driver adds the sums: use merge_histogram=server."),
            ("mode", "hybrid", self._instead_of_hybrid("mode")),
            ("partition_mode", "hybrid", self._instead_of_hybrid("partition_mode")),
            ("objective", "rank:pairwise", "is not available; use reg:linear on the relevance."),
            ("objective", "rank:ndcg", "is not available; use reg:linear on the relevance."),
        ]
        for key, value, what in refused:
            if conf.text(key) == value:
                raise conf.wrong(key, what)
        if conf.text("privacy_tech") in ("he", "dp") and self._method() not in ("horizontal", "vertical"):
            raise conf.wrong("privacy_tech", "goes only with mode=horizontal or mode=vertical; leave it out.")
        if conf.number("n_parallel_trees", Limit(1, 1e9, whole=True), 1) > 1:
            raise conf.wrong("n_parallel_trees", "is not available; for a random forest use bagging=1 and n_trees.")

    def _instead_of_hybrid(self, key: str) -> str:
        """What to write where parties differ in rows and columns, and which keys go with it."""
        given = [self.conf.written[one] for one in HYBRID_KEYS if one in self.conf]
        without = f", without {' and '.join(given)}," if given else ""
        return (
            f"is not available yet; use {key}=horizontal{without} for parties with the same columns, or {key}=vertical "
            "for parties with the same rows."
        )

    def _method(self) -> str:
        return METHODS[self.conf.word("mode", tuple(METHODS), "horizontal")]

    # Data

    def _data(self, method: str) -> dict[str, Any]:
        conf = self.conf
        csv = conf.word("data_format", ("libsvm", "csv"), "libsvm") == "csv"
        data: dict[str, Any] = {"format": "csv" if csv else "libsvm", "task": self._task()}
        if csv:
            data |= {"label": "y", "id": "id"}
        width = int(conf.number("n_features", Limit(-1, 2**31 - 1, whole=True), -1))
        if width > 0 and csv:
            self.notes.append("n_features has no effect: a CSV file says itself how many columns it has.")
        elif width > 0 and method == "vertical" and len(conf.paths("data")) > 1:
            self.notes.append("n_features has no effect: each party's file has its own columns.")
        elif width > 0:
            data["n_columns"] = width
        tests = conf.paths("test_data")
        if len(tests) > 1:
            raise conf.wrong("test_data", f"names {len(tests)} files; name the one that metrics are computed on.")
        if tests:
            data["test"] = tests[0]
        else:
            self.notes.append("There is no test_data, so metrics are those of the training rows.")
        return data

    def _task(self) -> str:
        return "classify" if self.conf.word("objective", OBJECTIVES, "reg:linear") in OF_CLASSES else "regress"

    def _parties(self, method: str) -> dict[str, Any]:
        conf = self.conf
        files = conf.paths("data")
        if not files:
            raise ParameterError("data is missing; name a file for each party, separated by commas.")
        n = int(conf.number("n_parties", Limit(1, MOST_PARTIES, whole=True), 2))
        cut = conf.flag("partition")
        if method == "vertical" and len(files) == 1 and "partition" not in conf and "partition_mode" in conf:
            self.notes.append("partition_mode of one file is taken for partition=1.")
            cut = True
        if cut and len(files) == 1:
            return {"partition": self._partition(files[0], n, method)}
        if cut:
            self.notes.append(f"partition has no effect: data names {len(files)} files, one for each party.")
        elif "partition_mode" in conf:
            self.notes.append("partition_mode has no effect without partition=1.")
        self._check_files(len(files), n, method)
        return {"party": [{"name": f"party{i}", "data": file} for i, file in enumerate(files, 1)]}

    def _check_files(self, n_files: int, n: int, method: str) -> None:
        """A file for each party; a table that lies in one place needs one."""
        if n_files == n or (n_files == 1 and method == "pooled"):
            return
        if n_files == 1 or "n_parties" in self.conf:
            raise ParameterError(
                f"data names {n_files} file{'s' * (n_files > 1)} for {n} parties (n_parties); name one for each party, "
                "or one alone with partition=1."
            )
        self.notes.append(f"n_parties is not given; there are {n_files} parties, one for each file of data.")

    def _partition(self, file: str, n: int, method: str) -> dict[str, Any]:
        """Columns stay in order, labels go to the first party; rows are shuffled."""
        conf, fitting = self.conf, "vertical" if method == "vertical" else "horizontal"
        if conf.word("partition_mode", ("horizontal", "vertical", "hybrid"), fitting) != fitting:
            raise conf.wrong("partition_mode", f"does not go with mode={conf.text('mode', 'horizontal')}; use "
                                               f"partition_mode={fitting}.")  # fmt: skip
        if method == "vertical":
            return {"data": file, "parties": n}
        return {"data": file, "parties": n, "how": "even", "seed": self._parameter("seed")}

    # Trees

    def _parameter(self, key: str) -> float:
        name, default = TREES[key]
        return self.conf.number(key, LIMITS[name], default)

    def _trees(self) -> dict[str, Any]:
        conf = self.conf
        trees: dict[str, Any] = {name: self._parameter(key) for key, (name, _) in TREES.items()}
        trees["constant_hessian"] = conf.flag("constant_h")
        if conf.flag("bagging"):
            trees["kind"] = "forest"
            del trees["learning_rate"]
            if "learning_rate" in conf:
                self.notes.append("learning_rate has no effect with bagging=1, a random forest.")
            if "ins_bagging_fraction" not in conf:
                del trees["subsample"]
                self.notes.append("bagging: each tree is grown from 63.2 % of the rows; ins_bagging_fraction sets it.")
        self._check_metric()
        return trees

    def _check_metric(self) -> None:
        """The final metrics are all that the labels allow, so FedTree's is among them, or is refused."""
        classes = self._task() == "classify"
        known = ("default", "auc", "error", "macc") if classes else ("default", "rmse")
        asked = self.conf.word("metric", known, "default")
        if asked != "default":
            shown = {"error": "accuracy, which is 1 - error,", "macc": "accuracy"}.get(asked, asked)
            self.notes.append(f"metric: {shown} is printed with every other metric that the labels allow.")

    # Protection

    def _privacy(self, method: str) -> dict[str, Any]:
        conf = self.conf
        if method == "vertical":
            return self._sealed()
        known = ("none", "sa", "he", "dp") if method == "horizontal" else ("none", "sa")
        tech = conf.word("privacy_tech", known, "none")
        hidden = tech == "sa"
        cuts = CUT_POINTS[conf.word("propose_split", tuple(CUT_POINTS), "server")]
        if method != "horizontal":
            if hidden and method == "bagging":
                raise conf.wrong("privacy_tech", "cannot be had with mode=ensemble, which shows whole trees of each "
                                                 "party; use mode=horizontal, or privacy_tech=none.")  # fmt: skip
            for key in ("privacy_tech", "propose_split"):
                if key in conf:
                    self.notes.append(f"{key} has no effect with mode={conf.text('mode')}.")
            return {"columns": self._columns()} if method == "bagging" else {}
        if tech == "he":
            if cuts == "local":
                raise conf.wrong("propose_split", "shows every party's quantiles, which privacy_tech=he hides; use "
                                                  "propose_split=server.")  # fmt: skip
            self.notes.append(
                "privacy_tech=he is lattice encryption with 128 bits of security; party1 opens the sums over all "
                "parties and chooses the cuts, because a server that opens would read every party's."
            )
            return {"protection": "lattice", "opener": "party1", "cut_points": cuts, "columns": self._columns()}
        if tech == "dp":
            return self._noised(cuts)
        if hidden:
            return {"protection": "masked", "cut_points": cuts, "columns": self._columns()}
        self.notes.append(
            "privacy_tech=none is taken as consent: the driver reads every party's own sums, from which rows can be "
            "reconstructed; privacy_tech=sa hides them."
        )
        return {"protection": "plain", "i_accept_disclosure": True, "cut_points": cuts, "columns": self._columns()}

    def _noised(self, cuts: str) -> dict[str, Any]:
        """FedTree's noise, with what it is worth; the run says it in figures."""
        conf = self.conf
        if cuts == "local":
            raise conf.wrong("propose_split", "shows every party's quantiles, which privacy_tech=dp has no noise for; "
                                              "use propose_split=server.")  # fmt: skip
        budget = self._budget("Sums are masked besides.")
        self.notes.append(
            f"For a promise that holds write a run file: epsilon = {budget:g} in [privacy] is then that of everything "
            "that is released, the model included."
        )
        return {
            "protection": "masked", "epsilon": budget, "dp_trees": "laplace", "cut_points": cuts,
            "columns": self._columns(),
        }  # fmt: skip

    def _budget(self, besides: str) -> float:
        """The epsilon of one histogram, with what it is worth and what else protects."""
        budget = self.conf.number("privacy_budget", Limit(0, MOST_EPSILON, open_low=True), 10)
        self.notes.append(
            f"privacy_tech=dp is FedTree's noise: gradients are cut to 1, hessians are 1 (constant_h=1), and "
            f"privacy_budget={budget:g} is the epsilon of each histogram, not of the model, which has none; the run "
            f"says what the noise is worth. {besides}"
        )
        return budget

    def _sealed(self) -> dict[str, Any]:
        """Of a vertical run: the first party has the labels and seals, or does not seal, its gradients."""
        conf = self.conf
        if "propose_split" in conf:
            self.notes.append("propose_split has no effect: each party finds the cut points of its own columns.")
        if conf.text("privacy_tech") == "sa":
            raise conf.wrong("privacy_tech", "is not for mode=vertical, where no two parties hold the same sums; use "
                                             "privacy_tech=he.")  # fmt: skip
        tech = conf.word("privacy_tech", ("none", "he", "dp"), "none")
        if tech == "dp":
            budget = self._budget(
                "Gradients are sealed besides, by lattice encryption; sides of rows at chosen cuts are told without "
                "noise. For a promise that holds write a run file with protects in [privacy]."
            )
            return {"protection": "lattice", "epsilon": budget, "dp_trees": "laplace"}
        if tech == "he":
            self.notes.append("privacy_tech=he is lattice encryption with 128 bits of security.")
            return {"protection": "lattice"}
        self.notes.append(
            "privacy_tech=none is taken as consent: passive parties read every gradient, and with it the labels; "
            "privacy_tech=he hides them."
        )
        return {"protection": "plain", "i_accept_disclosure": True}

    def _columns(self) -> str:
        """The files of a LIBSVM table are as wide as their last entry; what one lacks is missing."""
        return "shared" if self.conf.text("data_format") == "csv" else "all"

    def _remark(self) -> None:
        """On every key that is given and changes nothing here."""
        conf = self.conf
        for key, why in NO_EFFECT.items():
            if key == "key_length" and conf.text("privacy_tech") == "he":
                why = "it is the length of Paillier keys, in whose place there is a lattice"
            if key in conf:
                self.notes.append(f"{conf.written[key]} has no effect: {why}.")
        if "privacy_budget" in conf and conf.text("privacy_tech") != "dp":
            self.notes.append("privacy_budget has no effect: it belongs to privacy_tech=dp.")
        if "reorder_label" in conf and conf.flag("reorder_label"):
            classes = self._task() == "classify"
            why = "classes are numbered in any case" if classes else "labels of a regression are numbers as they are"
            self.notes.append(f"reorder_label has no effect: {why}.")
