# ruff: noqa: E501  # sentences of pages
"""The page of the HybridTree paper: its tables 1 to 3 and 6 to 12, figures 3a, 6, 8 and 9."""

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.hybrid_meta import CLAIMED
from benchmarks.results.page import Cell, Compared, Found, Page, Section, grid, multiple, scores, shown, when_quiet

Row = Mapping[str, Any]

OURS = {
    "shared": "**shared (default)**",
    "united": "united",
    "random": "random cuts",
    "5+2": "HybridTree, 5+2",
    "5+2 by votes": "5+2, by votes",
    "alone": "alone",
    "alone least": "alone, least",
    "alone most": "alone, most",
    "two-party least": "two-party, least",
    "most": "two-party, most",
    "whole trees": "whole trees",
    "pooled, bagged": "pooled, five models",
    "pooled": "pooled",
}
"""What is shown of a row, in this order, and what it is called."""
THEIRS = {
    "5+2": "their 5+2",
    "5+2 by votes": "their 5+2",
    "alone": "their alone",
    "alone least": "their alone",
    "whole trees": "their whole trees",
    "pooled": "their pooled",
}
PAYMENTS = "Payments are generated here; the paper's are not public, and other data have other scores."
MAJORITY = (
    "The paper's score of the active party alone is below the share of the larger class of Adult (.764), which any model reaches. It draws how "
    "many columns that party has and does not print the number: here 20 and, beside it, the 102 of its table of sets, with which there is nothing to recover."
)
ADULT = "The active party alone begins much higher here than in the paper, whose score of it is below the share of the larger class; so everything between alone and pooled does."
TWO_PARTY = "Rows that the one passive party lacks are missing in its columns here, in training and in the test. The paper does not say which rows it tests."
WHOLE = "The paper does not describe its whole trees; here each party grows a tree in turn, with copied labels, and it is used for all rows."
COLUMNS = (
    "The paper draws which columns are passive and does not print them, nor its number of bins; here they are columns 0 and 1, with which the gap is like the "
    "paper's, and 32 bins."
)
POOLED = "The paper's vertical training with one passive party, which is pooled training, has .957 (table 10), close to ours; why its own pooled score is lower is not said."
DROPPED = "Which columns are dropped and which rows are held twice is drawn; more is lost here even where all is pooled, and why is not known."
SMALLER = "The scores of the paper fall with the columns of the active party; here the other columns make up for them, pooled as well as shared."


def _compared(row: Row) -> Iterator[Compared]:
    told = row["name"]
    least, _, most = str(row.get("their two-party", "")).partition("-")
    published = {"two-party least": float(least), "most": float(most)} if most else {}
    for key, word in OURS.items():
        if key in row:
            said = published.get(key, row.get(THEIRS.get(key, "")))
            yield Compared(told, word, said, row[key], f"{row['set']} {key}")


def _reasons(*special: tuple[str, str]) -> dict[str, str]:
    """By set and way; later ones count more."""
    why: dict[str, str] = {}
    for key in OURS:
        why |= {f"{name} {key}": PAYMENTS for name in ("payments-ad", "payments-dev")}
        why[f"cod-rna {key}"] = COLUMNS
        why |= {f"adult-{n} {key}": MAJORITY if key.startswith("alone") else ADULT for n in (20, 102)}
        if key in ("two-party least", "most"):
            why[f"cod-rna {key}"] = TWO_PARTY
        if key == "pooled":
            why[f"cod-rna {key}"] = POOLED
        if key == "whole trees":
            why |= {f"{name} {key}": WHOLE for name in ("cod-rna", "adult-20", "adult-102")}
    return why | dict(special)


def ways(found: Found) -> str:
    """Tables 1, 3 and 9: a line for each way."""
    return scores((each for row in found.rows() for each in _compared(row)), _reasons())


def overlapping(found: Found) -> str:
    """Table 6."""
    why = dict.fromkeys(_reasons(), DROPPED) | {
        f"{name} {key}": PAYMENTS for name in ("payments-ad", "payments-dev") for key in OURS
    }
    why |= {f"adult-{n} {key}": MAJORITY if key == "alone" else ADULT for n in (20, 102) for key in OURS}
    why["cod-rna alone"] = COLUMNS
    return scores((each for row in found.rows() for each in _compared(row)), why)


def shares(found: Found) -> str:
    """Table 12."""
    why = dict.fromkeys(_reasons(), SMALLER) | {"adult-20 alone": MAJORITY, "adult-20 whole trees": WHOLE}
    why |= {"adult-20 two-party least": ADULT, "adult-20 most": ADULT}
    return scores((each for row in found.rows() for each in _compared(row)), why)


