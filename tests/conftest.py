import gc

import pytest
from hypothesis import settings

settings.register_profile("hedgerow", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("hedgerow")


@pytest.hookimpl(trylast=True)
def pytest_collection_finish():
    """Thousands of tests stay to the end: the collector need not look through them again and again."""
    gc.collect()
    gc.freeze()
