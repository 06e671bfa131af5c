"""The life of entries: which are there at a run's beginning, and which changes to the field guide a run stands for."""

from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime, timedelta

from orchestrator.domain.event.memory import GuideChanged
from orchestrator.domain.ids import CommitId, TaskId
from orchestrator.domain.memory.entry import (
    EntryAuthor,
    EntryEvidence,
    EntryRetirement,
    EvidenceKind,
    GuideEntry,
    GuideProposal,
    RetirementCause,
    TaskProposals,
    build_entry_id,
)
from orchestrator.domain.paths.globs import matches_glob
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import TaskStatus


def find_retirement_cause(
    entry: GuideEntry, now: datetime, paths: Collection[str], lost_commits: Collection[str]
) -> RetirementCause | None:
    """Return the reason why nothing holds an entry up any more; None while something does, or a person pinned it.

    `paths` are the files of the base, `lost_commits` those among the evidence that the repository does not have.
    """
    if entry.is_pinned:
        return None
    if entry.expires_at <= now:
        return RetirementCause.EXPIRED
    if entry.evidence.kind == EvidenceKind.COMMIT and entry.evidence.id in lost_commits:
        return RetirementCause.EVIDENCE_GONE
    if entry.scope and not any(matches_glob(entry.scope, path) for path in paths):
        return RetirementCause.SCOPE_GONE
    return None


def project_guide_changes(state: RunState, expire_days: int) -> GuideChanged:
    """Return the changes to the field guide that follow from what has landed and what the judge accepted.

    It says the same for the same state, whoever asks and how often: only this, and the guide that the run began with,
    decides what is written.
    """
    added, retired = list[GuideEntry](), list[EntryRetirement]()
    for one in state.memory.retired:
        if one.cause != RetirementCause.CONTRADICTED:
            retired.append(one)
    for report, proposal, evidence in _iterate_accepted(state):
        if proposal.kind == "retire":
            retired.append(_build_retirement(state, proposal, evidence))
        else:
            added.append(_build_entry(state, report, proposal, evidence, expire_days))
    gone = {one.entry for one in retired}
    used = tuple(name for name in state.memory.used if name not in gone)
    return GuideChanged(added=tuple(added), retired=tuple(retired), used=used, head=state.head)


def _build_entry(
    state: RunState, report: TaskProposals, proposal: GuideProposal, evidence: EntryEvidence, expire_days: int
) -> GuideEntry:
    started, number = state.run.started_at, report.proposals.index(proposal)
    author = EntryAuthor(run=state.run.run, task=report.task, attempt=report.attempt, number=number)
    return GuideEntry(
        id=build_entry_id(author),
        claim=proposal.claim,
        evidence=evidence,
        scope=proposal.scope,
        author=author,
        added_at=started,
        expires_at=started + timedelta(days=expire_days),
        flags=proposal.flags,
    )


def _build_retirement(state: RunState, proposal: GuideProposal, evidence: EntryEvidence) -> EntryRetirement:
    return EntryRetirement(
        entry=proposal.disputed_entry,
        cause=RetirementCause.CONTRADICTED,
        at=state.run.started_at,
        run=state.run.run,
        evidence=evidence,
        why=proposal.claim,
    )


def _iterate_accepted(state: RunState) -> Iterator[tuple[TaskProposals, GuideProposal, EntryEvidence]]:
    """Yield the proposals that the judge accepted of what has landed, each with evidence that exists by now."""
    for report in state.memory.proposals:
        task = state.tasks.get(report.task)
        accepted = _list_accepted_ids(state, task, report) if task else frozenset()
        for proposal in report.proposals:
            evidence = _settle_evidence(state, task, proposal) if task else None
            if proposal.id in accepted and proposal.refusal is None and evidence is not None:
                yield report, proposal, evidence


def _list_accepted_ids(state: RunState, task: TaskState, report: TaskProposals) -> frozenset[str]:
    """Return what all reviewers of the change accepted, or of a planner's report the judges of the whole."""
    if task.spec.kind != "leaf":
        found = frozenset[str]()
        for verdict in state.goal.iterations:
            found |= frozenset(verdict.accepted)
        return found
    is_landed = task.status == TaskStatus.MERGED and task.attempt is not None and task.attempt.number == report.attempt
    votes = task.verdict.verdict.votes if task.verdict and is_landed else ()
    if not votes:
        return frozenset()
    found = frozenset(votes[0].accepted)
    for vote in votes[1:]:
        found &= frozenset(vote.accepted)
    return found


def _settle_evidence(state: RunState, task: TaskState, proposal: GuideProposal) -> EntryEvidence | None:
    """Return the evidence of a proposal; for its own change the commit by which that landed, None where it did not."""
    if proposal.evidence is None or proposal.evidence.kind != EvidenceKind.OWN_CHANGE:
        return proposal.evidence
    commit = find_landed_commit(state, task)
    if commit is None:
        return None
    return EntryEvidence(kind=EvidenceKind.COMMIT, id=commit)


def find_landed_commit(state: RunState, task: TaskState) -> CommitId | None:
    """Return the commit by which the latest attempt at a task landed."""
    for landing in reversed(state.landings):
        if task.unit in landing.units:
            return landing.new
    return None


def list_open_proposals(state: RunState, tasks: Sequence[TaskId]) -> tuple[GuideProposal, ...]:
    """Return the proposals in the reports of these tasks that a judge has to decide on."""
    found = list[GuideProposal]()
    for report in state.memory.proposals:
        if report.task in tasks:
            found += [proposal for proposal in report.proposals if proposal.refusal is None]
    return tuple(found)


Refresh = Callable[[GuideEntry], GuideEntry]


def build_refresh(now: datetime, expire_days: int) -> Refresh:
    """Return what gives an entry that was used its new term."""

    def refresh_entry(entry: GuideEntry) -> GuideEntry:
        until = max(entry.expires_at, now + timedelta(days=expire_days))
        return entry.model_copy(update={"used_at": max(now, entry.used_at or now), "expires_at": until})

    return refresh_entry
