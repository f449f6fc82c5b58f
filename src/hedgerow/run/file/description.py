"""A run as a file describes it: everything apart from the data, checked before anything starts."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from hedgerow.agreement.active_parties import one_of
from hedgerow.agreement.ciphers import cipher_of
from hedgerow.agreement.options import Horizontal, Hybrid, Vertical, WholeTrees
from hedgerow.agreement.plan import Goal, Member, Plan
from hedgerow.agreement.private_params import settled_params
from hedgerow.data.hybrid_cut import HybridCut
from hedgerow.data.read import LIBSVM
from hedgerow.errors import DataError, ParameterError
from hedgerow.run.file.method import METHODS, actives_of, check_who, method_of
from hedgerow.run.file.options import Baseline, DataOptions, DriverOptions, PartitionOptions, PartyEntry
from hedgerow.run.file.section import Source
from hedgerow.run.file.sections import Sections
from hedgerow.run.file.trees import FOREST, TreeSection
from hedgerow.trees.params import TreeParams


@dataclass(frozen=True)
class RunFile:
    """A run, as its file describes it."""

    path: Path
    name: str
    method: Horizontal | Vertical | WholeTrees | Baseline
    folder: Path
    data: DataOptions
    partition: PartitionOptions | None
    parties: tuple[PartyEntry, ...]
    validation_share: float
    goal: Goal
    params: TreeParams
    driver: DriverOptions | None = None
    notes: tuple[str, ...] = ()
    """What the user should know, in sentences."""
    model: Path | None = None
    """Where the model is written besides the run's folder."""
    actives: tuple[str, ...] = ()
    """Where several parties are active: these, each with a run of its own (`each`); `method` names the first."""
    vote: bool = False
    """Whether the models of several active parties vote."""

    @property
    def each(self) -> tuple["RunFile", ...]:
        """The runs of several active parties, each with one of them and all passive ones; or this one."""
        return tuple(self.of(name, self._passive) for name in self.actives) or (self,)

    @property
    def _passive(self) -> tuple[str, ...]:
        return tuple(name for name in self.names if name not in self.actives)

    def of(self, active: str, beside: Collection[str]) -> "RunFile":
        """The run of one of several active parties with these passive ones."""
        parties = tuple(entry for entry in self.parties if entry.name == active or entry.name in beside)
        method = one_of(cast(Hybrid, self.method), active, beside)
        shared = _sharing(method, [entry.name for entry in parties])
        place = self.folder / "parties" / active
        return replace(self, method=shared, parties=parties, folder=place, model=None, actives=())

    @property
    def active(self) -> str:
        """In a vertical or hybrid run the party that has the labels."""
        return self.method.active or ""

    @property
    def names(self) -> tuple[str, ...]:
        """The parties, in order."""
        return self.partition.names if self.partition is not None else tuple(entry.name for entry in self.parties)

    def plan(self, members: tuple[Member, ...], coordinator: str = "") -> Plan:
        """The plan for these parties; a coordinator is the fingerprint of a real driver's certificate."""
        method = self.method
        if self.actives:
            raise ParameterError("[run] active names several parties, each with a run of its own; name one of them.")
        if isinstance(method, Baseline):
            raise ParameterError(
                f"[run] method {method.word} is a baseline in which nobody exchanges anything, so there is no plan; "
                "use horizontal, vertical, hybrid, bagging or sequential."
            )
        if isinstance(method, Horizontal) and not coordinator:
            method = method.allowing_two(len(members))
        return Plan(self.name, members, self.goal, self.params, method, coordinator)

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
                    f"[driver] fingerprint is not that of {self.active!r}, the active party, which drives a "
                    f"{self.method.word} run; leave it out."
                )
            return own
        if not driver.fingerprint:
            raise ParameterError("[driver] lacks its fingerprint; copy it from `hedgerow certs show`.")
        if any(entry.fingerprint == driver.fingerprint for entry in self.parties):
            raise ParameterError("[driver] fingerprint is that of a party; make a certificate for each of them.")
        return driver.fingerprint

    def _checked(self) -> Plan | None:
        """The plan with names in place of certificates that may still be to come; None of a baseline."""
        if self.actives:
            return next(run._checked() for run in self.each)  # of the same class
        if isinstance(self.method, Baseline):
            return None
        coordinator = "" if self.driver is None else self.driver.fingerprint or "driver"
        return self.plan(tuple(Member(name, name) for name in self.names), coordinator)

    def disclosed(self) -> tuple[str, ...]:
        """What a plan of so many parties, or of whole trees, lets them learn of each other, in sentences."""
        self._checked()
        return self.method.warnings(len(self.names))

    def check_cipher(self) -> None:
        """Refuse encryption that cannot be had, before any data is read."""
        plan = self._checked()
        if plan is not None and plan.method.encrypted:
            cipher_of(plan)

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


