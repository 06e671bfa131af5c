"""Entries of the field guide: what earlier runs on a repository learnt, with the evidence for it."""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Literal

from pydantic import Field

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import RunId, TaskId

MAX_CLAIM_CHARS = 300
MAX_SCOPE_CHARS = 200
EVERYWHERE = ""
"""The scope of an entry that holds for the whole repository."""
OWN_CHANGE = "change"
"""The word by which a worker names the commit of its own change, once that has landed, as evidence."""


class EntryDraft(FrozenModel):
    """A wish of an agent for an entry. Nothing here is required: a draft that lacks something is refused by itself."""

    claim: str = Field("", description=f"One sentence, at most {MAX_CLAIM_CHARS} characters.")
    evidence: str = Field(
        "", description=f"A receipt, a commit, or `{OWN_CHANGE}` for the commit of your own change once it has landed."
    )
    scope: str = Field("", description="Glob of the files that it is about; empty for the whole repository.")


class EntryObjection(FrozenModel):
    """An agent's word that an entry does not hold, with its evidence."""

    entry: str = Field("", description="The id of the entry.")
    evidence: str = Field("", description="As for `learned`.")
    why: str = Field("", description="What is the case instead.")


class EvidenceKind(StrEnum):
    """receipt: a check that the harness ran. commit: a commit. own-change: a commit that has still to land."""

    RECEIPT = "receipt"
    COMMIT = "commit"
    OWN_CHANGE = "own-change"


class EntryEvidence(FrozenModel):
    """The evidence of an entry: a receipt of `run` by its key, or a commit by its whole id."""

    kind: EvidenceKind
    id: str = ""
    run: RunId | None = None

    @property
    def label(self) -> str:
        """The evidence in a few words."""
        if self.kind == EvidenceKind.RECEIPT:
            return f"receipt {self.id} of run {self.run}"
        if self.kind == EvidenceKind.OWN_CHANGE:
            return "the commit by which the change lands"
        return f"commit {self.id[:12]}"


class EntryAuthor(FrozenModel):
    """The origin of an entry: the report of an attempt (of a planner: of a round) and the place in it, from 0."""

    run: RunId
    task: TaskId
    attempt: int
    number: int


def build_entry_id(author: EntryAuthor) -> str:
    """Return the id of the entry that comes from this place: always the same one."""
    text = f"{author.run}\0{author.task}\0{author.attempt}\0{author.number}"
    return f"g{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def build_proposal_id(author: EntryAuthor) -> str:
    """Return the name by which a judge accepts what a report proposes at this place: `TASK:ATTEMPT:NUMBER`, from 1."""
    return f"{author.task}:{author.attempt}:{author.number + 1}"


class GuideEntry(FrozenModel):
    """One entry of the field guide. `scope` is a glob, empty for the whole repository.

    `used_at` is when a run last said that it used the entry, `flags` what the harness noticed in the claim.
    """

    id: str
    claim: str
    evidence: EntryEvidence
    scope: str = EVERYWHERE
    author: EntryAuthor
    added_at: datetime
    expires_at: datetime
    used_at: datetime | None = None
    is_pinned: bool = False
    flags: tuple[str, ...] = ()


class RetirementCause(StrEnum):
    """The reason why an entry is no longer told to anybody."""

    CONTRADICTED = "contradicted"
    EXPIRED = "expired"
    SCOPE_GONE = "scope-gone"
    EVIDENCE_GONE = "evidence-gone"
    NO_ROOM = "no-room"
    LEFT_BEHIND = "left-behind"
    DROPPED = "dropped"


class EntryRetirement(FrozenModel):
    """The end of an entry: why, when, and for a contradiction by what. `run` is empty where a person dropped it."""

    entry: str
    cause: RetirementCause
    at: datetime
    run: RunId | None = None
    evidence: EntryEvidence | None = None
    why: str = ""


class ProposalRefusal(StrEnum):
    """The reason why a proposal is no candidate for the field guide at all."""

    NO_CLAIM = "no-claim"
    TOO_LONG = "too-long"
    NO_EVIDENCE = "no-evidence"
    UNKNOWN_EVIDENCE = "unknown-evidence"
    BAD_SCOPE = "bad-scope"
    UNKNOWN_ENTRY = "unknown-entry"
    PINNED_ENTRY = "pinned-entry"
    TOO_MANY = "too-many"


class GuideProposal(FrozenModel):
    """What a report proposes: an entry, or that the entry `disputed_entry` does not hold.

    `refusal` tells why nobody is asked about it. `id` is what a judge accepts it by.
    """

    id: str
    kind: Literal["add", "retire"] = "add"
    claim: str = ""
    scope: str = EVERYWHERE
    evidence: EntryEvidence | None = None
    disputed_entry: str = ""
    flags: tuple[str, ...] = ()
    refusal: ProposalRefusal | None = None


class NoteKind(StrEnum):
    """The four kinds of state that a run notes for its later conversations."""

    PROGRESS = "progress"
    KNOWLEDGE = "knowledge"
    ENVIRONMENT = "environment"
    DECISIONS = "decisions"


class RunNote(FrozenModel):
    """A note of an agent for the later conversations of the same run; it never becomes an entry by itself."""

    kind: NoteKind
    text: str
    task: TaskId


class MemoryState(FrozenModel):
    """The part of a run's state that its memory is.

    `guide` are the entries that it was told when it began, `used` the ids of those that its agents named as used.
    `added` and `retired` are what it stands for, `has_changed` tells that it ever stood for anything.
    """

    guide: tuple[GuideEntry, ...] = ()
    proposals: tuple["TaskProposals", ...] = ()
    used: tuple[str, ...] = ()
    added: tuple[GuideEntry, ...] = ()
    retired: tuple[EntryRetirement, ...] = ()
    notes: tuple[RunNote, ...] = ()
    has_changed: bool = False

    def find_entry(self, name: str) -> GuideEntry | None:
        """Return the entry of the guide with this id."""
        for entry in self.guide:
            if entry.id == name:
                return entry
        return None

    def list_proposals(self, task: TaskId, attempt: int) -> Sequence[GuideProposal] | None:
        """Return what the report of an attempt proposes; None where that was not looked at yet."""
        for one in self.proposals:
            if (one.task, one.attempt) == (task, attempt):
                return one.proposals
        return None


class TaskProposals(FrozenModel):
    """The proposals of one report."""

    task: TaskId
    attempt: int
    proposals: tuple[GuideProposal, ...]
