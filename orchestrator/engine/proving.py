"""Whether what the tests of a candidate say is to be believed, and whether its new ones show anything of the change."""

from collections.abc import Sequence
from dataclasses import dataclass

from anyio import to_thread

from orchestrator.domain.check import NEW_TESTS, Receipt
from orchestrator.domain.event.work import CandidateTaken
from orchestrator.domain.state import TaskState
from orchestrator.domain.verdict import Finding
from orchestrator.engine.changes import Changes, restored
from orchestrator.engine.context import RunContext
from orchestrator.judge.new_tests import alters_behaviour, finding_on_new_tests, new_test_files
from orchestrator.judge.protected import granter
from orchestrator.ports.gate import GateResult


async def believed(context: RunContext, candidate: CandidateTaken, purpose: str) -> GateResult | None:
    """What canaries say of a candidate's tree; None where there are none."""
    if context.canaries is None or not context.config.gate.canaries:
        return None
    return await context.canaries.judge(candidate.commit, candidate.tree, purpose)


@dataclass(frozen=True)
class NewTests:
    """What is to be said of a candidate's new tests, and the receipts that it rests on."""

    findings: tuple[Finding, ...] = ()
    receipts: Sequence[Receipt] = ()


async def new_tests(
    context: RunContext, state: TaskState, candidate: CandidateTaken, changes: Changes, purpose: str
) -> NewTests:
    """Run the tests that a candidate adds on its base, without its code; only where it changes both."""
    mode = context.config.gate.new_tests
    paths = () if mode == "off" else new_test_files(changes.files, granter(state.spec.grants))
    if not paths or not await to_thread.run_sync(alters_behaviour, changes.files):
        return NewTests()
    gate, base = context.gate, state.attempts[-1].base
    before = await gate.told(base, await context.tree(base), f"{purpose}, its base")
    now = await gate.told(candidate.commit, candidate.tree, purpose)
    if before is None or now is None or not now.keys() - before.keys():
        return NewTests()
    message = "The base under the new tests of the candidate"
    mixed = await restored(context.repository.git, base, candidate.commit, paths, context.when, message)
    if mixed is None:
        return NewTests()
    receipts, told = await gate.run_beside(NEW_TESTS, mixed.commit, mixed.tree, f"{purpose}, new tests on its base")
    finding = finding_on_new_tests(before, now, told, is_strict=mode == "red")
    return NewTests((finding,) if finding else (), receipts)
