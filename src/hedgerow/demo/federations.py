"""The three federations of the demonstration: run files and rules."""

from pathlib import Path
from typing import Any

from hedgerow.demo.organisations import Federation
from hedgerow.demo.tables import ORGANISATIONS, Shared

DRIVER = "driver"
ALDER, BIRCH, CEDAR = ORGANISATIONS
LINK_MBIT = 20
"""The lattice's ciphertexts are laid out for a link of this speed: on one machine alone bytes would cost nothing."""
LOAN_TREES: dict[str, Any] = {
    "n_estimators": 30, "max_depth": 4, "learning_rate": 0.2, "gradient_bits": 8, "min_cut_rows": 50,
}  # fmt: skip
PAYMENT_TREES: dict[str, Any] = {"n_estimators": 20, "max_depth": 6, "gradient_bits": 12, "min_cut_rows": 50}
DIGIT_TREES: dict[str, Any] = {"n_estimators": 40, "max_depth": 4, "learning_rate": 0.2, "min_cut_rows": 50}
RULES = """most_answers_per_id = 8
most_bits_per_id = 160
most_bins = 6

[disclose]
"""
DISCLOSED = {
    BIRCH: {"late_bills": "bills paid late in two years", "months": "months since the contract began"},
    CEDAR: {"returns": "goods sent back in a year"},
}


def loans(shared: Shared) -> Federation:
    """Vertical: encrypted gradients; customers aligned without showing ids."""
    method = f'method = "vertical"\nactive = "{ALDER}"'
    privacy = f'[privacy]\nprotection = "lattice"\nalign = "private"\nlink_mbit = {LINK_MBIT}\n'
    rules = {
        name: RULES + "".join(f'{column} = "{meaning}"\n' for column, meaning in told.items())
        for name, told in DISCLOSED.items()
    }
    settings = _settings(method, "customer", "unpaid", privacy, LOAN_TREES)
    return Federation("loans", ALDER, shared.tables, settings, "customer", "unpaid", rules)


def payments(shared: Shared) -> Federation:
    """Hybrid: encrypted gradients; accounts linked without showing ids."""
    method, privacy = f'method = "hybrid"\nactive = "{ALDER}"', f"[privacy]\nlink_mbit = {LINK_MBIT}\n"
    settings = _settings(method, "account", "anomalous", privacy, PAYMENT_TREES)
    return Federation("payments", ALDER, shared.tables, settings, "account", "anomalous")


def digits(shared: Shared) -> Federation:
    """Horizontal: masked sums, which a driver without data adds up."""
    settings = _settings("", "picture", "odd", "", DIGIT_TREES)
    return Federation("digits", DRIVER, shared.tables, settings, "picture", "odd")


def serving_text(federation: Federation, name: str) -> str:
    """The file with which an organisation answers for its part of the model."""
    policy = 'policy = "policy.toml"\n' if name in federation.policies else ""
    model = f'[[model]]\nrun = "run.toml"\npart = "{Path("run") / "part.json"}"\ndata = "data.csv"\n'
    return f'name = "{name}"\ncert = "own.pem"\nkey = "own.key"\n{policy}\n{model}'


def _settings(method: str, id_: str, label: str, privacy: str, trees: dict[str, Any]) -> str:
    data = f'[data]\nlabel = "{label}"\nid = "{id_}"\ntask = "classify"'
    grown = "\n".join(f"{key} = {value}" for key, value in trees.items())
    return f"{method}\n{data}\n{privacy}[trees]\n{grown}\n"
