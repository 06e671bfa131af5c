"""The index of the field guide in a brief: what it holds, in which order, and never more than its budget."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.ids import CommitId, RunId, TaskId
from orchestrator.domain.memory.entry import EntryAuthor, EntryEvidence, EvidenceKind, GuideEntry, NoteKind, RunNote
from orchestrator.memory.index import format_index, format_notes, search_entries

NOW = datetime(2026, 5, 1, tzinfo=UTC)
AUTHOR = EntryAuthor(run=RunId("r"), task=TaskId("t"), attempt=1, number=0)
EVIDENCE = EntryEvidence(kind=EvidenceKind.COMMIT, id=CommitId("a" * 40))


def entry(name: str, claim: str = "totals are cents", **fields: Any) -> GuideEntry:
    """An entry that was added ten days before."""
    usual = {"evidence": EVIDENCE, "author": AUTHOR, "added_at": NOW - timedelta(days=10), "expires_at": NOW}
    return GuideEntry(id=name, claim=claim, **(usual | fields))


def test_an_index_line_holds_id_scope_claim_evidence_and_age() -> None:
    text = format_index([entry("g1", scope="shop/**")], ("shop/cart.py",), 5, NOW)
    assert text == "- g1 [shop/**] totals are cents (commit aaaaaaaaaaaa; 10 days old)"


def test_entries_about_other_paths_are_left_to_the_search_and_pinned_ones_come_first() -> None:
    entries = [
        entry("far", scope="web/**"),
        entry("old"),
        entry("near", scope="shop/**"),
        entry("kept", is_pinned=True),
        entry("new", used_at=NOW),
    ]
    lines = format_index(entries, ("shop/cart.py",), 9, NOW).splitlines()
    assert [line.split()[1] for line in lines[:-1]] == ["kept", "near", "new", "old"]
    assert lines[-1] == "(1 more entry: `search_memory` finds them by their words)"


def test_a_search_finds_what_holds_all_words_in_any_case() -> None:
    entries = [entry("a", "Totals are cents"), entry("b", "totals are floats"), entry("c", "dates", scope="totals/**")]
    assert [one.id for one in search_entries(entries, "TOTALS are", 9)] == ["b", "a"]
    assert [one.id for one in search_entries(entries, "totals", 1)] == ["c"]
    assert search_entries(entries, " ", 9) == []


_ENTRIES = st.lists(
    st.builds(
        entry,
        st.text(min_size=1, max_size=20),
        st.text(max_size=1_000),
        scope=st.sampled_from(["", "shop/**", "a\nb", "x" * 5_000]),
        is_pinned=st.booleans(),
        flags=st.lists(st.text(max_size=400), max_size=3).map(tuple),
    ),
    max_size=12,
)


@given(_ENTRIES, st.lists(st.sampled_from(["shop/a.py", "web/b.py"]), max_size=2), st.integers(0, 12))
def test_no_index_is_longer_than_its_budget_whatever_the_entries_say(
    entries: list[GuideEntry], paths: list[str], max_lines: int
) -> None:
    lines = format_index(entries, paths, max_lines, NOW).splitlines()
    assert len(lines) <= max_lines
    assert all(len(line) <= 1_000 for line in lines)


@given(st.lists(st.text(max_size=2_000), max_size=20), st.integers(0, 9))
def test_no_notes_are_longer_than_their_budget(texts: list[str], max_lines: int) -> None:
    notes = [RunNote(kind=NoteKind.PROGRESS, text=text, task=TaskId("t")) for text in texts]
    lines = format_notes(notes, max_lines).splitlines()
    assert len(lines) <= max_lines
    assert all(len(line) <= 600 for line in lines)


def test_notes_are_told_newest_first() -> None:
    notes = [RunNote(kind=NoteKind.KNOWLEDGE, text=str(number), task=TaskId("t")) for number in range(5)]
    assert format_notes(notes, 3).splitlines() == [
        "- knowledge (t): 4",
        "- knowledge (t): 3",
        "(3 older ones: `recall` finds them)",
    ]
