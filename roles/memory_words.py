"""The words of memory in briefs: the index of the field guide, what can be evidence, notes, and proposals to decide."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from orchestrator.agent.brief_room import find_brief_room, is_too_narrow
from orchestrator.agent.session_spec import SessionSpec, index_tools
from orchestrator.agent.tools.base import AnyTool
from orchestrator.agent.tools.memory import build_note_tool, build_search_memory_tool
from orchestrator.config.sections.memory import MemorySettings
from orchestrator.domain.ids import TaskId
from orchestrator.domain.judging.check import Receipt
from orchestrator.domain.memory.entry import OWN_CHANGE, GuideProposal
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.memory.index import format_entry, format_index, format_notes, keep_first_lines, search_entries
from orchestrator.ports.ledger import Ledger
from prompts import PromptSource, fence_text

MEMORY_PROMPTS = frozenset({"field-guide", "evidence-names", "run-notes", "guide-proposals"})
"""The prompts of memory."""
_TOLD_ROLES = frozenset({"planner", "worker", "arbiter", "judge"})
"""A verifier writes tests from a task alone, and is told nothing that agents said."""
_REPORTING_ROLES = frozenset({"planner", "worker", "arbiter"})
_NOTED_ROLES = frozenset({"planner", "worker", "arbiter"})
_MAX_RECEIPTS = 6
_NOTES_SHARE = 1 / 3
_EVIDENCE_SHARE = 1 / 8
"""Shares of the room of memory that notes and the names of evidence may take; the field guide has the rest."""
_MAX_LINE_CHARS = 300


def add_memory_words(
    spec: SessionSpec, ledger: Ledger, prompts: PromptSource, settings: MemorySettings, more: Sequence[str]
) -> SessionSpec:
    """Return a conversation whose brief begins with what its role is told from memory, and that can search the rest.

    The index is about the paths of its task and `more`. A conversation that goes on from another has heard it, and in
    a window that instructions and tools nearly fill there is only the search.
    """
    if spec.role not in _TOLD_ROLES:
        return spec
    if ledger.state.memory.guide:
        spec = replace(spec, tools={**spec.tools, **index_tools(_build_search_tool(ledger))})
    if spec.continues is not None or is_too_narrow(spec.context_tokens, spec.fixed_chars):
        return spec
    parts = _iterate_parts(spec, ledger, prompts, settings, more)
    return replace(spec, brief="\n".join((*parts, spec.brief)))


def _iterate_parts(
    spec: SessionSpec, ledger: Ledger, prompts: PromptSource, settings: MemorySettings, more: Sequence[str]
) -> Iterator[str]:
    state = ledger.state
    task = state.tasks.get(spec.task)
    paths = (*task.spec.paths, *more) if task else tuple(more)
    room = find_brief_room(spec.context_tokens, spec.fixed_chars).memory
    notes = format_notes(state.memory.notes, settings.note_lines, int(room * _NOTES_SHARE))
    left = int(room * (1 - _EVIDENCE_SHARE)) - (len(notes) if spec.role in _NOTED_ROLES else 0)
    guide = format_index(state.memory.guide, paths, settings.max_lines, state.run.started_at, left)
    if guide:
        yield prompts.load_prompt("field-guide").render_text(guide=fence_text("field-guide", guide))
    if spec.role in _NOTED_ROLES and notes:
        yield prompts.load_prompt("run-notes").render_text(notes=fence_text("run-notes", notes))
    if spec.role in _REPORTING_ROLES:
        lines = "\n".join(_list_evidence_lines(spec, ledger, int(room * _EVIDENCE_SHARE)))
        yield prompts.load_prompt("evidence-names").render_text(evidence=fence_text("evidence-names", lines))


def _list_evidence_lines(spec: SessionSpec, ledger: Ledger, max_chars: int) -> list[str]:
    """Return what can be evidence, a line each; of receipts as many as so many characters hold."""
    state = ledger.state
    lines = [f"- {state.run.base[:12]}: the commit that this run began from"]
    if spec.role != "planner":
        lines.append(f"- {OWN_CHANGE}: your own change, once it has landed")
    shown = []
    for receipt in _list_baseline_receipts(spec, state)[:_MAX_RECEIPTS]:
        line = f"- {receipt.key}: `{receipt.command}` on that commit: {receipt.outcome_text}"
        shown.append(to_one_line(line, _MAX_LINE_CHARS))
    return [*lines, *keep_first_lines(shown, max_chars)]


def _list_baseline_receipts(spec: SessionSpec, state: RunState) -> list[Receipt]:
    """Return what the gates said about the base; for a planner, only if its round began after they had said it.

    A first round begins beside them. Its brief would depend on which of the two is faster, and so would a replay of it.
    """
    task = state.tasks.get(spec.task)
    if spec.role == "planner" and task is not None and not task.began_with_baseline:
        return []
    return list(state.get_baseline_receipts().values())


def build_memory_tools(ledger: Ledger, task: TaskId, settings: MemorySettings) -> list[AnyTool]:
    """Return the tool for notes, where there is room for notes in briefs."""
    if settings.place == "off" or settings.note_lines < 1:
        return []
    return [build_note_tool(ledger, task)]


def _build_search_tool(ledger: Ledger) -> AnyTool:
    def search_guide(words: str, limit: int) -> Sequence[str]:
        now = ledger.state.run.started_at
        return [format_entry(entry, now) for entry in search_entries(ledger.state.memory.guide, words, limit)]

    return build_search_memory_tool(search_guide)


def add_proposals(brief: str, proposals: Sequence[GuideProposal], prompts: PromptSource) -> str:
    """Return a judge's brief with the proposals that it decides on at its end, fenced as data."""
    if not proposals:
        return brief
    lines = fence_text("proposals", "\n".join(map(_format_proposal, proposals)))
    words = prompts.load_prompt("guide-proposals").render_text(proposals=lines)
    return f"{brief.rstrip()}\n\n{words}"


def _format_proposal(proposal: GuideProposal) -> str:
    evidence = proposal.evidence.label if proposal.evidence else "none"
    noticed = f" [the harness noticed: {'; '.join(proposal.flags)}]" if proposal.flags else ""
    if proposal.kind == "retire":
        return f"- {proposal.id}: entry {proposal.disputed_entry} does not hold: {proposal.claim} ({evidence}){noticed}"
    return f"- {proposal.id} [{proposal.scope or 'everywhere'}]: {proposal.claim} ({evidence}){noticed}"
