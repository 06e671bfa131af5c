"""Steps of a migration that ask a model: one file each, judged like any other work of models, within their budget."""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.replay_models import ReplayOptions
from orchestrator.app.run_execution import RunExit, resume_run, run_migration
from orchestrator.domain.ids import TaskId
from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.run.task import TaskStatus
from orchestrator.errors import EnvironmentProblem
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.migrate.models.file_tasks import build_file_task_id
from orchestrator.project.options import Options
from orchestrator.report.run.result import build_run_result, build_status
from orchestrator.report.run.status_text import render_status_lines
from orchestrator.report.run.summary import render_summary_lines
from orchestrator.scratch_runs.replay import replay_run
from tests.loopback.builders import reply
from tests.running.projects import git, repository
from tests.running.scripts import uses, worker_ends, write_script, writes
from tests.running.words import SED, recipe, words

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(480)]

TAIL: Mapping[str, Any] = {"id": "tail", "kind": "llm", "when": "failed", "attempts": 2}
HAND = {"id": "hand", "kind": "human", "when": "failed"}


def leaf(given: Recipe, path: str, climb: int = 1) -> TaskId:
    step = next(step for step in given.step if step.kind == "llm")
    return build_file_task_id(step, path, climb)


def options(root: Path, items: Sequence[ScriptedReply], **flags: Any) -> Options:
    model = {"model": write_script(root.parent / "script.json", items)}
    values = {"roles": {"worker": model, "judge": model}, "state": {"dir": str(root.parent / "state")}}
    return Options(root, values | flags)


def made(given: Recipe, path: str, *texts: str) -> list[ScriptedReply]:
    """A worker writes a text in each of its attempts."""
    task = leaf(given, path)
    return [item for text in texts for item in (writes(task, path, text), worker_ends(task))]


def stands(ended: RunExit) -> dict[str, str]:
    return {path: file.status.value for path, file in ended.state.migration.files.items()}


@pytest.mark.extended
async def test_a_step_that_has_spent_its_budget_asks_nothing_more_and_the_run_goes_on(tmp_path: Path) -> None:
    root = words(tmp_path / "repo", {"a": ["old", "better"], "b": ["old", "better"]})
    given = recipe({"run": SED}, TAIL | {"budget_usd": 0.06}, HAND)
    dear = [item.model_copy(update={"cost_usd": Decimal("0.03")}) for item in made(given, "a.txt", "better\n")]
    items = [*dear, *made(given, "b.txt", "better\n")]
    ended = await run_migration(options(root, items, run={"max_workers": 1}), given)
    assert stands(ended) == {"a.txt": "merged", "b.txt": "needs-human"}
    reason = ended.state.migration.files["b.txt"].reason
    assert "the budget of step tail is spent ($0.06)" in reason
    assert "breaks 1 test" in reason, "what it failed on before is still told"
    assert ended.state.spend.total.calls == 2
    assert (ended.exit_code, ended.error) == (3, None)


@pytest.mark.extended
async def test_a_run_that_no_model_answers_waits_and_goes_on_where_it_was(tmp_path: Path) -> None:
    root = words(tmp_path / "repo", {"a": ["old", "better"], "b": ["old", "better"]})
    given = recipe({"run": SED}, TAIL, HAND)
    first = [*made(given, "a.txt", "better\n"), writes(leaf(given, "b.txt"), "b.txt", "better\n")]
    down = reply(role="worker", task=leaf(given, "b.txt"), error="unavailable")
    flags = {"run": {"max_workers": 1}, "retry": {"tries": 1, "base_s": 0.01}}
    stopped = await run_migration(options(root, [*first, down], **flags), given)
    assert stopped.exit_code == 75
    assert stands(stopped) == {"a.txt": "transformed", "b.txt": "ejected"}, "trouble of the provider is no failure"
    ended = await resume_run(options(root, [*first, down, worker_ends(leaf(given, "b.txt"))]), None)
    assert stands(ended) == {"a.txt": "merged", "b.txt": "merged"}
    kinds = [event.kind for _, _, event in read_all_events(ended.directory.journal)]
    assert kinds.count("attempt.started") == 2, "no attempt was made twice"
    assert kinds.count("task.created") == 3


