"""Migrations on real git and a real sandbox: the ladder, odd steps, and what each file is told."""

import os
import venv
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.run_execution import RunExit, run_migration
from orchestrator.domain.event.migration import StepFinished
from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.recipe.model import Recipe
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.project.options import Options
from tests.running.projects import GATE, git, repository

pytestmark = pytest.mark.sandbox

TEST = """import pathlib
import unittest


class WordsTest(unittest.TestCase):
    def test_{name}(self):
        self.assertIn(pathlib.Path("{path}").read_text().strip(), {allowed})
"""


@pytest.fixture
def words(tmp_path: Path) -> Path:
    """Four files of one word each, with a test each that allows some words and no others."""
    files: dict[str, str | bytes] = {".gitignore": "__pycache__/\nvendor/\n"}
    for name, allowed in {"a": ["old", "new"], "b": ["old", "new"], "c": ["old", "better"], "d": ["old"]}.items():
        files[f"{name}.txt"] = "old\n"
        files[f"test_{name}.py"] = TEST.format(name=name, path=f"{name}.txt", allowed=allowed)
    return repository(tmp_path / "repo", files)


def recipe(*steps: dict[str, Any], **more: Any) -> Recipe:
    values = {
        "schema": 1,
        "migration": {"id": "words"},
        "scope": {"include": ["*.txt"]},
        "step": [{"id": f"step-{n}"} | step for n, step in enumerate(steps)],
        "verify": {"report": "unittest", "check": [{"id": "t", "run": GATE}]},
    }
    return Recipe.model_validate(values | more)


async def run(root: Path, given: Recipe, **flags: Any) -> RunExit:
    return await run_migration(Options(root, {"state": {"dir": str(root.parent / "state")}} | flags), given)


def told(ended: RunExit) -> dict[str, tuple[str, str]]:
    return {path: (file.status.value, file.reason) for path, file in ended.state.migration.files.items()}


def on_branch(root: Path, ended: RunExit, path: str) -> str:
    return git(root, "show", f"{ended.state.run.branch}:{path}")


SED = "sed -i s/old/new/ {files}"


@pytest.mark.extended
async def test_ejected_files_climb_to_the_step_for_failed_files_and_land_in_a_commit_of_their_own(words: Path) -> None:
    ended = await run(words, recipe({"run": SED}, {"run": "sed -i s/new/better/ {files}", "when": "failed"}))
    assert {path: status for path, (status, _) in told(ended).items()} == {
        "a.txt": "merged",
        "b.txt": "merged",
        "c.txt": "merged",
        "d.txt": "rejected",
    }
    assert [on_branch(words, ended, f"{name}.txt") for name in "abcd"] == ["new", "new", "better", "old"]
    assert git(words, "rev-list", "--count", f"main..{ended.state.run.branch}") == "2"
    assert ended.exit_code == 3


async def test_a_step_per_shard_gets_all_files_at_once(words: Path) -> None:
    ended = await run(words, recipe({"run": "echo {files} > /tmp/n && sed -i s/old/new/ {files}", "per": "shard"}))
    assert sum(status == "merged" for status, _ in told(ended).values()) == 2


async def test_a_failing_step_puts_every_byte_back_and_says_why(words: Path) -> None:
    spoil = "sed -i s/old/spoilt/ {files}; test {files} != b.txt || { echo 'cannot do b' >&2; exit 3; }"
    ended = await run(words, recipe({"run": spoil}))
    status, reason = told(ended)["b.txt"]
    assert (status, reason) == ("rejected", "step step-0 exited 3: cannot do b")
    assert ended.state.migration.files["b.txt"].tried is not None, "what it made can still be looked at"


async def test_a_step_counts_what_it_changed_what_it_left_and_what_was_put_back(words: Path) -> None:
    odd = "case {files} in a.txt) exit 3;; b.txt) rm b.txt;; c.txt) ;; *) " + SED + ";; esac"
    ended = await run(words, recipe({"run": odd}))
    counts = [
        (event.changed, event.unchanged, event.restored)
        for _, _, event in read_all_events(ended.directory.journal)
        if isinstance(event, StepFinished)
    ]
    assert counts == [(1, 1, 2)]


@pytest.mark.extended
async def test_an_exit_code_that_is_said_to_be_fine_is_fine(words: Path) -> None:
    ended = await run(words, recipe({"run": SED + "; exit 7", "ok_exit": [7]}))
    assert sum(status == "merged" for status, _ in told(ended).values()) == 2


