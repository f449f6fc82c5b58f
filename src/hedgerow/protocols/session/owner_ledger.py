"""What a data owner counts over all its runs: wrong hashes of its rows that it heard, and rows that were predicted.

Each run has a log of its own, and whoever drives can always propose another run. So these counts lie in a log that
belongs to the owner and not to a run, beside its key; without one, they are of the run's log, or of the process.

Sees in the clear.  Nothing but counts, hashes that others made, and ids of models.
"""

import hashlib
from collections import Counter

from hedgerow.errors import PolicyError, PrivacyError
from hedgerow.protocols.session.journal import Log, NoLog
from hedgerow.storage.audit import AuditLog

WRONG, RESET, PREDICTED = "wrong hash", "guesses reset", "rows predicted"
"""The events in the log."""

MOST_WRONG = 3
"""Wrong hashes of its rows after which a party answers no more: an honest mistake or two, and no search for ids."""


class Ledger:
    """A data owner's counts, read from its log whenever they decide: other processes of the owner add to it too."""

    def __init__(self, log: Log | None) -> None:
        self.log: Log = AuditLog(None, "", "") if log is None or isinstance(log, NoLog) else log
        self._may_answer: bool | None = None
        """Whether few enough wrong hashes were heard; None: to be counted. A process that stopped stays so."""

    @property
    def wrong(self) -> int:
        """Different wrong hashes since the owner's last reset; the same one again is no other guess."""
        heard: set[str] = set()
        for line in self.log.lines():
            if line["event"] == RESET:
                heard.clear()
            elif line["event"] == WRONG:
                heard.add(line["sha256"])
        return len(heard)

    def check_guesses(self) -> None:
        """Refuse to go on once too many wrong hashes were heard, in whatever run."""
        if self._may_answer is None:
            self._may_answer = self.wrong < MOST_WRONG
        if not self._may_answer:
            raise PrivacyError(
                f"This party has heard {MOST_WRONG} wrong hashes of its rows, each of which tries out ids; it answers "
                "nothing more until its owner allows it (hedgerow ledger reset-guesses) and starts it again."
            )

    def guess(self, told: bytes, right: bool) -> bool:
        """Whether a hash that was told is right; a wrong one is on disk before that is said. After three none is."""
        self._recount()
        if not right:
            self.log.note(WRONG, sha256=hashlib.sha256(told).hexdigest())
            self.log.sync()
            self._may_answer = None
        return right

    def _recount(self) -> None:
        """Look again: other processes of this owner may have heard more."""
        if self._may_answer:
            self._may_answer = None
        self.check_guesses()

    def reset_guesses(self) -> int:
        """By the owner's word: forget the wrong hashes so far, and write down that this was done; returns how many."""
        n = self.wrong
        self.log.note(RESET, wrong=n)
        self.log.sync()
        return n

    @property
    def predicted(self) -> Counter[str]:
        """Rows that were asked about, by the id of the model."""
        rows: Counter[str] = Counter()
        for line in self.log.lines():
            if line["event"] == PREDICTED:
                rows[line["model"]] += line["rows"]
        return rows

    def predict(self, model: str, rows: int, most: int) -> None:
        """So many rows more are asked about; on disk before anything is told of them."""
        sentence = "The run predicts more rows of this model than this party's policy allows (most_predicted_rows)."
        if self.predicted[model] + rows > most:
            raise PolicyError(sentence)
        self.log.note(PREDICTED, model=model, rows=rows)
        self.log.sync()
        if self.predicted[model] > most:  # another process of this owner answers at the same time
            raise PolicyError(sentence)
