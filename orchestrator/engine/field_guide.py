"""The field guide in a run: recording what reports propose, and writing what the run stands for."""

from collections.abc import Iterator, Sequence

from orchestrator.domain.event.memory import EntriesProposed
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.ids import CommitId, TaskId
from orchestrator.domain.memory.entry import EntryAuthor, GuideProposal, MemoryState
from orchestrator.domain.run.notice_codes import NoticeCode
from orchestrator.domain.run.state import TaskState
from orchestrator.domain.run.task import Handoff
from orchestrator.engine.context import RunContext
from orchestrator.errors import EnvironmentProblem, RunTakenOver
from orchestrator.memory.lifecycle import list_open_proposals, project_guide_changes
from orchestrator.memory.proposals import KnownEvidence, build_proposals, list_named_evidence
from orchestrator.ports.ledger import record_notice_once
from worktrees.object_store.commit_names import find_reachable_commit


async def record_attempt_proposals(
    context: RunContext, state: TaskState, candidate: CommitId
) -> tuple[GuideProposal, ...]:
    """Record once what the report of the latest attempt proposes; return what its reviewers decide on."""
    attempt, end = state.attempt, state.ends[-1] if state.ends else None
    if context.field_guide is None or attempt is None or end is None or end.handoff is None:
        return ()
    await _record_report(context, state.spec.id, attempt.number, end.handoff, candidate, has_change=True)
    found = context.state.memory.list_proposals(state.spec.id, attempt.number) or ()
    return tuple(proposal for proposal in found if proposal.refusal is None)


async def record_planner_proposals(context: RunContext, head: CommitId) -> tuple[GuideProposal, ...]:
    """Record once what the last reports of planners propose; return what the judge of the whole decides on."""
    if context.field_guide is None:
        return ()
    planners = list[TaskId]()
    for task in tuple(context.state.tasks.values()):
        if task.spec.kind != "leaf" and task.handoff is not None:
            planners.append(task.spec.id)
            await _record_report(context, task.spec.id, task.rounds, task.handoff, head, has_change=False)
    return list_open_proposals(context.state, planners)


async def _record_report(
    context: RunContext, task: TaskId, number: int, handoff: Handoff, head: CommitId, *, has_change: bool
) -> None:
    memory = context.state.memory
    used = tuple(_iterate_known(memory, handoff.used))
    is_silent = not (handoff.learned or handoff.contradicted or used)
    if is_silent or memory.list_proposals(task, number) is not None:
        return
    commits = dict[str, str]()
    for name in list_named_evidence(handoff):
        if commit := await find_reachable_commit(context.repository.git, name, head):
            commits[name] = commit
    known = KnownEvidence(context.state.run.run, frozenset(context.state.receipts), commits, has_change)
    author = EntryAuthor(run=context.state.run.run, task=task, attempt=number, number=0)
    proposals = build_proposals(handoff, author, known, memory.guide)
    await context.journal.append(EntriesProposed(task=task, number=number, proposals=proposals, used=used))


def _iterate_known(memory: MemoryState, names: Sequence[str]) -> Iterator[str]:
    for name in dict.fromkeys(names):
        if memory.find_entry(name) is not None:
            yield name


async def save_field_guide(context: RunContext) -> None:
    """Record what this run stands for now, where that is new, and write it into the guide.

    What is written follows from the journal alone. So a process that died between the two is no harm: the next one
    writes the same again. A guide that cannot be written stops no run; a notice names it.

    Raises:
        RunTakenOver: another process works on the run by now.
    """
    guide, memory = context.field_guide, context.state.memory
    if guide is None:
        return
    changes = project_guide_changes(context.state, guide.expire_days)
    if (changes.added, changes.retired) != (memory.added, memory.retired):
        await context.journal.append(changes)
    if not (changes.added or changes.retired or changes.used or memory.has_changed):
        return
    try:
        await guide.write_changes(context.state.run.run, changes, context.state.run.started_at)
    except RunTakenOver:
        raise
    except EnvironmentProblem as problem:
        text = f"what this run learnt is not in the field guide yet: {problem}"
        notice = Noticed(level="warning", code=NoticeCode.GUIDE_UNWRITTEN, text=text)
        await record_notice_once(context.journal, notice)