@pytest.mark.extended
async def test_a_step_that_hangs_costs_only_its_own_file(words: Path) -> None:
    hang = "test {files} != a.txt || sleep 60; " + SED
    ended = await run(words, recipe({"run": hang, "timeout_s": 4}))
    assert told(ended)["a.txt"] == ("unchanged", "step step-0 was ended: timed-out")
    assert told(ended)["b.txt"][0] == "merged"


@pytest.mark.extended
async def test_a_step_that_deletes_its_file_loses_nothing(words: Path) -> None:
    ended = await run(words, recipe({"run": "test {files} = a.txt && rm {files} || " + SED}))
    status, reason = told(ended)["a.txt"]
    assert status == "unchanged"
    assert "left no readable file" in reason
    assert on_branch(words, ended, "a.txt") == "old"


@pytest.mark.extended
async def test_what_a_step_changes_beside_its_file_is_left_out_and_told(words: Path) -> None:
    ended = await run(words, recipe({"run": SED + "; echo x > stray.log; echo y >> d.txt"}))
    assert [notice.text for notice in ended.state.notices] == [
        notice.text for notice in ended.state.notices if "also changed" in notice.text and "stray.log" in notice.text
    ]
    assert ended.state.notices
    assert "stray.log" not in git(words, "ls-tree", "--name-only", ended.state.run.branch)
    assert on_branch(words, ended, "d.txt") == "old"


async def test_every_file_is_transformed_from_the_same_surroundings(words: Path) -> None:
    """A step that looks at its siblings sees them as they were, in whatever order files are done."""
    ended = await run(words, recipe({"run": "test $(cat *.txt | grep -c new) = 0 && " + SED}))
    assert sum(status == "merged" for status, _ in told(ended).values()) == 2


@pytest.mark.extended
async def test_what_a_step_leaves_for_git_to_ignore_is_gone_before_the_next_file(words: Path) -> None:
    leave = "test ! -e __pycache__/log || exit 9; mkdir -p __pycache__ && echo > __pycache__/log; " + SED
    ended = await run(words, recipe({"run": leave}), hands={"slots": 1})
    assert sum(status == "merged" for status, _ in told(ended).values()) == 2


@pytest.mark.extended
async def test_sites_are_counted_and_a_second_step_takes_what_is_left(words: Path) -> None:
    sites = {"include": ["*.txt"], "site": [{"id": "old", "pattern": "old"}]}
    first = {"run": "test {files} = b.txt && true || " + SED}
    given = recipe(first, {"run": SED, "when": "sites-left"}, scope=sites)
    ended = await run(words, given)
    assert told(ended)["b.txt"][0] == "merged"
    rungs = {path: file.rung for path, file in ended.state.migration.files.items()}
    assert rungs == {"a.txt": 0, "b.txt": 1, "c.txt": 0, "d.txt": 0}


@pytest.mark.extended
async def test_files_that_no_step_changes_are_told_apart_by_their_sites(words: Path) -> None:
    sites = {"include": ["*.txt"], "site": [{"id": "old", "pattern": "old"}]}
    only_a = "test {files} != a.txt || " + SED
    ended = await run(words, recipe({"run": only_a}, scope=sites))
    assert told(ended)["b.txt"] == ("unchanged", "it has sites, and no step changed it")
    assert (ended.exit_code, ended.state.ended and ended.state.ended.outcome) == (3, "partial")


async def test_nothing_that_does_not_parse_ever_lands(tmp_path: Path) -> None:
    root = repository(
        tmp_path / "repo",
        {
            ".gitignore": "__pycache__/\n",
            "fine.py": "x = 'old'\n",
            "unused.py": "y = 'old'\n",
            "data.json": '{"z": "old"}\n',
            "legacy.py": "print 'old'\n",
            "test_x.py": "import unittest\n\nclass T(unittest.TestCase):\n    def test_x(self):\n        import fine\n",
        },
    )
    break_some = (
        "case {files} in unused.py) echo 'def' >> {files};; data.json) echo ',' >> {files};; *) " + SED + ";; esac"
    )
    given = recipe({"run": break_some}, scope={"include": ["*.py", "*.json", "!test_x.py"]})
    ended = await run(root, given)
    assert told(ended)["unused.py"] == ("rejected", "does not parse after step step-0: line 2: invalid syntax")
    assert told(ended)["data.json"][0] == "rejected"
    assert told(ended)["fine.py"][0] == "merged"
    assert told(ended)["legacy.py"][0] == "merged", "what did not parse before cannot be judged by parsing"


