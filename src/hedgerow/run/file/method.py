"""From the words of [run] and [privacy] to the options of a method: the one place where these words are compared.

Which keys go with which method stands here too; one that does not is refused by name, none is ignored.
"""

from typing import Any, cast, get_args

from hedgerow.agreement.options import (
    MOST_IDS,
    Align,
    ColumnNames,
    Columns,
    CutPoints,
    Horizontal,
    Hybrid,
    Lattice,
    NoPrivacy,
    OnLoss,
    Paillier,
    PassiveCuts,
    Privacy,
    SecureAggregation,
    Vertical,
    WholeTrees,
)
from hedgerow.errors import ParameterError
from hedgerow.privacy.paillier.cipher import BITS
from hedgerow.run.file.dp_keys import KEYS as DP_KEYS
from hedgerow.run.file.dp_keys import dp_of
from hedgerow.run.file.options import Baseline, DriverOptions, PartitionOptions, PartyEntry
from hedgerow.run.file.section import Section
from hedgerow.run.file.sections import Sections

METHODS = ("horizontal", "vertical", "hybrid", "bagging", "sequential", "alone", "pooled")
BY_COLUMNS = {"vertical": Vertical, "hybrid": Hybrid}
SEVERAL = ("hybrid",)
WHOLE_TREES = ("bagging", "sequential")
BASELINES = ("alone", "pooled")
PROTECTIONS = ("masked", "plain", "lattice", "paillier")
ENCRYPTION = ("lattice", "paillier")
ONLY_HYBRID = ("separate", "passive_cuts", "depth_active", "depth_passive")
FASTEST = 1e6
"""Mbit/s of a link."""
PLAIN_ROWS = (
    '= "plain" lets the driver read every party\'s own sums, from which rows can be reconstructed; add '
    'i_accept_disclosure = true if that is meant, or use "masked".'
)
PLAIN_COLUMNS = (
    '= "plain" lets the passive parties read every gradient, and with it the labels; add i_accept_disclosure = true if '
    'that is meant, or use "lattice".'
)


def method_of(
    sections: Sections, word: str, names: tuple[str, ...], driver: DriverOptions | None
) -> Horizontal | Vertical | WholeTrees | Baseline:
    """The options of the method that [run] names."""
    _check_method(sections, word, driver)
    if word not in ("horizontal", "vertical", "hybrid"):
        why = f"does not go with method {word}, for which no epsilon can be promised yet"
        sections.section("privacy").refuse(*DP_KEYS, why=why)
    method = _by_columns(sections, word, names) if word in BY_COLUMNS else _by_rows(sections, word)
    _check_opener(sections, word, names)
    if word not in BY_COLUMNS:
        _check_no_active(sections.section("run"), word)
    return method


def _by_columns(sections: Sections, word: str, names: tuple[str, ...]) -> Vertical:
    section, kind = sections.section("privacy"), BY_COLUMNS[word]
    return kind(
        cast(Lattice | Paillier | NoPrivacy, _privacy(section, "lattice", PLAIN_COLUMNS)),
        active=_active(sections, names),
        align=cast(Align, section.word("align", get_args(Align), kind().align or "given")),
        local_trees=section.whole("local_trees", 0, 2**31 - 1) or 0,
        levels=section.text("levels") or "",
        party_share=_party_share(section),
        hidden_rows=section.flag("hidden_rows"),
        on_loss=cast(OnLoss, section.word("on_loss", get_args(OnLoss), "wait")),
        most_ids=section.whole("most_ids", 1, MOST_IDS) or MOST_IDS,
        passive_rows=section.number("passive_rows", 1.0, 0, 1, "a number above 0 and at most 1"),
        dp=dp_of(section),
        **(_of_hybrid(section) if kind is Hybrid else {}),
    )


