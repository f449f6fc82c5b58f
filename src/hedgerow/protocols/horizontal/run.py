"""How the driver carries a horizontal run from cut points to the model, and keeps how far it has come.

The folder has the conversation and who sees what.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

from hedgerow.corridor.messages import Done, Facts
from hedgerow.model.model import Model
from hedgerow.protocols.columns import Common, loss_of
from hedgerow.protocols.horizontal import cut_points
from hedgerow.protocols.horizontal.attempt import attempt
from hedgerow.protocols.horizontal.driver import HorizontalRows
from hedgerow.protocols.horizontal.train import begin_of, boosted, model_of, rows_of
from hedgerow.protocols.secure_sum import SummingGroup
from hedgerow.protocols.state import Drive, Progress, Start
from hedgerow.trees.boost import Boosted, Callback, Round
from hedgerow.trees.forest import Forest
from hedgerow.trees.losses import Loss


class RoundCallbacks:
    """The callbacks, told of a round once, also where it is grown again because its end was not heard by all."""

    def __init__(self, callbacks: Sequence[Callback]) -> None:
        self.callbacks = callbacks
        self.n_told, self.ends = 0, False
        """Of how many rounds they were told, and whether one then ended the training."""

    def __call__(self, round_: Round) -> bool:
        """Whether one ends the training; every one is told."""
        if round_.number > self.n_told:
            answers = [callback(round_) for callback in self.callbacks]
            self.n_told, self.ends = round_.number, any(answers)
        return self.ends


class AttemptTrees:
    """The trees of one attempt, kept after those that were grown before it."""

    def __init__(self, progress: Progress, group: SummingGroup, n_trees: int) -> None:
        self.progress, self.group, self.n_trees = progress, group, n_trees
        self.before = progress.state
        self.parts = list(self.before.parts)

    @property
    def history(self) -> tuple[float, ...]:
        """The metric after every round before; one that was closed just before the driver died has its forerunner's.

        Where there is none, `boost.heard` puts one in its place when the next is known.
        """
        history, n_rounds = self.before.history, self.before.forest.n_trees // self.n_trees
        return (*history, *history[-1:] * (n_rounds - len(history))) if history else history

    def keep(self, history: Sequence[float], lost: Sequence[tuple[int, frozenset[str]]], clipped: int) -> None:
        """How far this attempt has come, after what was done before it."""
        state = replace(
            self.progress.state,
            present=self.group.present,
            parts=tuple(self.parts),
            history=tuple(history),
            losses=self.before.losses + tuple((round_, tuple(sorted(names))) for round_, names in lost),
            clipped=self.before.clipped + clipped,
        )
        self.progress.keep(state)


class HorizontalRun(Drive):
    """The driver's way through a horizontal run whose sums it opens itself."""

    def __init__(self, progress: Progress) -> None:
        self.progress, self.callbacks = progress, RoundCallbacks(progress.driver.callbacks)

    def attempt(self, group: SummingGroup, facts: Mapping[str, Facts]) -> Model:
        """What becomes known to the driver: what `columns`, `cut_points` and the folder say."""
        return attempt(self.progress, group, facts, partial(self._train, group))

    def _train(self, group: SummingGroup, shared: Common) -> Model:
        progress, loss = self.progress, loss_of(group.plan, shared.classes)
        start = progress.state.start or cut_points.start(group, shared, loss)
        progress.state = replace(progress.state, start=start)
        group.tell(begin_of(start, progress.state.forest), Done)
        return model_of(group.plan, shared, start, self._boosted(rows_of(group, loss, start), loss, start))

    def _boosted(self, rows: HorizontalRows, loss: Loss, start: Start) -> Boosted:
        trees = AttemptTrees(self.progress, rows.group, loss.n_trees)

        def keep(history: Sequence[float] | None = None) -> None:
            so_far = self.progress.state.history if history is None else history
            trees.keep(so_far, rows.losses.all, rows.clipped)

        def before_values(new: Forest) -> None:
            trees.parts.append(new)
            if rows.closed:  # the sums it was grown from cannot be had again
                keep()

        def kept(_: Forest, history: Sequence[float]) -> None:
            if rows.ending is None:  # everybody has the values
                keep(history)

        rows.losses.keep = rows.keep_finished = keep
        return boosted(
            rows,
            loss,
            start,
            self.progress.driver.threads,
            callbacks=(self.callbacks,),
            before=trees.before.forest,
            history=trees.history,
            before_values=before_values,
            kept=kept,
        )
