"""Proposals for the field guide: what the typed fields of a report ask for, and why some of it is refused by rule."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from orchestrator.domain.ids import RunId
from orchestrator.domain.memory.entry import (
    MAX_CLAIM_CHARS,
    MAX_SCOPE_CHARS,
    OWN_CHANGE,
    EntryAuthor,
    EntryDraft,
    EntryEvidence,
    EntryObjection,
    EvidenceKind,
    GuideEntry,
    GuideProposal,
    ProposalRefusal,
    build_proposal_id,
)
from orchestrator.domain.paths.globs import is_glob
from orchestrator.domain.run.task import Handoff
from orchestrator.domain.text.lazy_pattern import compile_lazily
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.judge.source.reviewer_addresses import (
    addresses_reviewers,
    escape_hidden_text,
    find_hidden_character,
)

MAX_PROPOSALS = 8
"""So many proposals of one report are looked at; the rest is refused."""
_LINK = compile_lazily(r"(?:https?|ftp|ssh)://|\bwww\.")
_ORDER = compile_lazily(r"(?i)\b(?:ignore|disregard|always approve|never report|do not tell|add to the field guide)\b")
_SHOWN_CHARS = 1_000


@dataclass(frozen=True)
class KnownEvidence:
    """What can be evidence: the receipts of `run` by key, the commits by the words that name them, its own change.

    `has_change` tells whether a commit follows from the report.
    """

    run: RunId
    receipts: frozenset[str]
    commits: Mapping[str, str]
    has_change: bool

    def find_evidence(self, text: str) -> EntryEvidence | ProposalRefusal:
        """Return the evidence that a text names, or why it names none."""
        name = text.strip()
        if not name:
            return ProposalRefusal.NO_EVIDENCE
        if name == OWN_CHANGE and self.has_change:
            return EntryEvidence(kind=EvidenceKind.OWN_CHANGE)
        if name in self.receipts:
            return EntryEvidence(kind=EvidenceKind.RECEIPT, id=name, run=self.run)
        if name in self.commits:
            return EntryEvidence(kind=EvidenceKind.COMMIT, id=self.commits[name])
        return ProposalRefusal.UNKNOWN_EVIDENCE


def list_named_evidence(handoff: Handoff) -> tuple[str, ...]:
    """Return the words by which a report names evidence, each once."""
    named = [draft.evidence.strip() for draft in handoff.learned]
    named += [objection.evidence.strip() for objection in handoff.contradicted]
    return tuple(dict.fromkeys(filter(None, named)))


def build_proposals(
    handoff: Handoff, author: EntryAuthor, known: KnownEvidence, guide: Sequence[GuideEntry]
) -> tuple[GuideProposal, ...]:
    """Return what a report proposes, each with the reason why nobody is asked about it, if there is one.

    `author` is the origin of the first proposal; the others count on from it.
    """
    found = list[GuideProposal]()
    by_id = {entry.id: entry for entry in guide}
    items: tuple[EntryDraft | EntryObjection, ...] = (*handoff.learned, *handoff.contradicted)
    for number, item in enumerate(items):
        name = build_proposal_id(author.model_copy(update={"number": number}))
        if isinstance(item, EntryDraft):
            proposal = _propose_entry(name, item, known)
        else:
            proposal = _propose_retirement(name, item, known, by_id)
        if number >= MAX_PROPOSALS:
            proposal = proposal.model_copy(update={"refusal": ProposalRefusal.TOO_MANY})
        found.append(proposal)
    return tuple(found)


def clean_claim(text: str) -> str:
    """Return a claim as it may be kept and shown: one line, with what a reader does not see spelt out."""
    return to_one_line(escape_hidden_text(" ".join(text.split())), _SHOWN_CHARS)


def list_claim_flags(text: str) -> tuple[str, ...]:
    """Return what a judge should know of a claim before accepting it."""
    return tuple(_iterate_flags(text))


def _iterate_flags(text: str) -> Iterator[str]:
    visible = " ".join(text.split())
    if find_hidden_character(visible) is not None:
        yield "holds characters that a reader does not see"
    if addresses_reviewers(text) or _ORDER.search(text):
        yield "speaks to agents instead of stating a fact"
    if _LINK.search(text):
        yield "links out of the repository"


def _propose_entry(name: str, draft: EntryDraft, known: KnownEvidence) -> GuideProposal:
    claim, evidence = clean_claim(draft.claim), known.find_evidence(draft.evidence)
    scope = draft.scope.strip()
    refusal: ProposalRefusal | None = None
    if not claim:
        refusal = ProposalRefusal.NO_CLAIM
    elif len(claim) > MAX_CLAIM_CHARS:
        refusal = ProposalRefusal.TOO_LONG
    elif isinstance(evidence, ProposalRefusal):
        refusal = evidence
    elif scope and (len(scope) > MAX_SCOPE_CHARS or not scope.isprintable() or not is_glob(scope)):
        refusal = ProposalRefusal.BAD_SCOPE
    return GuideProposal(
        id=name,
        claim=claim[:MAX_CLAIM_CHARS],
        scope=to_one_line(scope, MAX_SCOPE_CHARS),
        evidence=evidence if isinstance(evidence, EntryEvidence) else None,
        flags=list_claim_flags(draft.claim),
        refusal=refusal,
    )


def _propose_retirement(
    name: str, objection: EntryObjection, known: KnownEvidence, guide: Mapping[str, GuideEntry]
) -> GuideProposal:
    evidence, entry = known.find_evidence(objection.evidence), guide.get(objection.entry.strip())
    refusal: ProposalRefusal | None = None
    if entry is None:
        refusal = ProposalRefusal.UNKNOWN_ENTRY
    elif entry.is_pinned:
        refusal = ProposalRefusal.PINNED_ENTRY
    elif isinstance(evidence, ProposalRefusal):
        refusal = evidence
    return GuideProposal(
        id=name,
        kind="retire",
        claim=clean_claim(objection.why)[:MAX_CLAIM_CHARS],
        evidence=evidence if isinstance(evidence, EntryEvidence) else None,
        disputed_entry=entry.id if entry else "",
        flags=list_claim_flags(objection.why),
        refusal=refusal,
    )
