"""What is recorded of an effect whose block ends in a group of errors."""

import pytest

from orchestrator.domain.event.run import CheckStarted, EffectAbandoned
from orchestrator.domain.ids import TreeId
from orchestrator.errors import HostLost, JournalProblem
from orchestrator.ports.effect import record_effect
from tests.doubles.ledger import MemoryLedger

INTENT = CheckStarted(key="check/gate~1", check="gate", tree=TreeId("t"), purpose="a test")


async def run_and_fail(ledger: MemoryLedger, *errors: Exception) -> None:
    with pytest.raises(ExceptionGroup):
        async with record_effect(ledger, INTENT):
            raise ExceptionGroup("at once", errors)


async def test_errors_of_ours_in_a_group_abandon_the_effect() -> None:
    ledger = MemoryLedger()
    await run_and_fail(ledger, HostLost("gone", "a"), HostLost("gone too", "b"))
    assert ledger.events[1:] == [EffectAbandoned(key=INTENT.key, reason="gone")]


@pytest.mark.parametrize("error", [ValueError("a fault of ours"), JournalProblem("the disk is full")])
async def test_a_group_with_any_other_error_leaves_the_effect_open(error: Exception) -> None:
    ledger = MemoryLedger()
    await run_and_fail(ledger, HostLost("gone", "a"), error)
    assert ledger.events == [INTENT]
