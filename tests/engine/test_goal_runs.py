"""Runs of a goal with scripted models on real git and a real sandbox: what lands, what does not, and why."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.options import Options
from orchestrator.app.verbs import Ended, resume, run_goal
from orchestrator.demo.story import fingerprint
from orchestrator.domain.ids import TaskId
from orchestrator.domain.task import TaskStatus
from orchestrator.errors import EnvironmentProblem, LimitReached, UsageProblem
from orchestrator.journal.store import read_all
from orchestrator.llm.script import ScriptedReply
from tests.loopback.builders import reply
from tests.running.projects import GATE_FLAGS, calculator, git, refs
from tests.running.scripts import (
    edits,
    judges,
    planner_ends,
    plans,
    reviews,
    uses,
    worker_ends,
    write_script,
    writes,
)

pytestmark = pytest.mark.sandbox

GOOD = "    return a + b\n"
BROKEN = "    return a - b\n"


@dataclass
class Bench:
    """A repository to run on, and what the run is told."""

    root: Path
    repository: Path

    def options(self, items: Sequence[ScriptedReply], **flags: Any) -> Options:
        model = {"model": write_script(self.root / "script.json", items)}
        roles = {"planner": model, "worker": model, "judge": model}
        values = {"gate": GATE_FLAGS, "roles": roles, "state": {"dir": str(self.root / "state")}}
        return Options(self.repository, values | flags)

    async def run(self, *items: ScriptedReply, **flags: Any) -> Ended:
        return await run_goal(self.options(items, **flags), "make it better")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path, calculator(tmp_path / "repo"))


def status(ended: Ended, task: str) -> TaskStatus:
    return ended.state.tasks[TaskId(task)].status


def reason(ended: Ended, task: str) -> str:
    return ended.state.tasks[TaskId(task)].reason


async def test_one_task_lands_and_the_checkout_stays_as_it_was(bench: Bench) -> None:
    before, refs_before = fingerprint(bench.repository), refs(bench.repository)
    ended = await bench.run(
        plans("root", {"key": "triple"}),
        writes("triple", "triple.py", "def triple(a):\n    return 3 * a\n"),
        worker_ends("triple"),
        reviews("triple"),
        planner_ends(),
        judges(),
    )
    assert (ended.exit_code, status(ended, "triple")) == (0, TaskStatus.MERGED)
    assert git(bench.repository, "show", f"{ended.state.run.branch}:triple.py").startswith("def triple")
    assert fingerprint(bench.repository) == before
    new = set(refs(bench.repository)) - set(refs_before)
    assert all(ref.startswith("refs/orchestrate/") for ref in new - {f"refs/heads/{ended.state.run.branch}"})
    assert {ref: refs(bench.repository)[ref] for ref in refs_before} == refs_before


async def test_what_lands_is_the_tree_of_a_green_receipt(bench: Bench) -> None:
    ended = await bench.run(
        plans("root", {"key": "one"}, {"key": "two"}),
        writes("one", "one.py", "x = 1\n"),
        worker_ends("one"),
        reviews("one"),
        writes("two", "two.py", "x = 2\n"),
        worker_ends("two"),
        reviews("two"),
        planner_ends(),
        judges(),
    )
    green = {receipt.tree for receipt in ended.state.receipts.values() if receipt.exit_code == 0}
    assert {landing.tree for landing in ended.state.landings} <= green
    tip = git(bench.repository, "rev-parse", f"{ended.state.run.branch}^{{tree}}")
    assert tip == ended.state.landings[-1].tree


async def test_a_red_candidate_is_revised_with_the_evidence_in_the_same_conversation(bench: Bench) -> None:
    ended = await bench.run(
        plans("root", {"key": "sum"}),
        edits("sum", "calc.py", GOOD, BROKEN),
        worker_ends("sum"),
        edits("sum", "calc.py", BROKEN, "    return b + a\n"),
        worker_ends("sum"),
        reviews("sum"),
        planner_ends(),
        judges(),
    )
    task = ended.state.tasks[TaskId("sum")]
    assert [attempt.mode for attempt in task.attempts] == ["fresh", "revise"]
    told = task.attempts[1].feedback
    assert told[0].startswith("tests that fail now and did not on the base (2): test_calc.CalcTest.test_add, ")
    assert "AssertionError: -1 != 3" in told[1]
    assert task.attempts[1].start == task.candidates[0].commit
    assert ended.exit_code == 0


async def test_a_task_that_stays_red_is_rejected_after_bounded_attempts_and_its_work_is_kept(bench: Bench) -> None:
    tries = [item for n in range(2) for item in (writes("sum", "calc.py", f"x = {n}\n"), worker_ends("sum"))]
    ended = await bench.run(plans("root", {"key": "sum"}), *tries, planner_ends(), run={"max_attempts": 2})
    assert (ended.exit_code, ended.state.ended and ended.state.ended.outcome) == (4, "rejected")
    assert status(ended, "sum") == TaskStatus.REJECTED
    assert "no attempt of 2 could land" in reason(ended, "sum")
    kept = [ref for ref in refs(bench.repository) if "/tasks/sum/" in ref]
    assert len(kept) == 2
    assert not ended.state.landings
    assert f"refs/heads/{ended.state.run.branch}" not in refs(bench.repository)


async def test_a_reviewer_can_take_a_green_candidate_back_but_never_push_a_red_one_through(bench: Bench) -> None:
    ended = await bench.run(
        plans("root", {"key": "sum"}),
        edits("sum", "calc.py", GOOD, "    return b + a\n"),
        worker_ends("sum"),
        reviews("sum", "reject", "calc.py:2 this must not be done"),
        planner_ends(),
    )
    assert status(ended, "sum") == TaskStatus.REJECTED
    assert reason(ended, "sum") == "diff: calc.py:2 this must not be done"
    assert not ended.state.landings


async def test_a_reviewer_that_cannot_be_understood_blocks_the_task_and_is_no_rejection(bench: Bench) -> None:
    ended = await bench.run(
        plans("root", {"key": "sum"}),
        edits("sum", "calc.py", GOOD, "    return b + a\n"),
        worker_ends("sum"),
        *[reply("I like it", role="judge", task="sum")] * 3,
        planner_ends(),
    )
    assert status(ended, "sum") == TaskStatus.BLOCKED
    assert "no verdict could be read" in reason(ended, "sum")
    assert not ended.state.landings


async def test_a_worker_that_changes_nothing_is_told_so(bench: Bench) -> None:
    ended = await bench.run(
        plans("root", {"key": "idle"}),
        *[worker_ends("idle")] * 2,
        planner_ends(),
        run={"max_attempts": 2},
    )
    assert [given.verdict.reasons for given in ended.state.tasks[TaskId("idle")].verdicts] == [
        ("nothing was changed",)
    ] * 2
    assert ended.exit_code == 4


async def test_a_stuck_worker_is_started_afresh(bench: Bench) -> None:
    ended = await bench.run(
        plans("root", {"key": "sum"}),
        *[uses("worker", "sum", "read", path="calc.py")] * 4,
        edits("sum", "calc.py", GOOD, "    return b + a\n"),
        worker_ends("sum"),
        reviews("sum"),
        planner_ends(),
        judges(),
    )
    attempts = ended.state.tasks[TaskId("sum")].attempts
    assert [attempt.mode for attempt in attempts] == ["fresh", "restart"]
    assert "the attempt ended stuck" in attempts[1].feedback[0]
    assert ended.exit_code == 0


async def test_a_commands_claim_is_not_believed_and_its_own_check_must_pass(bench: Bench) -> None:
    ended = await bench.run(
        plans("root", {"key": "sum", "checks": ["test -e proof"]}),
        edits("sum", "calc.py", GOOD, "    return b + a\n"),
        worker_ends("sum", "proof exists, I checked"),
        uses("worker", "sum", "shell", command="echo yes > proof"),
        worker_ends("sum"),
        reviews("sum"),
        planner_ends(),
        judges(),
    )
    task = ended.state.tasks[TaskId("sum")]
    assert "checks of the task that fail (1): `test -e proof` exits 1" in task.verdicts[0].verdict.reasons[0]
    assert status(ended, "sum") == TaskStatus.MERGED


async def test_two_tasks_that_clash_both_land_in_the_end(bench: Bench) -> None:
    clash = [{"key": "left"}, {"key": "right"}]
    ended = await bench.run(
        plans("root", *clash),
        edits("left", "calc.py", "def add(a, b):\n", "def add(a, b):  # left\n"),
        worker_ends("left"),
        reviews("left"),
        edits("right", "calc.py", "def add(a, b):\n", "def add(a, b):  # right\n"),
        worker_ends("right"),
        reviews("right"),
        # whoever comes second begins again on top of what landed
        *[edits(name, "calc.py", "    return a + b\n", f"    return a + b  # {name}\n") for name in ("left", "right")],
        worker_ends("left"),
        worker_ends("right"),
        reviews("left"),
        reviews("right"),
        planner_ends(),
        judges(),
    )
    assert [status(ended, name) for name in ("left", "right")] == [TaskStatus.MERGED] * 2
    assert len(ended.state.ejections) == 1
    assert ended.state.ejections[0].conflict == ("calc.py",)
    second = ended.state.tasks[TaskId(ended.state.ejections[0].unit.split("@")[0])]
    assert second.attempts[1].mode == "restart"
    assert "changed the same lines in calc.py" in second.attempts[1].feedback[0]


async def test_tasks_that_are_green_alone_and_red_together_do_not_both_land_unchanged(bench: Bench) -> None:
    test = "import unittest, os\n\nclass T(unittest.TestCase):\n    def test_x(self):\n        {}\n"
    alone = "self.assertFalse(os.path.exists('a.txt') and os.path.exists('b.txt'))"
    ended = await bench.run(
        plans("root", {"key": "a"}, {"key": "b"}),
        writes("a", "test_a.py", test.format(alone)),
        writes("a", "a.txt", "a\n"),
        worker_ends("a"),
        reviews("a"),
        writes("b", "b.txt", "b\n"),
        worker_ends("b"),
        reviews("b"),
        *[writes(name, f"{name}2.txt", "other\n") for name in ("a", "b")],
        worker_ends("a"),
        worker_ends("b"),
        reviews("a"),
        reviews("b"),
        planner_ends(),
        judges(),
    )
    assert [status(ended, name) for name in ("a", "b")] == [TaskStatus.MERGED] * 2
    assert len(ended.state.ejections) == 1
    assert ended.state.ejections[0].difference.new_failures
    files = git(bench.repository, "ls-tree", "--name-only", ended.state.run.branch).splitlines()
    assert not {"a.txt", "b.txt"} <= set(files)


async def test_a_task_that_depends_on_a_rejected_one_is_cancelled(bench: Bench) -> None:
    ended = await bench.run(
        plans("root", {"key": "first"}, {"key": "second", "depends_on": ["first"]}),
        edits("first", "calc.py", GOOD, BROKEN),
        worker_ends("first"),
        planner_ends(),
        run={"max_attempts": 1},
    )
    assert status(ended, "second") == TaskStatus.CANCELLED
    assert reason(ended, "second") == "it depends on first, which was rejected"


async def test_a_refused_plan_goes_back_to_its_planner(bench: Bench) -> None:
    ended = await bench.run(
        plans("root", {"key": "a", "depends_on": ["ghost"]}),
        plans("root", {"key": "a"}),
        writes("a", "a.txt", "a\n"),
        worker_ends("a"),
        reviews("a"),
        planner_ends(),
        judges(),
    )
    refused = [one.event for one in read_all(ended.directory.journal) if one.event.kind == "plan.refused"]
    assert [event.problems for event in refused] == [("task 'a' depends on 'ghost', which is not in the plan",)]  # type: ignore[attr-defined]
    assert ended.exit_code == 0


async def test_a_verdict_to_continue_wakes_the_planner_with_the_reasons(bench: Bench) -> None:
    ended = await bench.run(
        plans("root", {"key": "a"}),
        writes("a", "a.txt", "a\n"),
        worker_ends("a"),
        reviews("a"),
        planner_ends(),
        judges("continue", "b is missing"),
        plans("root", {"key": "b"}),
        writes("b", "b.txt", "b\n"),
        worker_ends("b"),
        reviews("b"),
        planner_ends(),
        judges(),
    )
    assert [verdict.decision for verdict in ended.state.iterations] == ["continue", "done"]
    assert ended.state.iteration_reasons == ("b is missing",)
    assert [status(ended, name) for name in ("a", "b")] == [TaskStatus.MERGED] * 2


async def test_a_goal_that_is_not_reached_ends_as_partial_with_a_pull_request(bench: Bench) -> None:
    ended = await bench.run(
        plans("root", {"key": "a"}),
        writes("a", "a.txt", "a\n"),
        worker_ends("a"),
        reviews("a"),
        planner_ends(),
        judges("continue", "more @everyone <b>"),
        run={"max_iterations": 1},
    )
    assert (ended.exit_code, ended.state.ended and ended.state.ended.outcome) == (3, "partial")
    assert ended.state.pr is not None
    page = git(bench.repository, "show", f"{ended.state.pr.ref}:PR.md")
    assert "@everyone" not in page
    assert "more @\u200beveryone &lt;b>" in page


async def test_titles_from_models_cannot_steer_the_terminal_of_who_reads_git_log_or_the_pull_request(
    bench: Bench,
) -> None:
    ended = await bench.run(
        plans("root", {"key": "a", "title": "A\x1b]0;owned\x07 \u202ework\n\nSigned-off-by: you"}),
        writes("a", "a.txt", "a\n"),
        worker_ends("a"),
        reviews("a"),
        planner_ends(),
        judges(),
    )
    assert ended.state.pr is not None
    subjects = git(bench.repository, "log", "--format=%B", f"main..{ended.state.run.branch}")
    page = git(bench.repository, "show", f"{ended.state.pr.ref}:PR.md")
    assert "A]0;owned work Signed-off-by: you\n" in subjects
    assert [char for char in subjects + page if char in "\x1b\x07\u202e"] == []


async def test_a_planner_that_finds_nothing_to_do_is_never_green(bench: Bench) -> None:
    ended = await bench.run(planner_ends(summary="it is perfect already"))
    assert (ended.exit_code, ended.state.ended and ended.state.ended.outcome) == (4, "nothing-changed")
    assert "it is perfect already" in (ended.state.ended.reason if ended.state.ended else "")


async def test_a_root_planner_that_gives_no_plan_ends_the_run_as_failed_and_not_as_nothing_to_do(bench: Bench) -> None:
    ended = await bench.run(*[uses("planner", "root", "list")] * 4)
    assert (ended.exit_code, ended.state.ended and ended.state.ended.outcome) == (4, "failed")
    assert "there is no plan: its planner ended stuck" in (ended.state.ended.reason if ended.state.ended else "")


async def test_sub_planners_are_planned_and_woken_to_the_allowed_depth(bench: Bench) -> None:
    branch = {"key": "down", "kind": "branch"}
    ended = await bench.run(
        plans("root", branch),
        plans("down", branch),
        plans("down/down", branch),  # refused: three planners deep is the limit
        plans("down/down", {"key": "leaf"}),
        writes("down/down/leaf", "a.txt", "a\n"),
        worker_ends("down/down/leaf"),
        reviews("down/down/leaf"),
        planner_ends("down/down", "leaf landed"),
        planner_ends("down", "slice done"),
        planner_ends(),
        judges(),
    )
    assert ended.exit_code == 0
    assert {name: task.status.value for name, task in ended.state.tasks.items()} == {
        "root": "done",
        "down": "done",
        "down/down": "done",
        "down/down/leaf": "merged",
    }


async def test_a_spent_budget_stops_resumably_and_a_larger_one_goes_on(bench: Bench) -> None:
    items = [
        item.model_copy(update={"cost_usd": Decimal("0.5")})
        for item in (
            plans("root", {"key": "a"}),
            writes("a", "a.txt", "a\n"),
            worker_ends("a"),
            reviews("a"),
            planner_ends(),
            judges(),
        )
    ]
    options = bench.options(items, budget={"usd": 1.0})
    ended = await run_goal(options, "make it better")
    assert isinstance(ended.error, LimitReached)
    assert ended.exit_code == 5
    assert ended.state.spent.calls == 2
    again = await resume(Options(bench.repository, options.flags | {"budget": {"usd": 10.0}}), None)
    assert (again.exit_code, again.state.spent.calls, status(again, "a")) == (0, 6, TaskStatus.MERGED)


async def test_a_script_that_runs_dry_says_where_and_can_be_gone_on_with(bench: Bench) -> None:
    begun = [plans("root", {"key": "a"}), writes("a", "a.txt", "a\n")]
    ended = await bench.run(*begun)
    assert ended.exit_code == 2
    assert "no more replies for role 'worker', task 'a'" in str(ended.error)
    rest = [worker_ends("a"), reviews("a"), planner_ends(), judges()]
    again = await resume(bench.options([*begun, *rest]), None)
    assert (again.exit_code, status(again, "a")) == (0, TaskStatus.MERGED)


async def test_a_pr_branch_that_is_checked_out_is_never_moved_under_the_persons_feet(bench: Bench) -> None:
    items = [
        plans("root", {"key": "a"}, {"key": "b", "depends_on": ["a"]}),
        writes("a", "a.txt", "a\n"),
        worker_ends("a"),
        reviews("a"),
        uses("worker", "b", "shell", command="sleep 2"),
        writes("b", "b.txt", "b\n"),
        worker_ends("b"),
        reviews("b"),
        planner_ends(),
        judges(),
    ]
    place = bench.root / "look"

    class Looking:
        def opened(self, state: object) -> None:
            pass

        def recorded(self, recorded: Any) -> None:
            if recorded.event.kind == "landing.finished" and not place.exists():
                git(bench.repository, "worktree", "add", "-q", str(place), recorded.event.branch)

    ended = await run_goal(bench.options(items), "make it better", Looking())
    assert ended.exit_code == 6
    assert f"is checked out in {place}" in str(ended.error)
    assert not (place / "b.txt").exists()
    git(bench.repository, "worktree", "remove", str(place))
    again = await resume(bench.options(items), None)
    assert (again.exit_code, status(again, "b")) == (0, TaskStatus.MERGED)


async def test_without_a_gate_nothing_is_started(bench: Bench) -> None:
    with pytest.raises(UsageProblem, match="no gate is configured"):
        await bench.run(plans("root", {"key": "a"}), gate={"command": ""})
    assert not (bench.root / "state").exists()


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        ({"command": "nonsense-command", "report": "auto"}, "was not found in the sandbox"),
        ({"command": "exit 3", "report": "exit-code"}, "exits 3 on the base, before anything changed"),
        ({"command": "python3 -m unittest -v nothing_here", "report": "unittest"}, "ran no test"),
        ({"command": "sleep 30", "report": "auto", "timeout_s": 0.5}, "did not end within"),
        ({"command": "yes", "report": "auto"}, "printed more than [hands] output_mb allows"),
    ],
)
async def test_a_gate_that_cannot_judge_stops_the_run_before_any_model_is_asked(
    bench: Bench, gate: dict[str, Any], said: str
) -> None:
    ended = await bench.run(plans("root", {"key": "a"}), gate=gate, hands={"output_mb": 1})
    assert isinstance(ended.error, EnvironmentProblem)
    assert said in str(ended.error)
    assert (ended.exit_code, ended.state.spent.calls) == (7, 0)


async def test_a_red_baseline_is_fine_and_stays_the_measure(bench: Bench) -> None:
    (bench.repository / "test_red.py").write_text(
        "import unittest\n\nclass R(unittest.TestCase):\n    def test_red(self):\n        self.fail()\n"
    )
    git(bench.repository, "add", "-A")
    git(bench.repository, "commit", "-q", "-m", "red")
    ended = await bench.run(
        plans("root", {"key": "a"}),
        writes("a", "a.txt", "a\n"),
        worker_ends("a"),
        reviews("a"),
        planner_ends(),
        judges(),
    )
    assert (ended.exit_code, status(ended, "a")) == (0, TaskStatus.MERGED)


async def test_a_dirty_checkout_is_allowed_and_told(bench: Bench) -> None:
    (bench.repository / "calc.py").write_text("broken on purpose\n")
    ended = await bench.run(
        plans("root", {"key": "a"}),
        writes("a", "a.txt", "a\n"),
        worker_ends("a"),
        reviews("a"),
        planner_ends(),
        judges(),
    )
    assert ended.exit_code == 0
    assert "changes that are not committed (calc.py)" in ended.state.notices[0].text
    assert (bench.repository / "calc.py").read_text() == "broken on purpose\n"


async def test_a_pr_branch_that_somebody_deleted_is_asked_back_before_anything_lands_beside_it(bench: Bench) -> None:
    items = [
        plans("root", {"key": "a"}, {"key": "b", "depends_on": ["a"]}),
        writes("a", "a.txt", "a\n"),
        worker_ends("a"),
        reviews("a"),
        writes("b", "b.txt", "b\n"),
        worker_ends("b"),
        reviews("b"),
        planner_ends(),
        judges(),
    ]

    class Deleting:
        def opened(self, state: object) -> None:
            pass

        def recorded(self, recorded: Any) -> None:
            if recorded.event.kind == "landing.finished" and recorded.event.units == ("a@1",):
                git(bench.repository, "branch", "-qD", recorded.event.branch)

    ended = await run_goal(bench.options(items), "make it better", Deleting())
    assert ended.exit_code == 6
    assert f"git branch --force {ended.state.run.branch} {ended.state.head}" in str(ended.error)
    git(bench.repository, "branch", "--force", ended.state.run.branch, str(ended.state.head))
    again = await resume(bench.options(items), None)
    assert again.exit_code == 0
    files = git(bench.repository, "ls-tree", "--name-only", again.state.run.branch).splitlines()
    assert {"a.txt", "b.txt"} <= set(files)


async def test_what_a_person_commits_on_the_pr_branch_meanwhile_is_built_on(bench: Bench) -> None:
    items = [
        plans("root", {"key": "a"}, {"key": "b", "depends_on": ["a"]}),
        writes("a", "a.txt", "a\n"),
        worker_ends("a"),
        reviews("a"),
        writes("b", "b.txt", "b\n"),
        worker_ends("b"),
        reviews("b"),
        planner_ends(),
        judges(),
    ]

    class Committing:
        def opened(self, state: object) -> None:
            pass

        def recorded(self, recorded: Any) -> None:
            if recorded.event.kind == "landing.finished" and recorded.event.units == ("a@1",):
                tree = git(bench.repository, "rev-parse", f"{recorded.event.new}^{{tree}}")
                mine = git(bench.repository, "commit-tree", tree, "-p", recorded.event.new, "-m", "by hand")
                git(bench.repository, "update-ref", f"refs/heads/{recorded.event.branch}", mine)

    ended = await run_goal(bench.options(items), "make it better", Committing())
    assert ended.exit_code == 0
    assert "by hand" in git(bench.repository, "log", "--format=%s", ended.state.run.branch).splitlines()


async def test_a_root_planner_that_gives_up_after_something_landed_ends_as_partial(bench: Bench) -> None:
    ended = await bench.run(
        plans("root", {"key": "a"}),
        writes("a", "a.txt", "a\n"),
        worker_ends("a"),
        reviews("a"),
        *[uses("planner", "root", "list")] * 4,
    )
    assert (ended.exit_code, ended.state.ended and ended.state.ended.outcome) == (3, "partial")
    assert "gave up: its planner ended stuck" in (ended.state.ended.reason if ended.state.ended else "")


async def test_an_attempt_that_ran_out_of_turns_is_followed_by_one_that_goes_on_from_its_files(bench: Bench) -> None:
    items = (
        plans("root", {"key": "one"}),
        writes("one", "one.py", "x = 1\n"),
        uses("worker", "one", "read", path="one.py"),
        worker_ends("one"),
        reviews("one"),
        planner_ends(),
        judges(),
    )
    model = {"model": write_script(bench.root / "script.json", items)}
    roles = {"planner": model, "worker": model | {"max_turns": 2}, "judge": model}
    ended = await bench.run(*items, roles=roles)
    task = ended.state.tasks[TaskId("one")]
    assert [attempt.mode for attempt in task.attempts] == ["fresh", "restart"]
    assert task.attempts[1].start == task.candidates[0].commit
    assert (ended.exit_code, status(ended, "one")) == (0, TaskStatus.MERGED)
