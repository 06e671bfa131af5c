"""Migrations whose environment changes with them: what is set up, who sees it, and what is compared with what."""

import os
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.run_creation import create_migration_run
from orchestrator.app.run_execution import RunExit, run_migration
from orchestrator.app.wiring import open_run
from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.recipe.model import Recipe
from orchestrator.errors import EnvironmentProblem, UsageProblem
from orchestrator.migrate.judging.gate import MigrationGate
from orchestrator.migrate.run.runner import explain_red_end
from orchestrator.project.options import Options
from tests.running.index import Loopback, loopback
from tests.running.projects import GATE, git, repository

pytestmark = pytest.mark.sandbox

REGISTRIES = {"registries": ["registry.test:443"]}
"""So that there is a tier 2 on a machine without any registry; nobody asks it."""
TEST = """import os
import pathlib
import unittest


class ApiTest(unittest.TestCase):
    def test_{name}(self):
        self.assertEqual(pathlib.Path("{name}.txt").read_text().split()[0], os.environ["API"])

    def test_{name}_is_short(self):
        self.assertEqual(len(pathlib.Path("{name}.txt").read_text()), 4)
"""


@pytest.fixture
def api(tmp_path: Path) -> Path:
    """Two files written for the old API, each with a test that asks which API there is."""
    files: dict[str, str | bytes] = {".gitignore": "__pycache__/\nvendor/\n"}
    for name in "ab":
        files |= {f"{name}.txt": "old\n", f"test_{name}.py": TEST.format(name=name)}
    return repository(tmp_path / "repo", files)


def recipe(env: dict[str, Any], run: str = "sed -i s/old/new/ {files}", **more: Any) -> Recipe:
    values = {
        "schema": 1,
        "migration": {"id": "api"},
        "scope": {"include": ["*.txt"]},
        "env": env,
        "step": [{"id": "s", "run": run}],
        "verify": {"report": "unittest", "flaky_reruns": 0, "check": [{"id": "t", "run": GATE}]},
    }
    return Recipe.model_validate(values | more)


async def run(root: Path, given: Recipe, **hands: Any) -> RunExit:
    return await run_migration(Options(root, {"state": {"dir": str(root.parent / "state")}, "hands": hands}), given)


def landed(ended: RunExit) -> list[str]:
    return [path for path, file in ended.state.migration.files.items() if file.status == "merged"]


OLD_AND_NEW = {"vars_before": {"API": "old"}, "vars_after": {"API": "new"}}


@pytest.mark.extended
async def test_a_file_is_blamed_for_what_it_breaks_and_not_for_what_the_new_world_breaks(api: Path) -> None:
    odd = "case {files} in a.txt) sed -i s/old/new/ a.txt;; *) echo odder > {files};; esac"
    ended = await run(api, recipe(OLD_AND_NEW, odd))
    assert landed(ended) == ["a.txt"]
    assert ended.state.migration.files["b.txt"].reason == "breaks 1 test: test_b.ApiTest.test_b_is_short"
    assert len({receipt.environment for receipt in ended.state.receipts.values()}) == 2


@pytest.mark.extended
async def test_what_setup_leaves_is_made_once_and_lent_to_every_workspace_of_its_world(api: Path) -> None:
    ask = "test $(cat vendor/api) = new && ! touch vendor/x 2>/dev/null && sed -i s/old/new/ {files}"
    setup = {
        "setup": ["mkdir vendor && echo made >> vendor/log"],
        "before": ["echo old > vendor/api"],
        "after": ["echo new > vendor/api"],
    }
    check = {"report": "exit-code", "check": [{"id": "t", "run": "grep -qx $(cat vendor/api) a.txt"}]}
    given = recipe(setup, ask, verify=check)
    first = await run(api, given, **REGISTRIES)
    assert (landed(first), first.error) == (["a.txt", "b.txt"], None)
    told = [notice.text for notice in first.state.notices if notice.text.startswith("setup:")]
    assert sum("kept as" in text for text in told) == 2
    again = await run(api, given, **REGISTRIES)
    assert landed(again) == ["a.txt", "b.txt"]
    assert [notice for notice in again.state.notices if notice.text.startswith("setup:")] == []
    assert not (api / "vendor").exists()
    assert git(api, "status", "--short") == ""


@pytest.mark.extended
async def test_a_setup_command_that_fails_is_named_with_its_last_words(api: Path) -> None:
    with pytest.raises(EnvironmentProblem) as problem:
        await run(api, recipe({"setup": ["echo no such package >&2; exit 4"]}), **REGISTRIES)
    assert "`echo no such package >&2; exit 4` exited 4:\nno such package" in str(problem.value)


