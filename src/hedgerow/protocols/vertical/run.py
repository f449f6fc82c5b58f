"""How the active party carries a vertical run from its own table to the model, and keeps how far it has come.

The folder has the conversation and who sees what.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hedgerow.corridor.messages import Facts
from hedgerow.errors import PartyLost, ProtocolError
from hedgerow.model.model import Model
from hedgerow.model.train import Ready, too_light
from hedgerow.protocols.align.lists import OwnSets
from hedgerow.protocols.columns import loss_of
from hedgerow.protocols.secure_sum import SummingGroup
from hedgerow.protocols.state import Drive, Progress
from hedgerow.protocols.vertical import prepare, schema
from hedgerow.protocols.vertical.columns import AllColumns
from hedgerow.protocols.vertical.leakage_rows import nothing_learnt
from hedgerow.protocols.vertical.noise_on_sums import Noised, noise_of
from hedgerow.protocols.vertical.train import Talk, grow
from hedgerow.trees.forest import Forest


class VerticalRun(Drive):
    """The active party's way through a vertical run."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.ready: Ready | None = None
        """Its own rows with the scores of the trees so far."""
        self.sets: OwnSets | None = None
        """Its side of the alignment of rows."""
        self.said = schema.SaidBefore()
        """What the others said to it of the trees under way, in attempts before this one."""
        self.linkage: prepare.Links | None = None
        """Its side of the linkage with each passive party."""
        self.links: prepare.RowsByParty = {}
        """The rows that each passive party has, where these are some."""
        self.noised: Noised | None = None
        """What is released, where that is promised to have noise."""

    def attempt(self, group: SummingGroup, facts: Mapping[str, Facts]) -> Model:
        """What becomes known to the active party: what `align` and the folder say."""
        progress, ready = self.progress, self._prepared(group)
        joint = self.columns(group, ready, facts)
        self._describe(joint, ready)

        def kept(trees: Forest, history: Sequence[float]) -> None:
            for sentence in () if progress.state.parts else too_light(ready.rows, ready.table.n_rows):
                progress.driver.note(sentence)
            state = replace(
                progress.state,
                parts=(*progress.state.parts, trees),
                history=tuple(history),
                clipped=ready.rows.clipped,
                scores=prepare.scores_of(ready),
            )
            progress.keep(state)

        driver, talk = progress.driver, Talk.of(group, self.said, self.links)
        if self.noised is not None:
            self.noised.before(talk, ready, joint, progress)
        return grow(talk, ready, joint, progress.state, driver.callbacks, kept, self.noised, commit=driver.commit)

    def columns(self, group: SummingGroup, ready: Ready, facts: Mapping[str, Facts]) -> AllColumns:  # noqa: ARG002  # they say nothing here
        """Everybody's columns: asked of each party."""
        told = schema.columns_told(group, group.present, ready, self.said, self.links)
        return schema.all_columns(group.plan, ready, told, self.progress.state.common)

    def dealt(self, plan: prepare.Plan, own: prepare.Active) -> prepare.Active:  # noqa: ARG002  # a vertical run's rows are everybody's
        """The own rows, with who holds them where that matters."""
        return own

    def _prepared(self, group: SummingGroup) -> Ready:
        """The own rows, aligned anew in every attempt and binned in the first."""
        driver, own, state = self.progress.driver, self.progress.driver.own, self.progress.state
        if own is None:
            raise ProtocolError("A vertical run is driven by its active party, with its own table.")
        if self.noised is None:  # a run that would tell too much with those before it ends here
            self.noised = noise_of(group.plan, own, driver.log)
        if group.plan.method.aligns:
            self.sets = self.sets or prepare.own_sets(group.plan, own, driver.threads, driver.log, driver.tell)
            own = prepare.aligned(group, self.sets, own, driver.note)
        if group.plan.method.links:
            self.linkage = self.linkage or prepare.own_links(group, own, driver.threads, driver.log, driver.note)
            self.links = prepare.linked(group, self.linkage)
            own = self.dealt(group.plan, own)
        if self.ready is None:
            prepared = prepare.prepare if self.noised is None else self.noised.prepare
            self.ready = prepared(group.plan, own, driver.threads)
            self.ready.rows.clipped = state.clipped
            if state.parts:
                prepare.restore(self.ready, state.scores)
        return self.ready

    def _describe(self, joint: AllColumns, ready: Ready) -> None:
        """The state knows all columns, the model's id and, where it is noted, what was learnt of bins."""
        state = self.progress.state
        state = replace(state, common=schema.common(joint, ready, state.common))
        if not state.model:
            state = replace(state, model=secrets.token_hex(16))
        if self.progress.driver.notes_bins and state.learnt is None:
            state = replace(state, learnt=nothing_learnt(joint, self.links, ready.table.n_rows))
        self.progress.state = state

    def goes_on(self, loss: PartyLost) -> bool:
        """Without parties that are gone; once everybody's columns are known it may.

        With no passive party left it waits: the fault may be this party's own line.
        """
        driver, plan, state = self.progress.driver, self.progress.driver.plan, self.progress.state
        left = tuple(party for party in self.progress.present if party not in loss.parties)
        gone = not loss.parties & driver.corridor.transport.here()
        if not plan.goes_on or state.common is None or not left or not gone:
            return False
        n_trees, names = loss_of(plan, state.common.classes).n_trees, tuple(sorted(loss.parties))
        lost = (state.forest.n_trees // n_trees, names)
        self.progress.keep(replace(state, present=left, losses=(*state.losses, lost)))
        driver.tell(f"{loss} The run goes on without the columns of {', '.join(map(repr, names))}.")
        return True