async def test_javascript_is_checked_by_node(tmp_path: Path) -> None:
    files = {"a.js": "var x = 'old';\n", "b.js": "var y = 'old';\n", "odd.js": "this is no old js\n"}
    root = repository(tmp_path / "repo", files)
    spoil = "test {files} != b.js || echo '}' >> {files}; " + SED
    given = recipe(
        {"run": spoil},
        scope={"include": ["*.js"]},
        verify={"report": "exit-code", "check": [{"id": "t", "run": "true"}]},
    )
    ended = await run(root, given)
    assert {path: status for path, (status, _) in told(ended).items()} == {
        "a.js": "merged",
        "b.js": "rejected",
        "odd.js": "merged",
    }
    assert "SyntaxError" in told(ended)["b.js"][1]


async def test_modes_and_odd_names_survive(tmp_path: Path) -> None:
    names = ["a b.txt", "quo'te.txt", "-dash.txt", "ümlaut.txt", "run.sh.txt"]
    root = repository(tmp_path / "repo", dict.fromkeys(names, "old\n"))
    (root / "run.sh.txt").chmod(0o755)
    git(root, "commit", "-qam", "mode")
    given = recipe(
        {"run": "sed -i -e s/old/new/ -- {files}"},
        verify={"report": "exit-code", "check": [{"id": "t", "run": "true"}]},
    )
    ended = await run(root, given)
    assert all(file.status == FileStatus.MERGED for file in ended.state.migration.files.values())
    listed = git(root, "ls-tree", ended.state.run.branch, "run.sh.txt")
    assert listed.startswith("100755")


async def test_files_that_cannot_be_migrated_are_left_out_and_told(tmp_path: Path) -> None:
    files = {"good.txt": "old\n", "large.txt": "old\n" * 300, os.fsdecode(b"\xff.txt"): "old\n"}
    root = repository(tmp_path / "repo", files)
    given = recipe(
        {"run": SED},
        scope={"include": ["*.txt"], "max_file_kb": 1},
        verify={"report": "exit-code", "check": [{"id": "t", "run": "true"}]},
    )
    ended = await run(root, given)
    assert {path: status for path, (status, _) in told(ended).items()} == {"good.txt": "merged"}
    assert sorted(notice.text for notice in ended.state.notices) == [
        "\\udcff.txt was left out: its name is not UTF-8",
        "large.txt was left out: it is larger than max_file_kb = 1",
    ]


@pytest.mark.extended
async def test_a_shared_directory_can_be_used_and_not_written(words: Path) -> None:
    (words / "vendor").mkdir()
    (words / "vendor" / "word").write_text("new")
    step = "echo broken > vendor/word 2>/dev/null; sed -i s/old/$(cat vendor/word)/ {files}"
    ended = await run(words, recipe({"run": step}, env={"share": ["vendor"]}))
    assert sum(status == "merged" for status, _ in told(ended).values()) == 2
    assert (words / "vendor" / "word").read_text() == "new"


@pytest.mark.extended
async def test_a_step_finds_its_tool_and_the_gate_does_not_run_by_the_tools_python(words: Path) -> None:
    codemods = words.parent / "codemods"
    venv.create(codemods)
    swap = codemods / "bin" / "swap"
    swap.write_text('#!/bin/sh\nsed -i s/old/new/ "$@"\n')
    swap.chmod(0o755)
    check = {"id": "t", "run": f"python -c 'import sys; print(sys.prefix)' && {GATE}"}
    verify = {"report": "unittest", "check": [check]}
    ended = await run(words, recipe({"run": "swap {files}"}, env={"tools": ["../codemods"]}, verify=verify))
    assert sum(status == "merged" for status, _ in told(ended).values()) == 2, str(ended.error)
    (baseline,) = ended.state.get_baseline_receipts().values()
    assert baseline.output.head.splitlines()[0] not in {"", str(codemods)}


@pytest.mark.extended
async def test_two_runs_on_one_repository_at_once_do_not_disturb_each_other(words: Path) -> None:
    import anyio

    results: list[RunExit] = []

    async def one() -> None:
        results.append(await run(words, recipe({"run": SED})))

    async with anyio.create_task_group() as tasks:
        for _ in range(3):
            tasks.start_soon(one)
    assert len({ended.state.run.branch for ended in results}) == 3
    assert {tuple(sorted(told(ended).items())) for ended in results} == {tuple(sorted(told(results[0]).items()))}
