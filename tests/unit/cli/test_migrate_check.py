"""`orchestrate migrate check`: a ratchet for CI, in real repositories."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from orchestrator.cli.main import cli
from orchestrator.errors import UsageProblem
from tests.running.projects import git, repository

RECIPE = """
schema = 1
[migration]
id = "words"
[scope]
include = ["*.py"]
exclude = ["vendor/"]
max_file_kb = 1
[[scope.site]]
id = "old"
pattern = 'old\\('
[[scope.site]]
id = "older"
pattern = 'older\\('
target = 1
[[step]]
id = "s"
run = "true {files}"
[[verify.check]]
id = "t"
run = "true"
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two sites of kind `old`, one of `older`, and much that does not count."""
    (tmp_path / "recipe.toml").write_text(RECIPE)
    return repository(
        tmp_path / "repo",
        {
            "a.py": "é = old(1)\n\nx = old(2)\n",
            "b.py": "older(1)\n",
            "vendor/c.py": "old(3)\n",
            "d.txt": "old(4)\n",
            "large.py": "old(5)\n" + "#" * 2_000,
        },
    )


def check(root: Path, *words: str, **env: str | None) -> Result:
    recipe = str(root.parent / "recipe.toml")
    called = ["migrate", "check", recipe, "--repo", str(root), *words]
    return CliRunner().invoke(cli, called, env={"GITHUB_ACTIONS": None} | env)


def commit(root: Path, **files: str) -> None:
    for name, content in files.items():
        (root / f"{name}.py").write_text(content)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "more")


def report(root: Path, *words: str) -> Any:
    return json.loads(check(root, "--json", *words).stdout)


def test_more_sites_than_a_target_fail_and_each_is_named_with_its_line(root: Path) -> None:
    done = check(root)
    assert done.exit_code == 3
    assert done.stdout.splitlines() == [
        "a.py:1:5: old: é = old(1)",
        "a.py:3:5: old: x = old(2)",
        "note: large.py was not looked at: larger than max_file_kb = 1",
        "old: 2 found, 0 allowed",
        "older: 1 found, 1 allowed",
        f"3 sites (1 allowed) in 3 files at {git(root, 'rev-parse', 'HEAD')[:12]}: FAILED: there are more sites than "
        "allowed",
    ]


def test_a_bound_for_all_together_stands_in_for_the_targets(root: Path) -> None:
    assert check(root, "--max-sites", "3").exit_code == 0
    assert check(root, "--max-sites", "2").exit_code == 3
    held = report(root, "--max-sites", "3")
    assert (held["schema"], held["holds"], held["exit"], held["found"], held["allowed"]) == (
        *("orchestrate.ratchet/1", True, 0),
        *(3, 3),
    )


def test_what_came_back_and_what_is_new_is_told_apart_from_what_only_moved(root: Path) -> None:
    commit(root, a="# a line above\né = old(1)\n\nx = old(2)\ny = old(9)\n", b="older(1)\n\nold(7)\n")
    told = report(root, "--since", "HEAD~1")["sites"]
    assert {(site["path"], site["line"]): site["news"] for site in told} == {
        ("a.py", 2): "",
        ("a.py", 4): "",
        ("a.py", 5): "new",
        ("b.py", 1): "",
        ("b.py", 3): "came back",
    }
    lines = check(root, "--since", "HEAD~1").stdout.splitlines()
    assert lines[:2] == [
        "a.py:5:5: old: y = old(9)  (new since HEAD~1)",
        "b.py:3:1: old: old(7)  (came back since HEAD~1)",
    ]


def test_only_commits_count_and_any_of_them_can_be_asked_about(root: Path) -> None:
    commit(root, a="", b="")
    (root / "a.py").write_text("old(1)\n")
    assert check(root).exit_code == 0, "what is not committed is not looked at"
    assert check(root, "--ref", "HEAD~1").exit_code == 3


def test_an_unknown_commit_is_the_users_mistake_and_says_what_a_shallow_clone_lacks(root: Path) -> None:
    done = check(root, "--since", "--upload-pack=x")
    assert isinstance(done.exception, UsageProblem)
    assert "there is no commit --upload-pack=x" in str(done.exception)
    assert "fetch-depth: 0" in str(done.exception)


def test_a_recipe_that_counts_nothing_cannot_be_checked(root: Path) -> None:
    recipe = root.parent / "recipe.toml"
    before, _, rest = RECIPE.partition("[[scope.site]]")
    recipe.write_text(before + rest[rest.index("[[step]]") :])
    assert "the recipe counts no sites" in str(check(root).exception)


def test_github_shows_each_site_at_its_line(root: Path) -> None:
    commit(root, **{"a,b": "old('100%')\n"})
    done = check(root, GITHUB_ACTIONS="true")
    assert "::error file=a%2Cb.py,line=1,col=1,title=old::old('100%25')" in done.stderr.splitlines()
    assert "::error" not in done.stdout


def test_a_code_scanning_service_gets_each_site_with_its_place(root: Path, tmp_path: Path) -> None:
    commit(root, b="older(1)\nold(7)\n")
    written = tmp_path / "sites.sarif"
    assert check(root, "--since", "HEAD~1", "--sarif", str(written)).exit_code == 3
    log = json.loads(written.read_text())
    results = log["runs"][0]["results"]
    assert (log["version"], [rule["id"] for rule in log["runs"][0]["tool"]["driver"]["rules"]]) == (
        "2.1.0",
        ["old", "older"],
    )
    assert [(r["ruleId"], r["level"], r["baselineState"]) for r in results] == [
        ("old", "error", "unchanged"),
        ("old", "error", "unchanged"),
        ("older", "note", "unchanged"),
        ("old", "error", "new"),
    ]
    place = results[3]["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "b.py"}, "region": {"startLine": 2, "startColumn": 1}}


def test_names_and_lines_with_controls_reach_no_terminal(root: Path) -> None:
    commit(root, **{"e\x1b[31m": "old('\x1b[2J')\n"})
    done = check(root, GITHUB_ACTIONS="true")
    assert done.exit_code == 3
    assert "\x1b" not in done.stdout + done.stderr


def test_more_files_than_are_read_at_once_are_all_counted(tmp_path: Path) -> None:
    (tmp_path / "recipe.toml").write_text(RECIPE)
    root = repository(tmp_path / "repo", {f"d{n % 50}/f{n}.py": f"x = old({n})\n" * 3 for n in range(1_100)})
    assert report(root)["found"] == 3_300


@pytest.mark.sandbox
def test_sites_that_a_command_or_ast_grep_finds_are_counted_at_both_commits_and_nothing_is_left(root: Path) -> None:
    others = """
[[scope.site]]
id = "shouts"
engine = "command"
run = "grep -n '!' *.py"
[[scope.site]]
id = "call"
engine = "ast-grep"
language = "python"
pattern = "old($X)"
[[step]]"""
    recipe = root.parent / "recipe.toml"
    recipe.write_text(RECIPE.replace("[[step]]", others))
    commit(root, a="x = old(1)\n", b="y = 1  # now!\n")
    state = root.parent / "state"
    told = report(root, "--state", str(state), "--since", "HEAD~1")
    found = {(site["path"], site["line"], site["site"], site["news"]) for site in told["sites"]}
    assert found == {("a.py", 1, "call", "new"), ("a.py", 1, "old", "new"), ("b.py", 1, "shouts", "came back")}
    assert (told["exit"], state.exists()) == (3, False)
