"""`policy check` and `policy explain`, on files of a user and of a project."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from orchestrator.cli.main import cli
from orchestrator.errors import UsageProblem
from tests.running.schemas import problems


@pytest.fixture(autouse=True)
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The place of a user's policy, beside their configuration."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "config" / "orchestrate" / "policy.toml"
    file.parent.mkdir(parents=True)
    return file


def call(*words: str) -> Result:
    return CliRunner().invoke(cli, ["policy", *words])


def test_without_a_file_everything_else_decides() -> None:
    assert "no policy file" in call("check").output
    assert "allow  tool shell" in call("explain", "--role", "worker", "--tool", "shell").output


def test_explain_names_the_rule_and_what_would_count_without_it(user: Path) -> None:
    user.write_text('[[rule]]\neffect = "deny"\nwrites = "src/**"\nreason = "frozen"\n')
    said = call("explain", "--role", "worker", "--tool", "write", "--path", "src/x.py").output
    assert f"deny   write src/x.py\n       by {user}:1 (frozen)\n       without that rule: allow\n" in said


def test_explain_prints_an_object_as_its_schema_says(user: Path) -> None:
    user.write_text('default = "ask"\n[[rule]]\neffect = "deny"\ntiers = 2\nvariants = "cheap"\n')
    words = ("explain", "--role", "worker", "--variant", "cheap", "--tier", "2", "--host", "a.test", "--json")
    found = json.loads(call(*words).output)
    assert problems(found) == []
    assert (found["effect"], [one["effect"] for one in found["decisions"]]) == ("deny", ["deny", "ask"])
    assert found["decisions"][1]["is_default"]


def test_explain_needs_something_to_explain() -> None:
    assert call("explain", "--role", "worker").exit_code == 2


def test_check_names_rules_that_do_nothing_and_exits_with_1(user: Path) -> None:
    user.write_text('[[rule]]\neffect = "deny"\ntools = "shel"\n')
    done = call("check", "--json")
    found = json.loads(done.output)
    assert (done.exit_code, problems(found), found["remarks"][0]["place"]) == (1, [], f"{user}:1")


def test_check_is_content_with_rules_that_do_something(user: Path) -> None:
    user.write_text('[[rule]]\neffect = "deny"\ntools = "shell"\n')
    assert (call("check").exit_code, call("check").output) == (0, f"{user}: 1 rules of the user's, default allow\n")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[[rule]]\neffect = "deny"\ntoools = "shell"\n', ":3: unknown key rule[0].toools; did you mean tools?"),
        ('[[rule]]\neffect = "den"\ntools = "shell"\n', ":2: rule[0].effect: "),
        ('[[rule]]\neffect = "deny"\n', ":1: rule[0]: says of nothing that it is to deny"),
        ('[[rule]]\neffect = "deny"\ntools = "a"\n\n[[rule]\n', "at line 5"),
        (f"x = {'[' * 5000}\n", "nested too deeply"),
        ('[[rule]]\neffect = "deny"\nwrites = "**/a/**/b/**/c/**/d"\n', ":1: rule[0]: "),
        ('[[rule]]\neffect = "deny"\nwrites = "!a"\n', "is no glob"),
        ('[[rule]]\neffect = "deny"\nhosts = "Files.test:443"\n', "lower case, without a port"),
        ('[[rule]]\neffect = "deny"\nwrites = "a"\npaths = "b"\n', "paths narrows tools or mcp"),
        ('[[rule]]\neffect = "deny"\ntools = "a"\n' * 501, "rule: "),
        (f'[[rule]]\neffect = "deny"\nwrites = {["a"] * 400}\n' * 3, "more than 1,000 globs"),
    ],
)
def test_check_refuses_a_broken_file_at_its_line(user: Path, text: str, words: str) -> None:
    user.write_text(text)
    done = call("check")
    assert isinstance(done.exception, UsageProblem)
    assert words in str(done.exception)
