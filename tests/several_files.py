"""Files of the parties of `several_active`, and run files of theirs."""

import csv

import numpy as np

from several_active import BANKS, NETWORKS, parties

HEAD = '[run]\nname = "payments"\nmethod = "hybrid"\nactive = ["net1", "net2"]\n'
REST = (
    '[data]\ntask = "classify"\nlabel = "fraud"\nid = "account"\n'
    "[trees]\nn_estimators = 4\nmax_depth = 4\nmin_cut_rows = 5\n"
)
PLAIN = '[privacy]\nprotection = "plain"\ni_accept_disclosure = true\n'


def write(folder):
    """The files of all parties."""
    for name, table in parties().items():
        own = [] if table.labels is None else [np.where(table.labels, "yes", "no")]
        header = ["account", *table.names, *(["fraud"] * len(own))]
        with (folder / f"{name}.csv").open("w", newline="") as file:
            rows = zip((f"a{one}" for one in table.ids), *table.values.round(2).T.tolist(), *own, strict=True)
            csv.writer(file).writerows([header, *rows])


def sections(names=(*NETWORKS, *BANKS)):
    """The sections of these parties."""
    return "".join(f'[[party]]\nname = "{name}"\ndata = "{name}.csv"\n' for name in names)
