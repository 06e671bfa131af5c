"""Migrations whose environment changes with them: what is set up, who sees it, and what is compared with what."""

from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.options import Options
from orchestrator.app.verbs import Ended, migrate
from orchestrator.errors import EnvironmentProblem, UsageProblem
from orchestrator.migrate.recipe import Recipe
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


async def run(root: Path, given: Recipe, **hands: Any) -> Ended:
    return await migrate(Options(root, {"state": {"dir": str(root.parent / "state")}, "hands": hands}), given)


def landed(ended: Ended) -> list[str]:
    return [path for path, file in ended.state.files.items() if file.status == "merged"]


OLD_AND_NEW = {"vars_before": {"API": "old"}, "vars_after": {"API": "new"}}


async def test_a_file_is_blamed_for_what_it_breaks_and_not_for_what_the_new_world_breaks(api: Path) -> None:
    odd = "case {files} in a.txt) sed -i s/old/new/ a.txt;; *) echo odder > {files};; esac"
    ended = await run(api, recipe(OLD_AND_NEW, odd))
    assert landed(ended) == ["a.txt"]
    assert ended.state.files["b.txt"].reason == "breaks 1 test: test_b.ApiTest.test_b_is_short"
    assert len({receipt.environment for receipt in ended.state.receipts.values()}) == 2


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
