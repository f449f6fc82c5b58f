import pytest
from real_parties import Process, make_certificates

from hedgerow.agreement.link_speeds import LinkSpeed
from hedgerow.run.real import link_speeds


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The certificates of a driver and three parties."""
    return make_certificates(tmp_path_factory.mktemp("ca"))


@pytest.fixture
def start(tmp_path):
    """Starts commands in processes of their own, and ends them all."""
    started: list[Process] = []

    def start(words, name):
        started.append(Process(words, tmp_path / f"{name}.out"))
        return started[-1]

    yield start
    for process in started:
        process.close()


@pytest.fixture(scope="module", autouse=True)
def known_links():
    """Links are taken to be fast, and not measured, but where a test says so or parties are processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(link_speeds, "measured", _fast)
        yield


def _fast(_corridor, plan, _deadline):
    return tuple(LinkSpeed(name, 500.0, 0) for name in plan.answering)
