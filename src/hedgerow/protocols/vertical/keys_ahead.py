"""The active party's keys, one for each round: the next is made while others work on what is sealed under this one."""

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial

from hedgerow.privacy.additive import Cipher, Merging, SecretKey


class KeysAhead:
    """Gives every key once. One that was made for what is then not asked for is thrown away."""

    def __init__(self, cipher: Cipher, threads: int, slots: bool) -> None:
        self._new = partial(cipher.new_key, threads, slots=slots)
        self._made: tuple[list[Merging], Future[SecretKey]] | None = None

    def take(self, merging: Sequence[Merging], more: bool) -> SecretKey:
        """A key that merges at these distances; `more` says whether another will be needed, probably of this kind."""
        wanted, ready = list(merging), self._made
        secret = ready[1].result() if ready is not None and ready[0] == wanted else self._new(merging=wanted)
        self._made = (wanted, self._begun(wanted)) if more else None
        return secret

    def _begun(self, wanted: list[Merging]) -> "Future[SecretKey]":
        maker = ThreadPoolExecutor(1)
        try:
            return maker.submit(self._new, merging=wanted)
        finally:
            maker.shutdown(wait=False)
