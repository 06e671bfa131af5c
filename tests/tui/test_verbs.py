"""Typed commands: the command line's words about what is named, else about what is chosen."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.commands.catalog import TYPED_COMMANDS
from orchestrator.domain.commands.definitions import (
    AddCriterion,
    Approve,
    Cancel,
    Command,
    Continue,
    Drain,
    DropCriterion,
    HoldShard,
    Pause,
    Publish,
    Reject,
    Retry,
    RetryFiles,
    RollbackShards,
    SendBack,
    SkipFiles,
    Stop,
    StopCall,
    Uncordon,
)
from orchestrator.domain.ids import SessionId, TaskId
from orchestrator.domain.migration.files import Shard
from orchestrator.domain.run.contract import Criterion
from orchestrator.domain.run.person_review import ReviewComment
from orchestrator.domain.run.state import RunState
from orchestrator.errors import UsageProblem
from orchestrator.tui.commands.parser import parse_commands
from orchestrator.tui.commands.pending_line import describe_command
from orchestrator.tui.views.base_view import Subject
from tests.tui.asking import LANDING, TIERS, Asking
from tests.tui.sources import Still, kept

CSV = TaskId("reporting/csv")
DISCOUNTS = TaskId("discounts")
REJECTED = next(
    path for path, file in Still(kept("migration.v1")).state.migration.files.items() if file.status == "rejected"
)
SHELL = "tool/work:discounts@2/0/1"
CHOSEN = [Subject("task", CSV)]
TWO_LINES = (ReviewComment(path="a.py", line=3, text="why"), ReviewComment(path="b.py", line=9, text="x"))


def goal() -> RunState:
    return Asking(160, LANDING, *TIERS).state


def migration() -> RunState:
    state = Still(kept("migration.v1")).state
    state.migration.shards["core"] = Shard(name="core", files=("shop/cart.py", "shop/mail.py"))
    return state


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("approve q1", [Approve(item=LANDING.item)]),
        (":approve tier/reporting/csv/1", [Approve(item=TIERS[0].item)]),
        ('approve q2 --reason "looked at it"', [Approve(item=TIERS[0].item, reason="looked at it")]),
        ("reject q2 vendored already", [Reject(item=TIERS[0].item, reason="vendored already")]),
        ("deny", [Reject(item=TIERS[0].item)]),
        ("send-back q1 --comment a.py:3=why --comment b.py:9=x", [SendBack(item=LANDING.item, comments=TWO_LINES)]),
        ("pause the provider is slow", [Pause(reason="the provider is slow")]),
        ("orchestrate continue", [Continue()]),
        ('retry discounts "look at x"', [Retry(task=DISCOUNTS, note="look at x")]),
        ("retry discounts --note=x --from 0 --attempt 1", [Retry(task=DISCOUNTS, note="x", turn=0, attempt=1)]),
        ('retry "look at x"', [Retry(task=CSV, note="look at x")]),
        ("retry", [Retry(task=CSV)]),
        ("cancel discounts", [Cancel(task=DISCOUNTS)]),
        ("cancel --reason no", [Cancel(reason="no")]),
        ("stop-call discounts", [StopCall(session=SessionId("work:discounts@2"), call=SHELL)]),
        ("criterion add docs: all is told", [AddCriterion(criterion=Criterion(id="docs", text="all is told"))]),
        ("criterion drop docs", [DropCriterion(id="docs")]),
        ("drain", [Stop(how="drain")]),
        ("hosts drain build-1", [Drain(host="build-1")]),
        ("hosts uncordon build-1", [Uncordon(host="build-1")]),
        ("stop", [Stop(how="interrupt")]),
    ],
)  # fmt: skip
def test_a_line_is_what_the_command_line_would_do(text: str, expected: Sequence[Command]) -> None:
    assert parse_commands(text, CHOSEN, goal()) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("migrate retry shop/mail.py --note smaller", [RetryFiles(files=("shop/mail.py",), note="smaller")]),
        ("retry --failed", [RetryFiles(files=(REJECTED,))]),
        ("skip shop/mail.py generated", [SkipFiles(files=("shop/mail.py",), reason="generated")]),
        ("hold core they release", [HoldShard(shard="core", reason="they release")]),
        ("migrate rollback core --reason slow", [RollbackShards(shards=("core",), reason="slow")]),
        ("publish @core", [Publish(groups=("@core",))]),
    ],
)
def test_a_line_about_a_migration_names_files_and_shards(text: str, expected: Sequence[Command]) -> None:
    state = migration()
    assert parse_commands(text, (), state) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no command is given"),
        ("launch", "no such command 'launch'; there are approve"),
        ("approve q9", "has asked no q9; waiting: q1 landing/discounts@2"),
        ("retry discounts --from soon", "is not a valid integer"),
        ("retry discounts --attempt 1", "--attempt says whose turn is meant"),
        ("retry discounts --form 1", "no such option for retry: --form; there are --note"),
        ("reject q1 --reason", "option '--reason' requires an argument"),
        ('retry "discounts', "No closing quotation"),
        ("criterion add", "say what is asked for"),
        ("stop-call root", "is using no tool now"),
        (f"approve {'9' * 5_000}", "names no question"),
        (f"retry discounts --from {'9' * 5_000}", "is not a valid integer"),
    ],
)
def test_what_cannot_be_meant_is_told_as_the_command_line_tells_it(text: str, problem: str) -> None:
    with pytest.raises(UsageProblem) as told:
        parse_commands(text, CHOSEN, goal())
    assert problem in str(told.value)


def test_a_file_is_left_out_for_a_reason_only() -> None:
    with pytest.raises(UsageProblem, match="say why the file is left out"):
        parse_commands("skip shop/mail.py", (), migration())


@given(st.text(max_size=40))
def test_any_line_is_either_commands_that_can_be_told_or_a_problem_in_words(line: str) -> None:
    for verb in TYPED_COMMANDS:
        try:
            commands = parse_commands(f"{verb} {line}", CHOSEN, _GOAL)
        except UsageProblem as problem:
            assert str(problem)
        else:
            assert all(describe_command(command) for command in commands)


_GOAL = goal()
