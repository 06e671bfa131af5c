"""What a use of a tool tried beyond the walls, folded from the tool's own events."""

import json
from datetime import UTC, datetime

import pytest

from orchestrator.domain.event import Event, RecordedEvent
from orchestrator.domain.event.work import SessionStarted, ToolCalled, ToolReturned
from orchestrator.domain.fold.projection import fold_events
from orchestrator.domain.ids import SessionId, TaskId
from orchestrator.domain.sandbox.policy_violation import MAX_VIOLATIONS, PolicyViolation
from orchestrator.domain.sandbox.tier import Tier, ToolReach
from orchestrator.domain.text.blob_text import Text

SESSION, TASK = SessionId("a@1"), TaskId("a")


def used(name: str, arguments: object, said: str = "[exit code 1, 0.1 s]", **more: object) -> list[Event]:
    """A tool's use as the journal has it; `more` are `ok`, `stray_packets`, `tier`."""
    shared = {"key": "tool/a@1/0/0~0", "task": TASK, "session": SESSION, "turn": 3, "name": name}
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    tier = more.pop("tier", Tier.COMMANDS)
    returned = {"call_id": "c", "ok": False, "observation": Text.build_inline(said), "seconds": 0.1} | more
    return [
        ToolCalled.model_validate(shared | {"arguments": Text.build_inline(text), "tier": tier}),
        ToolReturned.model_validate(shared | returned),
    ]


def told(*events: Event) -> list[PolicyViolation]:
    begun = SessionStarted(session=SESSION, task=TASK, role="worker", model="m", prompt="", system=Text(), brief=Text())
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return fold_events(
        RecordedEvent(seq, at, event) for seq, event in enumerate((begun, *events), start=1)
    ).policy_violations


def test_a_command_is_quoted_with_how_it_ended() -> None:
    (one,) = told(*used("shell", {"command": "make && git push origin main"}))
    assert (one.task, one.turn, one.kind, one.evidence) == ("a", 3, "push", "words")
    assert (one.what, one.outcome) == (
        "git push origin main",
        "it ran behind the walls: exit code 1, 0.1 s",
    )


def test_a_program_is_looked_at_like_a_command() -> None:
    code = "from tools import read, run\nprint(read('a.py'))\nrun('git push origin main')\n"
    (one,) = told(*used("program", {"code": code}))
    assert (one.kind, one.evidence) == ("push", "words")
    assert told(*used("program", {"code": "from tools import read\nprint(read('a.py').count('x'))\n"})) == []


def test_packets_without_a_way_out_are_the_kernels_word_whatever_the_command_says() -> None:
    (quiet,) = told(*used("shell", {"command": "./innocent"}, stray_packets=3))
    assert (quiet.kind, quiet.evidence, quiet.what) == ("network", "kernel", "./innocent")
    assert quiet.outcome.endswith("3 packets had no way out")
    (loud,) = told(*used("shell", {"command": "curl http://evil.example"}, stray_packets=1))
    assert (loud.evidence, loud.outcome.rpartition("; ")[2]) == ("kernel", "1 packet had no way out")


def test_what_the_user_granted_is_no_overstep() -> None:
    command = {"command": "curl http://example.org && cat ~/.ssh/id_rsa"}
    assert [one.kind for one in told(*used("shell", command, tier=Tier.EVERYTHING))] == ["credentials"]


def test_a_file_tool_that_refused_is_told_of_and_one_that_worked_is_not() -> None:
    (one,) = told(*used("read", {"path": "../x"}, said="'../x' is no path in the workspace"))
    assert (one.kind, one.evidence, one.what) == ("outside-path", "refusal", "read ../x")
    (lured,) = told(
        *used(
            "read", {"path": "link"}, said="link is or leads through a symbolic link, which file tools do not follow."
        )
    )
    assert lured.kind == "outside-path"
    assert told(*used("read", {"path": "missing.py"}, said="missing.py does not exist")) == []
    assert told(*used("write", {"path": "notes/.github", "text": "~/.ssh/id_rsa"}, ok=True)) == []


@pytest.mark.parametrize(("is_ok", "evidence"), [(True, "words"), (False, "refusal")])
def test_a_wish_for_a_tier_is_told_with_its_answer(is_ok: bool, evidence: str) -> None:
    (one,) = told(*used("request_tier", {"tier": 3, "reason": "README"}, said="Refused: no", ok=is_ok))
    assert (one.kind, one.what, one.outcome, one.evidence) == (
        "tier",
        "asked for tier 3: README",
        "Refused: no",
        evidence,
    )


def test_words_that_could_steer_a_terminal_are_kept_as_one_plain_line() -> None:
    (one,) = told(*used("shell", {"command": "curl http://evil.example/\x1b]52;c;eA==\x07\u202e" + "x" * 5_000}))
    assert one.what.isprintable()
    assert len(one.what) <= 300


def test_of_very_many_only_the_first_are_kept() -> None:
    assert len(told(*used("shell", {"command": "git push"}) * (MAX_VIOLATIONS + 5))) == MAX_VIOLATIONS


def test_of_arguments_too_long_for_the_event_the_beginning_is_looked_at() -> None:
    for cut in ("", "\\"):
        (one,) = told(*used("shell", '{"command": "cd x\\ngit push origin ' + "x" * 10 + cut))
        assert (one.kind, one.what) == ("push", "git push origin xxxxxxxxxx")
    assert [one.kind for one in told(*used("shell", "cat ~/.ssh/id_rsa"))] == ["credentials"]


def test_what_a_tool_works_on_is_known_by_its_own_word_whatever_it_is_called() -> None:
    command = {"command": "git push origin main"}
    called, returned = used("run", command)
    assert told(called, returned) == []
    assert [one.kind for one in told(called.model_copy(update={"reach": ToolReach.COMMAND}), returned)] == ["push"]
    assert told(used("shell", command)[0].model_copy(update={"reach": ToolReach.NOTHING}), returned) == []


@pytest.mark.parametrize("name", ["cmd", "script", "bash"])
def test_a_command_under_another_name_is_looked_at_as_well(name: str) -> None:
    (one,) = told(*used("shell", {name: "git push origin main"}))
    assert (one.kind, one.what) == ("push", "git push origin main")


def test_a_path_under_another_name_is_looked_at_as_well() -> None:
    (one,) = told(*used("write", {"file_path": "../x", "content": "x"}))
    assert (one.kind, one.what) == ("outside-path", "write ../x")
