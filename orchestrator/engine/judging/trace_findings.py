"""Findings on what the gate's runs on a candidate did beside their outcomes, against its runs on the base."""

from collections.abc import Sequence

from anyio import to_thread

from orchestrator.domain.ids import CommitId
from orchestrator.domain.judging.check import Receipt
from orchestrator.domain.judging.verdict import Finding
from orchestrator.domain.run.grant import AnyGrant
from orchestrator.engine.context import RunContext
from orchestrator.judge.files.changed_file import ChangedFile
from orchestrator.judge.gate.check_runner import build_check_key
from orchestrator.judge.gate.run_traces import read_run_traces
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.rules.registry import check_run_traces


async def find_trace_findings(
    context: RunContext,
    base: CommitId,
    files: Sequence[ChangedFile],
    grants: Sequence[AnyGrant],
    receipts: Sequence[Receipt],
) -> tuple[Finding, ...]:
    """Return what the traces behind a candidate's receipts show that those of its base do not.

    The runs on the base are those on the run's base and on the commit that the change began from.
    """
    checks = {build_check_key(spec) for spec in context.gate.checks}
    trees = {context.state.run.base_tree, await context.read_tree_id(base)}
    before = [one for one in context.state.receipts.values() if one.check in checks and one.tree in trees]
    now = [one for one in receipts if one.check in checks and one.tree not in trees]
    facts = ChangeFacts(
        files=files,
        grants=grants,
        traces=await read_run_traces(context.journal, now),
        base_traces=await read_run_traces(context.journal, before),
    )
    return await to_thread.run_sync(check_run_traces, facts)
