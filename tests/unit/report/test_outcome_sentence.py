"""The sentence with which every report of a run begins, and the step that it suggests."""

import pytest

from orchestrator.domain.event import Event
from orchestrator.domain.event.people import ApprovalRequested
from orchestrator.domain.event.run import RunEnded, RunPaused
from orchestrator.domain.migration.files import FileStatus
from orchestrator.domain.run.approval import Approval
from orchestrator.domain.run.task import EndCause
from orchestrator.domain.run_outcome import RunOutcome
from orchestrator.report.run.next_step import suggest_next_step, suggest_task_step
from orchestrator.report.run.outcome_sentence import CAUSE_WORDS, describe_run_outcome, describe_task_outcome
from tests.running import goal_events as goal
from tests.running import migrated

PARSER = [goal.created("parser"), *goal.merged("parser")]
CSV = [goal.created("csv"), *goal.worked("csv"), goal.ended("csv", "rejected", "red", EndCause.RED_TESTS)]
UNJUDGED = RunEnded(outcome="partial", reason="words", exit=3, head=None, cause="not-judged")
QUESTION = Approval(item="landing/csv@1", matter="landing", subject="csv@1", title="may csv land?")


def end(outcome: RunOutcome, reason: str = "words of a model") -> RunEnded:
    return RunEnded(outcome=outcome, reason=reason, exit=0, head=None)


@pytest.mark.parametrize(
    ("events", "sentence"),
    [
        ([*PARSER, end("done")], "Done: the one task landed, and every criterion of the contract is met."),
        ([*PARSER, *CSV, end("partial")], "Partly done: 1 of 2 tasks landed; not landed: csv (its tests fail)."),
        ([*PARSER, UNJUDGED], "Partly done: the one task landed; what landed could not be judged."),
        ([*CSV, end("rejected")], "Nothing landed: csv (its tests fail)."),
        ([end("nothing-changed")], "Nothing was changed: the planner saw nothing to do."),
        ([end("failed")], "Failed: the planner gave no plan."),
        ([*PARSER, RunPaused(reason="$2.00 is spent.\nMore", exit=5)], "Paused: $2.00 is spent. More"),
        ([*PARSER, goal.created("csv")], "Running: 1 of 2 tasks landed."),
        ([*PARSER, ApprovalRequested(approval=QUESTION)], "Running: the one task landed; 1 question for you."),
        ([ApprovalRequested(approval=QUESTION), RunPaused(reason="waits", exit=6)], "Asks you: may csv land?"),
    ],
)
def test_a_goal_is_told_in_one_sentence_with_its_cause(events: list[Event], sentence: str) -> None:
    assert describe_run_outcome(goal.told(*events)) == sentence


def test_a_migration_is_told_in_one_sentence_with_what_most_files_failed_for() -> None:
    failed = [migrated.moved(path, FileStatus.REJECTED) for path in ("app/test_c.py", "app/test_d.py")]
    sentence = describe_run_outcome(migrated.told(*failed, migrated.END))
    assert sentence == (
        "Partly done: 3 of 8 files landed; 3 failed (3 rejected), 1 rolled back, 1 to do; "
        "2 failed alike, such as app/test_c.py: breaks 1 test: 'ExceptionInfo' object has no attribute 'exception'."
    )


def test_a_failure_is_told_in_its_own_words_and_not_as_its_signature() -> None:
    said = {"reason": "exits with 2; only 0 counts as green", "signature": "exits with N; only N counts as green"}
    failed = [migrated.moved(path, FileStatus.REJECTED, **said) for path in ("app/test_c.py", "app/test_d.py")]
    sentence = describe_run_outcome(migrated.told(*failed, migrated.END))
    assert sentence.endswith("; 2 failed alike, such as app/test_c.py: exits with 2; only 0 counts as green.")


def test_every_cause_has_words_of_its_own() -> None:
    assert set(CAUSE_WORDS) == set(EndCause)
    assert len(set(CAUSE_WORDS.values())) == len(EndCause)


def test_the_next_step_of_a_run_that_fell_short_is_the_task_that_failed() -> None:
    state = goal.told(*PARSER, *CSV, end("partial"))
    assert suggest_next_step(state) == "orchestrate show r1 csv: why csv did not land"


def test_the_next_step_of_a_run_that_could_not_be_judged_is_to_have_it_judged() -> None:
    state = goal.told(*PARSER, *CSV, UNJUDGED)
    assert suggest_next_step(state) == "orchestrate resume r1: have what landed judged again"


def test_a_slice_whose_planner_gave_no_plan_is_to_be_planned_again() -> None:
    slice_ended = goal.ended("storage", "blocked", "", EndCause.MODEL_UNREADABLE)
    state = goal.told(goal.created("storage", kind="branch"), slice_ended)
    (task,) = (task for task in state.tasks.values() if task.spec.id == "storage")
    assert suggest_task_step(state, task) == "orchestrate retry r1 storage: have it planned again"


@pytest.mark.parametrize(
    ("events", "name", "sentence", "command"),
    [
        (PARSER, "parser", "Landed after 1 attempt.", "orchestrate diff r1 parser"),
        (CSV, "csv", "Did not land after 1 attempt: its tests fail.", "orchestrate retry r1 csv --note TEXT"),
        ([goal.created("csv")], "csv", "Not begun.", "orchestrate logs r1 csv --follow"),
    ],
)
def test_a_task_is_told_in_one_sentence_with_a_command_to_go_on(
    events: list[Event], name: str, sentence: str, command: str
) -> None:
    state = goal.told(*events)
    task = next(task for task in state.tasks.values() if task.spec.id == name)
    assert describe_task_outcome(task) == sentence
    assert suggest_task_step(state, task).partition(": ")[0] == command