@pytest.mark.extended
async def test_a_spent_budget_of_the_run_is_no_failure_of_a_file(tmp_path: Path) -> None:
    root = words(tmp_path / "repo", {"a": ["old", "better"], "b": ["old", "better"]})
    given = recipe({"run": SED}, TAIL, HAND)
    items = [*made(given, "a.txt", "better\n"), *made(given, "b.txt", "better\n")]
    stopped = await run_migration(options(root, items, budget={"calls": 3, "reserve": 0}), given)
    assert (stopped.exit_code, stopped.state.spend.total.calls) == (5, 3)
    assert sorted(stands(stopped).values()) == ["ejected", "transformed"]
    ended = await resume_run(options(root, items, budget={"calls": 9}), None)
    assert stands(ended) == {"a.txt": "merged", "b.txt": "merged"}
    assert ended.state.spend.total.calls == 4, "the attempt went on with the call that was refused"


TEST_OLD = """import unittest

from shop import price


class PriceTest(unittest.TestCase):
    def test_price(self):
        self.assertEquals(price(2), 20)

    def test_none(self):
        self.assertEquals(price(0), 0)
"""


@pytest.mark.extended
async def test_the_ratchet_of_tests_holds_for_what_models_write(tmp_path: Path) -> None:
    """Each attempt lets the tests pass by asking less, in another way; the last one is honest."""
    files: dict[str, str | bytes] = {
        ".gitignore": "__pycache__/\n",
        "shop.py": "def price(n):\n    return 10 * n\n",
        "test_shop.py": TEST_OLD.replace("assertEquals", "assertEqual"),
    }
    root = repository(tmp_path / "repo", files)
    given = recipe(
        TAIL | {"when": "sites", "attempts": 4},
        HAND,
        scope={"include": ["test_*.py"], "site": [{"id": "equal", "pattern": "assertEqual"}]},
    )
    honest = TEST_OLD.replace("self.assertEquals(price(2), 20)", "assert price(2) == 20").replace(
        "self.assertEquals(price(0), 0)", "assert price(0) == 0"
    )
    weaker = honest.replace("assert price(2) == 20", "assert price(2)")
    silenced = honest.replace("import price", "import price  # noqa: F401")
    fewer = honest[: honest.index("    def test_none")]
    items = made(given, "test_shop.py", weaker, silenced, fewer, honest)
    ended = await run_migration(options(root, items), given)
    verdicts = ended.state.tasks[leaf(given, "test_shop.py")].verdicts
    reasons = ["; ".join(one.verdict.reasons) for one in verdicts]
    assert "asks for less" in reasons[0]
    assert "silences a tool" in reasons[1]
    assert "test_none" in reasons[2]
    assert reasons[3] == ""
    assert stands(ended) == {"test_shop.py": "merged"}
    assert ended.state.migration.files["test_shop.py"].left == 0


async def test_only_the_file_itself_counts_and_has_to_parse(tmp_path: Path) -> None:
    root = repository(
        tmp_path / "repo",
        {".gitignore": "__pycache__/\n", "a.py": "X = 'old'\n", "b.py": "Y = 1\n", "test_x.py": PARSES},
    )
    given = recipe(TAIL | {"when": "sites"}, scope={"include": ["a.py"], "site": [{"id": "old", "pattern": "old"}]})
    task = leaf(given, "a.py")
    items = [*made(given, "a.py", "X = (\n"), writes(task, "b.py", "Y = 2\n")]
    items += [writes(task, "a.py", "X = 'new'\n"), worker_ends(task)]
    ended = await run_migration(options(root, items), given)
    assert stands(ended) == {"a.py": "merged"}
    (first, _) = ended.state.tasks[task].verdicts
    assert "does not parse after step tail" in first.verdict.reasons[0]
    assert [notice.text for notice in ended.state.notices] == [
        "the worker of a.py also changed b.py; that was left out"
    ]
    assert git(root, "show", f"{ended.state.run.branch}:b.py") == "Y = 1"
    form = "%(trailers:key=Orchestrate-Agent,valueonly,separator=%x7c)"
    assert git(root, "log", "-1", f"--format={form}", ended.state.run.branch) == (
        "role=worker; model=scripted; engine=loop"
    )


