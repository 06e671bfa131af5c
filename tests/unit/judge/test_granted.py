"""What would block and does not because the plan granted it is told as granted, and nothing else is."""

import pytest

from orchestrator.judge.files.changed_file import ChangedFile
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.rules.registry import check_change
from orchestrator.judge.source.python_syntax import MAX_TREE_DEPTH
from tests.unit.judge.changes import added, changed

TOKEN = "ghp_" + "a1B2c3D4e5" * 4
DEEP = f"x = {'-' * MAX_TREE_DEPTH}1\n"
CASES = {
    "forgery": changed("src/app.py", "x = 1\n", "import os\nos._exit(0)\n"),
    "credential": changed("src/app.py", "x = 1\n", f"T = '{TOKEN}'\n"),
    "unreadable": changed("src/app.py", "x = 1\n", DEEP),
}


def seen(rule: str, file: ChangedFile, *grants: str) -> list[tuple[bool, bool]]:
    """Of each finding of a rule: whether it blocks, and whether it was granted."""
    lines = added(file.path, (file.after or b"").decode())
    return [
        (one.is_blocking, one.is_granted)
        for one in check_change(ChangeFacts([file], lines, grants=grants))
        if one.rule == rule
    ]


@pytest.mark.parametrize("rule", CASES)
def test_what_blocks_does_so_unless_its_file_was_granted_which_is_told(rule: str) -> None:
    assert seen(rule, CASES[rule]) == [(True, False)]
    assert seen(rule, CASES[rule], "src/*.py") == [(False, True)]


def test_a_sample_of_a_token_was_granted_by_nobody() -> None:
    assert seen("credential", changed("tests/test_app.py", None, TOKEN), "tests/**") == [(False, False)]
