"""Work that does not go together with what landed: it goes on from its own changes, and nobody begins from nothing."""

from collections.abc import Iterable
from itertools import chain
from typing import Any

import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.landing import ClashForeseen, RefSetting
from orchestrator.domain.event.work import AttemptStarted, SessionStarted, VerdictGiven
from orchestrator.domain.ids import TaskId
from orchestrator.domain.judging.verdict import VerdictKind
from orchestrator.domain.run.state import TaskState
from orchestrator.domain.run.task import Attempt, EndCause, TaskStatus
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.report.run.result import build_run_result
from orchestrator.report.task.details import render_task_history
from tests.running.goals import Bench, Hears, status, task
from tests.running.projects import commit, git
from tests.running.scripts import edits, judges, planner_ends, plans, reviews, uses, worker_ends, writes

pytestmark = pytest.mark.sandbox

HEAD, BODY = "def add(a, b):\n", "    return a + b\n"
KEEP_BOTH = "sed -i -e '/^|||||||/,/^=======$/d' -e '/^<<<<<<< /d' -e '/^>>>>>>> /d' calc.py"
"""What a worker does who keeps the lines of both sides."""
SEPARATE = "import os, unittest\n\n\nclass T(unittest.TestCase):\n    def test_apart(self):\n        {}\n".format(
    "self.assertFalse(os.path.exists('a.txt') and os.path.exists('b.txt'))"
)


def recorded(ended: RunExit) -> Iterable[RecordedEvent]:
    return read_all_events(ended.directory.journal)


def loser(ended: RunExit) -> TaskState:
    """The task that was ejected first."""
    return ended.state.tasks[TaskId(ended.state.ejections[0].unit.split("@")[0])]


def first_words(ended: RunExit, attempt: Attempt) -> str:
    """What the worker of an attempt is told first."""
    began = [one.event for one in recorded(ended) if isinstance(one.event, SessionStarted)]
    return next(one.brief.head for one in began if one.session == attempt.session)


def shown(bench: Bench, ended: RunExit, path: str, commit: str = "") -> str:
    return git(bench.repository, "show", f"{commit or ended.state.run.branch}:{path}")


def marks(name: str) -> list[ScriptedReply]:
    """A task that marks one line of calc.py, and brings its mark together with that of the other one if they clash."""
    return [
        edits(name, "calc.py", HEAD, f"def add(a, b):  # {name}\n"),
        *(worker_ends(name, f"marked {name}"), reviews(name)),
        writes(name, "calc.py", f"def add(a, b):  # left, right\n{BODY}\n\ndef double(a):\n    return add(a, a)\n"),
        *(worker_ends(name), reviews(name)),
    ]


async def test_the_loser_of_a_conflict_goes_on_from_its_own_work_and_is_shown_both_sides(bench: Bench) -> None:
    drafts = [{"key": name, "outcome": f"add says {name}"} for name in ("left", "right")]
    ended = await bench.run(plans("root", *drafts), *marks("left"), *marks("right"), planner_ends(), judges())
    assert [status(ended, name) for name in ("left", "right")] == [TaskStatus.MERGED] * 2
    assert [one.conflict for one in ended.state.ejections] == [("calc.py",)]
    first, second = loser(ended).attempts
    winner = {"left": "right", "right": "left"}[loser(ended).spec.id]
    assert (first.mode, second.mode, second.base) == ("fresh", "rebase", ended.state.landings[0].new)
    assert second.start is not None
    assert second.clash is not None
    assert (second.clash.conflict, second.clash.landed) == (("calc.py",), (TaskId(winner),))
    begun = shown(bench, ended, "calc.py", second.start)
    places = (
        f"<<<<<<< what landed meanwhile\ndef add(a, b):  # {winner}\n",
        f"=======\ndef add(a, b):  # {loser(ended).spec.id}\n",
    )
    assert all(place in begun for place in places)
    words = first_words(ended, second)
    for told in (*places, f"add says {winner}", "changed the same lines in calc.py", f"marked {loser(ended).spec.id}"):
        assert told in words
    assert "left, right" in shown(bench, ended, "calc.py")
    settings = [one.event for one in recorded(ended) if isinstance(one.event, RefSetting)]
    assert [one.object for one in settings if "/starts/" in one.ref] == [second.start]
    result = build_run_result(ended.state, ended.directory.journal)
    assert [(one.path, one.clashes) for one in result.clashing] == [("calc.py", 1)]
    details = "\n".join(render_task_history(ended.state, loser(ended)))
    assert f"which clashed with what landed ({winner}): calc.py" in details


