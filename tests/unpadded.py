"""Words as they would leave without pads: for sabotage, and to know what masked words hide."""

import numpy as np

from hedgerow import _native
from hedgerow.privacy import masks


def unpadded(own, threads):
    """In the place of `masks.mask`."""
    return [np.ascontiguousarray(words).reshape(-1).view(np.uint64).copy() for words, _ in own]


def pads_taken_off(words, leaving):
    """The words under masked ones; those that do not leave as they are."""
    if leaving is None or leaving[1] is None:
        return words
    pads = np.zeros_like(words)
    _native.add_pads([(pads, leaving[1])], 1)
    return words - pads


def leave_unpadded(monkeypatch):
    """From now on no word is hidden: neither sums over rows, nor what else parties say under masks."""
    take = _native.take_steps

    def bare(steps, threads, leaving):
        taken = zip(take(steps, threads, leaving), leaving, strict=True)
        return [(pads_taken_off(words, to), clipped) for (words, clipped), to in taken]

    monkeypatch.setattr(_native, "take_steps", bare)
    monkeypatch.setattr(masks, "mask", unpadded)


def note_own_sums(monkeypatch, own_words):
    """From now on sums over rows that a kernel hides are also written down."""
    take = _native.take_steps

    def noted(steps, threads, leaving):
        taken = take(steps, threads, leaving)
        hidden = zip(taken, leaving, strict=True)
        own_words.extend(pads_taken_off(words, to) for (words, _), to in hidden if to is not None)
        return taken

    monkeypatch.setattr(_native, "take_steps", noted)
