"""The active party's keys, one for each round: the next is made while others work on what is sealed under this one."""

from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

from hedgerow.privacy.additive import Cipher, Merging, SecretKey


class KeyUse(NamedTuple):
    """What a key is made for."""

    threads: int
    slots: bool
    merging: tuple[Merging, ...]
    """For each party, the distances at which its results are merged."""


class KeysAhead:
    """Gives every key once. One that was made for what is then not asked for is thrown away."""

    def __init__(self, cipher: Cipher) -> None:
        self.cipher = cipher
        self._made: tuple[KeyUse, Future[SecretKey]] | None = None

    def take(self, use: KeyUse, more: bool) -> SecretKey:
        """A key for this; `more` says whether another will be needed, probably of the same kind."""
        # Forgotten before anything can fail: what was given once is never given again.
        ready, self._made = self._made, None
        secret = ready[1].result() if ready is not None and ready[0] == use else self._new(use)
        if more:
            self._made = use, self._begun(use)
        return secret

    def _new(self, use: KeyUse) -> SecretKey:
        return self.cipher.new_key(use.threads, slots=use.slots, merging=use.merging)

    def _begun(self, use: KeyUse) -> "Future[SecretKey]":
        maker = ThreadPoolExecutor(1)
        try:
            return maker.submit(self._new, use)
        finally:
            maker.shutdown(wait=False)