async def test_what_is_red_together_begins_with_both_merged_and_the_red_tests(bench: Bench) -> None:
    again = [
        uses("worker", name, "shell", command=f"test -f a.txt && test -f b.txt && mv {name}.txt {name}2.txt")
        for name in ("a", "b")
    ]
    ended = await bench.run(
        plans("root", {"key": "a"}, {"key": "b"}),
        writes("a", "test_a.py", SEPARATE),
        *(*task("a"), *task("b"), *again),
        *(worker_ends("a"), worker_ends("b"), reviews("a"), reviews("b")),
        *(planner_ends(), judges()),
    )
    assert [status(ended, name) for name in ("a", "b")] == [TaskStatus.MERGED] * 2
    assert len(ended.state.ejections) == 1
    second = loser(ended).attempts[1]
    assert (second.mode, second.clash is not None and second.clash.conflict) == ("rebase", ())
    assert "test_apart" in first_words(ended, second)


async def test_markers_that_are_left_are_red_by_a_rule_and_never_land(bench: Bench) -> None:
    lazy = [uses("worker", name, "shell", command="echo >> notes.txt") for name in ("left", "right")]
    items: list[ScriptedReply] = []
    for name, careless in zip(("left", "right"), lazy, strict=True):
        items += [*marks(name)[:3], careless, worker_ends(name), *marks(name)[3:]]
    ended = await bench.run(plans("root", {"key": "left"}, {"key": "right"}), *items, planner_ends(), judges())
    assert [one.mode for one in loser(ended).attempts] == ["fresh", "rebase", "revise"]
    refused = loser(ended).verdicts[1].verdict
    assert (refused.kind, refused.cause) == (VerdictKind.REVISE, EndCause.RULE_BROKEN)
    assert [finding.rule for finding in refused.findings if finding.is_blocking] == ["conflict-marker"]
    assert status(ended, loser(ended).spec.id) == TaskStatus.MERGED


class Rival:
    """Somebody who changes the line of the task `a` on the PR branch whenever it was judged, so often."""

    def __init__(self, bench: Bench, times: int) -> None:
        self._bench, self._left, self._branch = bench, times, ""

    def __call__(self, event: Any) -> None:
        if not isinstance(event, VerdictGiven) or event.task != "a" or not self._left:
            return
        self._left -= 1
        found = git(self._bench.repository, "for-each-ref", "--format=%(refname)", "refs/heads/orchestrate/")
        text = f"def add(a, b):  # rival {self._left}\n{BODY}\n\ndef double(a):\n    return add(a, a)\n"
        new = commit(self._bench.repository, found, "calc.py", text)
        git(self._bench.repository, "update-ref", found, new)


def contested(*last: ScriptedReply) -> list[ScriptedReply]:
    """A task that lands and then one that is contested; `last` is what the arbiter does."""
    brought = [
        uses("worker", "a", "shell", command=KEEP_BOTH + " && sed -i '/rival/d' calc.py"),
        worker_ends("a"),
        reviews("a"),
    ]
    return [
        plans("root", {"key": "z"}, {"key": "a", "depends_on": ["z"], "outcome": "add is marked"}),
        *task("z"),
        *(edits("a", "calc.py", HEAD, "def add(a, b):  # a\n"), worker_ends("a"), reviews("a")),
        *(*brought, *brought, *last, planner_ends(), judges()),
    ]


