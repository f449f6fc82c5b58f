import pytest
from real_parties import Process, make_certificates


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
