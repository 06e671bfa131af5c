"""The gate of a migration on real trees: what each rule says of a change that breaks it, and of one that does not."""

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.run_creation import create_migration_run
from orchestrator.app.run_execution import run_migration
from orchestrator.app.wiring import open_run
from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.recipe.model import Recipe
from orchestrator.engine.context import RunContext
from orchestrator.migrate.judging.file_validator import StepChecks
from orchestrator.migrate.judging.gate import MigrationGate
from orchestrator.migrate.judging.review_flags import flag_uncovered_files
from orchestrator.migrate.judging.shard_gate import ShardGate
from orchestrator.project.options import Options
from tests.running.projects import GATE, git, repository

pytestmark = pytest.mark.sandbox

CORE = "def double(a):\n    return old(a)\n\n\ndef old(a):\n    return 2 * a\n"
TEST = """import unittest

from core import double


class CoreTest(unittest.TestCase):
    def test_double(self):
        self.assertEqual(double(4), 8)

    def test_unknown(self):
        self.skipTest("later")
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    files: dict[str, str | bytes] = {".gitignore": "__pycache__/\n", "core.py": CORE, "test_core.py": TEST}
    return repository(tmp_path / "repo", files | {"other.py": "import core\n"})


def recipe(*invariants: dict[str, Any], **more: Any) -> Recipe:
    values: dict[str, Any] = {
        "schema": 1,
        "migration": {"id": "x"},
        "scope": {"include": ["*.py"], "site": [{"id": "old", "pattern": r"\bold\("}]},
        "step": [{"id": "s", "run": "true {files}"}],
        "verify": {"report": "unittest", "flaky_reruns": 0, "check": [{"id": "t", "run": GATE}]},
        "invariant": list(invariants),
    }
    return Recipe.model_validate(values | more)


@asynccontextmanager
async def judging(root: Path, given: Recipe) -> AsyncIterator[tuple[RunContext, MigrationGate]]:
    place = await create_migration_run(Options(root, {"state": {"dir": str(root.parent / "state")}}), given)
    async with open_run(place) as context:
        gate = MigrationGate(context, given)
        await gate.record_baseline()
        yield context, gate


def changed(root: Path, **files: str) -> tuple[CommitId, TreeId]:
    """A commit with these modules on top of main, where nobody sees it."""
    for name, text in files.items():
        (root / f"{name}.py").write_text(text)
    git(root, "commit", "-qam", "change")
    commit, tree = git(root, "rev-parse", "HEAD"), git(root, "rev-parse", "HEAD^{tree}")
    git(root, "reset", "-q", "--hard", "HEAD~1")
    return CommitId(commit), TreeId(tree)


async def test_a_file_that_breaks_a_rule_is_named_before_any_test_runs(root: Path) -> None:
    at_most = {"kind": "sites-at-most", "site": "old", "max": 1, "level": "shard"}
    far = {"reject_if": ["unrelated-hunk"], "near": 1}
    async with judging(root, recipe(at_most, {"kind": "max-diff", "lines": 4}, judge=far)) as (context, gate):
        runs = len(context.state.receipts)
        broken = await gate.judge_tree(*changed(root, core=CORE, other="import core  # x\n"), Purpose("q"))
        assert broken.difference.problems == (
            "other.py: 2 changed lines are further than 1 lines from any site, at most 0 may be",
        )
        same = await gate.judge_tree(*changed(root, core=CORE + "\n\nold(1)\n"), Purpose("q"))
        assert same.difference.problems == ("core.py: 3 sites of old are left, at most 1 may be",)
        assert len(context.state.receipts) == runs


FORGED = "import os\n\n\nclass Sum(int):\n    def __eq__(self, other):\n        return True\n"


async def test_a_change_that_forges_results_is_named_before_any_test_runs_unless_the_recipe_grants_it(
    root: Path,
) -> None:
    forged = changed(root, core=CORE + FORGED, other="import core  # x\n")
    async with judging(root, recipe()) as (context, gate):
        runs = len(context.state.receipts)
        broken = await gate.judge_tree(*forged, Purpose("q"))
        (problem,) = broken.difference.problems
        assert problem.startswith("core.py: line 11 ")
        assert problem.endswith("name the file in grants under [judge] of the recipe")
        assert len(context.state.receipts) == runs
    async with judging(root, recipe(judge={"grants": ["core.py"]})) as (_, gate):
        assert (await gate.judge_tree(*forged, Purpose("q"))).difference.is_green


PYTEST_TEST = "from core import double\n\n\ndef test_double():\n    assert double(4) == 8\n"
QUIET = "\n\nfor name in ('{1}',):\n    setattr(__import__('{0}'), name, lambda *_, **__: True)\n"


@pytest.mark.parametrize(
    ("module", "name", "told"),
    [
        ("math", "isclose", "the one that must fail by `math.isclose` passed"),
        (
            "colorsys",
            "rgb_to_hls",
            "colorsys.rgb_to_hls is not what Python or its package brings, but code at core.py:",
        ),
    ],
)
async def test_a_change_that_replaces_a_function_of_python_while_tests_run_is_red_although_they_pass(
    root: Path, module: str, name: str, told: str
) -> None:
    (root / "test_core.py").write_text(PYTEST_TEST)
    git(root, "commit", "-qam", "pytest")
    verify = {"flaky_reruns": 0, "check": [{"id": "t", "run": f"{sys.executable} -m pytest -q -p no:cacheprovider"}]}
    async with judging(root, recipe(verify=verify, env={"read_only": [sys.prefix]})) as (_, gate):
        quiet = await gate.judge_tree(*changed(root, core=CORE + QUIET.format(module, name)), Purpose("q"))
        (problem,) = quiet.difference.problems
        assert told in problem
        assert (await gate.judge_tree(*changed(root, core=CORE + "\n# x\n"), Purpose("q"))).difference.is_green


async def test_a_file_on_which_the_pattern_of_a_rule_never_ends_breaks_that_rule(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("orchestrator.migrate.judging.file_rules._REGEX_S", 0.5)
    async with judging(root, recipe({"kind": "no-new-match", "pattern": "(a+)+$"})) as (_, gate):
        broken = await gate.judge_tree(
            *changed(root, core=f"{CORE}# {'a' * 50}!\n", other="import core  # x\n"), Purpose("q")
        )
        assert broken.difference.problems == ("core.py: (a+)+$ finds no end on it within 0.5 s",)


async def test_commands_and_scope_wide_sites_are_looked_at_on_the_tree(root: Path) -> None:
    rules = (
        {"kind": "command", "run": "! grep -q forbidden {files}", "level": "queue"},
        {"kind": "sites-at-most", "site": "old", "max": 0, "level": "final"},
    )
    mended = CORE.replace("old(", "fresh(")
    async with judging(root, recipe(*rules)) as (_, gate):
        good = changed(root, core=mended)
        assert (await gate.judge_tree(*good, Purpose("q"))).difference.is_green
        assert (await gate.judge_final(*good)).difference.is_green
        bad = await gate.judge_tree(*changed(root, core=f"{mended}# forbidden\n"), Purpose("q"))
        assert bad.difference.problems == ("the command of invariant 1 exits with 1",)
        half = await gate.judge_final(*changed(root, core=CORE.replace("return old(a)", "return 2 * a")))
        assert half.difference.problems == ("1 sites of old are left in scope, at most 0 may be",)


async def test_changed_tests_have_to_be_green_on_the_old_sources(root: Path) -> None:
    async with judging(root, recipe({"kind": "old-source-passes", "level": "queue"})) as (_, gate):
        wrong = changed(root, core=CORE.replace("2 * a", "3 * a"), test_core=TEST.replace("8", "12"))
        told = (await gate.judge_tree(*wrong, Purpose("q"))).difference
        assert told.problems == ("on the old sources the changed tests fail: test_core.CoreTest.test_double",)
        right = changed(root, core=CORE.replace("2 * a", "a + a"), test_core=TEST.replace("8", "4 + 4"))
        assert (await gate.judge_tree(*right, Purpose("q"))).difference.is_green


@pytest.mark.parametrize(
    ("policy", "test", "words"),
    [
        ("all-green", TEST.replace("4), 8", "4), 9"), "test_core.CoreTest.test_double"),
        ("same-outcomes", TEST.replace('self.skipTest("later")', "pass"), "test_unknown (skipped → passed)"),
    ],
)
async def test_a_policy_asks_for_more_than_that_nothing_is_lost(root: Path, policy: str, test: str, words: str) -> None:
    verify = {"report": "unittest", "flaky_reruns": 0, "policy": policy, "check": [{"id": "t", "run": GATE}]}
    async with judging(root, recipe(verify=verify, env={"read_only": [sys.prefix]})) as (_, gate):
        assert (await gate.judge_tree(*changed(root, core=CORE + "\n"), Purpose("q"))).difference.is_green
        red = (await gate.judge_tree(*changed(root, test_core=test), Purpose("q"))).difference
        assert words in " ".join((*red.new_failures, *red.problems))


async def test_a_shard_is_checked_with_the_tests_of_what_it_changes_and_flaky_reruns_run_the_base_again(
    root: Path,
) -> None:
    quick = {"id": "quick", "run": "python3 -m unittest -v {tests}", "level": "shard", "tests": "changed+importers"}
    checks = [{"id": "t", "run": GATE}, quick]
    verify = {"report": "unittest", "flaky_reruns": 1, "check": checks}
    async with judging(root, recipe(verify=verify)) as (context, gate):
        assert len(context.state.receipts) == 2
        broken = changed(root, core=CORE.replace("2 * a", "3 * a"))
        judged = await ShardGate(context, gate, "core", lambda _: {"other.py"}).judge_tree(*broken, Purpose(""))
        assert judged.difference.new_failures == ("test_core.CoreTest.test_double",)
        assert {r.command for r in context.state.receipts.values()} == {GATE, "python3 -m unittest -v test_core.py"}
        lonely = ShardGate(context, gate, "other", lambda _: set())
        await lonely.judge_tree(*changed(root, other="import core as _\n"), Purpose(""))
        assert [n.text for n in context.state.notices] == ["check quick runs all tests: none is known for other.py"]


@pytest.mark.extended
async def test_a_check_right_after_a_step_blames_a_file_only_for_what_it_was_not_before(root: Path) -> None:
    lint = {"id": "lint", "run": "! grep -n eval {files}", "level": "step", "report": "exit-code"}
    verify = {"check": [{"id": "t", "run": GATE}, lint], "report": "unittest"}
    given = recipe(verify=verify)
    async with judging(root, given) as (context, _):
        workspace = await context.hands.open_workspace(context.state.run.base, Purpose("test"))
        checks, before, after = StepChecks(given), CORE.encode(), CORE.encode() + b"eval('1')\n"
        assert await checks.find_violation(workspace, "core.py", before, before) is None
        await workspace.write_file("core.py", after)
        found = await checks.find_violation(workspace, "core.py", before, after)
        assert found is not None
        assert found.reason == "check lint exits with 1: 7:eval('1')"
        assert await checks.find_violation(workspace, "core.py", after, after) is None
        assert await workspace.read_file("core.py") == after
        await workspace.close()


async def test_changed_files_that_no_test_reaches_are_flagged_and_no_receipt_is_left_of_that(root: Path) -> None:
    async with judging(root, recipe()) as (context, _):
        runs = len(context.state.receipts)
        commit, _ = changed(root, core=CORE.replace("2 * a", "a + a"), other="import core as _\n")
        await flag_uncovered_files(context, recipe(), commit)
        assert [notice.text for notice in context.state.notices] == []
        assert {path: file.flags for path, file in context.state.migration.files.items() if file.flags} == {
            "other.py": ("uncovered",)
        }
        assert len(context.state.receipts) == runs
        await flag_uncovered_files(context, recipe(verify={"check": [{"id": "t", "run": "true"}]}), commit)
        assert [notice.text for notice in context.state.notices] == [
            "whether tests reach what changed is not known: the check started no Python that coverage.py can watch"
        ]


async def test_tests_of_which_a_codemod_takes_assertions_land_and_are_flagged(root: Path, tmp_path: Path) -> None:
    weaker = "sed -i 's/assertEqual(double(4), 8)/assertTrue(double(4))/; s/old(a)/old( a )/' {files}"
    kept = {"report": "unittest", "coverage": False, "check": [{"id": "t", "run": GATE}]}
    given = recipe(
        {"kind": "old-source-passes", "level": "queue"},
        scope={"include": ["*.py"]},
        step=[{"id": "s", "run": weaker}],
        verify=kept,
    )
    ended = await run_migration(Options(root, {"state": {"dir": str(tmp_path / "state")}}), given)
    files = ended.state.migration.files
    assert {path for path, file in files.items() if file.status == "merged"} == {"core.py", "test_core.py"}
    assert {path: file.flags for path, file in files.items() if file.flags} == {"test_core.py": ("weakened",)}