def run_of(tables: Mapping[str, Any], path: Path, folder: Path, notes: Sequence[str] = ()) -> RunFile:
    """The run that these sections describe; relative paths begin in `folder`."""
    sections = Sections(tables, folder)
    head = sections.section("run")
    name, word = head.name("name"), head.word("method", METHODS, "horizontal")
    trees = TreeSection.of(sections.section("trees"))
    data = sections.data(numbers=trees.objective is not None)
    partition, parties, share = sections.partition(word == "hybrid"), sections.parties(), sections.validation_share()
    check_who(partition, parties, driver := sections.driver(), word)
    names = partition.names if partition is not None else tuple(entry.name for entry in parties)
    method = method_of(sections, word, names, driver)
    own_rows = share > 0 or any(entry.valid is not None for entry in parties)
    asked = driver is not None and any(key in trees.section for key in ("eval_metric", "early_stopping_rounds"))
    follows = not isinstance(method, WholeTrees) and (own_rows or asked)
    few_bits = method.class_bits if data.task == "classify" and data.weight is None else None
    params = trees.params(isinstance(method, Horizontal | Vertical), few_bits)
    actives = actives_of(sections)
    if isinstance(method, Hybrid):
        if method.depth is not None and "max_depth" not in trees.section:
            params = replace(params, max_depth=method.depth)
        params = settled_params(method.dp, params)
        method = _settled(method.scheduled(params.max_depth), partition, names, actives)
    elif isinstance(method, Vertical):
        params = settled_params(method.dp, params)
        method = method.scheduled(params.max_depth)
    run = RunFile(
        path,
        name,
        method,
        head.path("folder") or folder / "runs" / name,
        data=data,
        partition=partition,
        parties=parties,
        validation_share=share,
        goal=trees.goal(data.task, data.label, follows),
        params=params,
        driver=driver,
        notes=tuple(notes),
        model=head.path("model"),
        actives=actives,
        vote=head.flag("vote"),
    )
    return replace(run, notes=(*notes, *_notes(run, sections, trees), *run.disclosed()))


def _settled(
    method: Hybrid, partition: PartitionOptions | None, names: Sequence[str], actives: tuple[str, ...]
) -> Hybrid:
    """Where it is not said, who shares columns; of several active parties each run says so by itself."""
    if actives and partition is not None:
        raise ParameterError(
            "[partition] cuts a table into parties of which one is active; with several active parties write a "
            "[[party]] with its own file for each."
        )
    if actives:
        return method
    differ = partition is not None and isinstance(partition.hybrid, HybridCut) and partition.hybrid.dropped > 0
    return method.sharing([]) if differ else _sharing(method, names)


def _sharing(method: Hybrid, names: Sequence[str]) -> Hybrid:
    """Where it is not said, all passive parties share their columns, if there are enough of them."""
    return method.sharing([[name for name in names if name != method.active]])


def _notes(run: RunFile, sections: Sections, trees: TreeSection) -> list[str]:
    notes = []
    if isinstance(run.method, Baseline) and "privacy" in sections:
        notes.append(f"[privacy] has no effect with method {run.method.word}, in which nothing is exchanged.")
    if isinstance(run.method, WholeTrees) and (run.validation_share > 0 or any(e.valid for e in run.parties)):
        notes.append(f"With method {run.method.word} no metric is followed; validation rows are only held out.")
    if trees.kind == "forest" and "colsample_bynode" not in trees.section:
        notes.append(
            f"Each node of the random forest chooses among {FOREST['colsample_bynode']:.0%} of the columns; "
            "[trees] colsample_bynode sets another share."
        )
    return notes
