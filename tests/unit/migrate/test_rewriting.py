"""Built-in rewrites, and what a step is given of a file."""

import json
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.domain.recipe.step import CommandStep, RewriteStep
from orchestrator.migrate.sites import regex, regex_worker
from orchestrator.migrate.sites.regex_worker import replace_matches
from orchestrator.migrate.steps.step_executor import choose_step_blob


def rewrite(pattern: str, by: str) -> RewriteStep:
    return RewriteStep.model_validate({"id": "s", "kind": "rewrite", "pattern": pattern, "rewrite": by})


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
    assert replace_matches(pattern, by, before) == after


@given(st.binary())
def test_bytes_that_do_not_match_stay_whatever_they_are(content: bytes) -> None:
    assert replace_matches(r"(?!)", "x", content) == content


async def test_a_pattern_that_never_ends_costs_only_the_content_it_never_ends_on() -> None:
    endless = b"a" * 50 + b"!"
    contents = [b"aa", endless, b"\xff aa", endless]
    assert await regex.replace_matches("(a+)+$", "b", contents, 0.5) == [b"b", None, b"\xff b", None]
    assert await regex.find_matches("(a+)+$", contents[:3], 0.5) == [[(1, 1)], None, [(1, 3)]]


@pytest.mark.parametrize("by", [r"\2", r"\q", r"\g<other>"])
def test_what_cannot_stand_for_a_match_is_refused_before_anything_runs(by: str) -> None:
    with pytest.raises(ValidationError, match="rewrite does not fit the pattern"):
        rewrite(r"(?i)(?P<name>old)", by)
    assert rewrite(r"(?i)(?P<name>old)(x)?", r"\2 \1 \g<name> \n").kind == "rewrite"


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
    step = CommandStep.model_validate({"id": "s", "run": "{files}", "when": "failed", "start": start})
    assert choose_step_blob(step, file(status, blob="older", tried="failed")) == given_blob


def test_other_steps_go_on_from_where_the_last_one_left_a_file() -> None:
    step = CommandStep.model_validate({"id": "s", "run": "{files}"})
    assert choose_step_blob(step, file(FileStatus.TRANSFORMED, blob="new")) == "new"
    assert choose_step_blob(step, file(FileStatus.DISCOVERED, landed="landed")) == "base"


def test_a_limit_of_memory_that_the_user_has_set_is_kept() -> None:
    asked = {"pattern": "b", "rewrite": None, "timeout_s": 5, "contents": ["a\nb\n"]}
    command = f'ulimit -v 2000000 && exec "{sys.executable}" -I "{regex_worker.__file__}"'
    done = subprocess.run(["bash", "-c", command], input=json.dumps(asked), capture_output=True, text=True, check=False)
    assert (json.loads(done.stdout), done.stderr) == ([[2, 1]], "")
