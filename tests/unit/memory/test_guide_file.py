"""The file of a field guide: two runs at once, the same changes twice, ends of entries, and damage."""

import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.event.memory import GuideChanged
from orchestrator.domain.ids import CommitId, RunId, TaskId
from orchestrator.domain.memory.entry import (
    EntryAuthor,
    EntryEvidence,
    EntryRetirement,
    EvidenceKind,
    GuideEntry,
    RetirementCause,
    build_entry_id,
)
from orchestrator.errors import EnvironmentProblem, RunTakenOver, UsageProblem
from orchestrator.memory.guide_document import GuideDocument, format_guide, parse_guide
from orchestrator.memory.guide_file import REPOSITORY_FILE, GuideFile, write_repository_guide
from orchestrator.memory.lifecycle import find_retirement_cause
from tests.unit.memory.test_index import NOW, entry


def learn(run: str, number: int, **fields: Any) -> GuideEntry:
    """An entry of a run, by its place in the report."""
    author = EntryAuthor(run=RunId(run), task=TaskId("t"), attempt=1, number=number)
    usual = {"claim": f"{run} {number}", "expires_at": NOW + timedelta(days=90), "added_at": NOW}
    return entry(build_entry_id(author), author=author, **(usual | fields))


def list_claims(guide: GuideFile) -> list[str]:
    return sorted(one.claim for one in guide.read_guide().entries)


async def test_changes_that_come_twice_are_the_same_as_once(tmp_path: Path) -> None:
    guide, changes = GuideFile(tmp_path), GuideChanged(added=(learn("r", 0), learn("r", 1)))
    await guide.write_changes(RunId("r"), changes, NOW)
    first = guide.path.read_bytes()
    await guide.write_changes(RunId("r"), changes, NOW)
    assert guide.path.read_bytes() == first
    assert list_claims(guide) == ["r 0", "r 1"]


