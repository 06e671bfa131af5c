"""The whole brief of a planner at real size: it stays in its budget in every window, and says what it leaves out."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from orchestrator.agent.carryover_report import estimate_most_tokens
from orchestrator.agent.carryover_turns import LARGEST_BEGINNING_SHARE
from orchestrator.agent.context_size import CHARS_PER_TOKEN
from orchestrator.codemap.git_codebase import GitCodebase
from orchestrator.codemap.map_cache import MapCache
from orchestrator.config.layers import load_config
from orchestrator.domain.event.memory import GuideRead, NoteTaken
from orchestrator.domain.ids import ROOT_TASK, CommitId, TaskId
from orchestrator.domain.memory.entry import NoteKind
from orchestrator.domain.ownership.decisions import Decision
from orchestrator.domain.run.contract import Contract, Criterion
from orchestrator.domain.run.plan import PlanLimits
from orchestrator.domain.run.task import Handoff, Task, TaskStatus
from orchestrator.engine.goal.planning import build_root_task
from orchestrator.journal.journal import Journal
from orchestrator.ports.codebase import Codebase, HotFile, MapRequest
from orchestrator.ports.codebase import TestFile as FileOfTests
from orchestrator.ports.project_rules import ProjectRules
from orchestrator.ports.roles import PlanningBrief, TaskReport
from orchestrator.project_rules.repository_rules import RepositoryRules
from tests.running.projects import repository
from tests.running.role_bench import RoleBench, open_role_journal
from tests.running.scripts import planner_ends
from tests.unit.memory.test_index import entry
from worktrees.repositories.repository import GitRepository

BASE = CommitId("a" * 40)
GOAL = "Sales in other currencies have to be summed up by month and by country. " * 50
CONTRACT = Contract(criteria=(Criterion(id="goal", text="a month has a line"), Criterion(id="gate", text="green")))
RULES = "".join(f"Rule {number}: totals are whole cents, never floats.\n" for number in range(800))
SLICE = Task(
    id=TaskId("reporting"),
    parent=ROOT_TASK,
    depth=1,
    kind="branch",
    title="Reports",
    outcome="Sales can be summed up. " * 40,
    acceptance=("a month has a line",) * 6,
    paths=("shop/monthly.py",),
)


class FullCodebase:
    """A codebase whose map and lists are as long as they may be."""

    async def draw_map(self, request: MapRequest) -> str:
        lines = [f"pkg/mod{number:04}.py\n  1: def compute_{number:04}(self):" for number in range(9_999)]
        return "\n".join(lines)[: request.tokens * 3]

    async def list_hot_files(self) -> Sequence[HotFile]:
        return [HotFile(f"pkg/area/mod{number:04}/part.py", 200 - number) for number in range(10)]

    async def list_tests(self, commit: CommitId, limit: int) -> tuple[int, Sequence[FileOfTests]]:
        files = [FileOfTests(f"tests/test_{number:04}.py", imports=("pkg/a.py",) * 5) for number in range(limit)]
        return 3_000, files

    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"a planner's brief needs no {name}")


@pytest.fixture
async def journal(tmp_path: Path) -> AsyncIterator[Journal]:
    """A run with a full field guide and many notes."""
    opened = await open_role_journal(tmp_path / "run", SLICE)
    claims = [entry(f"g{number}", f"{number} {'words of a claim ' * 17}") for number in range(200)]
    notes = [
        NoteTaken(task=ROOT_TASK, note=NoteKind.PROGRESS, text=f"{number} {'noted ' * 70}") for number in range(40)
    ]
    await opened.append(GuideRead(entries=tuple(claims)), *notes)
    yield opened
    opened.close()


@pytest.fixture
def rules(tmp_path: Path) -> RepositoryRules:
    opened = GitRepository.open(repository(tmp_path / "project", {"AGENTS.md": RULES}))
    return RepositoryRules(opened.git, opened.read_head_commit(), ("AGENTS.md",))


def build_report(parent: Task, number: int, *, is_news: bool) -> TaskReport:
    """Every tenth task was rejected."""
    name = TaskId(f"{parent.id}/task-{number:04}")
    task = Task(
        id=name,
        parent=parent.id,
        depth=parent.depth + 1,
        kind="leaf",
        title=f"Task {number}",
        outcome=f"Currency {number} can be summed up. " * 8,
        acceptance=("a month has a line",) * 4,
    )
    handoff = Handoff(summary="It is done. " * 20, done=("shop/monthly.py",) * 5, concerns=("a rate is missing",))
    status = TaskStatus.REJECTED if number % 10 == 9 else TaskStatus.MERGED
    reason = "a test fails " * 40 if status == TaskStatus.REJECTED else ""
    return TaskReport(task=task, status=status, reason=reason, handoff=handoff, is_news=is_news)


def build_planning_brief(task: Task, tasks: int = 0, **changes: object) -> PlanningBrief:
    """The news for a planner after so many tasks: half of them are news, and as many more are under way."""
    reports, under_way = [], []
    for number in range(tasks):
        reports.append(build_report(task, number, is_news=number >= tasks // 2))
        waits = build_report(task, tasks + number, is_news=True).model_copy(update={"status": TaskStatus.PLANNED})
        under_way.append(waits)
    decisions = []
    for number in range(tasks):
        decisions.append(Decision(id=f"d{number}", owner=ROOT_TASK, text=f"Rate {number} has four places."))
    brief = PlanningBrief(
        task=task,
        goal=GOAL,
        contract=CONTRACT,
        round=2 if tasks else 1,
        limits=PlanLimits(depth=task.depth),
        reports=tuple(reports),
        under_way=tuple(under_way),
        taken=tuple(f"task-{number:04}" for number in range(tasks)),
        rationales=tuple(f"Plan {number}. {'Because of this. ' * 30}" for number in range(tasks // 10)),
        decisions=tuple(decisions),
        contradictions=tuple(f"d{number} is decided in two ways" for number in range(tasks // 10)),
        reasons=tuple(f"month {number} has no line" for number in range(tasks // 4)),
        commit=BASE,
    )
    return brief.model_copy(update=changes)


async def read_opening(
    journal: Journal, brief: PlanningBrief, rules: ProjectRules, window: int, codebase: Codebase | None = None
) -> tuple[str, int]:
    """The brief of a planner's first request, and how many characters it has with instructions and tools."""
    shown = codebase or FullCodebase()
    planner = {"context_tokens": window}
    bench = RoleBench(
        journal, planner_ends(brief.task.id), rules=rules, codebase=shown, has_memory=True, planner=planner
    )
    assert isinstance(await bench.roles.planner.plan_slice(brief, bench.workspace), Handoff)
    (request,) = bench.model.requests
    system, told = request.messages
    return told.text, len(system.text) + len(told.text) + sum(len(tool.json_text) for tool in request.tools)


