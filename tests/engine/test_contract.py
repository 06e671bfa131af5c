"""The contract of a run: asked for by its user, seen by the harness, judged with evidence, changed by people alone."""

from typing import Any

import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.commands.definitions import AddCriterion, DropCriterion
from orchestrator.domain.event.people import CommandTaken
from orchestrator.domain.event.run import CheckStarted, IterationJudged
from orchestrator.domain.event.work import PlanningEnded, SessionStarted
from orchestrator.domain.ids import ROOT_TASK
from orchestrator.domain.run.contract import Criterion
from orchestrator.domain.run.criterion_status import list_criterion_statuses
from orchestrator.errors import UsageProblem
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.report.run.contract import build_contract, render_contract_lines
from orchestrator.report.task.details import render_task_details
from orchestrator.run_control.control import send_command
from tests.running.goals import TWO, Bench, Hears, one, task
from tests.running.holds import Hold
from tests.running.projects import git
from tests.running.scripts import planner_ends, plans, uses

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(600)]

A_AND_B = {"id": "both", "command": "test -f a.txt && test -f b.txt || { echo b.txt is missing; exit 3; }"}
ADDED = {"id": "tests", "text": "add is tested", "command": "grep -q test_add test_calc.py"}
WORDS = {"id": "docs", "text": "a.txt says what it is"}


def says(decision: str, **evidence: str) -> ScriptedReply:
    """The judge calls met what it cites something for."""
    findings = [{"id": name, "met": bool(cited), "evidence": cited} for name, cited in evidence.items()]
    reasons = [] if decision == "done" else ["not there yet"]
    return uses("judge", "root", "submit_verdict", decision=decision, findings=findings, reasons=reasons)


def events(ended: RunExit, kind: type[Any]) -> list[Any]:
    return [one.event for one in read_all_events(ended.directory.journal) if isinstance(one.event, kind)]


def briefs(ended: RunExit, session: str) -> str:
    """What a conversation was told at its beginning."""
    found = [one.event for one in read_all_events(ended.directory.journal) if one.event.kind == "session.started"]
    (brief,) = [str(getattr(event, "brief").head) for event in found if getattr(event, "session") == session]  # noqa: B009
    return brief


def say(bench: Bench, command: AddCriterion | DropCriterion) -> None:
    send_command(RunDirectory(max(bench.root.glob("state/*/runs/*"))), command, by="ada")


async def test_a_judge_that_calls_everything_done_gets_no_red_command_past_the_harness(bench: Bench) -> None:
    cited = {"goal": "a.txt:1", "gate": "gate", "both": "contract-both", "tests": "contract-tests", "docs": "a.txt"}
    ended = await bench.run(
        *(plans("root", {"key": "a"}), *task("a"), planner_ends(), says("done", **cited)),
        *(plans("root", {"key": "b"}), *task("b"), planner_ends(), says("done", **cited | {"goal": "b"})),
        contract=[A_AND_B, ADDED, WORDS],
    )
    assert ended.exit_code == 0, ended.error
    first, second = ended.state.goal.iterations
    assert (first.decision, second.decision) == ("continue", "done")
    (reason,) = first.reasons
    assert reason.startswith(f"both is not met: `{A_AND_B['command']}` exits 3; it printed:")
    assert "b.txt is missing" in reason
    assert "b.txt is missing" in briefs(ended, "plan:root@2.3"), "the planner is told"
    stands = {one.criterion.id: one for one in list_criterion_statuses(ended.state)}
    assert all(one.label == "met" for one in stands.values())
    assert [stands[name].was_met_on_base for name in ("both", "tests", "docs")] == [False, True, False]
    assert "tests: add is tested (checked by `grep -q test_add test_calc.py`) (met already" in briefs(
        ended, "plan:root@1.1"
    )
    for finding in first.findings:
        receipt = ended.state.receipts.get(finding.receipt)
        assert (finding.receipt == "") == (finding.id in {"goal", "docs"})
        assert receipt is None or receipt.tree == git(bench.repository, "rev-parse", f"{_landed(ended, 0)}^{{tree}}")
    told = briefs(ended, "verdict:1")
    assert "contract-both (`test -f a.txt" in told
    assert "attempt 1: merge" in told
    purposes = [started.purpose for started in events(ended, CheckStarted) if started.check.startswith("contract-")]
    assert purposes == ["contract", "contract", *["iteration 1"] * 2, *["iteration 2"] * 2]
    _is_shown(ended, bench)


def _landed(ended: RunExit, number: int) -> str:
    return ended.state.landings[number].new


def _is_shown(ended: RunExit, bench: Bench) -> None:
    """The pull request and the reports name each criterion with what shows it."""
    assert ended.state.pr is not None
    body = "\n".join(path.read_text() for path in bench.root.glob("state/*/prs/**/*.md"))
    assert "### Contract" in body
    assert "- `both` **met**:" in body
    assert "exit 3 on the base, exit 0 on this branch" in body
    (both,) = [one for one in build_contract(ended.state) if one.id == "both"]
    assert (both.met, both.exit_on_base, both.exit, both.evidence) == (True, 3, 0, "contract-both")
    assert next(render_contract_lines(build_contract(ended.state))) == "contract: 5 of 5 criteria met"
    shown = list(render_task_details(ended.state, ended.state.tasks[ROOT_TASK], lambda sha: b""))
    assert [line for line in shown if line.startswith("  iteration")] == [
        "  iteration 1: continue",
        "  iteration 2: done",
    ]
    commands = [line for line in shown if line == f"  $ {A_AND_B['command']}"]
    reruns = [line for line in shown if line.startswith("  again: ")]
    assert (len(commands), len(reruns)) == (2, 6), "each command on each iteration's tree, and how to run it again"


