"""The campaign's own eyes: it sees a sum that was opened for another set of parties, and logs that do not agree."""

import pytest
from campaign.__main__ import asked, parser
from campaign.logs import DriverLog
from campaign.process import Wrong
from campaign.transcript import Opened, check_one_set, opened_sums

from hedgerow.storage.audit import AuditLog

NAMES = ("a", "b", "c", "d", "e")
ALL, LEFT = frozenset(NAMES), frozenset("abc")


def tree(number, sums, last):
    """A tree whose sums were opened for `sums` and whose end for `last`."""
    levels = [Opened(number, "AskHistograms", step, sums) for step in range(3)]
    return [*levels, Opened(number, "AskLeafSums", 3, sums), Opened(number, "FinishRound", 4, last)]


def test_trees_of_one_set_each_are_as_they_must_be():
    check_one_set([*tree(1, ALL, ALL), *tree(2, ALL, LEFT), *tree(3, LEFT, LEFT)])


BROKEN = {
    "a level over those that remain": [*tree(1, ALL, LEFT), Opened(1, "AskHistograms", 9, LEFT)],
    "leaves over those that remain": [*tree(1, ALL, LEFT)[:3], Opened(1, "AskLeafSums", 3, LEFT)],
    "an end for two sets": [*tree(1, ALL, ALL), Opened(1, "FinishRound", 5, LEFT)],
    "an end with one who was out": tree(1, LEFT, ALL),
    "the same step twice": [*tree(1, ALL, ALL), Opened(1, "AskHistograms", 0, ALL)],
}  # fmt: skip


@pytest.mark.parametrize("what", BROKEN)
def test_anything_opened_for_another_set_is_seen(what):
    with pytest.raises(Wrong, match="tree 1"):
        check_one_set(BROKEN[what])


def written(folder, *, gave=NAMES, came=NAMES):
    """Logs of a driver that asked all for a sum, and of party a."""
    driver, party = AuditLog(folder / "driver", "run", "driver"), AuditLog(folder / "a", "run", "a")
    for name in NAMES:
        driver.note("sent", to=name, type="Begin", bytes=1, sha256="0")
    for name in NAMES:
        driver.note("sent", to=name, type="AskHistograms", bytes=1, sha256="1")
    for name in came:
        driver.note("received", **{"from": name}, type="MaskedSums", bytes=1, sha256="2")
    party.note("answered", run="run", round=0, step=0, told="", parties=[str(NAMES.index(n)) for n in gave])
    driver.close()
    party.close()
    return opened_sums(folder / "driver", {"a": folder / "a"}, NAMES)


def test_a_sum_is_opened_when_every_part_came(tmp_path):
    assert written(tmp_path) == [Opened(1, "AskHistograms", 0, ALL)]


def test_a_sum_with_a_missing_part_is_not_opened(tmp_path):
    assert written(tmp_path, came="abc") == []


def test_a_party_that_gave_its_part_for_others_than_were_asked_is_seen(tmp_path):
    with pytest.raises(Wrong, match="a gave a part for a, b, c, not for those that were asked"):
        written(tmp_path, gave="abc")


def test_a_tree_that_is_begun_again_is_counted_twice(tmp_path):
    log = AuditLog(tmp_path / "log", "run", "driver")
    for number, kind in enumerate(("Begin", "AskHistograms", "AskHistograms", "Begin", "AskHistograms", "FinishRound")):
        log.note("sent", to="a", type=kind, bytes=1, sha256=str(number))
        log.note("received", **{"from": "a"}, type="MaskedSums", bytes=1, sha256="")
    log.close()
    assert DriverLog(tmp_path / "log").look().begun == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["--parts", "parties,moon"],
            "There is no part 'moon': choose from parties, driver, passive, active, banks, continue, network, "
            "decoders, accountant, privacy.",
        ),
        (["--kills", "0"], "--kills must be at least 1."),
        (["--seed", "-1"], "--seed must be at least 0."),
    ],
)
def test_wrong_usage_is_answered_in_one_sentence(capsys, words, said):
    options = parser()
    with pytest.raises(SystemExit, match="2"):
        asked(options, options.parse_args(words))
    assert capsys.readouterr().err == said + "\n"
