import pytest
from kept_runs import train, write_run


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """A horizontal and a vertical run, and beside the first what is reached alone and pooled."""
    rows, columns = tmp_path_factory.mktemp("rows"), tmp_path_factory.mktemp("columns")
    found = {method: train(write_run(rows, method, method)) for method in ("horizontal", "alone", "pooled")}
    found["vertical"] = train(write_run(columns, "vertical", "vertical", 'active = "party1"'))
    return found
