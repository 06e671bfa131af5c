"""`migrate run --dry-run` and `--only` as people and scripts call them."""

import hashlib
from pathlib import Path

import pytest

from tests.running.cli import Finished
from tests.running.in_process import orchestrate
from tests.running.projects import git, repository

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(600)]

RECIPE = """
schema = 1
[migration]
id = "words"
base = "main"
[scope]
include = ["*.txt", "*.py"]
[[scope.site]]
id = "old"
pattern = "old"
[shard]
by = ["directory"]
depth = 1
min_files = 1
[[step]]
id = "sed"
run = "sed -i -e s/^old/new/ -e 's/x = old/x = (/' {files}"
[[step]]
id = "tail"
kind = "llm"
prompt = "Make it new"
when = "sites-left"
[[verify.check]]
id = "tests"
run = "! grep new a.txt"
"""
FILES: dict[str, str | bytes] = {"a.txt": "old\nkeep old\n", "c.py": "x = old\n", "sub/b.txt": "old\n"}


def fingerprint(*roots: Path) -> dict[str, str]:
    """Every file with a hash of what it holds, and every directory; without SQLite's marks of who reads a journal."""
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "directory"
        for root in roots
        for path in sorted(root.rglob("*"))
        if not path.name.endswith("-shm")
    }


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "recipe.toml").write_text(RECIPE)
    (tmp_path / "alone.toml").write_text(RECIPE.replace(RECIPE[RECIPE.index('[[step]]\nid = "tail"') :], CHECKS))
    return repository(tmp_path / "repo", FILES)


CHECKS = '[[verify.check]]\nid = "tests"\nrun = "! grep new a.txt"\n'


def run(root: Path, recipe: str, *words: str) -> Finished:
    where = ("--repo", str(root), "--state", str(root.parent / "state"))
    return orchestrate("migrate", "run", recipe, *where, *words, cwd=root.parent)


def test_a_dry_run_tells_what_the_steps_make_and_changes_nothing_at_all(root: Path) -> None:
    state = root.parent / "state"
    before = fingerprint(root)
    done = run(root, "recipe.toml", "--dry-run", "--json", "--diff", "--verify", "--report", "report.md")
    assert (done.code, fingerprint(root), state.exists()) == (3, before, False), done.err
    report = done.json
    assert (report["schema"], report["changed"], report["remaining"]) == ("orchestrate.dry-run/1", 2, 2)
    statuses = {file["path"]: (file["status"], file["added"], len(file["left"])) for file in report["files"]}
    assert statuses == {"a.txt": ("changed", 1, 1), "c.py": ("restored", 0, 1), "sub/b.txt": ("changed", 1, 0)}
    assert "'(' was never closed" in next(file["reason"] for file in report["files"] if file["path"] == "c.py")
    assert [(step["changed"], step["restored"], step["not_tried"]) for step in report["steps"]] == [
        (2, 1, ""),
        (0, 0, "it asks a model"),
    ]
    assert {shard["name"]: (shard["changed"], shard["added"]) for shard in report["shards"]} == {
        "root": (1, 1),
        "sub": (1, 1),
    }
    assert (report["gate"]["green"], "-old\n+new\n keep old" in report["diff"]) == (False, True)
    text = (root.parent / "report.md").read_text()
    assert "**2 files would change, +2 -2 lines, 4 sites → 2.**" in text
    assert "a.txt:2:6: old" in text


@pytest.mark.extended
def test_a_run_for_some_files_lands_these_and_a_dry_run_takes_its_results_and_leaves_it_as_it_is(root: Path) -> None:
    ran = run(root, "alone.toml", "--only", "sub/", "--json")
    assert (ran.code, ran.json["files"]["landed"]) == (0, ["sub/b.txt"]), ran.err
    assert git(root, "show", f"{ran.json['pr_branch']}:a.txt") == "old\nkeep old"
    state = root.parent / "state"
    before = fingerprint(root, state)
    tried = run(root, "alone.toml", "--dry-run", "--sample", "2", "--json")
    assert (tried.code, fingerprint(root, state)) == (0, before), tried.err
    assert tried.json["tried"]["files"] == 2
    told = run(root, "alone.toml", "--dry-run", "--only", "shard:sub")
    assert (told.code, fingerprint(root, state)) == (0, before), told.err
    assert "step sed (command): 1 files: 1 changed, 0 left as they were, 0 put back; 1 known from earlier" in told.out
    nothing = run(root, "alone.toml", "--dry-run", "--only", "c.py", "--report", "-")
    assert (nothing.code, nothing.out.startswith("## words: a dry run\n")) == (4, True), nothing.err