def find_most_chars(window: int) -> int:
    """The most that instructions, tools and brief may fill, beside which a carryover fits in."""
    return int((window * LARGEST_BEGINNING_SHARE - estimate_most_tokens(window)) * CHARS_PER_TOKEN)


@pytest.mark.parametrize("task", [build_root_task(GOAL), SLICE], ids=["root", "sub-planner"])
@pytest.mark.parametrize("tasks", [0, 200, 1_000])
@pytest.mark.parametrize("window", [16_000, 128_000])
async def test_the_whole_brief_of_a_planner_leaves_room_for_a_carryover_and_work(
    journal: Journal, rules: RepositoryRules, task: Task, tasks: int, window: int
) -> None:
    brief, chars = await read_opening(journal, build_planning_brief(task, tasks), rules, window)
    assert chars <= find_most_chars(window)
    assert GOAL in brief
    assert task is not SLICE or SLICE.outcome.strip() in brief
    assert "Rule 0:" in brief
    assert 'characters of "AGENTS.md" are left out here]' in brief
    assert "`search_memory` finds them by their words)" in brief
    assert "older ones: `recall` finds them)" in brief
    assert "pkg/mod0000.py" in brief or (window == 16_000 and "the map, history and tests" in brief)
    assert brief.count(GOAL) == 1


