"""A run as a file describes it: everything apart from the data, checked before anything starts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

from hedgerow.agreement.ciphers import cipher_of
from hedgerow.agreement.federated_plan import federated_plan
from hedgerow.agreement.plan import Goal, Member, Plan
from hedgerow.data.read import LIBSVM
from hedgerow.errors import DataError, ParameterError
from hedgerow.run.file.options import DataOptions, DriverOptions, PartitionOptions, PartyEntry, PrivacyOptions
from hedgerow.run.file.rules import BASELINES, WHOLE_TREES, active_of, check_method, check_opener, check_who
from hedgerow.run.file.section import Source
from hedgerow.run.file.sections import METHODS, Sections
from hedgerow.run.file.trees import FOREST, TreeSection
from hedgerow.trees.params import TreeParams

RunMethod = Literal["horizontal", "vertical", "bagging", "sequential", "alone", "pooled"]


@dataclass(frozen=True)
class RunFile:
    """A run, as its file describes it."""

    path: Path
    name: str
    method: RunMethod
    folder: Path
    data: DataOptions
    partition: PartitionOptions | None
    parties: tuple[PartyEntry, ...]
    validation_share: float
    privacy: PrivacyOptions
    goal: Goal
    params: TreeParams
    driver: DriverOptions | None = None
    notes: tuple[str, ...] = ()
    """What the user should know, in sentences."""
    model: Path | None = None
    """Where the model is written besides the run's folder."""
    active: str = ""
    """In a vertical run the party that has the labels."""

    @property
    def names(self) -> tuple[str, ...]:
        """The parties, in order."""
        return self.partition.names if self.partition is not None else tuple(entry.name for entry in self.parties)

    def plan(self, members: tuple[Member, ...], coordinator: str = "") -> Plan:
        """The plan for these parties; a coordinator is the fingerprint of a real driver's certificate."""
        return self._planned(members, coordinator, [])

    def real_plan(self) -> Plan:
        """The plan of real parties, known by their certificates; every one must have its fingerprint here."""
        if self.partition is not None or not self.parties:
            raise ParameterError("Real parties are named in [[party]] sections; write one for each party.")
        if self.driver is None:
            raise ParameterError("Real parties need a [driver] section with address and fingerprint; add it.")
        for entry in self.parties:
            if not entry.fingerprint:
                raise ParameterError(
                    f"[[party]] {entry.name!r} lacks its fingerprint; copy it from `hedgerow certs show`."
                )
        return self.plan(tuple(Member(e.name, e.fingerprint) for e in self.parties), self._driver_of(self.driver))

    def _driver_of(self, driver: DriverOptions) -> str:
        """The fingerprint of whoever drives: a driver's own, or in a vertical run the active party's."""
        if self.active:
            own = next(entry.fingerprint for entry in self.parties if entry.name == self.active)
            if driver.fingerprint not in ("", own):
                raise ParameterError(
                    f"[driver] fingerprint is not that of {self.active!r}, the active party, which drives a vertical "
                    "run; leave it out."
                )
            return own
        if not driver.fingerprint:
            raise ParameterError("[driver] lacks its fingerprint; copy it from `hedgerow certs show`.")
        if any(entry.fingerprint == driver.fingerprint for entry in self.parties):
            raise ParameterError("[driver] fingerprint is that of a party; make a certificate for each of them.")
        return driver.fingerprint

    def disclosed(self) -> list[str]:
        """What a plan of so many parties, or of whole trees, lets them learn of each other, in sentences."""
        told: list[str] = []
        if self.method not in BASELINES:
            self._planned(tuple(Member(name, name) for name in self.names), self._coordinator, told)
        return told

    @property
    def _coordinator(self) -> str:
        """The driver's fingerprint, or a word in its place where it is still to come."""
        return "" if self.driver is None else self.driver.fingerprint or "driver"

    def check_cipher(self) -> None:
        """Refuse encryption that cannot be had, before any data is read."""
        if self.method == "vertical" or self.privacy.opener:
            cipher_of(self._planned(tuple(Member(name, name) for name in self.names), self._coordinator, []))

    def check_files(self) -> None:
        """Refuse a simulation whose data is not there, before anything is read."""
        for entry in self.parties:
            if entry.data is None:
                raise ParameterError(
                    f'[[party]] {entry.name!r} lacks data, which a simulation needs; add data = "FILE", or let the '
                    "party itself `hedgerow join` the run."
                )
        for place, source in self._sources():
            if isinstance(source, Path) and not source.is_file():
                raise DataError(f"{place} names {source}, which is not a file; check the path.")
            if isinstance(source, Path) and self.data.label is None and not self._needs_no_label(place, source):
                raise ParameterError(f'[data] lacks label, which {source.name} needs; add label = "COLUMN".')

    def _sources(self) -> list[tuple[str, Source | None]]:
        """Everything that is read, and where it is named."""
        cut = [] if self.partition is None else [("[partition] data", self.partition.data)]
        named = [(f"[[party]] {e.name!r} {key}", getattr(e, key)) for e in self.parties for key in ("data", "valid")]
        return [*cut, *named, ("[data] test", self.data.test)]

    def _needs_no_label(self, place: str, file: Path) -> bool:
        """Whether a file has labels of its own, or is a passive party's."""
        if self.active and place.startswith("[[party]]") and not place.startswith(f"[[party]] {self.active!r}"):
            return True
        suffix = Path(file.name.lower().removesuffix(".gz")).suffix.removeprefix(".")
        return (suffix in LIBSVM) if self.data.format is None else self.data.format == "libsvm"

    def _planned(self, members: tuple[Member, ...], coordinator: str, notes: list[str]) -> Plan:
        if self.method in BASELINES:
            raise ParameterError(
                f"[run] method {self.method} is a baseline in which nobody exchanges anything, so there is no plan; "
                "use horizontal, vertical, bagging or sequential."
            )
        if self.method == "vertical":
            return self._vertical(members, coordinator)
        method, privacy = cast(Any, self.method), self.privacy
        plan = federated_plan(members, privacy.federation(method), self.goal, self.params, notes, self.name)
        two = privacy.allow_two if coordinator else plan.allow_two
        more = {"columns": privacy.columns, "on_loss": privacy.on_loss, "allow_two": two, "coordinator": coordinator}
        return replace(plan, **cast(Any, more))

    def _vertical(self, members: tuple[Member, ...], coordinator: str) -> Plan:
        privacy = self.privacy
        return Plan(
            self.name, members, self.goal, self.params, method="vertical", protection=privacy.protection,
            party_share=privacy.party_share, local_trees=privacy.local_trees, on_loss=privacy.on_loss,
            active=self.active, key_bits=privacy.key_bits, link_mbit=privacy.link_mbit,
            align=privacy.align, most_ids=privacy.most_ids, hidden_rows=privacy.hidden_rows, coordinator=coordinator,
        )  # fmt: skip


