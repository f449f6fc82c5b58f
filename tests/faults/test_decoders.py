"""A few seconds of the campaign's lies to decoders, and whether it would notice what is wrong."""

import json
from dataclasses import replace

import numpy as np
import pytest
from campaign import decoders, fuzz
from campaign.mutations import MUTATIONS
from campaign.trials import Options

SECONDS = 0.25


@pytest.fixture(scope="module", params=fuzz.CIPHERS)
def aims(request):
    """Wire forms for all decoders of a cipher."""
    return fuzz.targets(fuzz.CIPHERS[request.param])


@pytest.mark.parametrize("decoder", fuzz.DECODERS)
def test_mutated_wire_forms_are_refused_or_of_use(aims, decoder, tmp_path):
    others = [aim.form for each in aims.values() for aim in each]
    counted = fuzz.fuzz(aims[decoder], others, SECONDS, 0, tmp_path)
    assert counted.wrong == []
    assert sum(counted.tried.values()) == sum(
        sum(each.values()) for each in (counted.refused, counted.read, counted.refused_in_use)
    )


@pytest.mark.parametrize("error", [ValueError, IndexError, MemoryError, OverflowError, BaseException])
@pytest.mark.parametrize("where", ["read", "use"])
def test_any_other_error_is_found_and_its_input_kept(tmp_path, where, error):
    aim = fuzz.targets(fuzz.CIPHERS["unencrypted"])["read_rows"][0]
    first = []

    def broken(given):
        if first:
            raise error("a flaw")
        first.append(given)

    harmed = replace(aim, **{where: broken}, **({"use": bool} if where == "read" else {}))
    counted = fuzz.fuzz([harmed], [aim.form], 20 * SECONDS, 0, tmp_path)
    assert len(counted.wrong) == fuzz.MOST_WRONG
    assert all(f"{error.__name__}: a flaw" in each for each in counted.wrong)
    assert len(list(tmp_path.glob("wrong-*.bin"))) == len({each.split("(")[1] for each in counted.wrong})


@pytest.mark.parametrize("name", MUTATIONS)
def test_a_mutation_gives_other_bytes_for_any_length(name):
    rng = np.random.default_rng(0)
    for length in (0, 1, 2, 60, 4000):
        data = rng.bytes(length)
        made = [MUTATIONS[name](rng, data, [b"another", data]) for _ in range(50)]
        assert all(isinstance(each, bytes) for each in made)
        assert length < 60 or sum(each != data for each in made) > 25


def test_a_process_that_ends_by_itself_is_found(tmp_path, monkeypatch):
    options = Options(tmp_path, kills=1, seed=0, quick=True, limit=60.0, away=1.0)
    monkeypatch.setattr(decoders.sys, "executable", "/bin/false")
    (done,) = [each for each in decoders.run(options) if "unencrypted, read_rows" in each.what]
    assert "the process ended with 1" in done.wrong


def test_a_trial_counts_its_inputs_and_survives_a_file(tmp_path):
    options = Options(tmp_path, kills=1, seed=0, quick=True, limit=60.0, away=1.0)
    done = decoders.trial("unencrypted", "read_sums", SECONDS, options)
    kept = json.loads(json.dumps(done.as_json()))
    assert kept["ok"] is True
    assert sum(kept["counted"]["tried"].values()) > 50