async def test_a_run_that_never_turns_a_command_green_ends_as_partial_and_names_it(bench: Bench) -> None:
    cited = says("done", goal="a.txt", gate="gate", both="gate")
    ended = await bench.run(*one("a")[:-1], cited, contract=[A_AND_B], run={"max_iterations": 1})
    assert (ended.exit_code, ended.state.ended and ended.state.ended.outcome) == (3, "partial")
    assert ended.state.ended
    assert "both is not met" in ended.state.ended.reason


async def test_what_is_called_met_without_naming_anything_known_goes_back_to_the_judge(bench: Bench) -> None:
    vague = says("done", goal="I am sure that it works", gate="gate")
    ended = await bench.run(*one("a")[:-1], vague, says("done", goal="a.txt", gate="gate"))
    (judged,) = events(ended, IterationJudged)
    assert (ended.exit_code, judged.verdict.findings[0].evidence) == (0, "a.txt")


async def test_a_command_that_cannot_be_run_stops_the_run_before_any_work(bench: Bench) -> None:
    ended = await bench.run(*one("a"), contract=[{"id": "lint", "command": "no-such-linter ."}])
    assert ended.exit_code == 7
    assert "the command `no-such-linter .` of criterion lint was not found on the base" in str(ended.error)
    assert (ended.state.goal.contract, ended.state.tasks) == (None, {})


async def test_the_contract_stays_as_it_was_frozen_whatever_the_project_asks_for_later(bench: Bench) -> None:
    (bench.repository / "orchestrate.toml").write_text("[[contract]]\nid = 'docs'\ntext = 'as it was'\n")
    ended = await bench.run(*TWO[:2], budget={"calls": 2})
    assert ended.exit_code == 5
    frozen = ended.state.goal.contract
    assert frozen and [criterion.text for criterion in frozen.criteria[2:]] == ["as it was"]
    (bench.repository / "orchestrate.toml").write_text(
        "[[contract]]\nid = 'docs'\ntext = 'something else'\n[[contract]]\nid = 'more'\ncommand = 'false'\n"
    )
    with pytest.raises(UsageProblem, match="the contract was frozen when the run began"):
        await bench.resume(*TWO, contract=[])
    verdict = says("done", goal="a.txt", gate="gate", docs="b")
    again = await bench.resume(*TWO[:-1], verdict, budget={"calls": 100})
    assert (again.exit_code, again.state.goal.contract) == (0, frozen)
    assert any("asks for criteria that this run does not have" in notice.text for notice in again.state.notices)
    assert any("(docs, more)" in notice.text for notice in again.state.notices)


def other_words(bench: Bench) -> None:
    """What was asked for in words is dropped, and what a command shows is added."""
    say(bench, AddCriterion(criterion=Criterion(id="b", text="b.txt is there", command="test -f b.txt")))
    say(bench, DropCriterion(id="docs"))


NOW = says("done", goal="a.txt", gate="gate", b="gate")
"""What the judge says of the contract with other words."""


def is_judged_by_other_words(ended: RunExit) -> None:
    assert ended.exit_code == 0, (ended.error, ended.state.ended)
    assert ended.state.goal.contract
    assert [criterion.id for criterion in ended.state.goal.contract.criteria if criterion.id != "slow"] == [
        "goal",
        "gate",
        "b",
    ]
    assert [verdict.decision for verdict in ended.state.goal.iterations] == ["continue", "done"]
    assert ended.state.goal.iterations[0].reasons == ("b is not met: `test -f b.txt` exits 1",)


def conversations(ended: RunExit) -> list[str]:
    """Those with the judge of iterations, in order."""
    return [event.session for event in events(ended, SessionStarted) if event.session.startswith("verdict:")]


@pytest.mark.extended
async def test_a_person_changes_the_contract_while_it_is_judged_and_it_is_judged_anew(bench: Bench) -> None:
    def change_of_mind(event: object) -> None:
        if isinstance(event, SessionStarted) and event.session == "verdict:1":
            other_words(bench)

    first = says("done", goal="a.txt", gate="gate", docs="a.txt").model_copy(update={"delay_s": 2.5})
    ended = await bench.run(
        *(plans("root", {"key": "a"}), *task("a"), planner_ends(), first, NOW),
        *(plans("root", {"key": "b"}), *task("b"), planner_ends(), NOW),
        when=Hears(change_of_mind),
        contract=[WORDS],
    )
    is_judged_by_other_words(ended)
    assert conversations(ended) == ["verdict:1", "verdict:1+2", "verdict:2+2"]


async def test_a_person_changes_the_contract_while_its_commands_run_and_the_judge_is_asked_of_the_new_one_alone(
    bench: Bench, hold: Hold
) -> None:
    def change_of_mind(event: object) -> None:
        match event:
            case PlanningEnded() if not said:
                hold.close()
                said.append(other_words(bench))
            case CommandTaken(command=DropCriterion()):
                hold.open()

    said = list[None]()
    slow = {"id": "slow", "text": "it takes its time", "command": hold.command}
    now = says("done", goal="a.txt", gate="gate", b="gate", slow="contract-slow")
    ended = await bench.run(
        *(plans("root", {"key": "a"}), *task("a"), planner_ends(), now),
        *(plans("root", {"key": "b"}), *task("b"), planner_ends(), now),
        when=Hears(change_of_mind),
        contract=[WORDS, slow],
        hands=hold.settings,
    )
    is_judged_by_other_words(ended)
    assert conversations(ended) == ["verdict:1+2", "verdict:2+2"]
