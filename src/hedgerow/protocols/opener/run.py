"""How the driver carries a run whose sums the opener decrypts: it relays, and keeps how far the run has come.

The folder has the conversation and who sees what.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from hedgerow.corridor.messages import Begin, Facts, Lead, RoundGrown
from hedgerow.corridor.wire import encode
from hedgerow.errors import ProtocolError
from hedgerow.model.model import Model
from hedgerow.protocols.columns import Common, loss_of
from hedgerow.protocols.horizontal.attempt import attempt
from hedgerow.protocols.horizontal.prepare import forest_of
from hedgerow.protocols.horizontal.run import AttemptTrees, RoundCallbacks
from hedgerow.protocols.horizontal.train import begin_of, followed, model_of, start_of
from hedgerow.protocols.opener.relay import Relay
from hedgerow.protocols.secure_sum import SummingGroup
from hedgerow.protocols.state import Drive, Progress
from hedgerow.trees.boost import Boosted, Round, heard
from hedgerow.trees.losses import Loss
from hedgerow.trees.watched_metrics import Metric


class OpenerRun(Drive):
    """The driver's way through a run in which the opener chooses; what it chose is kept here after every tree."""

    def __init__(self, progress: Progress) -> None:
        self.progress, self.callbacks = progress, RoundCallbacks(progress.driver.callbacks)

    def attempt(self, group: SummingGroup, facts: Mapping[str, Facts]) -> Model:
        """What becomes known to the driver: what `columns` and the folder say."""
        return attempt(self.progress, group, facts, partial(self._relayed, group))

    def _relayed(self, group: SummingGroup, shared: Common) -> Model:
        progress, plan, loss = self.progress, group.plan, loss_of(group.plan, shared.classes)
        relay, kept = Relay(group, progress.driver.threads), AttemptTrees(progress, group, loss.n_trees)
        before, history = kept.before, list(kept.history)

        def begun(begin: Begin) -> None:
            start = progress.state.start or start_of(begin, shared.columns, plan)
            progress.state = replace(progress.state, start=start)

        def grown(told: RoundGrown) -> bool:
            trees = forest_of(told.trees, shared.columns, loss.n_trees)
            kept.parts.extend([trees] if trees.n_trees else [])
            if told.complete and told.value is not None and (metric := self._metric(loss)) is not None:
                n_rounds = sum(part.n_trees for part in kept.parts) // loss.n_trees
                history[:] = heard(metric, history, told.value, n_rounds)
            kept.keep(history, relay.lost, relay.clipped)
            return told.complete and self._ends(told, loss)

        begin = encode(begin_of(before.start, before.forest)) if before.start is not None else b""
        lead = Lead(shared.weighted, shared.validated, begin, np.array(history, np.float64))
        led, start = relay.run(lead, begun, grown), progress.state.start
        if start is None or not 0 <= led.n_trees <= progress.state.forest.n_trees:
            raise ProtocolError("The opener ends a run that it has not begun, or with more trees than it grew.")
        done = Boosted(progress.state.forest.first(led.n_trees), progress.state.history)
        return model_of(plan, shared, start, done)

    def _ends(self, told: RoundGrown, loss: Loss) -> bool:
        """Whether a callback ends the training; every one is told."""
        plan, metric = self.progress.driver.plan, self._metric(loss)
        number, name = self.progress.state.forest.n_trees // loss.n_trees, metric.name if metric else None
        return self.callbacks(Round(number, plan.params.n_estimators, name, told.value, told.best))

    def _metric(self, loss: Loss) -> Metric | None:
        start = self.progress.state.start
        return followed(self.progress.driver.plan, loss, start) if start is not None else None
