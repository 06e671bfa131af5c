"""Rules over what a tree's checks did beside their outcomes: functions replaced, protected files written."""

from collections.abc import Sequence

from anyio import to_thread

from orchestrator.domain.judging.check import Difference, Receipt
from orchestrator.domain.judging.verdict import RuleId
from orchestrator.judge.gate.run_traces import read_run_traces
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.rules.registry import check_run_traces
from orchestrator.ports.ledger import Ledger

_HELD = frozenset({RuleId.REPLACED, RuleId.WRITTEN})
"""Rules on what no step has a reason for. Tests in scope may load other modules than before, and other plugins."""


async def find_trace_problems(
    ledger: Ledger, grants: Sequence[str], before: Sequence[Receipt], now: Sequence[Receipt]
) -> Difference:
    """Return a problem for each thing that the traces of a tree show and those of the base do not.

    Args:
        ledger: holds the traces.
        grants: globs of files that may do so.
        before: receipts of the base, in the environment of the tree.
        now: receipts of the same checks on the tree.
    """
    base_traces, traces = await read_run_traces(ledger, before), await read_run_traces(ledger, now)
    facts = ChangeFacts(grants=grants, traces=traces, base_traces=base_traces)
    problems = []
    for finding in await to_thread.run_sync(check_run_traces, facts):
        if finding.is_blocking and finding.rule in _HELD:
            problems.append(finding.text)
    return Difference(problems=tuple(problems))
