"""What every way to train with noise, or without what would need some, does in a vertical run; nothing is said here."""

from collections.abc import Callable
from typing import Protocol

from hedgerow.agreement.plan import Plan
from hedgerow.model.train import Ready
from hedgerow.privacy.promise import Promise
from hedgerow.protocols.session.owner import Active
from hedgerow.protocols.state import Progress
from hedgerow.protocols.vertical.columns import AllColumns
from hedgerow.protocols.vertical.talk import Talk
from hedgerow.trees.boost import Boosted
from hedgerow.trees.grow import Rows
from hedgerow.trees.params import TreeParams


class Noised(Protocol):
    """A way to train with noise, or without what would need some."""

    @property
    def subtracts(self) -> bool:
        """Whether of two siblings the larger's sums are the parent's less the other's."""

    def prepare(self, plan: Plan, own: Active, threads: int) -> Ready:
        """The own rows before the first tree, with what is released of them by then."""

    def before(self, talk: Talk, ready: Ready, joint: AllColumns, progress: Progress) -> None:
        """What is asked before the first tree."""

    def around(self, rows: Rows, ready: Ready, joint: AllColumns) -> tuple[Rows, TreeParams]:
        """Rows of which nothing is released without noise, and by which parameters trees grow over them."""

    @property
    def after(self) -> Callable[[Talk, Ready, AllColumns, Boosted], Boosted] | None:
        """Adds the trees that are made of what is asked for after the last of the others; None: nothing is."""

    def promise(self, joint: AllColumns) -> Promise | None:
        """The run is over: what it has told; None: it promises nothing."""