def _of_hybrid(section: Section) -> dict[str, Any]:
    """What only a hybrid run has."""
    return {
        "shared": section.flag_or_groups("shared"),
        "allow_two": section.flag("allow_two"),
        "separate": section.flag("separate"),
        "passive_cuts": section.word("passive_cuts", get_args(PassiveCuts), "best"),
        "depth_active": section.whole("depth_active", 0, 30),
        "depth_passive": section.whole("depth_passive", 0, 30),
    }


def _by_rows(sections: Sections, word: str) -> Horizontal | WholeTrees | Baseline:
    """Every key is read whatever the method, so that a wrong word is refused even where it has no effect."""
    section = sections.section("privacy")
    horizontal = Horizontal(
        _privacy(section, "masked", PLAIN_ROWS),
        cut_points=cast(CutPoints, section.word("cut_points", get_args(CutPoints), "counts")),
        columns=cast(Columns, section.word("columns", get_args(Columns), "shared")),
        party_share=_party_share(section),
        opener=section.text("opener") or "",
        column_names=cast(ColumnNames, section.word("column_names", get_args(ColumnNames), "open")),
        allow_few_columns=section.flag("allow_few_columns"),
        on_loss=cast(OnLoss, section.word("on_loss", get_args(OnLoss), "wait")),
        allow_two=section.flag("allow_two"),
        dp=dp_of(section),
    )
    if word in BASELINES:
        return Baseline(cast(Any, word))
    if word in WHOLE_TREES:
        return WholeTrees(cast(Any, word), horizontal.allow_few_columns, horizontal.columns)
    return horizontal


def _party_share(section: Section) -> float:
    return section.number("party_share", 1.0, 0, 1, "a number above 0 and at most 1")


def _privacy(section: Section, usual: str, plain: str) -> Privacy:
    """[privacy] protection with the keys that go with it; `plain` says what is read without any."""
    protection = section.word("protection", PROTECTIONS, usual)
    bits, link = _key_bits(section, protection), _link(section, protection)
    accepted = section.flag("i_accept_disclosure")
    if protection == "masked":
        return SecureAggregation()
    if protection == "lattice":
        return Lattice(link)
    if protection == "paillier":
        return Paillier(bits)
    if not accepted:
        raise section.wrong("protection", plain)
    return NoPrivacy(i_accept_disclosure=True)


def _key_bits(section: Section, protection: str) -> int:
    """The bits of Paillier keys; 0 where there are none."""
    if protection != "paillier":
        if "key_bits" in section:
            raise section.wrong("key_bits", 'goes only with protection = "paillier"; add that, or leave it out.')
        return 0
    bits = section.given.get("key_bits", Paillier().bits)
    if type(bits) is not int or bits not in BITS:
        raise section.wrong("key_bits", f"must be one of {', '.join(map(str, BITS))}; it is {bits!r}.")
    return bits


def _link(section: Section, protection: str) -> float | None:
    """The speed of the link that lattice encryption is laid out for."""
    if "link_mbit" not in section:
        return None
    if protection != "lattice":
        raise section.wrong("link_mbit", 'goes only with protection = "lattice"; add that, or leave it out.')
    return section.number("link_mbit", 0.0, 0, FASTEST, f"a number of Mbit/s above 0 and at most {FASTEST:g}")


def check_who(
    partition: PartitionOptions | None, parties: tuple[PartyEntry, ...], driver: DriverOptions | None, method: str
) -> None:
    """One way of naming the parties, and real ones only where they exchange something."""
    if partition is not None and parties:
        raise ParameterError("[partition] and [[party]] exclude each other; keep one of them.")
    if partition is None and not parties:
        raise ParameterError("There are no parties; add [partition], or a [[party]] for each.")
    if driver is not None and partition is not None:
        raise ParameterError("[partition] is a simulation and [driver] is for real parties; keep one of them.")
    if driver is not None and method in BASELINES:
        raise ParameterError(f"[run] method {method} is a simulation without a driver; leave out [driver].")


