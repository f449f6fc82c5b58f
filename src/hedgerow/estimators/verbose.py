"""What `verbose` has an estimator print."""

import time
from collections.abc import Sequence
from numbers import Integral

from hedgerow.errors import ParameterError
from hedgerow.run.folder.recorder import MOST_LINES
from hedgerow.trees.boost import Round


class Spoken:
    """A line for some of the rounds, and sentences as they come."""

    def __init__(self, verbose: object) -> None:
        if not isinstance(verbose, Integral) or int(verbose) < 0:
            raise ParameterError(
                "verbose must be 0 (silent), 1 (about twenty lines) or the number of rounds from one line to the next; "
                f"it is {verbose!r}."
            )
        self.verbose, self.said = int(verbose), set[str]()
        self._began = time.perf_counter()

    def say(self, sentence: str) -> None:
        """One line."""
        if self.verbose:
            self.said.add(sentence)
            print(sentence, flush=True)  # noqa: T201  # what verbose asks for

    def after_round(self, told: Round) -> None:
        """A callback of the trees."""
        every = self.verbose if self.verbose > 1 else max(1, told.n_rounds // MOST_LINES)
        if told.number % every == 0 or told.number in (1, told.n_rounds):
            metric = "" if told.value is None else f"  {told.metric} {told.value:.5g}"
            self.say(f"tree {told.number}/{told.n_rounds}{metric}  {time.perf_counter() - self._began:.1f} s")

    def end(self, notes: Sequence[str]) -> None:
        """What was noted and not yet said."""
        for sentence in notes:
            if sentence not in self.said:
                self.say(sentence)
