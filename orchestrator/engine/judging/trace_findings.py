"""Findings on what the gate's runs on a candidate did beside their outcomes, against its runs on the base."""

from collections.abc import Sequence
from itertools import chain

from anyio import to_thread

from orchestrator.domain.ids import CommitId
from orchestrator.domain.judging.check import SELECTED_CHECK, Receipt
from orchestrator.domain.judging.run_trace import FunctionCall, RunTrace
from orchestrator.domain.judging.verdict import Finding
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.run.grant import AnyGrant
from orchestrator.engine.context import RunContext
from orchestrator.engine.judging.candidate_changes import JudgedChange
from orchestrator.judge.behaviour.replayed_calls import ReplayedCalls
from orchestrator.judge.behaviour.replaying import CallReplayer
from orchestrator.judge.gate.check_runner import build_check_key
from orchestrator.judge.gate.run_traces import read_run_traces
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.rules.registry import check_run_traces


async def find_trace_findings(
    context: RunContext,
    change: JudgedChange,
    grants: Sequence[AnyGrant],
    receipts: Sequence[Receipt],
    purpose: Purpose,
) -> tuple[Finding, ...]:
    """Return what the traces behind a candidate's receipts show that those of its base do not.

    The runs on the base are those on the run's base and on the commit that the change began from. Calls that were
    recorded are made again outside tests.

    Raises:
        EnvironmentProblem: they could not be made again, as no workspace or sandbox could be had.
    """
    checks = {build_check_key(spec) for spec in context.gate.checks}
    trees = dict.fromkeys((context.state.run.base_tree, await context.read_tree_id(change.base)))
    on_bases = chain.from_iterable(map(context.state.list_receipts_on, trees))
    before = [one for one in on_bases if one.check in checks]
    own = [one for one in receipts if one.check in checks or one.kind == SELECTED_CHECK]
    now = [one for one in own if one.tree not in trees]
    traces = await read_run_traces(context.journal, now)
    facts = ChangeFacts(
        files=change.changes.files,
        lines=change.changes.lines,
        grants=grants,
        traces=traces,
        replay=await _replay_calls(context, change.commit, purpose, traces),
        base_traces=await read_run_traces(context.journal, before),
    )
    return await to_thread.run_sync(check_run_traces, facts)


async def _replay_calls(
    context: RunContext, commit: CommitId, purpose: Purpose, traces: Sequence[RunTrace]
) -> ReplayedCalls | None:
    """Return what came of the recorded calls outside tests; None where none was recorded."""
    calls: list[FunctionCall] = []
    python = ""
    for trace in traces:
        for guard in trace.guards:
            calls += guard.calls
            python = python or guard.python
    if not calls or not python:
        return None
    purpose = purpose.with_detail("calls outside tests")
    return await CallReplayer(context.hands, commit, purpose).replay_calls(calls, python)