def _check_method(sections: Sections, method: str, driver: DriverOptions | None) -> None:
    """What a method has no use for, and what real parties keep to themselves."""
    if driver is not None and "test" in sections.section("data"):
        raise ParameterError("[data] test is for simulations; evaluate the model of real parties afterwards.")
    if method in BY_COLUMNS:
        _check_by_columns(sections, method)
        (_check_vertical if method == "vertical" else _check_hybrid)(sections)
        return
    _check_not_vertical(sections, method)
    privacy = sections.section("privacy")
    if privacy.given.get("columns") == "all":
        privacy.refuse("allow_few_columns", why='does not go with columns = "all", which leaves none out')
    if method in WHOLE_TREES:
        _check_whole_trees(sections, method)


def _active(sections: Sections, names: tuple[str, ...]) -> str:
    """[run] active: who has the labels; of a table that is cut, the first party."""
    head = sections.section("run")
    several = actives_of(sections)
    active = several[0] if several else head.text("active")
    if "partition" in sections:
        if active not in (None, names[0]):
            raise head.wrong("active", f"must be {names[0]!r}, to which [partition] gives the labels; leave it out.")
        return names[0]
    if active is None:
        raise ParameterError(f'[run] lacks active; name the party that has the labels, like active = "{names[0]}".')
    for one in several or (active,):
        if one not in names:
            raise head.wrong("active", f"names {one!r}, which is no party; it is one of {', '.join(names)}.")
    return active


def actives_of(sections: Sections) -> tuple[str, ...]:
    """[run] active, where it names several parties, each with a hybrid run of its own; none where it names one."""
    head = sections.section("run")
    several = head.texts("active") if isinstance(head.given.get("active"), list) else ()
    if not several:
        head.refuse("vote", why="is for several active parties, whose models vote; active names one")
        return ()
    if head.given.get("method") not in SEVERAL:
        raise head.wrong("active", "names several parties, which goes with method hybrid; name one.")
    if len(set(several)) < max(2, len(several)):
        raise head.wrong("active", "names one party, or one twice; name each once, or one without brackets.")
    if "driver" in sections:
        raise head.wrong("active", "names several parties, which is for simulations; between real parties each active "
                                   "one has a run file of its own, with itself as active.")  # fmt: skip
    return several


def _check_no_active(head: Section, method: str) -> None:
    if head.text("active") is not None:
        raise head.wrong("active", f"does not go with method {method}, in which every party has labels; use method "
                                   "vertical, or leave it out.")  # fmt: skip


def _check_by_columns(sections: Sections, method: str) -> None:
    privacy = sections.section("privacy")
    if privacy.given.get("protection") == "masked":
        raise privacy.wrong("protection", f'= "masked" is for sums over rows of several parties; method {method} has '
                                          '"lattice", "paillier" and "plain".')  # fmt: skip
    no_use = f"does not go with method {method},"
    by_rows = ("cut_points", "columns", "column_names", "allow_few_columns")
    privacy.refuse(*by_rows, why=f"{no_use} in which the parties have different columns")
    privacy.refuse("opener", why=f"{no_use} in which the active party opens the sums")
    if "partition" not in sections:
        sections.section("data").refuse("n_columns", why=f"{no_use} in which each party's file has its own width")


def _check_vertical(sections: Sections) -> None:
    why = "does not go with method vertical, whose table is cut by columns"
    sections.section("partition").refuse("how", "alpha", "noise", why=why)
    why = "does not go with method vertical, in which the parties have different columns"
    sections.section("privacy").refuse("allow_two", "shared", why=why)
    why = "is for method hybrid, whose trees have levels of the active and of the passive parties"
    sections.section("privacy").refuse(*ONLY_HYBRID, why=why)
    _check_align(sections.section("privacy"), sections.section("data"), "partition" in sections)