def run_of(tables: Mapping[str, Any], path: Path, folder: Path, notes: Sequence[str] = ()) -> RunFile:
    """The run that these sections describe; relative paths begin in `folder`."""
    sections = Sections(tables, folder)
    head = sections.section("run")
    name, method = head.name("name"), cast(RunMethod, head.word("method", METHODS, "horizontal"))
    trees = TreeSection.of(sections.section("trees"))
    data = sections.data(numbers=trees.objective is not None)
    partition, parties, share = sections.partition(), sections.parties(), sections.validation_share()
    check_who(partition, parties, driver := sections.driver(), method)
    check_method(sections, method, driver)
    privacy = sections.privacy(vertical=method == "vertical")
    names = partition.names if partition is not None else tuple(entry.name for entry in parties)
    check_opener(sections, method, names)
    own_rows = share > 0 or any(entry.valid is not None for entry in parties)
    follows = method not in WHOLE_TREES
    asked = driver is not None and any(key in trees.section for key in ("eval_metric", "early_stopping_rounds"))
    sealed = method == "vertical" and privacy.protection != "plain"
    few_bits = sealed and data.task == "classify" and data.weight is None
    run = RunFile(
        path, name, method, head.path("folder") or folder / "runs" / name, data, partition, parties, share, privacy,
        trees.goal(data.task, data.label, follows and (own_rows or asked)),
        trees.params(method in ("horizontal", "vertical"), few_bits), driver, tuple(notes), head.path("model"),
        active_of(sections, method, names),
    )  # fmt: skip
    return replace(run, notes=(*notes, *_notes(run, sections, trees), *run.disclosed()))


def _notes(run: RunFile, sections: Sections, trees: TreeSection) -> list[str]:
    notes = []
    if run.method in BASELINES and "privacy" in sections:
        notes.append(f"[privacy] has no effect with method {run.method}, in which nothing is exchanged.")
    if run.method in WHOLE_TREES and (run.validation_share > 0 or any(e.valid for e in run.parties)):
        notes.append(f"With method {run.method} no metric is followed; validation rows are only held out.")
    if trees.kind == "forest" and "colsample_bynode" not in trees.section:
        notes.append(
            f"Each node of the random forest chooses among {FOREST['colsample_bynode']:.0%} of the columns; "
            "[trees] colsample_bynode sets another share."
        )
    return notes