def merged(found: Found) -> str:
    """Table 10."""

    def lines() -> Iterator[Compared]:
        for row in found.rows():
            name = row["set"]
            yield Compared(name, "HybridTree, `AAAAAPP`", row["their 5+2"], row["AAAAAPP"], f"{name} 5+2")
            yield Compared(name, "`AAAAJJJ`", None, row["AAAAJJJ"])
            yield Compared(name, "vertical", row["their vertical"], row["vertical"], f"{name} pooled")

    adult = "With all passive columns in one place this is Adult whole, of which the paper's own pooled score is .853, as ours."
    cod = "With all passive columns in one place this is cod-rna whole, of which the paper's own pooled score is .931; ours lies between."
    special = [(f"adult-{n} {key}", adult) for n in (20, 102) for key in ("5+2", "pooled")]
    return scores(lines(), _reasons(*special, ("cod-rna 5+2", cod), ("cod-rna pooled", cod)))


TRAINING = {  # seconds of HybridTree and of FedTree's vertical training, then gigabytes of both
    "cod-rna": (1.0, 5.3, 2.84, 15.92),
    "a9a": (2.0, 8.6, 1.55, 9.74),
}
MERGED = {"cod-rna": (1.7, 8.1), "a9a": (3.2, 12.8)}
"""Table 11: seconds with one passive party."""


def training(found: Found) -> str:
    """Tables 2 and 11."""
    headings = ("set", "way", "", "hybrid", "vertical, merged", "vertical / hybrid", "published")
    rows: list[list[Cell]] = []
    for row in found.rows("a tree, laid out for loopback"):
        way, _, what = row["name"].partition(": ")[2].rpartition(", ")
        levels, _, parties = way.rpartition(", ")
        if levels == "vertical":
            continue
        told = "processor seconds a tree" if what == "seconds" else "MB a tree"
        ours, said = row["vertical"] / row["hybrid"], _published(row["set"], what, merged=parties == "merged")
        letters, _, more = levels.partition(" ")
        rows.append([row["set"], f"`{letters}` {more} {parties}", told, row["hybrid"], row["vertical"],
                     f"{shown(ours, 1)}x", f"{shown(said, 1)}x" if said else None])  # fmt: skip
    return grid(headings, rows)


def _published(name: str, what: str, *, merged: bool) -> float | None:
    """How many times less HybridTree took than vertical training."""
    seconds, vertical, size, vertical_size = TRAINING[name]
    if merged:
        return None if what == "MB" else MERGED[name][1] / MERGED[name][0]
    return vertical_size / size if what == "MB" else vertical / seconds


def prediction(found: Found) -> str:
    """Table 8."""
    headings = (
        "set", "levels", "rows", "exchanges", "MB", "ids, MB", "vertical: exchanges", "MB ", "vertical / hybrid", "published", "s",
    )  # fmt: skip
    rows: list[list[Cell]] = []
    for row in found.rows():
        way = row["name"].partition(": ")[2]
        said = row["their vertical MB"] / row["their MB"]
        seconds = when_quiet(row, "seconds")
        rows.append([row["set"], f"`{way.split(' ')[0]}`", row["rows"], row["exchanges"], row["MB"], row["ids MB"],
                     row["vertical exchanges"], row["vertical MB"], f"{shown(row['vertical MB'] / row['MB'], 1)}x",
                     f"{shown(said, 1)}x", seconds])  # fmt: skip
    return grid(headings, rows)


def overhead(found: Found) -> str:
    """Table 7."""
    headings = (
        "set", "published: active / one table", "passive / one table", "ours: active / one table", "passive / one table ",
        "active, processor s a tree", "passive", "one table", "forest",
    )  # fmt: skip
    rows: list[list[Cell]] = []
    for row in found.rows():
        said = [multiple(row[f"their {who}"], row["their one table"]) for who in ("active", "passive")]
        ours = [multiple(row[f"{who} s/tree"], row["one table s/tree"]) for who in ("active", "passive")]
        spent = [row[f"{who} s/tree"] for who in ("active", "passive", "one table")]
        rows.append([row["set"], *said, *ours, *spent, "that of one table" if row["ok"] else "another"])
    return grid(headings, rows)


def rules(found: Found) -> str:
    """Figure 3a."""
    headings = (
        "set",
        "nearly one value",
        "least of seeds",
        "most",
        "passive columns shuffled",
        "one leaf",
        "shuffled",
        "published",
    )
    rows = [
        (r["set"], r["nearly one value"], r["least"], r["most"], r["shuffled"], r["one leaf"], r["shuffled "],
         f"more than {CLAIMED:.0%} of the trees" if r["set"] in ("AD", "DEV") else "most of the trees") for r in found.rows()
    ]  # fmt: skip
    return grid(headings, rows)


def parties(found: Found) -> str:
    """Figures 6 and 9, left."""
    picture = (
        "![Scores as passive parties become more, a panel for each set: shared stays where it is, HybridTree falls, two-party training falls to "
        "alone.](hybrid-parties.png)\n\n"
    )
    headings = ("set", "passive parties", "shared", "HybridTree, 5+2", "two-party", "whole trees", "alone", "pooled")
    return picture + grid(headings, _points(found, "figures 6 and 9", "parties"))


