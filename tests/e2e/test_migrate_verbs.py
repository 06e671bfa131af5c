"""What people tell a migration from the command line: files left out or tried again, another recipe, refusals."""

import time
from pathlib import Path

import pytest

from orchestrator.journal.locations.run_lock import find_lock_owner
from tests.engine.test_migrations import TEST
from tests.running.cli import Finished
from tests.running.in_process import orchestrate
from tests.running.projects import git, repository

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(600)]

RECIPE = """
schema = 1
[migration]
id = "words"
[scope]
include = ["*.txt"]
[[step]]
id = "new"
run = "sed -i s/old/new/ {files}"
[verify]
report = "unittest"
[[verify.check]]
id = "tests"
run = "python3 -m unittest -v"
"""
BETTER = """
[[step]]
id = "better"
run = "sed -i s/new/better/ {files}"
when = "failed"
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """Files of one word, of which `c.txt` may not be `new` but `better`, and `d.txt` neither."""
    files: dict[str, str | bytes] = {".gitignore": "__pycache__/\n"}
    for name, allowed in {"a": ["old", "new"], "c": ["old", "better"], "d": ["old"]}.items():
        files[f"{name}.txt"] = "old\n"
        files[f"test_{name}.py"] = TEST.format(name=name, path=f"{name}.txt", allowed=allowed)
    return repository(tmp_path / "repo", files)


def migrate(repo: Path, *words: str) -> Finished:
    where = ("--repo", str(repo), "--state", str(repo.parent / "state"))
    return orchestrate("migrate", *words, *where, cwd=repo.parent)


def write(repo: Path, recipe: str) -> str:
    path = repo.parent / "recipe.toml"
    path.write_text(recipe)
    return str(path)


def wait_for_engine(repo: Path) -> None:
    """Wait until the engine that a verb woke has ended: a resume beside a living one only hands over the recipe."""
    run = next((repo.parent / "state").glob("*/runs/*/journal.db")).parent
    deadline = time.monotonic() + 60
    while find_lock_owner(run) is not None:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def statuses(repo: Path) -> dict[str, int]:
    counts: dict[str, int] = migrate(repo, "status", "latest", "--json").json["file_status"]
    return counts


@pytest.mark.extended
def test_an_ended_migration_goes_on_by_an_edited_recipe_and_does_only_what_that_concerns(repo: Path) -> None:
    assert migrate(repo, "run", write(repo, RECIPE)).code == 3
    left_out = migrate(repo, "skip", "latest", "d.txt", "--reason", "a museum piece", "--json")
    assert (left_out.json["do"], left_out.json["refused"]) == ("skip-files", "")
    assert statuses(repo) == {"merged": 1, "rejected": 1, "skipped": 1}
    wait_for_engine(repo)

    done = migrate(repo, "resume", "latest", "--recipe", write(repo, RECIPE + BETTER), "--json")
    assert (done.code, done.json["files"]["landed"]) == (0, ["a.txt", "c.txt"]), done.err
    assert '+id = "better"' in done.err
    branch = done.json["pr_branch"]
    assert [git(repo, "show", f"{branch}:{name}.txt") for name in "acd"] == ["new", "better", "old"]

    again = migrate(repo, "resume", "latest", "--recipe", write(repo, RECIPE + BETTER))
    assert (again.code, "the recipe is the one that the run has" in again.err) == (2, True)


def test_a_file_is_tried_again_and_a_wrong_name_is_answered_with_the_right_one(repo: Path) -> None:
    assert migrate(repo, "run", write(repo, RECIPE)).code == 3
    for words, said in (
        (("skip", "latest", "dd.txt", "--reason", "x"), "there is no file 'dd.txt' in this run: did you mean d.txt"),
        (("retry", "latest", "--reason", "no such reason"), "no file is meant by that; 2 of 3 files have failed"),
        (("rollback", "latest"), "name the shards to take back, or say --all"),
    ):
        refused = migrate(repo, *words)
        assert (refused.code, said in refused.err, "Traceback" in refused.err) == (2, True, False), refused.err
    tried = migrate(repo, "retry", "latest", "--failed", "--reason", "breaks 1 test", "--no-wake", "--json")
    assert (tried.code, tried.json["taken"]) == (0, False)
    assert migrate(repo, "resume", "latest").code == 3
    lines = orchestrate("logs", "latest", "--repo", str(repo), "--state", str(repo.parent / "state"), cwd=repo).out
    assert lines.count("c.txt") >= 4, "it climbed twice"
