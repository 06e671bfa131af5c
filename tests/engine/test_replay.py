"""A run done over from its journal: the same trees where nothing changed, else the first divergence."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.replay_models import ReplayOptions
from orchestrator.app.run_execution import RunExit
from orchestrator.demo.runs import hash_checkout
from orchestrator.errors import UsageProblem
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.project.options import Options
from orchestrator.replay.comparison.report import ReplayReport, build_replay_document
from orchestrator.replay.comparison.report_model import ComparedCall
from orchestrator.replay.comparison.report_text import render_report
from orchestrator.scratch_runs.replay import replay_run
from prompts import load_prompt
from prompts.loader import list_prompt_names
from roles.model_roles import ROLE_PROMPTS, SHARED_PROMPTS, is_prompt_of_role
from tests.running.goals import TWO, Bench, one, task
from tests.running.projects import git, refs
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

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(600)]

GOOD, BROKEN = "    return a + b\n", "    return a - b\n"
WORD = {"env": {"vars": {"WORD": "one"}}}
OTHER = {"env": {"vars": {"WORD": "two"}}}


AS_IT_WAS = ReplayOptions()


async def again(bench: Bench, wishes: ReplayOptions = AS_IT_WAS, **flags: Any) -> ReplayReport:
    return await replay_run(
        Options(bench.repository, {"state": {"dir": str(bench.root / "state")}} | flags), None, wishes
    )


def touched(bench: Bench, ended: RunExit) -> tuple[object, ...]:
    """All that a replay may not change: checkout, refs, objects, and everything of the run itself."""
    run = ended.directory.path
    own = [path for path in run.rglob("*") if path.is_file() and "db-" not in path.name]  # SQLite's readers need those
    files = sorted((str(path.relative_to(run)), hashlib.sha256(path.read_bytes()).hexdigest()) for path in own)
    counted = git(bench.repository, "count-objects", "-v")
    return hash_checkout(bench.repository), refs(bench.repository), counted, files


def list_parts(call: ComparedCall) -> list[Any]:
    assert call.first_difference is not None
    return list(dict(call.first_difference).values())


def told(report: ReplayReport) -> str:
    return "\n".join(render_report(report))


@pytest.mark.extended
async def test_parallel_work_with_a_revision_and_an_ejection_comes_out_the_same_and_touches_nothing(
    bench: Bench,
) -> None:
    test = "import unittest, os\n\nclass T(unittest.TestCase):\n    def test_x(self):\n        {}\n"
    alone = "self.assertFalse(os.path.exists('a.txt') and os.path.exists('b.txt'))"
    ended = await bench.run(
        plans("root", {"key": "a"}, {"key": "b"}, {"key": "sum"}),
        edits("sum", "calc.py", GOOD, BROKEN),
        worker_ends("sum"),
        edits("sum", "calc.py", BROKEN, "    return b + a\n"),
        worker_ends("sum"),
        reviews("sum"),
        writes("a", "test_a.py", test.format(alone)),
        *task("a"),
        *task("b"),
        *[uses("worker", name, "shell", command=f"mv {name}.txt {name}2.txt") for name in ("a", "b")],
        worker_ends("a"),
        worker_ends("b"),
        reviews("a"),
        reviews("b"),
        planner_ends(),
        judges(),
    )
    assert len(ended.state.ejections) == 1
    before = touched(bench, ended)
    report = await again(bench)
    assert (report.is_same, report.is_whole, report.exit_code) == (True, True, 0), told(report)
    assert [pair.same_commit for pair in report.landings] == [True] * len(ended.state.landings)
    assert report.same_bytes + report.same_steadied == ended.state.spend.total.calls
    assert touched(bench, ended) == before
    assert [*ended.directory.path.parent.parent.glob("replays/*")] == []


@pytest.mark.slow
async def test_a_restart_and_a_second_iteration_come_out_the_same(bench: Bench) -> None:
    await bench.run(
        plans("root", {"key": "a"}),
        writes("a", "a.txt", "bad\n"),
        worker_ends("a"),
        reviews("a", "restart", "a.txt:1 begin again"),
        *task("a"),
        planner_ends(),
        judges("continue", "b is missing"),
        plans("root", {"key": "b"}),
        *task("b"),
        planner_ends(),
        judges(),
    )
    report = await again(bench)
    assert report.is_same, told(report)
    assert [pair.units for pair in report.landings] == [("a@2",), ("b@1",)]


async def test_a_run_that_stopped_is_replayed_as_far_as_its_recording_goes(bench: Bench) -> None:
    ended = await bench.run(*TWO[:-4])
    assert ended.error is not None
    report = await again(bench)
    assert (report.is_same, report.is_whole) == (True, False), told(report)
    assert len(report.landings) == 1
    assert "the same, as far as the recording goes" in told(report)


@pytest.mark.slow
async def test_a_resumed_run_with_a_failed_try_is_replayed_as_one(bench: Bench) -> None:
    stopped = await bench.run(*TWO[:-4])
    assert stopped.error is not None
    resumed = await bench.resume(*TWO)
    assert resumed.exit_code == 0
    report = await again(bench)
    assert (report.is_same, report.is_whole, len(report.landings)) == (True, True, 2), told(report)


@pytest.mark.extended
async def test_a_command_that_prints_another_word_is_the_first_divergence_with_its_diff(bench: Bench) -> None:
    echo = uses("worker", "a", "shell", command="echo the word is $WORD")
    await bench.run(plans("root", {"key": "a"}), echo, *task("a"), planner_ends(), judges(), **WORD)
    report = await again(bench, **OTHER)
    first = report.divergences[0]
    assert (report.exit_code, first.session, first.turn, first.what) == (1, "work:a@1", 1, "message 3 (tool)")
    assert {"-the word is one", "+the word is two"} <= set(first.diff)
    assert report.recorded_tree == report.replayed_tree
    assert build_replay_document(report).as_object()["first_divergence"]["session"] == "work:a@1"


@pytest.mark.slow
async def test_a_command_that_leaves_another_file_is_seen_in_the_trees(bench: Bench) -> None:
    echo = uses("worker", "a", "shell", command="echo $WORD > word.txt")
    await bench.run(plans("root", {"key": "a"}), echo, worker_ends("a"), reviews("a"), planner_ends(), judges(), **WORD)
    report = await again(bench, **OTHER)
    assert report.exit_code == 1
    assert report.divergences[0].what.startswith("tree of attempt 1 at a: ")
    assert [pair.same for pair in report.landings] == [False]
    assert "recorded, " in told(report)


async def test_where_the_recorded_order_cannot_be_kept_the_replay_ends_and_says_what_should_have_come(
    bench: Bench,
) -> None:
    test = (
        "import os, unittest\n\nclass T(unittest.TestCase):\n    def test_x(self):\n"
        "        self.assertEqual(os.environ['WORD'], 'one')\n"
    )
    await bench.run(
        plans("root", {"key": "a", "grants": ["test_calc.py"]}),
        edits("a", "test_calc.py", "import unittest\n", f"import unittest\n\n{test}"),
        edits("a", "test_calc.py", "double(4), 8", "double(4), 8 if __import__('os').environ['WORD'] == 'one' else 0"),
        worker_ends("a"),
        reviews("a"),
        planner_ends(),
        judges(),
        **WORD,
    )
    report = await again(bench, **OTHER)
    assert report.exit_code == 1
    assert report.landings[0].replayed is None
    said = [one.what for one in report.divergences]
    assert "verdict on attempt 1 at a: merge recorded, revise replayed" in said
    assert "the recording goes on with the answer to review:a@1, turn 0, the replay with attempt 2 at a" in said
    assert report.replayed_outcome == "stopped"


def changed_judge(place: Path) -> Path:
    place.mkdir()
    text = (Path(__file__).parents[2] / "prompts" / "judge.md").read_text()
    (place / "judge.md").write_text(text.replace("You review one change", "You doubt one change"))
    return place


@pytest.mark.slow
async def test_a_changed_prompt_shows_where_it_diverges_without_asking_anybody(bench: Bench) -> None:
    await bench.run(*one("a"))
    report = await again(bench, ReplayOptions(prompts=changed_judge(bench.root / "new"), only="judge", offline=True))
    first = report.divergences[0]
    assert (report.exit_code, first.session, first.what) == (1, "review:a@1", "message 0 (system)")
    assert any(line.startswith("+You doubt one change") for line in first.diff)
    assert (report.asking, report.recorded_tree) == (None, report.replayed_tree)


@pytest.mark.extended
async def test_the_judge_alone_is_asked_again_and_the_run_goes_on_as_it_was_recorded(bench: Bench) -> None:
    await bench.run(*one("a"))
    model = write_script(bench.root / "strict.json", [reviews("a", "revise", "a.txt:1 is empty"), judges()])
    report = await again(bench, ReplayOptions(prompts=changed_judge(bench.root / "new"), only="judge", model=model))
    assert report.asking is not None
    assert [(call.session, call.recorded, call.new) for call in report.asking.calls] == [
        ("review:a@1", "approve", "revise"),
        ("verdict:1", "done", "done"),
    ]
    assert list_parts(report.asking.calls[0]) == ["submit_verdict.decision", "approve", "revise"]
    assert (report.asking.models, report.asking.spent.calls) == ((model,), 2)
    assert (report.exit_code, report.unexpected, report.replayed_outcome) == (1, (), "done")
    asked = build_replay_document(report).as_object()["asked_again"]
    assert (asked["same"], asked["different"], asked["failed"]) == (1, 1, 0)
    assert "1 of 2 calls decide the same; asking again cost $0.00" in told(report)


@pytest.mark.slow
async def test_a_role_that_decides_the_same_again_is_no_divergence(bench: Bench) -> None:
    await bench.run(*one("a"))
    model = write_script(bench.root / "same.json", [writes("a", "a.txt", "b\n"), worker_ends("a", "other words")])
    report = await again(bench, ReplayOptions(only="worker", model=model))
    assert report.asking is not None
    assert (report.exit_code, [call.same for call in report.asking.calls]) == (0, [True, True])
    assert list_parts(report.asking.calls[1]) == ["finish.summary", "done", "other words"]


@pytest.mark.parametrize(
    ("files", "wishes", "said"),
    [
        ({}, {}, "replaces no prompt: it may hold"),
        ({"worker.md": "worker"}, {"only": "judge"}, "replaces no prompt: it may hold iteration.md"),
        ({"jugde.md": "judge"}, {}, "there is no prompt 'jugde'"),
        ({"judge.md": "worker"}, {}, "it has to take \\[\\]"),
        (None, {"model": "scripted:x"}, "give --only ROLE with it"),
        (None, {"model": "scripted:x", "only": "judge", "offline": True}, "and not --offline"),
    ],
)
async def test_wishes_that_cannot_be_met_are_told_before_anything_runs(
    tmp_path: Path, files: dict[str, str] | None, wishes: dict[str, Any], said: str
) -> None:
    directory = None
    if files is not None:
        directory = tmp_path / "new"
        directory.mkdir()
        for name, shipped in files.items():
            (directory / name).write_text((Path(__file__).parents[2] / "prompts" / f"{shipped}.md").read_text())
    with pytest.raises(UsageProblem, match=said):
        await ReplayOptions(prompts=directory, **wishes).load_prompts()


def test_every_prompt_belongs_to_one_role_or_to_all_and_to_none_alone() -> None:
    assert {name: sum(is_prompt_of_role(role, name) for role in ROLE_PROMPTS) for name in list_prompt_names()} == {
        name: int(name not in SHARED_PROMPTS) for name in list_prompt_names()
    }


@pytest.mark.slow
async def test_a_scratch_directory_is_kept_on_demand_with_a_whole_repository_of_the_replay(bench: Bench) -> None:
    ended = await bench.run(*one("a"))
    report = await again(bench, ReplayOptions(keep=True))
    assert report.kept is not None
    head = git(report.kept / "git", "rev-parse", f"refs/heads/{ended.state.run.branch}")
    assert head == ended.state.head
    assert f"kept        {report.kept}" in told(report)


@pytest.mark.slow
async def test_every_call_names_its_request_and_its_prompt(bench: Bench) -> None:
    ended = await bench.run(*one("a"))
    called: list[Any] = [r.event for r in read_all_events(ended.directory.journal) if r.event.kind == "model.called"]
    assert {len(event.request) for event in called} == {64}
    assert {event.prompt for event in called} == {
        load_prompt(name).sha for name in ("planner", "worker", "judge", "iteration")
    }