def test_of_many_runs_that_write_at_once_nothing_is_lost(tmp_path: Path) -> None:
    def write(run: str) -> None:
        import anyio

        async def main() -> None:
            for count in range(1, 4):
                changes = GuideChanged(added=tuple(learn(run, number) for number in range(count)))
                await GuideFile(tmp_path).write_changes(RunId(run), changes, NOW)

        anyio.run(main)

    threads = [threading.Thread(target=write, args=(f"r{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list_claims(GuideFile(tmp_path)) == [f"r{run} {number}" for run in range(4) for number in range(3)]


async def test_what_a_run_does_not_stand_for_any_more_goes_and_may_come_back(tmp_path: Path) -> None:
    guide, run = GuideFile(tmp_path), RunId("r")
    await guide.write_changes(run, GuideChanged(added=(learn("r", 0),)), NOW)
    await guide.write_changes(run, GuideChanged(), NOW)
    assert list_claims(guide) == []
    await guide.write_changes(run, GuideChanged(added=(learn("r", 0),)), NOW)
    assert list_claims(guide) == ["r 0"]


async def test_an_entry_that_a_person_dropped_does_not_come_back_and_a_pinned_one_stays(tmp_path: Path) -> None:
    guide, run = GuideFile(tmp_path), RunId("r")
    changes = GuideChanged(added=(learn("r", 0), learn("r", 1)))
    await guide.write_changes(run, changes, NOW)
    guide.drop_entry(learn("r", 0).id, NOW)
    guide.pin_entry(learn("r", 1).id)
    contradiction = EntryRetirement(entry=learn("r", 1).id, cause=RetirementCause.CONTRADICTED, at=NOW)
    await guide.write_changes(RunId("s"), GuideChanged(retired=(contradiction,)), NOW)
    await guide.write_changes(run, changes, NOW)
    assert list_claims(guide) == ["r 1"]
    with pytest.raises(UsageProblem, match="it has ended"):
        guide.drop_entry(learn("r", 0).id, NOW)


async def test_an_entry_that_was_used_lives_on_and_what_was_used_longest_ago_makes_room(tmp_path: Path) -> None:
    guide = GuideFile(tmp_path, expire_days=90, max_entries=2)
    await guide.write_changes(RunId("r"), GuideChanged(added=(learn("r", 0), learn("r", 1))), NOW)
    later = NOW + timedelta(days=5)
    added = learn("s", 0, added_at=later, expires_at=later + timedelta(days=90))
    await guide.write_changes(RunId("s"), GuideChanged(added=(added,), used=(learn("r", 0).id,)), later)
    assert list_claims(guide) == ["r 0", "s 0"]
    [used] = [one for one in guide.read_guide().entries if one.claim == "r 0"]
    assert (used.used_at, used.expires_at) == (later, later + timedelta(days=90))
    assert [one.cause for one in guide.read_guide().ended] == [RetirementCause.NO_ROOM]


async def test_the_same_claim_of_two_runs_is_one_entry(tmp_path: Path) -> None:
    guide = GuideFile(tmp_path)
    for run in ("r", "s"):
        await guide.write_changes(RunId(run), GuideChanged(added=(learn(run, 0, claim="same"),)), NOW)
    assert list_claims(guide) == ["same"]


async def test_a_run_that_another_process_took_over_changes_nothing_in_the_guide(tmp_path: Path) -> None:
    def refuse_writer() -> None:
        raise RunTakenOver("another process took over")

    other, run = GuideFile(tmp_path), RunId("r")
    await other.write_changes(run, GuideChanged(added=(learn("r", 0), learn("r", 1))), NOW)
    slept = GuideFile(tmp_path, require_writer=refuse_writer)
    with pytest.raises(RunTakenOver):
        await slept.write_changes(run, GuideChanged(added=(learn("r", 0),)), NOW)
    assert list_claims(other) == ["r 0", "r 1"]


def test_the_next_who_writes_removes_what_a_process_left_that_died_before_its_rename(tmp_path: Path) -> None:
    left, foreign = tmp_path / ".field-guide-0a.draft", tmp_path / ".another.draft"
    for path in (left, foreign):
        path.write_text("[[ent")
    guide = GuideFile(tmp_path)
    guide.merge_guide(GuideDocument(entries=(learn("r", 0),)))
    assert (left.exists(), foreign.exists()) == (False, True)
    assert list_claims(guide) == ["r 0"]


@pytest.mark.parametrize(
    ("fields", "cause"),
    [
        ({}, None),
        ({"expires_at": NOW}, RetirementCause.EXPIRED),
        ({"expires_at": NOW, "is_pinned": True}, None),
        ({"scope": "shop/**"}, None),
        ({"scope": "gone/**"}, RetirementCause.SCOPE_GONE),
        ({"evidence": EntryEvidence(kind=EvidenceKind.COMMIT, id="lost")}, RetirementCause.EVIDENCE_GONE),
    ],
)
def test_an_entry_ends_when_nothing_holds_it_up(fields: dict[str, Any], cause: RetirementCause | None) -> None:
    assert find_retirement_cause(learn("r", 0, **fields), NOW, ("shop/cart.py",), {"lost"}) == cause


def test_a_damaged_guide_is_named_and_left_alone(tmp_path: Path) -> None:
    guide = GuideFile(tmp_path)
    guide.path.write_text("[[entry]]\nid = 3\n")
    with pytest.raises(EnvironmentProblem, match="move it away"):
        guide.drop_entry("x", NOW)
    assert guide.path.read_text() == "[[entry]]\nid = 3\n"


def test_the_guide_in_a_checkout_gets_what_is_new_and_loses_what_ended(tmp_path: Path) -> None:
    mine, theirs, root = GuideFile(tmp_path / "mine"), GuideFile(tmp_path / "theirs"), tmp_path / "checkout"
    root.mkdir()
    mine.merge_guide(GuideDocument(entries=(learn("r", 0), learn("r", 1))))
    path = write_repository_guide(root, mine)
    theirs.merge_guide(GuideDocument(entries=(learn("s", 0),)))
    assert write_repository_guide(root, theirs) == path
    assert list_claims(theirs) == ["r 0", "r 1", "s 0"]
    mine.drop_entry(learn("r", 0).id, NOW)
    write_repository_guide(root, mine)
    write_repository_guide(root, theirs)
    assert sorted(one.claim for one in parse_guide(path.read_bytes()).entries) == ["r 1", "s 0"]


def test_a_guide_in_a_checkout_that_is_a_link_is_not_written(tmp_path: Path) -> None:
    (tmp_path / ".orchestrate").mkdir()
    (tmp_path / REPOSITORY_FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(EnvironmentProblem, match="it is a link"):
        write_repository_guide(tmp_path, GuideFile(tmp_path / "state"))


_WORDS = st.text(st.characters(exclude_categories=("Cs",)), max_size=50)


@given(st.lists(st.builds(entry, _WORDS, _WORDS, scope=_WORDS, flags=st.lists(_WORDS, max_size=2).map(tuple))))
def test_what_is_written_is_what_is_read(entries: list[GuideEntry]) -> None:
    ended = EntryRetirement(entry="g", cause=RetirementCause.DROPPED, at=NOW, evidence=entry("x").evidence, why='"\\')
    guide = GuideDocument(entries=tuple(sorted(entries, key=lambda one: one.id)), ended=(ended,))
    assert parse_guide(format_guide(guide)) == guide
    assert CommitId("a" * 40) in format_guide(guide).decode()