def _check_hybrid(sections: Sections) -> None:
    """Rows are linked by ids, and no passive party has them all."""
    if "id" not in sections.section("data") and "partition" not in sections:
        raise ParameterError('[data] lacks id, by which method hybrid links rows; add id = "COLUMN".')
    sections.section("privacy").refuse(
        "hidden_rows", why="does not go with method hybrid, in which passive parties lack rows; it is for vertical"
    )


def _check_align(privacy: Section, data: Section, is_cut: bool) -> None:
    """Rows that are aligned have ids, and only they are counted."""
    aligned = privacy.given.get("align") == "private"
    if aligned and "id" not in data and not is_cut:
        raise privacy.wrong("align", '= "private" finds rows by their ids; add [data] id = "COLUMN".')
    if "most_ids" in privacy and not aligned:
        raise privacy.wrong("most_ids", 'goes only with align = "private"; add that, or leave it out.')


def _check_opener(sections: Sections, method: str, names: tuple[str, ...]) -> None:
    """[privacy] opener: one of the parties, named wherever a horizontal run is encrypted and nowhere else."""
    privacy = sections.section("privacy")
    protection, opener = privacy.given.get("protection"), privacy.given.get("opener")
    if method != "horizontal":
        return
    if protection not in ENCRYPTION:
        if opener is not None:
            raise privacy.wrong("opener", 'goes only with protection = "lattice" or "paillier"; add one, or leave it '
                                          "out.")  # fmt: skip
        return
    if opener is None:
        raise ParameterError(
            "[privacy] lacks opener, the party that opens the encrypted sums and chooses the cuts; name one, like "
            f'opener = "{names[0]}".'
        )
    if opener not in names:
        raise privacy.wrong("opener", f"names {opener!r}, which is no party; it is one of {', '.join(names)}.")
    for key, given in (("link_mbit", None), ("cut_points", "local")):
        if key in privacy and given in (None, privacy.given[key]):
            raise privacy.wrong(key, f"{f'= {given!r} ' if given else ''}does not go with method horizontal and "
                                     "encryption; leave it out.")  # fmt: skip


def _check_not_vertical(sections: Sections, method: str) -> None:
    privacy, no_use = sections.section("privacy"), f"does not go with method {method},"
    privacy.refuse("align", "most_ids", why=f"{no_use} in which the parties have rows of their own")
    privacy.refuse("hidden_rows", why="is for method vertical, whose nodes passive parties see")
    privacy.refuse("passive_rows", why="is for methods vertical and hybrid, in which passive parties sum rows")
    privacy.refuse(*ONLY_HYBRID, why="is for method hybrid, some of whose levels are the passive parties'")
    privacy.refuse("shared", why="is for method hybrid, whose passive parties may have the same columns")
    protection = privacy.given.get("protection")
    if method in WHOLE_TREES:
        if protection in ENCRYPTION:
            privacy.refuse("protection", why=f'= "{protection}" is for methods horizontal, vertical and hybrid')
        privacy.refuse("opener", why=f"{no_use} in which no sums are opened")
    if method not in BASELINES:
        privacy.refuse("levels", "local_trees", why=f"{no_use} in which every party has labels")


def _check_whole_trees(sections: Sections, method: str) -> None:
    privacy, trees = sections.section("privacy"), sections.section("trees")
    if privacy.given.get("protection") == "masked":
        raise privacy.wrong("protection", f'= "masked" cannot be had with method {method}, which shows whole trees of '
                                          "each party; use method horizontal, or leave it out.")  # fmt: skip
    alone = f"does not go with method {method}, in which each party grows its trees alone"
    privacy.refuse("allow_two", "on_loss", "party_share", "cut_points", "column_names", why=alone)
    trees.refuse("early_stopping_rounds", "eval_metric", why=alone)
    if method == "sequential" and trees.given.get("kind") == "forest":
        raise trees.wrong("kind", '= "forest" does not go with method sequential, whose trees learn from those '
                                  "before them; use bagging.")  # fmt: skip
