# ruff: noqa: E501  # sentences of pages
"""The tables of seconds of the FedTree paper's page: 2, 3, 6 and 7."""

from benchmarks.process_tables import TABLE_6, TABLE_7
from benchmarks.results.page import Cell, Found, Section, grid, multiple, when_quiet
from benchmarks.tree_seconds import TABLE_2, TABLE_3

PARTS = ("fedtree-seconds",)


def table_2(found: Found) -> str:
    """Both modes beside XGBoost, and FedTree where it took part."""
    headings = (
        "set", "mode", "published: FedTree", "FATE", "ours, s a tree", "XGBoost here", "ours / XGBoost", "FedTree here",
        "FedTree here / ours", "forest",
    )  # fmt: skip
    rows: list[list[Cell]] = []
    for row in found.rows(TABLE_2):
        ours, peer, program = (when_quiet(row, f"{who}s/tree") for who in ("", "XGBoost ", "FedTree "))
        forest = "the pooled one" if row["ok"] else "another"
        rows.append([row["set"], row["name"].partition(": ")[2], row["their s/tree"], row["FATE's s/tree"], ours, peer,
                     multiple(ours, peer), program, multiple(program, ours), forest])  # fmt: skip
    return grid(headings, rows)


def table_3(found: Found) -> str:
    """One thread and several."""
    headings = (
        "set", "published: without parallelism", "with, 16 cores", "speedup", "ours, one thread", "several", "threads", "speedup ",
    )  # fmt: skip
    rows: list[list[Cell]] = []
    for row in found.rows(TABLE_3):
        one, several = when_quiet(row, "one thread s/tree"), when_quiet(row, "several s/tree")
        said = (row["their one s/tree"], row["their several s/tree"])
        rows.append([row["set"], *said, multiple(*said), one, several, row["threads"], multiple(one, several)])
    return grid(headings, rows)


def table_6(found: Found) -> str:
    """Real processes."""
    headings = ("set", "mode", "published: FedTree", "FATE", "ours, s a tree", "ours / published", "MB a tree")
    rows: list[list[Cell]] = []
    for row in found.rows(TABLE_6):
        ours = when_quiet(row, "s/tree")
        rows.append([row["set"], row["name"].partition(": ")[2], row["their s/tree"], row["FATE's s/tree"], ours,
                     multiple(ours, row["their s/tree"]), row["MB/tree"]])  # fmt: skip
    return grid(headings, rows)


def table_7(found: Found) -> str:
    """Level by level, and node by node."""
    headings = (
        "set", "mode", "published: by node, s", "by level", "speedup", "MB", "ours: by node, s", "by level ", "speedup ",
        "messages by node", "by level  ", "MB by node", "MB by level", "rounds",
    )  # fmt: skip
    rows: list[list[Cell]] = []
    for row in found.rows(TABLE_7):
        node, level = when_quiet(row, "by node s"), when_quiet(row, "by level s")
        said = (row["their by node s"], row["their by level s"])
        counts = (
            row["by node messages"],
            row["by level messages"],
            row["by node MB"],
            row["by level MB"],
            row["rounds"],
        )
        rows.append([row["set"], row["name"].partition(": ")[2], *said, multiple(*said), row["their MB"], node, level,
                     multiple(node, level), *counts])  # fmt: skip
    return grid(headings, rows)


TABLES_2_AND_3 = (
    Section(
        "Table 2: seconds of a tree",
        "From arrays to fitted model, joining and keys among them, divided by the trees: 20, of mnist 3 rounds horizontal and one round, ten trees, vertical. Two masked parties, or two under lattice encryption with the gradient bits of "
        "encrypted runs; theirs are 16 cores of another machine and Paillier with keys of 512 bits, ours have 128 bits of security. *FedTree here* is FedTree's own program in the same run, where `HEDGEROW_FEDTREE` names it.",
        PARTS,
        table_2,
    ),
    Section(
        "Table 3: one thread and several",
        "Vertical, as in table 2, with one thread for everything and with as many as the machine has cores. The paper's third column, a graphics processor, is [left out](../decisions/0027-no-graphics-processor.md). "
        "Both forests are the same, bit for bit.",
        PARTS,
        table_3,
    ),
)

TABLES_6_AND_7 = (
    Section(
        "Table 6: a process for each party",
        "Everything over gRPC with certificates, on loopback; the median of all trees but the first. Horizontal: two parties and a driver that holds nothing; vertical: two parties. Theirs are eight machines.",
        ("fedtree-processes",),
        table_6,
    ),
    Section(
        "Table 7: one message a level, one message a node",
        "Over a link of 20 ms and 100 Mbit/s between the driver and each party, which a process in between simulates. *By level* is how hedgerow talks; *by node* is the same driver asking for the sums of one node at a time. Seconds of all trees but the first, computing included, "
        "20 trees horizontal, 10 vertical, two rounds of mnist; the paper's are of 50 trees, communication alone. Messages and megabytes are of whole runs, both ways.",
        ("fedtree-link",),
        table_7,
    ),
)
