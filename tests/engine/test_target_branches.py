"""The branch that a pull request is meant for has to exist before a model is called."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.running.cli import Finished
from tests.running.in_process import orchestrate
from tests.running.projects import GATE, calculator, git
from tests.running.remotes import bare
from tests.running.scripts import write_script

RECIPE = """
schema = 1
[migration]
id = "spaces"
[scope]
include = ["*.py"]
[[step]]
id = "sed"
run = "sed -i 's/a + b/b + a/' {files}"
[verify]
[[verify.check]]
id = "tests"
run = "true"
"""
RUN = ("run", "x", "--gate", GATE)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    made = calculator(tmp_path / "repo")
    git(made, "branch", "release/2.x")
    return made


def call(repo: Path, *words: str) -> Finished:
    home = repo.parent
    (home / "recipe.toml").write_text(RECIPE)
    model = write_script(home / "script.json", [])
    state = ("--repo", str(repo), "--state", str(home / "state"))
    return orchestrate(*words, *state, "--set", f"roles.default.model={model}", cwd=home)


@pytest.mark.parametrize(
    "words",
    [
        RUN,
        (*RUN, "--dry-run"),
        ("plan", "x"),
        ("migrate", "run", "recipe.toml"),
    ],
)
def test_a_target_that_does_not_exist_is_refused_with_the_branches_that_are_near(
    repo: Path, words: Sequence[str]
) -> None:
    done = call(repo, *words, "--set", "pr.target=relase/2.x")
    assert done.code == 2, done.err
    assert f"meant for the branch relase/2.x, which does not exist in {repo}: did you mean release/2.x?" in done.err
    assert not list((repo.parent / "state").glob("*/runs/*"))


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("origin/main", "did you mean main?"),
        ("zzz", "there are main, release/2.x. Name one with --target BRANCH"),
        ("a..b", "does not exist"),
    ],
)
def test_every_name_that_is_no_branch_leads_to_those_that_are(repo: Path, target: str, said: str) -> None:
    done = call(repo, *RUN, "--target", target)
    assert done.code == 2
    assert said in done.err


def test_a_branch_that_only_the_remote_has_is_looked_for_where_the_pull_request_goes(repo: Path) -> None:
    bare(repo.parent / "remote.git", repo)
    git(repo, "push", "-q", "origin", "main", "main:far")
    git(repo, "update-ref", "-d", "refs/remotes/origin/far")
    there = call(repo, *RUN, "--target", "far", "--set", "pr.push=origin")
    assert "far" not in there.err
    here = call(repo, *RUN, "--target", "far")
    assert f"the branch far, which does not exist in {repo}" in here.err
    elsewhere = call(repo, *RUN, "--target", "release/2.x", "--set", "pr.push=origin")
    assert "the branch release/2.x, which does not exist on origin" in elsewhere.err


def test_a_remote_that_does_not_answer_leaves_what_the_clone_knows(repo: Path) -> None:
    git(repo, "remote", "add", "origin", str(repo.parent / "gone.git"))
    known = call(repo, *RUN, "--target", "release/2.x", "--set", "pr.push=origin")
    assert "release/2.x" not in known.err
    unknown = call(repo, *RUN, "--target", "zzz", "--set", "pr.push=origin")
    assert "and origin does not answer" in unknown.err
