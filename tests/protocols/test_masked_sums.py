"""What the masks of a run withstand: each attack beside the sabotage that would let it through."""

import msgspec
import numpy as np
import pytest

from federated import Federation, Lossy, labels, params_of, same, two_class, until, values
from hedgerow.corridor import messages as m
from hedgerow.corridor.wire import TranscriptHash, decode_answer, encode
from hedgerow.data import partition
from hedgerow.privacy import masks
from hedgerow.protocols.driver import State
from statistics_of_noise import looks_like_noise

replace = msgspec.structs.replace


def step(kind, level=None):
    return lambda r: isinstance(r, kind) and level in (None, r.level)


def parts_of(fed, requests):
    """Every party's masked words, each having heard its own request."""
    answers = {name: fed.parties[name].answer(encode(request)) for name, request in requests.items()}
    return {name: decode_answer(frame, 1 << 26).masked_words for name, frame in answers.items()}


def at_second_level(n=3, **more):
    X, signal = values(600, n_columns=20)
    fed = Federation(partition.rows(X, labels("two", signal), n), params_of(max_bin=64, min_cut_rows=1), **more)
    return fed, until(fed, step(m.AskHistograms, 1))


def told_two_cuts():
    """Party 3 hears of another cut than the others."""
    fed, request = at_second_level()
    cuts = request.cuts
    other = replace(request, cuts=replace(cuts, missing_left=~cuts.missing_left, left_bins=turned(fed, cuts)))
    return fed, {"party1": request, "party2": request, "party3": other}


def turned(fed, cuts):
    """The same cut with missing values on the other side."""
    grid = fed.parties["party1"].steps.growing.place.grid
    missing = int(grid.n_values[cuts.column[0]])
    bits = np.unpackbits(cuts.left_bins.view(np.uint8), bitorder="little")
    bits[missing] ^= 1
    return np.packbits(bits, bitorder="little").view(np.uint64)


def test_parties_that_were_told_different_cuts_open_noise():
    fed, requests = told_two_cuts()
    opened = masks.unmasked_sum(list(parts_of(fed, requests).values()))
    assert looks_like_noise(opened)


def test_with_pads_that_are_not_bound_to_what_was_said_they_would_open(monkeypatch):
    """The sabotage of the test above."""
    monkeypatch.setattr(TranscriptHash, "hear", lambda self, frame: None)
    fed, requests = told_two_cuts()
    opened = masks.unmasked_sum(list(parts_of(fed, requests).values()))
    assert not looks_like_noise(opened)
    assert np.abs(opened).max() < 2**40


def test_parties_told_the_same_open_the_sum():
    fed, request = at_second_level()
    opened = masks.unmasked_sum(list(parts_of(fed, dict.fromkeys(fed.parties, request)).values()))
    plain, same_request = at_second_level(protection="plain")
    words = [decode_answer(plain.parties[p].answer(encode(same_request)), 1 << 26).words for p in plain.parties]
    assert (opened == sum(words)).all()
    assert not looks_like_noise(opened)


@pytest.mark.parametrize("missing", ["party1", "party3", "party5"])
def test_a_sum_with_a_missing_part_opens_nothing(missing):
    fed, request = at_second_level(5)
    parts = parts_of(fed, dict.fromkeys(fed.parties, request))
    assert not looks_like_noise(masks.unmasked_sum(list(parts.values())))
    del parts[missing]
    assert looks_like_noise(masks.unmasked_sum(list(parts.values())))
    for part in parts.values():
        assert looks_like_noise(part)


def test_no_pad_is_used_twice(monkeypatch):
    """All that pads are made of in a run, in an attempt after a loss, and in a resume by new processes."""
    used: list[bytes] = []
    keys = masks.keys

    def noted(pads):
        used.extend(secret.tobytes() + pads.said for secret in pads.pair_secrets)
        return keys(pads)

    monkeypatch.setattr(masks, "keys", noted)
    fed = Federation(two_class(4))
    seen = set()

    def lose(name, request):
        first = name == "party2" and isinstance(request, m.AskLeafSums) and request.round not in seen
        seen.update({request.round} if first else ())
        return first

    states = []
    model, state = fed.run(transport=Lossy(fed, lose), keep=states.append)
    assert state.attempt == 4
    sums = len(fed.of("MaskedSums"))
    # Both of a pair make the same pad; nobody else does, and never again.
    assert len(used) == 3 * sums
    pairs = {}
    for one in used:
        pairs[one] = pairs.get(one, 0) + 1
    lost = sum(count == 1 for count in pairs.values())
    assert set(pairs.values()) <= {1, 2}
    assert lost == 3 * 3, "where one of four did not answer, three pads were made by the others alone"
    before = set(pairs)
    assert same(Federation(fed.tables).model(state=states[2]), model)
    assert not before & set(used[3 * sums :])


def test_a_repeated_request_is_hidden_by_fresh_pads():
    """The same sums, asked for in a second attempt, look different in every word."""
    fed, request = at_second_level()
    first = parts_of(fed, dict.fromkeys(fed.parties, request))["party1"]
    again = until(fed, step(m.AskHistograms, 1), State(attempt=1))
    second = parts_of(fed, dict.fromkeys(fed.parties, again))["party1"]
    assert encode(request) == encode(again)
    assert (first != second).mean() > 0.99
    assert looks_like_noise(first - second)
