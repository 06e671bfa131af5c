"""Repositories of unusual shape, users with unusual settings: a run lands there as anywhere, and touches nothing."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.test_bad_input import RECIPE
from tests.running.cli import environment
from tests.running.in_process import orchestrate
from tests.running.projects import calculator, git, refs, repository

pytestmark = [pytest.mark.sandbox]
HOOKS = ("pre-commit", "commit-msg", "post-commit", "post-checkout", "post-index-change", "reference-transaction")
GITCONFIG = """
[user]
    useConfigOnly = true
[commit]
    gpgsign = true
[gpg]
    program = touch {0}/ran-gpg
[init]
    templateDir = {0}/template
[alias]
    status = "!touch {0}/ran-alias"
[core]
    hooksPath = {0}/template/hooks
    fsmonitor = touch {0}/ran-fsmonitor
    pager = touch {0}/ran-pager
    quotePath = true
[diff]
    external = touch {0}/ran-diff
    noprefix = true
[color]
    ui = always
"""


def migrated(repo: Path, home: Path, **more: str) -> dict[str, object]:
    """The result of a migration that changes `a + b`, with the user's own files compared before and after."""
    (home / "recipe.toml").write_text(RECIPE)
    before = content(repo)
    words = ("--repo", repo, "--state", home / "state", "--json")
    done = orchestrate("migrate", "run", home / "recipe.toml", *words, cwd=home, env=environment(home, **more))
    assert done.code == 0, done.err
    assert content(repo) == before
    result: dict[str, object] = done.json
    return result


def content(root: Path) -> dict[str, bytes]:
    """Every file of a checkout but git's own."""
    files = (path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path): path.read_bytes() for path in files}


def linked(repo: Path) -> Path:
    git(repo, "worktree", "add", "-q", "-b", "side", "../linked")
    return repo.parent / "linked"


def detached(repo: Path) -> Path:
    git(repo, "checkout", "-q", "--detach")
    return repo


def subdirectory(repo: Path) -> Path:
    repository(repo, {"docs/guide.md": "x\n"})
    return repo / "docs"


def shallow(repo: Path) -> Path:
    git(repo, "commit", "-q", "--allow-empty", "-m", "two")
    git(repo, "clone", "-q", "--depth", "1", repo.as_uri(), "../shallow")
    return repo.parent / "shallow"


def long_hashes(repo: Path) -> Path:
    shutil.rmtree(repo / ".git")
    git(repo, "init", "-q", "-b", "main", "--object-format=sha256")
    return repository(repo, {})


def oddly_named(repo: Path) -> Path:
    return repo.rename(repo.parent / "r\u00e9 po\n'\"$(x)")


