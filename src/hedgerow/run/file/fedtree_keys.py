"""FedTree's `key=value` files: what keys there are, and their values by kind."""

import re
from collections.abc import Collection
from pathlib import Path

from hedgerow.errors import ParameterError, RunError
from hedgerow.run.file.section import nearest
from hedgerow.trees.params import Limit

MOST_BYTES = 1 << 24
ALIASES: dict[str, tuple[str, ...]] = {
    "mode": (),
    "n_parties": ("num_parties", "n_clients", "num_clients", "n_devices", "num_devices"),
    "partition": (),
    "partition_mode": (),
    "alpha": (),
    "n_hori": (),
    "n_verti": (),
    "privacy_tech": ("privacy", "privacy_method", "security_tech"),
    "privacy_budget": (),
    "key_length": (),
    "propose_split": (),
    "merge_histogram": (),
    "ip_address": ("server_ip_address",),
    "data_format": (),
    "n_features": (),
    "ins_bagging_fraction": (),
    "joint_prediction": (),
    "seed": (),
    "pred_output": (),
    "data": ("path",),
    "test_data": (),
    "model_path": (),
    "verbose": ("verbosity",),
    "profiling": (),
    "max_depth": ("depth",),
    "n_trees": ("num_round",),
    "max_num_bin": ("max_bin",),
    "learning_rate": ("eta",),
    "objective": (),
    "num_class": (),
    "min_child_weight": (),
    "lambda": ("lambda_tgbm", "reg_lambda"),
    "gamma": ("min_split_loss",),
    "column_sampling_rate": ("colsample",),
    "bagging": (),
    "n_parallel_trees": ("num_parallel_tree",),
    "tree_method": (),
    "metric": (),
    "constant_h": (),
    "reorder_label": (),
    "n_gpus": (),
}
"""Every key by the name FedTree documents, with its other names."""
KEYS = {name: key for key, others in ALIASES.items() for name in (key, *others)}


def file_text(path: Path) -> str:
    """The text of a run file."""
    try:
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise RunError(f"Cannot read {path}: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise RunError(f"{path} is not text in UTF-8; is it a run file?") from None
    if len(content) > MOST_BYTES:
        raise RunError(f"{path} is too large for a run file; is it data?")
    return text


class Conf:
    """The values of a file, by the documented names of their keys."""

    def __init__(self, text: str) -> None:
        self.values: dict[str, str] = {}
        self.written: dict[str, str] = {}
        """Each key as the file has it."""
        for number, line in enumerate(text.splitlines(), 1):
            line = re.sub(r"(^|\s)#.*", "", line).strip()
            if line:
                self._keep(line, number)

    def _keep(self, line: str, number: int) -> None:
        name, equals, value = (part.strip() for part in line.partition("="))
        if not equals or not name:
            raise RunError(f"Line {number} is not key=value; write it so, or begin a remark with '#'.")
        if name not in KEYS:
            raise ParameterError(f"Line {number}: FedTree has no key {name!r}; {nearest(name, KEYS)}")
        key = KEYS[name]
        if self.values.get(key, value) != value:
            what = name if self.written[key] == name else f"{self.written[key]}, which is the same,"
            raise ParameterError(f"Line {number}: {name} is given, but {what} had another value before; keep one.")
        self.values[key], self.written[key] = value, name

    def __contains__(self, key: str) -> bool:
        return bool(self.values.get(key))

    def wrong(self, key: str, what: str) -> ParameterError:
        """The error for a value."""
        return ParameterError(f"{self.written.get(key, key)}={self.values.get(key, '')} {what}")

    def text(self, key: str, default: str = "") -> str:
        """A value as it stands."""
        return self.values.get(key) or default

    def word(self, key: str, words: Collection[str], default: str) -> str:
        """One of these words."""
        value = self.text(key, default)
        if value not in words:
            raise self.wrong(key, f"is unknown; it is one of {', '.join(words)}.")
        return value

    def flag(self, key: str) -> bool:
        """0 or 1; 0 if not given."""
        return self.word(key, ("0", "1"), "0") == "1"

    def number(self, key: str, limit: Limit, default: float) -> float:
        """A number within the limit, whole if the limit says so."""
        text = self.text(key)
        if not text:
            return default
        try:
            value: float = int(text) if limit.whole else float(text)
            if limit.allows(value):
                return value
        except (ValueError, OverflowError):
            pass
        raise self.wrong(key, f"is out of range; it must be {limit}.")

    def paths(self, key: str) -> list[str]:
        """Files, separated by commas."""
        return [part.strip() for part in self.text(key).split(",") if part.strip()]
