"""Markers of a merge conflict in a change: the harness's own are red, others are told."""

import pytest

from orchestrator.domain.judging.verdict import RuleId
from orchestrator.judge.files.changed_file import AddedLine, ChangedFile
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.rules.registry import list_findings

SAMPLE = "<<<<<<< HEAD\na\n=======\nb\n>>>>>>> topic"


def find_markers(text: str, before: bytes | None = None) -> list[tuple[bool, int | None]]:
    """Return for each finding about a file with these lines if it blocks, and its line."""
    lines = tuple(AddedLine("notes.md", number, line) for number, line in enumerate(text.split("\n"), start=1))
    facts = ChangeFacts(files=(ChangedFile("notes.md", before, text.encode(), "100644", "100644"),), lines=lines)
    return [(finding.is_blocking, finding.line) for finding in list_findings(RuleId.CONFLICT_MARKER, facts)]


@pytest.mark.parametrize(
    "marker",
    ["<<<<<<< what landed meanwhile", "||||||| as it was before both", ">>>>>>> what this task changed"],
)
def test_a_single_marker_of_the_harness_is_red_also_among_samples(marker: str) -> None:
    assert find_markers(f"a\n{marker}\nb") == [(True, 2)]
    assert find_markers(f"{SAMPLE}\n{marker}", before=SAMPLE.encode()) == [(True, 6)]


def test_another_whole_conflict_is_told_unless_the_file_held_one_before() -> None:
    assert find_markers(f"a\n{SAMPLE}") == [(False, 2)]
    assert find_markers(f"a\n{SAMPLE}", before=f"{SAMPLE}\n".encode()) == []
    assert find_markers("Title\n=======\ntext") == []