PARSES = "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_a(self):\n        import a\n"


@pytest.mark.extended
async def test_reviewers_look_at_the_diff_of_a_file_before_it_may_go_to_the_queue(tmp_path: Path) -> None:
    root = words(tmp_path / "repo", {"a": ["old", "new", "better"]})
    given = recipe(TAIL | {"when": "sites"}, judge={"diff_review": "llm"})
    task = leaf(given, "a.txt")
    veto = uses("judge", task, "submit_verdict", decision="revise", reasons=["a.txt:1 is no fine word"])
    finding = {"id": "outcome", "met": True, "evidence": ["a.txt:1"]}
    approval = uses("judge", task, "submit_verdict", decision="approve", findings=[finding])
    items = [*made(given, "a.txt", "new\n", "better\n"), veto, approval]
    ended = await run_migration(options(root, items), given)
    assert stands(ended) == {"a.txt": "merged"}
    votes = [one.verdict.votes[0].decision for one in ended.state.tasks[task].verdicts]
    assert votes == ["revise", "approve"]
    assert git(root, "show", f"{ended.state.run.branch}:a.txt") == "better"


@pytest.mark.extended
async def test_what_is_left_to_a_person_is_told_everywhere_and_noted_where_nothing_lands(tmp_path: Path) -> None:
    root = repository(tmp_path / "repo", {".gitignore": "__pycache__/\n", "a.py": "X = 'old'\n", "test_x.py": ONLY_OLD})
    given = recipe(
        {"run": SED},
        TAIL | {"attempts": 1},
        HAND | {"note": True},
        scope={"include": ["a.py"], "site": [{"id": "old", "pattern": "old"}]},
    )
    ended = await run_migration(options(root, made(given, "a.py", "X = 'other'\n")), given)
    assert ended.state.migration.files["a.py"].status == FileStatus.NEEDS_HUMAN
    noted = git(root, "show", f"refs/orchestrate/{ended.state.run.run}/human:a.py")
    assert noted.startswith("# words: breaks 1 test: ")
    assert noted.endswith("\nX = 'old'")
    assert ended.state.head is None, "nothing red has landed"
    result = build_run_result(ended.state, ended.directory.journal)
    assert [file.path for file in result.files.needs_human or ()] == ["a.py"]
    assert ended.state.tasks[leaf(given, "a.py")].status == TaskStatus.REJECTED
    told = "\n".join(render_summary_lines(ended.state))
    assert "1 left to a person" in told
    status = build_status(ended.state, ended.directory.journal)
    assert "step/tail" in "\n".join(render_status_lines(status))


ONLY_OLD = (
    "import unittest\n\nfrom a import X\n\n\nclass T(unittest.TestCase):\n"
    "    def test_a(self):\n        self.assertEqual(X, 'old')\n"
)


@pytest.mark.extended
async def test_a_migration_with_models_is_replayed_from_its_journal(tmp_path: Path) -> None:
    root = words(tmp_path / "repo", {"a": ["old", "new"], "b": ["old", "better"]})
    given = recipe({"run": SED}, TAIL)
    asked = options(root, made(given, "b.txt", "worse\n", "better\n"))
    ended = await run_migration(asked, given)
    assert stands(ended) == {"a.txt": "merged", "b.txt": "merged"}
    (root.parent / "script.json").unlink()
    report = await replay_run(Options(root, {"state": {"dir": str(root.parent / "state")}}), None, ReplayOptions())
    assert report.divergences == ()
    assert report.same_bytes + report.same_steadied == ended.state.spend.total.calls == 4


async def test_a_recipe_that_asks_a_model_needs_one_before_anything_begins(tmp_path: Path) -> None:
    root = words(tmp_path / "repo", {"a": ["old"]})
    with pytest.raises(EnvironmentProblem, match="no model is configured for the worker"):
        await run_migration(Options(root, {"state": {"dir": str(tmp_path / "state")}}), recipe({"run": SED}, TAIL))
