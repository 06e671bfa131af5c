"""One run with all that happens to large goals: late handoffs, contradictions, splits, clashes, a restart.

Order, ownership and what each agent was told are read from the journal, also what it must not have been told.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import pytest

from orchestrator.app.replay_models import ReplayOptions
from orchestrator.app.run_execution import RunExit
from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.landing import LandingFinished
from orchestrator.domain.event.work import PlanKept, PlanningStarted, PlanSubmitted, SessionStarted, VerdictGiven
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.task import EndCause, TaskStatus
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.project.options import Options
from orchestrator.scratch_runs.replay import replay_run
from tests.running.goals import Bench, Hears, status, task
from tests.running.projects import commit, git
from tests.running.scripts import edits, judges, planner_ends, plans, reviews, uses, worker_ends, writes

pytestmark = [pytest.mark.sandbox, pytest.mark.slow]

HEAD = "def add(a, b):\n"
BODY = "    return a + b\n\n\ndef double(a):\n    return add(a, a)\n"
KEEP_BOTH = "sed -i -e '/^|||||||/,/^=======$/d' -e '/^<<<<<<< /d' -e '/^>>>>>>> /d' -e '/rival/d' calc.py"
WORK = {"run": {"max_attempts": 1, "max_workers": 12}, "plan": {"debounce_s": 3600}}


def decide(role_task: str, *drafts: Mapping[str, Any], **decisions: str) -> ScriptedReply:
    """A planner submits drafts and what it decided."""
    tasks = [{"title": draft["key"], "outcome": f"{draft['key']} is done"} | dict(draft) for draft in drafts]
    decided = [{"id": name, "text": text} for name, text in decisions.items()]
    return uses("planner", role_task, "submit_plan", rationale="cut by room", tasks=tasks, decisions=decided)


def deciding(name: str, path: str, text: str, **decisions: str) -> list[ScriptedReply]:
    """A task that writes a file, and reports what it decided."""
    decided = [{"id": key, "text": value} for key, value in decisions.items()]
    return [writes(name, path, text), uses("worker", name, "finish", summary=name, decided=decided), reviews(name)]


def files(name: str) -> list[ScriptedReply]:
    """A task below a planner that writes a file of its own name."""
    path = f"{name.rpartition('/')[2]}.txt"
    return [writes(name, path, f"{path}\n"), worker_ends(name, f"wrote {path}"), reviews(name)]


API = [
    plans("api", {"key": "a1"}, {"key": "a2"}, {"key": "a3"}, {"key": "a4"}),
    *(edits("api/a1", "calc.py", "    return a + b\n", "    return a - b\n"), worker_ends("api/a1")),
    writes("api/a2", "a2.txt", "a2\n").model_copy(update={"delay_s": 10.0}),
    uses("worker", "api/a2", "finish", summary="half of it", remaining=["the other half"]),
    *(reviews("api/a2"), *files("api/a3"), *files("api/a4")),
    planner_ends("api", "a2 brings what a1 did not"),
    *(plans("api", {"key": "a5"}), *files("api/a5"), planner_ends("api")),
]
"""One fails, the planner needs nothing more, and a late handoff has it plan again."""
PAGE = writes("web/right", "page.txt", "left right\n")
WEB = [
    plans("web", {"key": "left"}, {"key": "right"}, {"key": "b3"}, {"key": "b4"}),
    *deciding("web/left", "page.txt", "left\n", port="the port is 8080"),
    *deciding("web/right", "page.txt", "right\n"),
    *deciding("web/left", "page.txt", "left right\n", port="the port is 8080"),
    *(PAGE, worker_ends("web/right"), reviews("web/right")),
    *(writes("web/b3", "b3.txt", "b3\n"), worker_ends("web/b3"), reviews("web/b3", "split", "by halves")),
    *files("web/b4"),
    *(plans("web", {"key": "b3a"}, {"key": "b3b"}), *files("web/b3a"), *files("web/b3b"), planner_ends("web")),
]
"""Two clash over one file, and one is split."""
STORE = [
    plans("store", {"key": "c1"}, {"key": "c2"}, {"key": "c3"}, {"key": "c4", "depends_on": ["c1", "c2", "c3"]}),
    *(*deciding("store/c1", "c1.txt", "c1\n", port="the port is 9090"), *files("store/c2"), *files("store/c3")),
    *(edits("store/c4", "calc.py", HEAD, "def add(a, b):  # c4\n"), worker_ends("store/c4"), reviews("store/c4")),
    *(uses("worker", "store/c4", "shell", command=KEEP_BOTH), worker_ends("store/c4"), reviews("store/c4")),
    *(uses("worker", "store/c4", "shell", command=KEEP_BOTH), worker_ends("store/c4"), reviews("store/c4")),
    uses("arbiter", "store/c4", "shell", command=KEEP_BOTH),
    *(uses("arbiter", "store/c4", "finish", summary="both hold"), reviews("store/c4"), planner_ends("store")),
]
"""The last one clashes three times with what somebody else does."""
BRANCHES = [{"key": name, "kind": "branch"} for name in ("api", "web", "store")]
ROOT = [
    decide("root", *BRANCHES, dates="dates are ISO 8601"),
    decide("root", {"key": "align", "reconciles": ["port"]}, port="the port is 8080"),
    *(*files("align"), planner_ends("root"), judges("restart", "another way is needed")),
    *(plans("root", {"key": "final"}), *task("final"), planner_ends("root"), judges()),
]
STORY = [*ROOT, *API, *WEB, *STORE]


class Rival:
    """Somebody who changes the line of a task on the PR branch whenever it was judged, three times."""

    def __init__(self, bench: Bench) -> None:
        self._repository, self._left = bench.repository, 3

    def __call__(self, event: Any) -> None:
        if not isinstance(event, VerdictGiven) or event.task != "store/c4" or not self._left:
            return
        self._left -= 1
        branch = git(self._repository, "for-each-ref", "--format=%(refname)", "refs/heads/orchestrate/")
        text = f"def add(a, b):  # rival {self._left}\n{BODY}"
        git(self._repository, "update-ref", branch, commit(self._repository, branch, "calc.py", text))


def recorded(ended: RunExit) -> list[RecordedEvent]:
    return list(read_all_events(ended.directory.journal))


def first_words(ended: RunExit, session: str) -> str:
    """What an agent was told first in a conversation."""
    began = (one.event for one in recorded(ended) if isinstance(one.event, SessionStarted))
    return next(one.brief.head for one in began if one.session == session)


def names_at(bench: Bench, ref: str) -> set[str]:
    return set(git(bench.repository, "ls-tree", "-r", "--name-only", ref).split())


async def test_a_large_goal_is_planned_while_it_goes_on_owned_once_reconciled_and_begun_anew(bench: Bench) -> None:
    ended = await bench.run(*STORY, when=Hears(Rival(bench)), **WORK)
    assert ended.exit_code == 0, (
        ended.error,
        {name: (one.status, one.reason) for name, one in ended.state.tasks.items()},
    )
    _check_ends(ended)
    _check_order(ended)
    _check_contexts(ended)
    state = ended.state
    (left,) = state.goal.left_lines
    first = {"a2.txt", "a5.txt", "page.txt", "b3a.txt", "c1.txt", "align.txt"}
    assert first <= names_at(bench, left.kept)
    assert not first & names_at(bench, state.run.branch)
    assert "final.txt" in names_at(bench, state.run.branch)
    assert state.landed_units == {"final@1"}


def _check_ends(ended: RunExit) -> None:
    landed = ("api/a2", "api/a3", "api/a5", "web/left", "web/right", "web/b3a", "web/b3b", "store/c4", "align")
    assert {status(ended, name) for name in landed} == {TaskStatus.DISCARDED}
    assert status(ended, "final") == TaskStatus.MERGED
    assert status(ended, "web/b3") == TaskStatus.SPLIT
    failed = ended.state.tasks[TaskId("api/a1")]
    assert (failed.status, failed.cause) == (TaskStatus.REJECTED, EndCause.RED_TESTS)
    modes = [attempt.mode for attempt in ended.state.tasks[TaskId("store/c4")].attempts]
    assert modes == ["fresh", "rebase", "rebase", "arbitrate"]
    loser = next(one for one in ended.state.ejections if one.conflict == ("page.txt",)).unit.partition("@")[0]
    assert [attempt.mode for attempt in ended.state.tasks[TaskId(loser)].attempts] == ["fresh", "rebase"]


def _check_order(ended: RunExit) -> None:
    """A late handoff wakes its planner within two seconds; the contradiction is settled by the root, once."""
    events = recorded(ended)
    landed_at = next(
        one.at for one in events if isinstance(one.event, LandingFinished) and "api/a2@1" in one.event.units
    )
    rounds = [one for one in events if isinstance(one.event, PlanningStarted) and one.event.task == "api"]
    assert len(rounds) == 4
    assert timedelta(0) <= rounds[2].at - landed_at < timedelta(seconds=2)
    kept = [one.event for one in events if isinstance(one.event, PlanKept) and one.event.task == "api"]
    assert [one.handoff is not None for one in kept] == [True]
    submitted = [one.event for one in events if isinstance(one.event, PlanSubmitted) and one.event.task == "root"]
    keys = [tuple(draft.key for draft in one.plan.tasks) for one in submitted]
    assert keys == [("api", "web", "store"), ("align",), ("final",)]
    assert ended.state.tasks[TaskId("align")].spec.reconciles == ("port",)


def _check_contexts(ended: RunExit) -> None:
    """Everybody is told what holds for their line of tasks, and nobody what belongs to others or was left behind."""
    late = first_words(ended, "work:api/a5@1")
    assert "dates (root): dates are ISO 8601" in late
    assert "8080" not in late
    assert "page.txt" not in late
    settling = first_words(ended, "plan:root@1.2")
    assert all(said in settling for said in ("'port' was decided in 2 ways", "the port is 8080", "the port is 9090"))
    assert "cut by room" in settling
    woken = first_words(ended, "plan:api@1.3")
    assert "the other half" in woken
    assert "wrote b4.txt" not in woken
    afresh = first_words(ended, "plan:root@2.4")
    assert "another way is needed" in afresh
    assert all(said not in afresh for said in ("the port is 9090", "half of it", "cut by room"))
    last = first_words(ended, "work:final@1")
    assert all(said not in last for said in ("a2.txt", "page.txt", "wrote"))


async def test_a_large_goal_comes_out_the_same_when_it_is_done_over(bench: Bench) -> None:
    ended = await bench.run(*STORY, **WORK)
    assert ended.exit_code == 0, ended.error
    report = await replay_run(Options(bench.repository, bench.options(STORY).values), None, ReplayOptions())
    assert (report.is_same, report.is_whole) == (True, True), "\n".join(map(str, report.divergences))