@pytest.mark.parametrize(
    ("env", "hands", "mend"),
    [
        ({"setup": ["true"]}, {"ask_tier": 1}, "set ask_tier under [hands] to 2"),
        ({"setup": ["true"], "network": "allow"}, {}, "A recipe cannot raise that: set ask_tier under [hands] to 3"),
    ],
)
async def test_a_recipe_cannot_give_itself_a_tier(
    api: Path, env: dict[str, Any], hands: dict[str, Any], mend: str
) -> None:
    with pytest.raises(UsageProblem) as problem:
        await run(api, recipe(env), **hands)
    assert mend in str(problem.value)


USES = """import unittest

import answer
import uses


class UsesTest(unittest.TestCase):
    def test_it_gives_the_answer(self):
        self.assertEqual(uses.give(), answer.VALUE)
"""


@pytest.mark.slow
@pytest.mark.timeout(900)
async def test_code_moves_together_with_the_version_of_what_it_uses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The old version has no `fresh`, the new one no `old`: without two worlds nothing could ever land."""
    files: dict[str, str | bytes] = {".gitignore": ".venv/\n__pycache__/\n", "test_uses.py": USES}
    files["uses.py"] = "import answer\n\n\ndef give():\n    return answer.old()\n"
    root = repository(tmp_path / "repo", files)
    env = {
        "setup": ["python3 -m venv .venv"],
        "before": [".venv/bin/pip install -q --disable-pip-version-check 'answer<2'"],
        "after": [".venv/bin/pip install -q --disable-pip-version-check 'answer>=2'"],
    }
    scope = {"include": ["uses.py"], "site": [{"id": "old", "pattern": r"answer\.old\("}]}
    with loopback() as served:
        served.add_wheel("answer", "1.0", "VALUE = 42\n\n\ndef old():\n    return VALUE\n")
        served.add_wheel("answer", "2.0", "VALUE = 43\n\n\ndef fresh():\n    return VALUE\n")
        for name, value in configured(served).items():
            monkeypatch.setenv(name, value)
        given = recipe(env, r"sed -i 's/answer\.old(/answer.fresh(/' {files}", scope=scope)
        ended = await run(root, given, private_registries=[served.place])
    assert (landed(ended), ended.error) == (["uses.py"], None)
    assert ended.state.ended is not None
    assert ended.state.ended.outcome == "done"


def configured(served: Loopback) -> dict[str, str]:
    """The environment of a user whose pip and npm know this index and registry, and nothing else."""
    nothing = {"PIP_FIND_LINKS": "", "PIP_EXTRA_INDEX_URL": "", "PIP_CONFIG_FILE": os.devnull}
    npm = {"NPM_CONFIG_USERCONFIG": os.devnull, "NPM_CONFIG_REGISTRY": f"http://{served.place}/npm/"}
    return nothing | npm | {"PIP_INDEX_URL": served.index}


async def test_what_lands_is_green_in_both_worlds_where_the_recipe_says_so(api: Path) -> None:
    (api / "test_a.py").write_text(TEST.format(name="a").replace("assertEqual(pathlib", "assertTrue(1 or pathlib", 1))
    git(api, "commit", "-qam", "a is content with any word")
    given = recipe(OLD_AND_NEW | {"compat": "both"})
    place = await create_migration_run(Options(api, {"state": {"dir": str(api.parent / "state")}}), given)
    async with open_run(place) as context:
        gate = MigrationGate(context, given)
        await gate.record_baseline()
        judged = {
            name: (await gate.judge_tree(*changed(api, name, text), Purpose("q"))).difference
            for name, text in TRIED.items()
        }
    assert judged["a.txt"].is_green
    assert judged["b.txt"].new_failures == ("test_b.ApiTest.test_b",)


TRIED = {"a.txt": "new\n", "b.txt": "new\n"}


def changed(root: Path, name: str, text: str) -> tuple[CommitId, TreeId]:
    """A commit with one changed file on top of main, where nobody sees it."""
    (root / name).write_text(text)
    git(root, "commit", "-qam", "change")
    commit, tree = git(root, "rev-parse", "HEAD"), git(root, "rev-parse", "HEAD^{tree}")
    git(root, "reset", "-q", "--hard", "HEAD~1")
    return CommitId(commit), TreeId(tree)


async def test_the_end_is_compared_with_the_old_world_and_names_what_nobody_mended(api: Path) -> None:
    given = recipe(OLD_AND_NEW)
    place = await create_migration_run(Options(api, {"state": {"dir": str(api.parent / "state")}}), given)
    async with open_run(place) as context:
        gate = MigrationGate(context, given)
        await gate.record_baseline()
        half = changed(api, "a.txt", "new\n")
        assert (await gate.judge_tree(*half, Purpose("q"))).difference.is_green
        reason = await explain_red_end(context, gate, half[0])
    assert reason == "the final checks are red: test_b.ApiTest.test_b; no single shard brought it"
