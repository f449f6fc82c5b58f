"""What a passive party gave is in its log, and on disk, before the answer leaves."""

import threading
from dataclasses import replace

import msgspec
import pytest

from federated import TINY, MemoryLog, until, vertical
from hedgerow.corridor.messages import AskSealedSums
from hedgerow.corridor.wire import encode
from hedgerow.errors import CipherError, RunError
from hedgerow.protocols.party import Party
from hedgerow.protocols.vertical.passive_run import GAVE, DisclosureCounter


class Disk(MemoryLog):
    """A log on a slow disk: `safe` lines would outlast a loss of power."""

    def __init__(self, works=True):
        super().__init__()
        self.works, self.safe, self.threads = works, 0, set()

    def sync(self):
        lines = len(self.kept)
        threading.Event().wait(0.003)
        if not self.works:
            raise RunError("Cannot write the audit log: the disk is full.")
        self.safe, self.threads = lines, self.threads | {threading.current_thread()}

    def gave(self):
        """Where lines are that count what was given."""
        return [i for i, line in enumerate(self.kept) if line["event"] == GAVE]


def on_disk(disk, **plan):
    """A federation whose second party writes to this disk; and its answers with what was not safe when they left."""
    fed, unsafe = vertical(TINY, align="given", **plan), []
    party = Party(replace(fed.parties["party2"].owner, log=disk, durable=True), 1, fed.parties["party2"].keep_model)
    fed.parties["party2"] = party
    answer = party.answer

    def watched(frame):
        out = answer(frame)
        unsafe.extend(i for i in disk.gave() if i >= disk.safe)
        return out

    party.answer = watched
    return fed, unsafe


def test_an_answer_leaves_when_what_it_gives_is_safe_and_the_disk_writes_while_sums_are_made():
    disk = Disk()
    fed, unsafe = on_disk(disk)
    fed.model()
    answers = [heard for heard in fed.of("SealedSums", "Sides") if heard.sender == "party2"]
    assert len(disk.gave()) == len(answers)
    assert not unsafe
    assert disk.threads > {threading.current_thread()}  # sides are written before they leave, and by nobody else


def test_an_answer_that_did_not_wait_for_the_disk_would_be_seen(monkeypatch):
    monkeypatch.setattr(DisclosureCounter, "finish", lambda _: None)
    fed, unsafe = on_disk(Disk())
    fed.model()
    assert unsafe


def test_what_cannot_be_written_is_not_given():
    fed, _ = on_disk(Disk(works=False))
    with pytest.raises(RunError, match="the disk is full"):
        fed.model()
    assert not [heard for heard in fed.of("SealedSums", "Sides") if heard.sender == "party2"]


def test_sums_are_counted_before_they_are_worked_out_even_if_they_are_then_refused():
    disk = Disk()
    fed, _ = on_disk(disk)
    request = until(fed, lambda r: isinstance(r, AskSealedSums))
    assert not disk.gave()
    with pytest.raises(CipherError, match="too short"):
        fed.parties["party2"].answer(encode(msgspec.structs.replace(request, sealed_gradients=b"short")))
    assert len(disk.gave()) == 1
    assert disk.kept[disk.gave()[0]]["sums"] > 0
