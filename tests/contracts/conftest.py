import numpy as np
import pytest
from ciphers import CIPHERS, Sides


@pytest.fixture(scope="session", params=CIPHERS)
def sides(request):
    """A key holder and an answering side of every cipher, with one key for all tests."""
    return Sides(CIPHERS[request.param])


@pytest.fixture(scope="session")
def others(sides):
    """The same cipher with another key."""
    return Sides(sides.tried)


@pytest.fixture
def rng():
    return np.random.default_rng(0)