def with_submodule(repo: Path) -> Path:
    calculator(repo.parent / "library")
    git(repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../library", "vendor/library")
    git(repo, "commit", "-q", "-m", "submodule")
    return repo


def with_links(repo: Path) -> Path:
    (repo.parent / "outside.py").write_text("a + b\n")
    targets = {"inside.py": "calc.py", "out.py": "../outside.py", "dangling.py": "nowhere", "absolute": "/etc/passwd"}
    for name, target in targets.items():
        (repo / name).symlink_to(target)
    return repository(repo, {})


@pytest.mark.parametrize(
    "shape", [linked, detached, subdirectory, shallow, long_hashes, oddly_named, with_submodule, with_links]
)
def test_a_migration_lands_in_a_repository_of_any_shape(tmp_path: Path, shape: Callable[[Path], Path]) -> None:
    repo = shape(calculator(tmp_path / "repo"))
    result = migrated(repo, tmp_path)
    nothing: dict[str, list[str]] = {
        name: [] for name in ("rejected", "unchanged", "needs_human", "skipped", "reverted")
    }
    assert result["files"] == {"in_scope": 2, "changed": 1, "landed": ["calc.py"], **nothing}
    assert git(repo, "diff", "--name-only", str(result["base"]), str(result["pr_branch"])) == "calc.py"
    assert git(repo, "status", "--porcelain") == ""
    for verb in (("status",), ("diff", "latest", "calc.py")):
        done = orchestrate(*verb, "--repo", repo, "--state", tmp_path / "state", cwd=tmp_path)
        assert (done.code, done.err) == (0, "")
    assert not (tmp_path / "outside.py").exists() or (tmp_path / "outside.py").read_text() == "a + b\n"


def test_no_hook_alias_signature_or_program_of_the_user_or_the_repository_runs(tmp_path: Path) -> None:
    repo = calculator(tmp_path / "repo")
    for place in (tmp_path / "template" / "hooks", repo / ".git" / "hooks"):
        place.mkdir(parents=True, exist_ok=True)
        for name in HOOKS:
            (place / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/ran-{name}\nexit 1\n")
            (place / name).chmod(0o755)
    (tmp_path / ".gitconfig").write_text(GITCONFIG.format(tmp_path))
    git(repo, "config", "commit.gpgSign", "true")
    git(repo, "config", "core.fsmonitor", f"touch {tmp_path}/ran-fsmonitor")
    identity = dict.fromkeys((name for name in os.environ if name.startswith("GIT_")), "")
    result = migrated(repo, tmp_path, **identity | {"GIT_CONFIG_GLOBAL": str(tmp_path / ".gitconfig")})
    assert sorted(path.name for path in tmp_path.glob("ran-*")) == []
    assert git(repo, "log", "-1", "--format=%an %G?", str(result["pr_branch"])) == "Orchestrate N"


def test_modes_ends_of_lines_and_of_files_stay(tmp_path: Path) -> None:
    repo = calculator(tmp_path / "repo")
    (repo / "tool.py").write_bytes(b"#!/usr/bin/env python3\r\ndef f(a, b):\r\n    return a + b")
    (repo / "tool.py").chmod(0o755)
    (repo / "empty.py").touch()
    result = migrated(repository(repo, {}), tmp_path)
    branch = str(result["pr_branch"])
    assert git(repo, "diff", "--summary", str(result["base"]), branch) == ""
    told = subprocess.run(["git", "cat-file", "blob", f"{branch}:tool.py"], cwd=repo, capture_output=True, check=True)
    assert told.stdout == b"#!/usr/bin/env python3\r\ndef f(a, b):\r\n    return b + a"


def test_branches_of_the_same_kind_are_left_alone(tmp_path: Path) -> None:
    repo = calculator(tmp_path / "repo")
    git(repo, "branch", "migrate/spaces/mine")
    git(repo, "tag", "migrate")
    before = refs(repo)
    result = migrated(repo, tmp_path)
    after = refs(repo)
    assert {name: after[name] for name in before} == before
    new = {name for name in after.keys() - before.keys() if not name.startswith("refs/orchestrate/")}
    assert new == {f"refs/heads/{result['pr_branch']}"}


def test_changed_files_with_names_that_are_no_text_are_told_in_printable_form(tmp_path: Path) -> None:
    repo = calculator(tmp_path / "repo")
    (repo / os.fsdecode(b"bad\xff.txt")).touch()
    (repo / "red\x1b[31m.txt").touch()
    notices = migrated(repo, tmp_path)["notices"]
    assert isinstance(notices, list)
    assert "(bad\\udcff.txt, red\\x1b[31m.txt)" in notices[0]


def recipe(step: str) -> str:
    return RECIPE.replace("sed -i 's/a + b/b + a/' {files}", f"sed -i 's/a + b/b + a/' {{files}}; {step}")


def landed(repo: Path, step: str) -> tuple[dict[str, Any], str]:
    """The result of a migration by `sed` and this step, and the lines that the branch adds."""
    home = repo.parent
    (home / "recipe.toml").write_text(recipe(step))
    words = ("--repo", repo, "--state", home / "state", "--set", "hands.slots=1", "--json")
    result = orchestrate("migrate", "run", home / "recipe.toml", *words, cwd=home).json
    patch = git(repo, "diff", result["base"], result["pr_branch"])
    return result, "\n".join(line for line in patch.splitlines() if line.startswith("+"))


def functions(root: Path, **more: str) -> Path:
    return repository(calculator(root), {f"{name}.py": "def f(a, b):\n    return a + b\n" for name in "klm"} | more)


def test_what_a_step_writes_beside_its_file_never_lands(tmp_path: Path) -> None:
    repo = functions(tmp_path / "repo")
    result, added = landed(
        repo, "for f in k l m; do test {files} = $f.py || echo '# stray' >> $f.py; done; echo x > new"
    )
    assert result["files"]["landed"] == ["calc.py", "k.py", "l.py", "m.py"]
    assert "stray" not in added
    assert result["notices"] == ["step sed also changed k.py, l.py, m.py, new; that was left out"]


@pytest.mark.parametrize("trouble", ["ln -s calc.py k.py", "mkdir k.py", "mkfifo k.py", "true"])
def test_a_file_that_a_step_replaces_by_something_else_is_the_only_one_left_out(tmp_path: Path, trouble: str) -> None:
    step = f"test {{files}} != k.py || {{ rm k.py; {trouble}; }}"
    result, _ = landed(functions(tmp_path / "repo"), step)
    assert result["files"]["landed"] == ["calc.py", "l.py", "m.py"]
    assert [file["path"] for file in result["files"]["unchanged"]] == ["k.py"]


def test_line_ends_that_attributes_ask_for_in_a_checkout_do_not_land(tmp_path: Path) -> None:
    repo = functions(tmp_path / "repo", **{".gitattributes": "*.py text eol=crlf\n"})
    result, added = landed(repo, "true")
    assert result["files"]["landed"] == ["calc.py", "k.py", "l.py", "m.py"]
    assert added.count("\n+    return b + a") == 4
    assert "\r" not in added


def test_a_step_may_make_files_whose_names_are_no_text_and_get_names_that_look_like_options(tmp_path: Path) -> None:
    repo = functions(tmp_path / "repo", **{"-n.py": "def f(a, b):\n    return a + b\n"})
    result, _ = landed(repo, "touch $(printf 'bad\\\\377')")
    assert result["files"]["landed"][0] == "-n.py"
    assert result["notices"] == ["step sed also changed bad\\udcff; that was left out"]