def skewed(found: Found) -> str:
    """Figures 8 and 9, right."""
    picture = (
        "![Scores by the skew of labels, test rows dealt alike in the upper row and evenly in the lower: shared is flat, HybridTree is above pooled "
        "where test rows are dealt alike, and below alone where evenly.](hybrid-skew.png)\n\n"
    )
    headings = ("set", "beta, test rows", "shared", "HybridTree, 5+2", "two-party", "whole trees", "alone", "pooled")
    return picture + grid(headings, _points(found, "figures 8 and 9", "beta"))


def _points(found: Found, sheet: str, key: str) -> Iterator[list[Cell]]:
    for row in found.rows(sheet):
        at = f"{row['beta']:g}, {row['test rows']}" if key == "beta" else row[key]
        two_party = f"{row['two-party least']:.3f}-{row['most']:.3f}"
        yield [row["set"], at, row["shared"], row["5+2"], two_party, row["whole trees"], row["alone"], row["pooled"]]


PAGE = Page(
    "hybridtree",
    "HybridTree's tables and figures",
    "50 trees of depth 7, learning rate .1, lambda 1, 32 bins, means over three seeds (Li and others, ICLR 2024). Accuracy of cod-rna and Adult (`a9a`, of which the active "
    "party has 20 or 102 of 123 columns), AUPRC of payments: 200,000 to train on, 100,000 to test. *Shared* is the default of hybrid runs here, `AAAAJJJ`; "
    "*5+2* is HybridTree itself, `AAAAAPP` with subtrees of each passive party's own. All but shared begin at a score of 0, as the paper's do. "
    "[What the words mean, and more figures](../explanation/hybrid-benchmarks.md). [The sets](data-sets.md), [the machine](index.md#the-machine).",
    (
        Section(
            "Figure 3a: how many trees have the same rule",
            "The largest share of 40 pooled trees in which one rule of passive columns fixes the value (*nearly one value*), mean of three seeds, with the control that the "
            "paper lacks: the same with shuffled passive columns. The paper draws bars without numbers; *published* is what it says in words. It does not say what makes a rule the same or a value "
            "fixed, its payments are other data, and by [our definitions](../explanation/meta-rules.md#how-often-one-rule-decides) no set comes near its figure.",
            ("hybridtree-rules",),
            rules,
        ),
        Section(
            "Table 1: scores",
            "What the default recovers, beside HybridTree and everything it is compared with.",
            ("hybridtree-1",),
            ways,
        ),
        Section(
            "Tables 2 and 11: bytes and seconds of training",
            "Under lattice encryption, beside the same table trained by the vertical protocol with all passive parties merged into one, which is more than the paper gave its "
            "baseline: FedTree, by Paillier with one passive party. Seconds are the processor's of all parties together, in one run, so that they can be compared with each "
            "other only. Ours has fewer bytes to save: its vertical protocol packs what theirs sends one by one.",
            ("hybridtree-training",),
            training,
        ),
        Section(
            "Table 3: five active parties",
            "Each has a fifth of the active party's rows. *Pooled* is of all rows. Two-party training and whole trees, which the paper has here too, are not measured with several active parties.",
            ("hybridtree-3",),
            ways,
        ),
        Section(
            "Figures 6 and 9: more passive parties",
            "Rows are dealt to more passive parties at random. The paper draws lines without numbers.",
            ("hybridtree-figures",),
            parties,
        ),
        Section(
            "Figures 8 and 9: passive parties whose labels are skewed",
            "Of each class passive parties hold shares drawn from a Dirichlet distribution. Whether test rows are dealt by the same shares the paper does not say; both are here.",
            ("hybridtree-figures",),
            skewed,
        ),
        Section(
            "Table 6: rows in common, missing columns",
            "*United* is what no run offers: all share all columns, missing where a party lacks one.",
            ("hybridtree-6",),
            overlapping,
        ),
        Section(
            "Table 7: who works how much",
            "`AAAAAPP`, five passive parties that share their columns, 10 trees, lattice encryption, one thread; processor seconds from the first tree on, passive ones those of all five together. *One table* is everything in one table, grown by the same levels: "
            "without encryption a tree takes milliseconds here, so that the multiple is larger than the paper's, whose seconds without encryption are as many as with it.",
            ("hybridtree-overhead",),
            overhead,
        ),
        Section(
            "Table 8: prediction",
            "All test rows at once. Ids, which tell parties their rows, are counted apart; in the paper rows are linked before. Ours saves less because it names each row wherever "
            "a passive party's splits are asked about, tree by tree, and its vertical prediction asks about all trees together.",
            ("hybridtree-prediction",),
            prediction,
        ),
        Section(
            "Table 9: depth of the trees",
            "Payments AD; HybridTree's last two levels are passive. The paper's columns *whole trees* and *pooled* repeat those of its table 1, set by set.",
            ("hybridtree-9",),
            ways,
        ),
        Section(
            "Table 10: one passive party",
            "All passive parties merged: the vertical setting, in which vertical training is pooled training.",
            ("hybridtree-10",),
            merged,
        ),
        Section(
            "Table 12: less of the active party",
            "A share of the rows or columns of the active party, Adult with 20 active columns.",
            ("hybridtree-12",),
            shares,
        ),
    ),
)
