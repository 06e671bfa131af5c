import gc
from collections.abc import Iterator

import pytest

from orchestrator.collector_pause import pause_collector


@pytest.fixture(autouse=True)
def collector_runs() -> Iterator[None]:
    gc.enable()
    yield
    gc.enable()


def test_the_collector_pauses_in_the_block_and_goes_on_after_it() -> None:
    with pause_collector():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_the_collector_goes_on_after_an_error() -> None:
    with pytest.raises(ValueError, match="damaged"), pause_collector():
        raise ValueError("damaged")
    assert gc.isenabled()


def test_a_pause_in_a_pause_leaves_the_collector_off() -> None:
    with pause_collector():
        with pause_collector():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