async def test_after_two_rebases_the_arbiter_brings_it_together_with_both_changes_before_it(bench: Bench) -> None:
    keeps = uses("arbiter", "a", "shell", command=KEEP_BOTH + " && sed -i '/rival/d' calc.py")
    ends = uses("arbiter", "a", "finish", summary="both hold")
    ended = await bench.run(*contested(keeps, ends, reviews("a")), when=Hears(Rival(bench, 3)), run={"max_attempts": 1})
    assert status(ended, "a") == TaskStatus.MERGED, ended.state.tasks[TaskId("a")].reason
    attempts = ended.state.tasks[TaskId("a")].attempts
    assert [one.mode for one in attempts] == ["fresh", "rebase", "rebase", "arbitrate"]
    assert ended.state.sessions[attempts[-1].session].role == "arbiter"
    words = first_words(ended, attempts[-1])
    assert all(told in words for told in ("+def add(a, b):  # a", "+def add(a, b):  # rival 0", "add is marked"))
    assert "# a" in shown(bench, ended, "calc.py")


@pytest.mark.slow
async def test_a_task_whose_arbiter_fails_too_ends_as_a_conflict_and_its_planner_hears_of_it(bench: Bench) -> None:
    gives_up = uses("arbiter", "a", "finish", summary="they contradict each other")
    ended = await bench.run(*contested(gives_up), when=Hears(Rival(bench, 3)))
    lost = ended.state.tasks[TaskId("a")]
    assert (lost.status, lost.cause) == (TaskStatus.REJECTED, EndCause.CONFLICT)
    assert "what the arbiter made of both did not land" in lost.reason
    assert len(lost.attempts) == 4


async def test_lines_that_both_sides_add_to_a_listed_file_are_kept_without_a_model(bench: Bench) -> None:
    def logs(name: str) -> list[ScriptedReply]:
        return [writes(name, "CHANGELOG.md", f"- {name}\n"), worker_ends(name), reviews(name)]

    ended = await bench.run(
        *(plans("root", {"key": "a"}, {"key": "b"}), *logs("a"), *logs("b"), planner_ends(), judges()),
        merge={"union": ["CHANGELOG.md"]},
    )
    assert [status(ended, name) for name in ("a", "b")] == [TaskStatus.MERGED] * 2
    assert ended.state.ejections == []
    assert sorted(shown(bench, ended, "CHANGELOG.md").splitlines()) == ["- a", "- b"]


LISTING = "ls parts | sort > parts.list"


def adds_part(name: str) -> list[ScriptedReply]:
    """A task that adds a part, and has the list of all parts made anew."""
    command = f"mkdir -p parts && echo {name} > parts/{name} && {LISTING}"
    return [uses("worker", name, "shell", command=command), worker_ends(name), reviews(name)]


async def test_a_file_that_a_tool_makes_is_made_anew_where_two_tasks_changed_it_without_a_model(bench: Bench) -> None:
    names = ("a", "b", "c")
    ended = await bench.run(
        plans("root", *({"key": name} for name in names)),
        *chain.from_iterable(map(adds_part, names)),
        *(planner_ends(), judges()),
        merge={"regenerate": [{"files": ["*.list"], "command": LISTING}]},
    )
    assert ended.exit_code == 0, ended.error
    assert [status(ended, name) for name in names] == [TaskStatus.MERGED] * 3
    assert ended.state.ejections == []
    assert shown(bench, ended, "parts.list").split() == ["a", "b", "c"]
    notices = [one.text for one in ended.state.notices if "made anew" in one.text]
    assert notices
    assert all(f"conflicted with what landed in parts.list, which `{LISTING}` made anew" in text for text in notices)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("echo no network >&2; exit 3", "no network"),
        (f"{LISTING}; echo >> calc.py", "it also changed calc.py"),
        ("for one in $(seq 22); do truncate -s 49M big$one; done", "MiB in changed files"),
    ],
)
async def test_a_conflict_that_its_command_does_not_settle_goes_to_a_worker_and_a_notice_says_why(
    bench: Bench, command: str, why: str
) -> None:
    again = [[uses("worker", name, "shell", command=LISTING), worker_ends(name), reviews(name)] for name in ("a", "b")]
    ended = await bench.run(
        plans("root", {"key": "a"}, {"key": "b"}),
        *(*adds_part("a"), *adds_part("b"), *chain.from_iterable(again)),
        *(planner_ends(), judges()),
        merge={"regenerate": [{"files": ["parts.list"], "command": command}]},
    )
    assert [status(ended, name) for name in ("a", "b")] == [TaskStatus.MERGED] * 2
    assert [one.conflict for one in ended.state.ejections] == [("parts.list",)]
    assert [one.mode for one in loser(ended).attempts] == ["fresh", "rebase"]
    refusals = [one.text for one in ended.state.notices if "did not make that anew" in one.text]
    assert refusals
    assert all(why in text for text in refusals)


