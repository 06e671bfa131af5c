import signal

import pytest

from till.service import Service


def test_a_signal_stops_it():
    service = Service()
    with pytest.raises(SystemExit) as left:
        service._stop(signal.SIGTERM, None)
    assert left.value.code == 143
    assert service.is_stopped.is_set()
