"""[partition] of a hybrid run: one table as an active party and passive ones, or a payment network and its banks."""

from typing import Any

from hedgerow.data.builtin import BUILTIN
from hedgerow.data.hybrid_cut import HOWS, HybridCut
from hedgerow.data.named_network import NamedNetwork, is_network, named_network
from hedgerow.errors import ParameterError
from hedgerow.run.file.section import Section, Source

WHOLE = {"holders": 1, "dropped": 0}
"""Numbers, and what they are at least."""
SHARES = ("extra", "uncovered")
PARTS = ("active_rows", "active_columns")
HYBRID_KEYS = ("passive", "by", *WHOLE, *SHARES, *PARTS, "test_rows")
"""Keys of [partition] that other runs have no use for."""
TEST_ROWS = ("alike", "even")
OF_NETWORKS = "does not go with a payment network that falls into its own banks; leave it out, or name passive columns"


def hybrid_of(section: Section, data: Source, parties: int) -> HybridCut | NamedNetwork:
    """What the section says of columns and rows; of so many parties the first is the active one."""
    if parties < 2:
        raise section.wrong("parties", "must be at least 2 in a hybrid run: the active party, and a passive one.")
    name = data.removeprefix(BUILTIN) if isinstance(data, str) else ""
    if is_network(name) and "passive" not in section:
        return _network(section, name, parties - 1)
    section.refuse("noise", why="does not go with method hybrid, whose parties have different columns")
    chosen: dict[str, Any] = {key: section.whole(key, least, 2**31 - 1, least) for key, least in WHOLE.items()}
    chosen |= {key: section.number(key, 0.0, -5e-324, 1 - 2**-53, "a number from 0 to below 1") for key in SHARES}
    chosen |= {key: section.number(key, 1.0, 0, 1, "a number above 0 and at most 1") for key in PARTS}
    try:
        return HybridCut(
            _passive(section), parties - 1, names=tuple(f"party{i}" for i in range(2, parties + 1)), by=_by(section),
            how=section.word("how", HOWS, "even"), alpha=float(section.given.get("alpha", 0.5)),
            seed=section.whole("seed", 0, 2**63 - 1) or 0, **chosen,
        )  # fmt: skip
    except ParameterError as error:
        raise ParameterError(str(error) if str(error).startswith("[") else f"[partition] {error}") from None


def _passive(section: Section) -> int | tuple[str | int, ...]:
    """How many columns are passive, or which."""
    given = section.given.get("passive")
    if given is None:
        raise ParameterError(
            '[partition] lacks passive, the columns of the passive parties; add their names, like passive = ["age"], '
            "or how many are drawn, like passive = 10."
        )
    if isinstance(given, list) and given and all(type(one) in (int, str) for one in given):
        return tuple(given)
    if type(given) is not int or given < 1:
        raise section.wrong("passive", f"must be a list of columns, or a whole number of at least 1; it is {given!r}.")
    return given


def _by(section: Section) -> str | int | None:
    given = section.given.get("by")
    if given is not None and type(given) not in (int, str):
        raise section.wrong("by", f"must be a column by name or position; it is {given!r}.")
    return given


def _network(section: Section, name: str, banks: int) -> NamedNetwork:
    section.refuse("how", "alpha", "noise", "seed", *HYBRID_KEYS, why=OF_NETWORKS)
    if "banks=" in name and named_network(name).banks != banks:
        raise section.wrong("parties", f"means {banks} banks beside the network, and data names another number; leave "
                                       "banks out there.")  # fmt: skip
    return named_network(f"{name},banks={banks}")
