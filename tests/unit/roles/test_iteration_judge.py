"""The judge of the whole at any size: what its brief holds, what it can read beside it, and its fresh tries."""

from collections.abc import AsyncIterator, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from orchestrator.domain.ids import ROOT_TASK, TaskId
from orchestrator.domain.run.contract import Contract, Criterion, IterationVerdict
from orchestrator.domain.run.plan import Plan, PlanLimits
from orchestrator.domain.run.task import EndCause, Exit, Handoff, Task, TaskStatus
from orchestrator.engine.goal.planning import build_root_task
from orchestrator.journal.journal import Journal
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.ports.roles import IterationBrief, PlanningBrief, SessionFailure, TaskReport
from tests.loopback.builders import reply
from tests.running.role_bench import RoleBench, open_role_journal
from tests.running.scripts import judges, plans, uses

CONTRACT = Contract(criteria=(Criterion(id="goal", text="a shop"), Criterion(id="gate", text="green", command="t")))
WORDS = "this was done with great care and all of it is well " * 50


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    journal = await open_role_journal(tmp_path)
    yield journal
    journal.close()


def build_reports(slices: int, leaves: int) -> Iterator[TaskReport]:
    """Reports of about 3 KB on tasks that all merged at once, but for one; of the slices only the first is rejected."""
    for number in range(slices):
        name = TaskId(f"slice-{number}")
        branch = Task(id=name, parent=ROOT_TASK, depth=1, kind="branch", title="A slice", outcome="it works")
        said = Handoff(summary=f"All of slice {number} stands.")
        yield TaskReport(task=branch, status=TaskStatus.DONE, handoff=said)
        for leaf in range(leaves):
            task = Task(
                id=TaskId(f"{name}/leaf-{leaf}"),
                parent=name,
                depth=2,
                kind="leaf",
                title=f"Leaf {leaf}",
                outcome=f"part {leaf} of slice {number} works",
            )
            if number == leaf == 1:
                why = "its 4 attempts are used up: test_cart.test_total fails"
                yield TaskReport(task=task, status=TaskStatus.REJECTED, reason=why, cause=EndCause.RED_TESTS)
            else:
                done = Handoff(summary=WORDS)
                yield TaskReport(task=task, status=TaskStatus.MERGED, handoff=done, attempts=1)


def build_brief(*reports: TaskReport, files: int = 1) -> IterationBrief:
    paths = tuple(f"src/part_{number:05d}.py" for number in range(files))
    return IterationBrief(
        goal="a shop",
        number=1,
        contract=CONTRACT,
        reports=reports,
        checks=(),
        diffstat="\n".join(f" {path} | 12 +" for path in paths),
        citable=(*(report.task.id for report in reports), "gate", *paths),
    )


def calls_done(evidence: str) -> ScriptedReply:
    findings = [{"id": name, "met": True, "evidence": evidence} for name in ("goal", "gate")]
    return uses("judge", "root", "submit_verdict", decision="done", findings=findings)


async def test_a_thousand_tasks_are_judged_within_a_third_of_the_window_and_the_rest_is_read_in_pages(
    journal: Journal,
) -> None:
    reads = [uses("judge", "root", "read_reports", task_id="slice-3", page_number=page) for page in range(1, 12)]
    changes = uses("judge", "root", "read_changes", file="part_04")
    bench = RoleBench(journal, *reads, changes, calls_done("slice-3/leaf-77 and src/part_04321.py:12"))
    brief = build_brief(*build_reports(10, 100), files=5_000)
    verdict = await bench.roles.judge.judge_iteration(brief)
    assert isinstance(verdict, IterationVerdict), verdict
    assert verdict.decision == "done"
    told = bench.model.requests[0].messages[1].text
    assert len(told) <= 128_000 * 4 / 3
    assert "slice-3 (A slice): done; below it 100 tasks: 100 merged" in told
    assert "slice-3: All of slice 3 stands." in told
    assert "test_cart.test_total fails" in told, "what did not land is told in full"
    assert "slice-9/leaf-99: merged (Leaf 99): part 99 of slice 9 works" in told
    pages = [bench.told(turn) for turn in range(1, 12)]
    assert all("great care" in page for page in pages)
    assert "page 11 of " in pages[-1]
    assert "src/part_04321.py | 12 +" not in told
    assert "src/part_04321.py | 12 +" in bench.told(12)


