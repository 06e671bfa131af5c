"""What the command line prints cannot steer a terminal, and errors are one clear line."""

import errno
import json

import pytest

from orchestrator.cli import output
from orchestrator.cli.output import convert_to_user_error, format_json, print_crash, print_lines, print_message
from orchestrator.errors import EnvironmentProblem, UsageProblem
from worktrees.errors import GitError

ODD = "a\x7f\x1b[31m\x9b1m\u202eb\x07\udcff\U000e0041"


def test_json_is_the_same_object_with_what_cannot_be_seen_escaped() -> None:
    text = format_json({"name": f"\u00fc\u4e2d{ODD}\n"}, indent=1)
    assert json.loads(text) == {"name": f"\u00fc\u4e2d{ODD}\n"}
    assert "\u00fc\u4e2d" in text
    assert text.replace("\n", "").isprintable()


def test_lines_lose_their_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    print_lines([ODD, "two\tcolumns"])
    print_message(ODD)
    assert capsys.readouterr() == ("a[31m1mb\ntwo\tcolumns\n", "a[31m1mb\n")


def test_errors_that_a_user_can_mend_are_told_and_others_are_not() -> None:
    usage = UsageProblem("x")
    assert convert_to_user_error(usage) is usage
    git = convert_to_user_error(GitError("git broke"))
    assert isinstance(git, EnvironmentProblem)
    denied = convert_to_user_error(PermissionError(errno.EACCES, "Permission denied", "/state/runs"))
    assert (str(denied), denied and denied.exit_code) == ("/state/runs: Permission denied", 7)
    assert convert_to_user_error(ValueError("a mistake of ours")) is None


def test_an_error_that_quotes_a_secret_is_said_without_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "k7x-Vb7xWp-Tq93")
    output._load_redactor.cache_clear()
    try:
        print_message("error: invalid key k7x-Vb7xWp-Tq93")
        print_crash(ValueError, ValueError("no: k7x-Vb7xWp-Tq93"), None)
    finally:
        output._load_redactor.cache_clear()
    said = capsys.readouterr().err
    assert said.splitlines()[0] == "error: invalid key [redacted:SOME_API_KEY]"
    assert "Vb7x" not in said and "ValueError: no:" in said
