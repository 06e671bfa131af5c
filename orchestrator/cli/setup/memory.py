"""`orchestrate memory`."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import click

from orchestrator.cli.arguments import common_options
from orchestrator.cli.documents import (
    EndedGuideRow,
    GuideRow,
    MemoryDiffDocument,
    MemoryDocument,
    MemoryEntryDocument,
    RefusedGuideRow,
)
from orchestrator.cli.output import print_document
from orchestrator.cli.run_lookup import find_checkout_root, find_run_of_verb, find_state_directory
from orchestrator.domain.memory.entry import EntryRetirement, GuideEntry, MemoryState
from orchestrator.journal.state.derivation import read_state
from orchestrator.memory.guide_document import GuideDocument
from orchestrator.memory.guide_file import GuideFile, require_entry, write_repository_guide


@click.group("memory")
def memory_command() -> None:
    """Show what runs on this repository have learnt, and change it.

    \b
    orchestrate memory list
    orchestrate memory show g1f2e3d4c
    orchestrate memory diff
    orchestrate memory drop g1f2e3d4c
    """


@memory_command.command("list")
@click.option("--ended", is_flag=True, help="The entries that ended, too, and why.")
@common_options
def list_command(ended: bool, repo: Path, state: str, as_json: bool) -> None:
    """List the entries of the field guide.

    \b
    orchestrate memory list
    orchestrate memory list --ended --json
    """
    guide = GuideFile(find_state_directory(repo, state).path)
    _print_guide(guide, as_json, with_ended=ended)


@memory_command.command("show")
@click.argument("entry")
@common_options
def show_command(entry: str, repo: Path, state: str, as_json: bool) -> None:
    """Show one entry: claim, evidence, who learnt it, and when it ends.

    \b
    orchestrate memory show g1f2e3d4c
    """
    guide = GuideFile(find_state_directory(repo, state).path).read_guide()
    require_entry(guide, entry)
    found = [_build_row(one) for one in guide.entries if one.id == entry]
    lines = [f"{key:10} {value}" for key, value in found[0].model_dump().items()]
    print_document(MemoryEntryDocument(entry=found[0]), lines, as_json)


@memory_command.command("diff")
@click.option("--run", default=None, metavar="RUN", help="The run; the latest if not given.")
@common_options
def diff_command(run: str | None, repo: Path, state: str, as_json: bool) -> None:
    """Show what a run added to the field guide, ended and used, and what it proposed in vain.

    \b
    orchestrate memory diff
    orchestrate memory diff --run 20260501-120000-ab12
    """
    directory = find_run_of_verb(run, repo, state)
    memory = read_state(directory.journal).memory
    document = MemoryDiffDocument(
        run=directory.run,
        added=tuple(map(_build_row, memory.added)),
        ended=tuple(map(_build_ended_row, memory.retired)),
        used=memory.used,
        refused=tuple(_iterate_refused(memory)),
    )
    print_document(document, _format_diff(document), as_json)


@memory_command.command("drop")
@click.argument("entry")
@common_options
def drop_command(entry: str, repo: Path, state: str, as_json: bool) -> None:
    """End an entry. It does not come back by itself; runs that began before go on with what they were told.

    \b
    orchestrate memory drop g1f2e3d4c
    """
    guide = GuideFile(find_state_directory(repo, state).path)
    guide.drop_entry(entry, datetime.now(UTC))
    _print_guide(guide, as_json)


@memory_command.command("pin")
@click.argument("entry")
@click.option("--off", is_flag=True, help="Let it end again as others do.")
@common_options
def pin_command(entry: str, off: bool, repo: Path, state: str, as_json: bool) -> None:
    """Keep an entry: it stands first in briefs, and neither time nor a run ends it.

    \b
    orchestrate memory pin g1f2e3d4c
    orchestrate memory pin g1f2e3d4c --off
    """
    guide = GuideFile(find_state_directory(repo, state).path)
    guide.pin_entry(entry, is_pinned=not off)
    _print_guide(guide, as_json)


@memory_command.command("write")
@common_options
def write_command(repo: Path, state: str, as_json: bool) -> None:
    """Write the field guide into the repository, for you to review and commit.

    With place = "repository" under [memory] runs are told only what is committed there.

    \b
    orchestrate memory write && git diff .orchestrate
    """
    root, guide = find_checkout_root(repo), GuideFile(find_state_directory(repo, state).path)
    write_repository_guide(root, guide)
    _print_guide(guide, as_json)


def _print_guide(file: GuideFile, as_json: bool, *, with_ended: bool = False) -> None:
    guide = file.read_guide()
    document = MemoryDocument(
        place=str(file.path),
        entries=tuple(map(_build_row, guide.entries)),
        ended=tuple(map(_build_ended_row, guide.ended)),
    )
    print_document(document, _format_guide(document, guide, with_ended=with_ended), as_json)


def _format_guide(document: MemoryDocument, guide: GuideDocument, *, with_ended: bool) -> Iterator[str]:
    if not guide.entries:
        yield "The field guide has no entry: runs add what their judges accept."
    for row in document.entries:
        yield _format_row(row)
    if with_ended:
        for ended in document.ended:
            yield _format_ended_row(ended)


def _format_row(row: GuideRow) -> str:
    pinned = ", pinned" if row.pinned else ""
    return f"{row.id}  [{row.scope or 'everywhere'}] {row.claim} ({row.evidence}{pinned})"


def _format_ended_row(row: EndedGuideRow) -> str:
    why = f": {row.why}" if row.why else ""
    return f"{row.id}  ended, {row.cause}{why}"


def _format_diff(document: MemoryDiffDocument) -> Iterator[str]:
    for row in document.added:
        yield f"+ {_format_row(row)}"
    for ended in document.ended:
        yield f"- {_format_ended_row(ended)}"
    for name in document.used:
        yield f"  {name}  used"
    for refused in document.refused:
        yield f"  {refused.id}  refused, {refused.reason}: {refused.claim}"
    if not (document.added or document.ended or document.used or document.refused):
        yield "The run changed nothing in the field guide."


def _build_row(entry: GuideEntry) -> GuideRow:
    return GuideRow(
        id=entry.id,
        claim=entry.claim,
        scope=entry.scope,
        evidence=entry.evidence.label,
        run=entry.author.run,
        task=entry.author.task,
        attempt=entry.author.attempt,
        added_at=entry.added_at.isoformat(),
        used_at=entry.used_at.isoformat() if entry.used_at else None,
        expires_at=entry.expires_at.isoformat(),
        pinned=entry.is_pinned,
        flags=entry.flags,
    )


def _build_ended_row(one: EntryRetirement) -> EndedGuideRow:
    evidence = one.evidence.label if one.evidence else ""
    return EndedGuideRow(
        id=one.entry, cause=one.cause, at=one.at.isoformat(), run=one.run or "", evidence=evidence, why=one.why
    )


def _iterate_refused(memory: MemoryState) -> Iterator[RefusedGuideRow]:
    places = {(entry.author.task, entry.author.attempt, entry.author.number) for entry in memory.added}
    disputed = {one.entry for one in memory.retired}
    for report in memory.proposals:
        for number, proposal in enumerate(report.proposals):
            is_in = (report.task, report.attempt, number) in places or proposal.disputed_entry in disputed
            if proposal.refusal is not None or not is_in:
                reason = proposal.refusal or "not-accepted"
                yield RefusedGuideRow(id=proposal.id, claim=proposal.claim, reason=str(reason))
