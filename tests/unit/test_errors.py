"""Which error of several is the one to react to."""

from orchestrator.errors import HostLost, Interrupted, find_lost_host, find_sole_error

LOST = HostLost("the host a was lost", "a")


def test_a_lost_host_yields_to_whatever_else_went_wrong_at_once() -> None:
    stopped = Interrupted("stopped by Ctrl-C")
    assert find_sole_error(ExceptionGroup("", [LOST, ExceptionGroup("", [stopped])])) is stopped
    assert find_sole_error(ExceptionGroup("", [LOST, ValueError()])) is None


def test_only_losses_of_hosts_alone_make_a_lost_host() -> None:
    assert find_lost_host(LOST) is LOST
    assert find_lost_host(ExceptionGroup("", [ExceptionGroup("", [LOST]), HostLost("b", "b")])) is LOST
    assert find_lost_host(ExceptionGroup("", [LOST, Interrupted()])) is None
    assert find_lost_host(ValueError()) is None
