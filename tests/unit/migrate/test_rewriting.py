"""Built-in rewrites, and what a step is given of a file."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.migration import FileRecord, FileStatus
from orchestrator.migrate.recipe import Step
from orchestrator.migrate.steps.rewriting import start_of, substituted


def rewrite(pattern: str, by: str) -> Step:
    return Step.model_validate({"id": "s", "kind": "rewrite", "pattern": pattern, "rewrite": by})


@pytest.mark.parametrize(
    ("pattern", "by", "before", "after"),
    [
        (r"^old$", "new", b"old\nolder\nold", b"new\nolder\nnew"),
        (r"f\((\w+), (?P<b>\w+)\)", r"g(\g<b>, \1)", b"f(x, y)\r\n", b"g(y, x)\r\n"),
        (r"\bold\b", "", b"an old \xff thing", b"an  \xff thing"),
        ("ä", "ae", "ä\n".encode(), b"ae\n"),
        (r"a\nb", "c", b"a\nb", b"c"),
    ],
)
def test_matches_are_replaced_line_by_line_with_their_groups(
    pattern: str, by: str, before: bytes, after: bytes
) -> None:
    assert substituted(rewrite(pattern, by), before) == after


@given(st.binary())
def test_bytes_that_do_not_match_stay_whatever_they_are(content: bytes) -> None:
    assert substituted(rewrite(r"(?!)", "x"), content) == content


def file(status: FileStatus, **changes: Any) -> FileRecord:
    return FileRecord(path="a", base="base", mode="100644", status=status, **changes)


@pytest.mark.parametrize(
    ("start", "status", "given_blob"),
    [
        ("auto", FileStatus.EJECTED, "failed"),
        ("auto", FileStatus.RESTORED, "base"),
        ("tried", FileStatus.RESTORED, "failed"),
        ("tried", FileStatus.EJECTED, "failed"),
        ("original", FileStatus.EJECTED, "base"),
        ("original", FileStatus.RESTORED, "base"),
    ],
)
def test_a_step_for_failed_files_begins_with_what_failed_or_with_the_original(
    start: str, status: FileStatus, given_blob: str
) -> None:
    step = Step.model_validate({"id": "s", "run": "{files}", "when": "failed", "start": start})
    assert start_of(step, file(status, blob="older", tried="failed")) == given_blob


def test_other_steps_go_on_from_where_the_last_one_left_a_file() -> None:
    step = Step.model_validate({"id": "s", "run": "{files}"})
    assert start_of(step, file(FileStatus.TRANSFORMED, blob="new")) == "new"
    assert start_of(step, file(FileStatus.DISCOVERED, landed="landed")) == "base"