async def test_what_a_judge_asks_for_that_there_is_not_is_answered_in_words(journal: Journal) -> None:
    reads = [
        uses("judge", "root", "read_reports", slice="slice-0/leaf-9"),
        uses("judge", "root", "read_reports", id="slice-0", page=7),
        uses("judge", "root", "read_changes", path="nowhere"),
    ]
    bench = RoleBench(journal, *reads, judges())
    assert isinstance(await bench.roles.judge.judge_iteration(build_brief(*build_reports(1, 2))), IterationVerdict)
    assert bench.told(1).startswith("there is no task 'slice-0/leaf-9': did you mean slice-0/leaf-")
    assert bench.told(2).startswith("there is no page 7: the last one is 1\n[`id` was taken as `task`")
    assert bench.model.requests[3].messages[-2].text == "no changed file has 'nowhere' in its path"


async def test_a_judge_that_only_talks_is_asked_anew_and_told_how_it_ended_before(journal: Journal) -> None:
    words = [reply(f"it looks good {number}", role="judge", task="root") for number in range(6)]
    bench = RoleBench(journal, *words, judges())
    assert isinstance(await bench.roles.judge.judge_iteration(build_brief(*build_reports(1, 1))), IterationVerdict)
    sessions = list(dict.fromkeys(request.session for request in bench.model.requests))
    assert sessions == ["verdict:1", "verdict:1.2", "verdict:1.3"]
    assert len(bench.model.requests[-1].messages) == 2, "its context is fresh"
    assert "stuck 3 replies in a row used no tool" in bench.told(6)
    assert "Only `submit_verdict` gives a verdict." in bench.told(6)
    again = RoleBench(journal)
    assert isinstance(await again.roles.judge.judge_iteration(build_brief(*build_reports(1, 1))), IterationVerdict)
    assert again.model.requests == (), "a run that goes on asks nobody again"


async def test_after_its_own_model_each_fallback_has_one_try_and_then_it_fails(journal: Journal) -> None:
    refused = reply(role="judge", task="root", error="request-refused")
    judge = {"model": "usual", "fallbacks": ["other"]}
    bench = RoleBench(journal, *[refused] * 4, judge=judge)
    result = await bench.roles.judge.judge_iteration(build_brief(*build_reports(1, 1)))
    assert isinstance(result, SessionFailure)
    assert result.exit == Exit.REFUSED
    assert result.detail.endswith("(the last of 4 conversations)")
    assert [request.model for request in bench.model.requests] == ["usual", "usual", "usual", "other"]


async def test_a_judge_whose_context_was_full_gets_a_brief_of_half_the_size(journal: Journal) -> None:
    full = reply(role="judge", task="root", error="context-overflow")
    bench = RoleBench(journal, full, full, judges())
    brief = build_brief(*build_reports(10, 100), files=5_000)
    assert isinstance(await bench.roles.judge.judge_iteration(brief), IterationVerdict)
    sizes = [len(request.messages[1].text) for request in bench.model.requests]
    assert all(later < 0.6 * earlier for earlier, later in pairwise(sizes))


async def test_a_planner_that_only_talks_is_asked_anew(journal: Journal) -> None:
    words = [reply(f"I would begin with {number}", role="planner", task="root") for number in range(3)]
    bench = RoleBench(journal, *words, plans("root", {"key": "a"}))
    brief = PlanningBrief(
        task=build_root_task("g"), goal="g", contract=CONTRACT, round=1, limits=PlanLimits(depth=0, max_depth=3)
    )
    assert isinstance(await bench.roles.planner.plan_slice(brief, bench.workspace), Plan)
    assert bench.model.requests[-1].session == "plan:root@1.1.2"
    assert "Only `submit_plan`, `finish` or" in bench.told(3)
