"""What a reply alone shows of a fault, what a trial says of a proposal, and how prompts are edited."""

import json
from typing import Any

import pytest

from orchestrator.config.layers import load_config
from orchestrator.domain.chat import Reply, ToolCall
from orchestrator.domain.ids import RunId, SessionId, TaskId
from orchestrator.retro.decisions import CauseKind, DecisionCause, JudgedDecision, PromptUse
from orchestrator.retro.reply_checks import ReplyContext, has_fault, is_worse
from orchestrator.retro.run_reading import ESCAPED_APPROVAL, FALSE_VETO
from orchestrator.retro.trial import TrialCall, TrialResult, TriedDecision, judge_trial
from orchestrator.retro.variants import propose_settings
from prompts import PromptError, load_prompt
from prompts.edits import MAX_GROWTH_CHARS, PromptEdit, apply_prompt_edits

NOQA = DecisionCause(kind=CauseKind.RULE, name="suppression")
PUSH = DecisionCause(kind=CauseKind.VIOLATION, name="push")
MALFORMED = DecisionCause(kind=CauseKind.EXIT, name="malformed")
RED = DecisionCause(kind=CauseKind.VERDICT, name="red-tests")
FILE = ReplyContext(path="a.py", base=b"x = 0\n", current=b"x = 0\n")


def uses(tool: str, raw: str = "", **arguments: Any) -> Reply:
    return Reply(tool_calls=(ToolCall(id="1", name=tool, arguments=raw or json.dumps(arguments)),))


@pytest.mark.parametrize(
    ("reply", "cause", "expected"),
    [
        (uses("write", path="a.py", text="x = 1  # noqa\n"), NOQA, True),
        (uses("write", path="./a.py", text="x = 1\n"), NOQA, False),
        (uses("edit", path="a.py", old="x = 0", new="x = 1  # noqa"), NOQA, True),
        (uses("edit", path="a.py", old="y = 0", new="x = 1"), NOQA, None),
        (uses("read", path="a.py"), NOQA, None),
        (uses("shell", command="git push origin main"), PUSH, True),
        (uses("shell", command="git status"), PUSH, False),
        (uses("write", raw="{path"), MALFORMED, True),
        (Reply(text="done"), MALFORMED, True),
        (uses("finish", summary="x"), MALFORMED, False),
        (uses("submit_verdict", decision="approve"), ESCAPED_APPROVAL, True),
        (uses("submit_verdict", decision="revise"), ESCAPED_APPROVAL, False),
        (uses("submit_verdict", decision="revise"), FALSE_VETO, True),
        (uses("submit_verdict", decision="approve"), FALSE_VETO, False),
        (uses("submit_verdict", decision="maybe"), FALSE_VETO, None),
        (uses("finish", summary="x"), RED, None),
    ],
)
def test_a_reply_shows_a_fault_or_decides_without_it_or_tells_nothing(
    reply: Reply, cause: DecisionCause, expected: bool | None
) -> None:
    assert has_fault(reply, cause, FILE) is expected


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        (uses("write", path="a.py", text="x = 2\n"), False),
        (uses("read", path="a.py"), False),
        (uses("write", path="a.py", text="x = 1  # noqa\n"), True),
        (uses("shell", command="git push"), True),
        (Reply(text="I will"), True),
    ],
)
def test_a_new_reply_is_worse_where_the_harness_would_refuse_it(new: Reply, expected: bool) -> None:
    assert is_worse(uses("write", path="a.py", text="x = 1\n"), new, FILE) is expected


def test_a_reviewer_that_decides_otherwise_on_a_sound_change_is_worse() -> None:
    approves, refuses = (uses("submit_verdict", decision=word) for word in ("approve", "revise"))
    assert [is_worse(approves, refuses, FILE), is_worse(refuses, approves, FILE)] == [True, True]
    assert not is_worse(approves, approves, FILE)


def tried(result: TrialResult, cause: DecisionCause | None = NOQA) -> TriedDecision:
    return TriedDecision(TrialCall(RunId("r"), SessionId("s"), 0, 1, cause), result)


@pytest.mark.parametrize(
    ("results", "state"),
    [
        ([tried("better"), tried("fine", None)], "confirmed"),
        ([tried("better"), tried("as-before"), tried("fine", None)], "refused"),
        ([tried("better"), tried("unclear"), tried("fine", None)], "refused"),
        ([tried("better"), tried("worse", None)], "refused"),
        ([tried("better"), tried("unreached"), tried("fine", None)], "confirmed"),
        ([tried("better")], "untried"),
        ([tried("unreached"), tried("fine", None)], "untried"),
        ([], "untried"),
    ],
)
def test_only_what_gets_better_everywhere_and_nowhere_worse_is_confirmed(
    results: list[TriedDecision], state: str
) -> None:
    assert judge_trial(results).state == state


def test_an_edited_prompt_has_the_next_version_and_everything_else_as_it_was() -> None:
    prompt = load_prompt("worker")
    changed = apply_prompt_edits(prompt, [PromptEdit("How to work\n", "How to work\n- Be plain.\n")])
    assert (changed.version, changed.inputs) == (prompt.version + 1, prompt.inputs)
    assert changed.text == prompt.text.replace("How to work\n", "How to work\n- Be plain.\n")


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ([], "between 1 and"),
        ([PromptEdit("no such words", "x")], "stands there 0 times"),
        ([PromptEdit("the", "x")], "times; quote it"),
        ([PromptEdit("How to work\n", "How to work\n")], "changes nothing"),
        ([PromptEdit("{{gate}}", "make test")], "declares"),
        ([PromptEdit("How to work\n", "{{secret}}\n")], "declares"),
        ([PromptEdit("How to work\n", "x" * (MAX_GROWTH_CHARS + 100))], "longer by more than"),
        ([PromptEdit("version: 8", "version: 9")], "stands there 0 times"),
    ],
)
def test_edits_that_do_not_fit_are_refused(edits: list[PromptEdit], said: str) -> None:
    with pytest.raises(PromptError, match=said):
        apply_prompt_edits(load_prompt("worker"), edits)


def attempt(run: int, number: int, variant: str | None, has_landed: bool) -> JudgedDecision:
    return JudgedDecision(
        run=RunId(f"r{run}"),
        use=PromptUse(role="worker", name="worker", sha="p"),
        model="m",
        variant=variant,
        task=TaskId(f"t{number}{variant}"),
        number=1,
        session=SessionId("s"),
        outcome="landed" if has_landed else "sent-back",
    )


@pytest.mark.parametrize(
    ("rungs", "usual_lands", "expected"),
    [
        ([], False, ("roles.worker.escalate_to", "[]", '["strong"]')),
        (["strong"], False, ("roles.worker.model", '"small"', '"large"')),
        ([], True, None),
    ],
)
def test_a_variant_that_lands_far_more_is_proposed_as_a_setting(
    rungs: list[str], usual_lands: bool, expected: tuple[str, str, str] | None
) -> None:
    worker = {"model": "small", "variants": {"strong": {"model": "large"}}, "escalate_to": rungs}
    config = load_config(None, {"roles": {"worker": worker}}, environ={}).config
    decisions = []
    for number in range(6):
        decisions.append(attempt(number % 2, number, None, usual_lands))
        decisions.append(attempt(number % 2, number, "strong", has_landed=True))
    found = propose_settings(decisions, config.roles.worker)
    assert [(change.key, change.old, change.new) for change in found] == ([expected] if expected else [])
