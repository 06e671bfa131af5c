"""What people and greedy workers do to a run meanwhile: it stops with a reason, or goes on, and blames nobody else."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.options import Options
from orchestrator.app.verbs import Ended, migrate, resume, run_goal
from orchestrator.domain.event import Event
from orchestrator.domain.event.work import ModelFailed
from orchestrator.domain.fold import fold
from orchestrator.domain.ids import TaskId
from orchestrator.domain.task import TaskStatus
from orchestrator.errors import LimitReached, PersonNeeded
from orchestrator.journal.store import read_all
from orchestrator.llm.script import ScriptedReply
from orchestrator.migrate.recipe import Recipe
from tests.loopback.builders import call, reply
from tests.running.projects import GATE, GATE_FLAGS, calculator, git
from tests.running.scripts import judges, planner_ends, plans, reviews, uses, worker_ends, write_script, writes

pytestmark = pytest.mark.sandbox

TOO_MANY = "mkdir many && cd many && seq 100001 | xargs touch"


class When:
    """Does something as soon as an event of a kind has been recorded for the first time."""

    def __init__(self, kind: str, act: Callable[[Event], object]) -> None:
        self._kind, self._act = kind, act

    def opened(self, state: object) -> None:
        pass

    def recorded(self, recorded: Any) -> None:
        if recorded.event.kind == self._kind:
            self._kind = ""
            self._act(recorded.event)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return calculator(tmp_path / "repo")


def options(repository: Path, items: Sequence[ScriptedReply], **flags: Any) -> Options:
    model = {"model": write_script(repository.parent / "script.json", items)}
    roles = {"planner": model, "worker": model, "judge": model}
    values = {"gate": GATE_FLAGS, "roles": roles, "state": {"dir": str(repository.parent / "state")}}
    return Options(repository, values | flags)


def task(name: str) -> list[ScriptedReply]:
    return [writes(name, f"{name}.txt", f"{name}\n"), worker_ends(name), reviews(name)]


TWO = [plans("root", {"key": "a"}, {"key": "b", "depends_on": ["a"]}), *task("a"), *task("b"), planner_ends(), judges()]


def commit(repository: Path, parent: str, path: str, text: str) -> str:
    """A commit on top of another one, made beside the checkout."""
    place = repository.parent / "beside"
    git(repository, "worktree", "add", "-q", "--detach", str(place), parent)
    (place / path).write_text(text)
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "by hand")
    made = git(place, "rev-parse", "HEAD")
    git(repository, "worktree", "remove", "--force", str(place))
    return made


@pytest.mark.parametrize("kind", ["landing.finished", "iteration.judged"])
async def test_a_red_commit_of_a_person_on_the_pr_branch_stops_the_run_and_is_no_tasks_fault(
    repository: Path, kind: str
) -> None:
    def spoil(event: Event) -> None:
        branch = git(repository, "for-each-ref", "--format=%(refname)", "refs/heads/orchestrate/")
        git(repository, "update-ref", branch, commit(repository, branch, "calc.py", "def add(a, b):\n    return 0\n"))

    ended = await run_goal(options(repository, TWO), "make it better", When(kind, spoil))
    assert isinstance(ended.error, PersonNeeded)
    assert "which is red ((collection) test_calc" in str(ended.error)
    assert not ended.state.ejections
    assert ended.state.pr is None
    git(repository, "branch", "--force", ended.state.run.branch, str(ended.state.head))
    assert (await resume(options(repository, TWO), None)).exit_code == 0


async def test_a_pr_branch_that_appears_on_other_history_is_not_landed_on(repository: Path) -> None:
    def occupy(event: Event) -> None:
        branch = fold(read_all(next(repository.parent.glob("state/*/runs/*/journal.db")))).run.branch
        git(repository, "branch", branch, git(repository, "commit-tree", "HEAD^{tree}", "-m", "other history"))

    ended = await run_goal(options(repository, TWO), "make it better", When("candidate.taken", occupy))
    assert isinstance(ended.error, PersonNeeded)
    assert f"git branch --force {ended.state.run.branch} {ended.state.run.base}" in str(ended.error)
    git(repository, "branch", "--delete", "--force", ended.state.run.branch)
    assert (await resume(options(repository, TWO), None)).exit_code == 0


async def test_a_landing_on_a_branch_that_is_checked_out_leaves_no_effect_open(repository: Path) -> None:
    def check_out(event: Event) -> None:
        branch = git(repository, "for-each-ref", "--format=%(refname:short)", "refs/heads/orchestrate/")
        git(repository, "worktree", "add", "-q", str(repository.parent / "theirs"), branch)

    ended = await run_goal(options(repository, TWO), "make it better", When("landing.finished", check_out))
    assert isinstance(ended.error, PersonNeeded)
    assert [key for key in ended.state.open_intents if key.startswith("land/")] == []


async def test_a_call_under_way_is_heard_out_when_another_worker_meets_the_budget(repository: Path) -> None:
    first = [
        reply(role="worker", task=name, delay_s=delay_s, call=[call("write", path=f"{name}.txt", text=name)])
        for name, delay_s in (("a", 0.4), ("b", 0.8))
    ]
    rest = [item for name in "ab" for item in task(name)[1:]]
    items = [plans("root", {"key": "a"}, {"key": "b"}), *first, *rest, planner_ends(), judges()]
    ended = await run_goal(options(repository, items, budget={"calls": 2}), "make it better")
    assert isinstance(ended.error, LimitReached)
    assert ended.state.spent.calls == 3, "the plan and both workers' calls"
    again = await resume(options(repository, items, budget={"calls": 50}), None)
    assert (again.exit_code, again.state.possibly_billed) == (0, 0)


async def test_a_provider_that_is_down_at_first_costs_nothing_but_time(repository: Path) -> None:
    down = [reply(role="worker", task="a", error="unavailable")] * 2
    items = [plans("root", {"key": "a"}), *down, *task("a"), planner_ends(), judges()]
    given = options(repository, items, retry={"tries": 2, "base_s": 0.01})
    ended = await run_goal(given, "make it better")
    assert (ended.exit_code, len(ended.state.tasks[TaskId("a")].attempts)) == (75, 1)
    again = await resume(given, None)
    assert (again.exit_code, len(again.state.tasks[TaskId("a")].attempts)) == (0, 1)
    assert failures(again) == ["unavailable", "unavailable"]


def failures(ended: Ended) -> list[str]:
    events = (recorded.event for recorded in read_all(ended.directory.journal))
    return [event.error for event in events if isinstance(event, ModelFailed)]


@pytest.mark.slow
async def test_a_worker_that_leaves_too_many_files_loses_its_attempt_and_nothing_else(repository: Path) -> None:
    greedy = [uses("worker", "a", "shell", command=TOO_MANY)]
    ended = await run_goal(
        options(repository, [plans("root", {"key": "a"}), *greedy, *task("a"), planner_ends(), judges()]), "better"
    )
    state = ended.state.tasks[TaskId("a")]
    assert (ended.exit_code, state.status) == (0, TaskStatus.MERGED)
    assert [attempt.mode for attempt in state.attempts] == ["fresh", "restart"]
    assert "100001 changed files, of which a snapshot may have 100000" in state.attempts[1].feedback[0]


@pytest.mark.slow
async def test_a_step_that_leaves_too_many_files_beside_its_own_is_told_of_and_lands(repository: Path) -> None:
    recipe = Recipe.model_validate(
        {
            "schema": 1,
            "migration": {"id": "words"},
            "scope": {"include": ["calc.py"]},
            "step": [{"id": "greedy", "run": f"echo '# end' >> {{files}}; {TOO_MANY}"}],
            "verify": {"report": "unittest", "check": [{"id": "tests", "run": GATE}]},
        }
    )
    ended = await migrate(Options(repository, {"state": {"dir": str(repository.parent / "state")}}), recipe)
    assert ended.exit_code == 0
    assert "step greedy also changed more than can be listed" in ended.state.notices[0].text
