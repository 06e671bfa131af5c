"""Repeating the tests of a green candidate, and judging by their failure rates those that fail now and then."""

from typing import NamedTuple

from anyio import to_thread

from orchestrator.domain.judging.check import Difference
from orchestrator.engine.context import RunContext
from orchestrator.engine.judging.candidate_changes import CandidateChanges
from orchestrator.judge.gate.check_runner import CheckedTree
from orchestrator.judge.gate.look_plan import LEAST_RERUNS
from orchestrator.judge.rules.new_tests import has_behaviour_change


class RepeatedTests(NamedTuple):
    """A difference with what repeating shows, and the keys of the receipts behind it."""

    difference: Difference
    receipts: tuple[str, ...] = ()


async def judge_repeated_tests(
    context: RunContext, candidate: CheckedTree, changes: CandidateChanges, difference: Difference
) -> RepeatedTests:
    """Return a green difference with what is red when the tests that reach the change are run many times over."""
    settings = context.config.gate
    if context.repeats is None or not settings.repeats or settings.reruns < LEAST_RERUNS:
        return RepeatedTests(difference)
    if not await to_thread.run_sync(has_behaviour_change, changes.files):
        return RepeatedTests(difference)
    changed = [file.path for file in changes.files]
    suspects = await context.repeats.find_suspects(*candidate, changed)
    if not suspects:
        return RepeatedTests(difference)
    again = await context.gate.judge_tree(*candidate, reruns=settings.reruns, suspects=suspects)
    return RepeatedTests(_replace_red_tests(difference, again.difference), again.receipts)


def _replace_red_tests(before: Difference, again: Difference) -> Difference:
    """Return a green difference with what a closer look at the same tree says of its tests."""
    return before.model_copy(
        update={
            "new_failures": again.new_failures,
            "unsettled": again.unsettled,
            "looks": again.looks,
            "flaky": tuple(dict.fromkeys((*before.flaky, *again.flaky))),
        }
    )