@pytest.mark.parametrize(("window", "tasks"), [(24_000, 200), (32_000, 200), (32_000, 1_000), (128_000, 1_000)])
async def test_what_a_planner_is_not_told_is_counted_and_can_be_looked_up(
    journal: Journal, rules: RepositoryRules, window: int, tasks: int
) -> None:
    brief, _ = await read_opening(journal, build_planning_brief(SLICE, tasks), rules, window)
    half, lost = tasks // 2, tasks // 20
    assert f"{half} tasks: {half - lost} merged, {lost} rejected. This is a digest. `recall` finds" in brief
    assert f"reporting/task-{half + 9:04}" in brief, "those that did not land come first"
    assert f"{tasks:,} tasks: {tasks:,} to do. `recall` finds what is left out." in brief
    assert "- month 0 has no line" in brief
    assert "- d0 is decided in two ways" in brief


async def test_in_a_small_window_what_can_be_looked_up_is_left_out_first_and_named(
    journal: Journal, rules: RepositoryRules
) -> None:
    brief, _ = await read_opening(journal, build_planning_brief(SLICE, 1_000), rules, 16_000)
    left_out = brief[brief.index("Left out here for want of room: ") :]
    assert "the map, history and tests, your earlier words" in left_out
    assert "to settle" not in left_out
    assert "what became of your tasks" not in left_out
    assert "`recall` and your other tools show it." in left_out


async def test_a_window_that_instructions_and_tools_fill_is_told_of_and_has_the_shortest_brief(
    journal: Journal, rules: RepositoryRules
) -> None:
    goal = GOAL[:400]
    task = build_root_task(goal)
    brief, chars = await read_opening(journal, build_planning_brief(task, 1_000, goal=goal), rules, 8_000)
    assert len(brief) <= 5_000
    assert chars <= 8_000 * CHARS_PER_TOKEN
    assert "Rule 0:" in brief
    assert "For you to settle" in brief
    told = [notice.text for notice in journal.state.notices]
    assert any("give the role a model with a larger window" in text for text in told), told
    assert len(told) == len(set(told))


@pytest.mark.extended
@pytest.mark.parametrize("window", [16_000, 128_000])
async def test_the_map_of_three_thousand_files_takes_its_part_of_the_brief(
    journal: Journal, tmp_path: Path, window: int
) -> None:
    files = {"AGENTS.md": RULES}
    for number in range(3_000):
        near = (number * 7 + 1) % 3_000
        files[f"area{number % 60:02}/mod{number:04}.py"] = (
            f"from area{near % 60:02}.mod{near:04} import sum_{near:04}\n\n\n"
            f"def sum_{number:04}(month: int, country: str) -> int:\n    return sum_{near:04}(month, country)\n"
        )
    opened = GitRepository.open(repository(tmp_path / "large", files))
    head = opened.read_head_commit()
    codebase = GitCodebase(opened.git, head, MapCache.open_for(tmp_path / "state", 64))
    brief = build_planning_brief(build_root_task(GOAL), 200, commit=head)
    told, chars = await read_opening(
        journal, brief, RepositoryRules(opened.git, head, ("AGENTS.md",)), window, codebase
    )
    assert chars <= find_most_chars(window)
    drawn = load_config(None, environ={}).config.map.tokens * 3
    begin, end = told.find("<map-"), told.find("</map-")
    assert (end - begin <= drawn + 40) if window > 16_000 else begin < 0
    assert "3,001 files" in told or window == 16_000
