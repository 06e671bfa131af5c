"""Results of calls that were made again outside tests."""

from dataclasses import dataclass

from orchestrator.domain.judging.run_trace import FunctionCall


@dataclass(frozen=True)
class TestAwareCall:
    """A call that ends otherwise outside a test, as `outside` shows.

    `is_by_arguments` is true if it ends as in a test where only the program's arguments are those of pytest.
    """

    __test__ = False  # pytest would take it for a test class

    call: FunctionCall
    outside: str
    is_by_arguments: bool = False


@dataclass(frozen=True)
class ReplayedCalls:
    """The number of recorded calls that could be made again outside tests, and those that then ended otherwise."""

    recorded: int = 0
    made: int = 0
    test_aware: tuple[TestAwareCall, ...] = ()