@pytest.mark.extended
async def test_work_under_way_that_would_conflict_is_seen_before_it_is_finished(bench: Bench) -> None:
    seen: list[str] = []

    def note(event: Any) -> None:
        if isinstance(event, ClashForeseen) and event.partners and event.paths:
            seen.append(f"{event.unit} {event.partners[0]} {event.paths[0]}")

    waits = "sleep 3"
    items: list[ScriptedReply] = []
    for name in ("left", "right"):
        mark, *rest = marks(name)
        items += [mark, uses("worker", name, "shell", command=waits), *rest]
    ended = await bench.run(
        *(plans("root", {"key": "left"}, {"key": "right"}), *items, planner_ends(), judges()),
        when=Hears(note),
        merge={"probe_s": 0.3},
    )
    assert ended.exit_code == 0
    assert seen == ["left@1 right@1 calc.py"], "once, not at each look"
    assert ended.state.list_clashes_ahead() == [], "nobody is at work any more"


def appends(name: str) -> list[ScriptedReply]:
    """A task that adds a function at the end of calc.py, and keeps both sides as often as it clashes."""
    code = f"printf '\\n\\ndef {name}():\\n    return 1\\n' >> calc.py"
    items = [uses("worker", name, "shell", command=code), worker_ends(name), reviews(name)]
    for _ in range(2):
        items += [uses("worker", name, "shell", command=KEEP_BOTH), worker_ends(name), reviews(name)]
    return [*items, uses("arbiter", name, "shell", command=KEEP_BOTH), uses("arbiter", name, "finish", summary="both")]


@pytest.mark.extended
async def test_twelve_workers_of_whom_four_change_one_file_and_two_clash_in_meaning_all_land(bench: Bench) -> None:
    crowd, pair, rest = ("c1", "c2", "c3", "c4"), ("a", "b"), tuple(f"n{number}" for number in range(6))
    apart = [uses("worker", name, "shell", command=f"mv {name}.txt {name}2.txt") for name in pair]
    items = [plans("root", *({"key": name} for name in (*crowd, *pair, *rest))), writes("a", "test_a.py", SEPARATE)]
    for name in (*pair, *rest):
        items += task(name)
    for name, moves in zip(pair, apart, strict=True):
        items += [moves, worker_ends(name), reviews(name)]
    for name in crowd:
        items += [*appends(name), reviews(name)]
    ended = await bench.run(*items, planner_ends(), judges(), run={"max_workers": 12})
    assert ended.exit_code == 0, ended.error
    assert {status(ended, name) for name in (*crowd, *pair, *rest)} == {TaskStatus.MERGED}
    begun = [one.event.attempt for one in recorded(ended) if isinstance(one.event, AttemptStarted)]
    assert all(attempt.start is not None for attempt in begun if attempt.number > 1), "nothing begins from nothing"
    assert all(f"def {name}()" in shown(bench, ended, "calc.py") for name in crowd)
    assert any(one.difference.new_failures for one in ended.state.ejections)
