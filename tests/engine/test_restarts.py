"""A judge that begins a goal anew: the branch goes back, what is left is kept, and planning begins afresh."""

import threading
from typing import TypeVar

import anyio
import pytest

from orchestrator.app.replay_models import ReplayOptions
from orchestrator.app.run_execution import RunExit
from orchestrator.domain.event import Event
from orchestrator.domain.event.landing import RewindFinished
from orchestrator.domain.event.run import IterationJudged, IterationReopened, IterationStarted
from orchestrator.domain.refs import RunRefs
from orchestrator.domain.run.task import TaskStatus
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.project.options import Options
from orchestrator.report.run.summary import render_summary_lines
from orchestrator.run_control.diffs import render_change
from orchestrator.run_control.transfer import export_run_archive, import_run_archive
from orchestrator.scratch_runs.replay import replay_run
from tests.running.goals import Bench, When, status, task
from tests.running.projects import git
from tests.running.remotes import bare
from tests.running.scripts import judges, planner_ends, plans, uses

pytestmark = pytest.mark.sandbox

FIRST = [plans("root", {"key": "a"}, {"key": "b", "depends_on": ["a"]}), *task("a"), *task("b"), planner_ends()]
SECOND = [plans("root", {"key": "c"}), *task("c"), planner_ends(), judges()]
RESTARTED = [*FIRST, judges("restart", "another way is needed"), *SECOND]


E = TypeVar("E", bound=Event)


def events(ended: RunExit, kind: type[E]) -> list[E]:
    """Return the events of a kind, in order."""
    return [one.event for one in read_all_events(ended.directory.journal) if isinstance(one.event, kind)]


def restarts_from(name: str) -> ScriptedReply:
    findings = [{"id": one, "met": False, "evidence": "none"} for one in ("goal", "gate")]
    words = {"decision": "restart", "reasons": ["b went wrong"], "findings": findings}
    return uses("judge", "root", "submit_verdict", restart_from=name, **words)


def files(bench: Bench, ref: str) -> set[str]:
    return {name for name in git(bench.repository, "ls-tree", "--name-only", ref).split() if len(name) == 5}


async def test_after_a_restart_the_branch_holds_nothing_of_the_first_iteration_and_a_ref_holds_all(
    bench: Bench,
) -> None:
    ended = await bench.run(*RESTARTED)
    assert ended.exit_code == 0, ended.error
    state = ended.state
    (left,) = state.goal.left_lines
    assert left.kept == f"{RunRefs(state.run.run).prefix}/iterations/1"
    assert (files(bench, state.run.branch), files(bench, left.kept)) == ({"c.txt"}, {"a.txt", "b.txt"})
    log = git(bench.repository, "rev-list", f"{state.run.base}..{state.run.branch}").split()
    assert not set(log) & set(git(bench.repository, "rev-list", f"{state.run.base}..{left.kept}").split())
    assert [status(ended, name) for name in "abc"] == [TaskStatus.DISCARDED] * 2 + [TaskStatus.MERGED]
    assert state.landed_units == {"c@1"}
    assert len(state.landed_at) == len(state.landings) == 1
    assert f"kept in {left.kept}" in "\n".join(render_summary_lines(state))
    assert "b.txt" in await render_change(bench.repository, state, "iterations/1", None, stat=True)
    begun = events(ended, IterationStarted)[-1]
    assert (begun.forget, begun.reasons) == (True, ("another way is needed",))


async def test_a_restart_from_a_named_state_keeps_what_had_landed_by_then(bench: Bench) -> None:
    first = await bench.run(*FIRST)
    landings = first.state.landings
    wrong, good = restarts_from("0123456789ab"), restarts_from(landings[0].new[:12])
    ended = await bench.resume(*FIRST, wrong, good, *SECOND)
    assert ended.exit_code == 0, ended.error
    (judged, _) = events(ended, IterationJudged)
    assert judged.verdict.restart_from == landings[0].new
    (left,) = ended.state.goal.left_lines
    assert (left.start, left.tip, left.tasks) == (landings[0].new, landings[1].new, ("b",))
    assert files(bench, ended.state.run.branch) == {"a.txt", "c.txt"}
    assert [status(ended, name) for name in "ab"] == [TaskStatus.MERGED, TaskStatus.DISCARDED]


@pytest.mark.extended
async def test_what_a_person_commits_after_the_verdict_has_it_judged_anew_and_is_kept(bench: Bench) -> None:
    def commit(judged: IterationJudged) -> None:
        branch = git(bench.repository, "for-each-ref", "--format=%(refname)", "refs/heads/orchestrate").split()[0]
        made = git(bench.repository, "commit-tree", "-p", branch, "-m", "theirs", f"{branch}^{{tree}}")
        git(bench.repository, "update-ref", branch, made)

    again = judges("restart", "another way is needed")
    ended = await bench.run(*FIRST, again, again, *SECOND, when=When("iteration.judged", commit))
    assert ended.exit_code == 0, ended.error
    state = ended.state
    (left,) = state.goal.left_lines
    assert (len(events(ended, IterationReopened)), left.foreign) == (1, 1)
    assert git(bench.repository, "log", "-1", "--format=%s", left.kept) == "theirs"
    assert files(bench, state.run.branch) == {"c.txt"}
    assert any(left.kept in notice.text for notice in state.notices)


@pytest.mark.extended
async def test_a_restart_is_replayed_with_the_same_trees(bench: Bench) -> None:
    ended = await bench.run(*RESTARTED)
    assert ended.exit_code == 0, ended.error
    options = Options(bench.repository, {"state": {"dir": str(bench.root / "state")}})
    report = await replay_run(options, None, ReplayOptions())
    assert (report.is_same, report.is_whole) == (True, True), "\n".join(map(str, report.divergences))
    assert [pair.same_commit for pair in report.landings] == [True]


@pytest.mark.extended
async def test_a_pushed_branch_moves_away_from_what_a_restart_left(bench: Bench) -> None:
    remote = bare(bench.root / "remote.git", bench.repository)

    def push(started: RewindFinished) -> None:
        git(bench.repository, "push", "-q", "origin", f"{started.old}:refs/heads/{started.branch}")

    ended = await bench.run(*RESTARTED, pr={"push": "origin"}, when=When("rewind.finished", push))
    assert ended.exit_code == 0, ended.error
    assert git(remote, "rev-parse", ended.state.run.branch) == ended.state.head


@pytest.mark.extended
async def test_an_import_moves_a_branch_away_from_what_a_restart_left(bench: Bench) -> None:
    early, late, clone = bench.root / "early.tar.gz", bench.root / "late.tar.gz", bench.root / "clone"
    git(bench.root, "clone", "-q", str(bench.repository), str(clone))
    here = Options(bench.repository, {"state": {"dir": str(bench.root / "state")}})
    there = Options(clone, {"state": {"dir": str(bench.root / "elsewhere")}})

    def export(_: object) -> None:
        thread = threading.Thread(target=anyio.run, args=(export_run_archive, here, "latest", early))
        thread.start()
        thread.join()

    ended = await bench.run(*RESTARTED, when=When("iteration.judged", export))
    assert ended.exit_code == 0, ended.error
    await export_run_archive(here, "latest", late)
    branch = ended.state.run.branch
    await import_run_archive(there, early, None)
    assert files(Bench(bench.root, clone), branch) == {"a.txt", "b.txt"}
    await import_run_archive(there, late, None)
    assert git(clone, "rev-parse", branch) == ended.state.head
    assert files(Bench(bench.root, clone), ended.state.goal.left_lines[0].kept) == {"a.txt", "b.txt"}
