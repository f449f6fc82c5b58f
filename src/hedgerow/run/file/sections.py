"""From the sections of a run file to options: every key checked by itself, in one sentence each."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from hedgerow.agreement.plan import MOST_PARTIES
from hedgerow.data.csv_dialect import check_decimal, check_delimiter
from hedgerow.data.partition import HOWS, MOST_ALPHA
from hedgerow.data.table import ABSENT
from hedgerow.errors import ParameterError
from hedgerow.run.file.dp_keys import KEYS as DP_KEYS
from hedgerow.run.file.hybrid_section import HYBRID_KEYS, TEST_ROWS, hybrid_of
from hedgerow.run.file.options import DataOptions, DriverOptions, PartitionOptions, PartyEntry
from hedgerow.run.file.section import Section, nearest
from hedgerow.run.file.trees import TREES

KEYS: dict[str, tuple[str, ...]] = {
    "run": ("name", "method", "active", "vote", "folder", "model"),
    "data": ("label", "id", "weight", "categorical", "absent", "task", "test", "format", "n_columns", "first_index",
             "delimiter", "decimal", "ignore"),
    "partition": ("data", "parties", "how", "alpha", "noise", "seed", *HYBRID_KEYS),
    "party": ("name", "data", "valid", "fingerprint"),
    "validation": ("share",),
    "privacy": (
        "protection", "i_accept_disclosure", "allow_two", "on_loss", "party_share", "cut_points", "columns", "key_bits",
        "link_mbit", "align", "most_ids", "column_names", "opener", "local_trees", "levels", "shared",
        "separate", "passive_cuts", "depth_active", "depth_passive", "passive_rows", "hidden_rows", "allow_few_columns",
        *DP_KEYS,
    ),
    "trees": TREES,
    "driver": ("address", "listen", "fingerprint", "ca", "crl", "deadline", "patience"),
}  # fmt: skip
SECTIONS = tuple("[[party]]" if name == "party" else f"[{name}]" for name in KEYS)
ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.%]+\]|[^\s:/\[\]]+):([0-9]{1,5})")
LONGEST_WAIT = 1e9


class Sections:
    """The whole of a run file, a section at a time."""

    def __init__(self, tables: Mapping[str, Any], folder: Path) -> None:
        self.folder, self.tables = folder, tables
        for name in tables:
            if name not in KEYS:
                raise ParameterError(_strange(name))

    def __contains__(self, name: str) -> bool:
        return name in self.tables

    def section(self, name: str) -> Section:
        """A section by name; an empty one if it is not there."""
        return Section(f"[{name}]", self.tables.get(name, {}), KEYS[name], self.folder)

    def data(self, numbers: bool) -> DataOptions:
        """[data]; `numbers` says whether [trees] names a loss for numbers."""
        section = self.section("data")
        if "task" not in section and not numbers:
            raise ParameterError(
                '[data] lacks task; add task = "classify" if labels are classes, task = "regress" if they are numbers.'
            )
        task = section.word("task", ("classify", "regress"), "regress")
        kind = section.word("format", ("csv", "libsvm"), "csv") if "format" in section else None
        return DataOptions(
            label=section.text("label"),
            id=section.text("id"),
            weight=section.text("weight"),
            categorical=section.texts("categorical"),
            absent=section.word("absent", tuple(ABSENT), "missing"),
            task=cast(Any, task),
            test=section.source("test"),
            format=cast(Any, kind),
            n_columns=section.whole("n_columns", 1, 2**31 - 1),
            first_index=cast(Any, section.whole("first_index", 0, 1)),
            delimiter=_sign(section, "delimiter", check_delimiter),
            decimal=_sign(section, "decimal", check_decimal),
            ignore=section.texts("ignore"),
        )

    def partition(self, hybrid: bool = False) -> PartitionOptions | None:
        """[partition], if it is there; of a hybrid run or another."""
        if "partition" not in self:
            return None
        section = self.section("partition")
        data, parties = section.source("data"), section.whole("parties", 1, MOST_PARTIES)
        if data is None:
            raise ParameterError('[partition] lacks data; name the table that is cut, like data = "all.csv".')
        if parties is None:
            raise ParameterError("[partition] lacks parties; add how many the table is cut into, like parties = 5.")
        if not hybrid:
            section.refuse(*HYBRID_KEYS, why="is for method hybrid, whose passive parties have columns of their own")
        return PartitionOptions(
            data,
            parties,
            section.word("how", HOWS, "even"),
            section.number("alpha", 0.5, 0, MOST_ALPHA, f"a number above 0 and at most {MOST_ALPHA:g}"),
            section.number("noise", 0.0, -5e-324, 1e300, "a number of at least 0"),
            section.whole("seed", 0, 2**63 - 1),
            hybrid=hybrid_of(section, data, parties) if hybrid else None,
            test_rows=cast(Any, section.word("test_rows", TEST_ROWS, "alike")),
        )

    def parties(self) -> tuple[PartyEntry, ...]:
        """Every [[party]]."""
        given = self.tables.get("party", [])
        if not isinstance(given, list):
            raise ParameterError("A party's section is written [[party]], in two brackets; write one for each party.")
        entries: list[PartyEntry] = []
        for table in given:
            section = Section("[[party]]", table, KEYS["party"], self.folder)
            name = section.name("name")
            section.title = f"[[party]] {name!r}"
            if any(entry.name.lower() == name.lower() for entry in entries):
                raise ParameterError(f"Two [[party]] sections have the name {name!r}; give each party its own.")
            fingerprint = section.fingerprint("fingerprint")
            twin = next((entry.name for entry in entries if fingerprint and entry.fingerprint == fingerprint), None)
            if twin is not None:
                raise section.wrong("fingerprint", f"is that of {twin!r}; make a certificate for each party.")
            entries.append(PartyEntry(name, fingerprint, section.source("data"), section.source("valid")))
        return tuple(entries)

    def validation_share(self) -> float:
        """[validation] share; 0 if it is not there."""
        if "validation" not in self:
            return 0.0
        section = self.section("validation")
        if "share" not in section:
            raise ParameterError("[validation] lacks share; add the share of rows to hold out, like share = 0.2.")
        meaning = "a number from 0 to below 1"
        return section.number("share", 0.0, -5e-324, 1 - 2**-53, meaning)

    def driver(self) -> DriverOptions | None:
        """[driver], if it is there."""
        if "driver" not in self:
            return None
        section = self.section("driver")
        address = _address(section, "address")
        if address is None:
            raise ParameterError(
                '[driver] lacks address; add what parties dial, like address = "driver.example:50051".'
            )
        anywhere = f"0.0.0.0:{address.rpartition(':')[2]}"
        seconds = "a number of seconds above 0"
        return DriverOptions(
            address,
            _address(section, "listen") or anywhere,
            section.fingerprint("fingerprint"),
            section.path("ca"),
            section.path("crl"),
            section.number("deadline", 600.0, 0, LONGEST_WAIT, seconds),
            section.number("patience", 600.0, 0, LONGEST_WAIT, seconds),
        )


def _strange(name: str) -> str:
    """The sentence for a section that is not known, or for a key above all sections."""
    homes = [f"[[{section}]]" if section == "party" else f"[{section}]" for section in KEYS if name in KEYS[section]]
    if homes:
        return f"{name!r} stands outside its section; put it below {' or '.join(homes)}."
    return f"There is no section {f'[{name}]'!r}; {nearest(f'[{name}]', SECTIONS)}"


def _sign(section: Section, key: str, check: Callable[[str], str]) -> str | None:
    """A sign by which CSV files are written."""
    value = section.text(key)
    try:
        return None if value is None else check(value)
    except ParameterError as error:
        raise ParameterError(str(error).replace(f"{key}=", f"{section.title} {key}")) from None


def _address(section: Section, key: str) -> str | None:
    value = section.text(key)
    if value is None:
        return None
    found = ADDRESS.fullmatch(value)
    if found is None or not 0 < int(found[2]) < 1 << 16:
        raise section.wrong(key, f'must be a host and a port, like "driver.example:50051"; it is {value!r}.')
    return value
