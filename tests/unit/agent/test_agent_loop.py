"""The agent loop: every exit, what is recorded, and going on after a cut."""

from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import anyio
import pytest

from orchestrator.agent.history import restore_session
from orchestrator.agent.loop import run_session
from orchestrator.agent.model_calls import ModelCaller
from orchestrator.agent.session_spec import SessionSpec, index_tools
from orchestrator.agent.tools.files import (
    build_edit_tool,
    build_list_tool,
    build_read_tool,
    build_search_tool,
    build_write_tool,
)
from orchestrator.agent.tools.harness import build_submit_tool
from orchestrator.config.layers import load_config
from orchestrator.config.model import BudgetSettings
from orchestrator.domain.budget.limits import Limit
from orchestrator.domain.chat import Reply, Request
from orchestrator.domain.event.run import EffectAbandoned
from orchestrator.domain.event.work import ModelCalled, ModelFailed, ModelReplied, TaskCreated, ToolReturned
from orchestrator.domain.ids import SessionId, TaskId
from orchestrator.domain.run.task import Exit, Handoff, Task
from orchestrator.errors import LimitReached, ProviderDown
from orchestrator.journal.journal import Journal, SystemClock
from orchestrator.llm.budget import RunBudget
from orchestrator.llm.errors import ScriptExhausted
from orchestrator.llm.retry import RetryPolicy
from orchestrator.llm.scripted_model.model import ScriptedModel
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.ports.roles import SessionFailure
from tests.doubles.workspace import InMemoryWorkspace
from tests.loopback.builders import call, reply

API = TaskId("api")
DONE = reply(call=[call("finish", summary="all done")])
NO_WAIT = RetryPolicy(tries=3, base_s=0, cap_s=0)


@dataclass
class Setting:
    """A journal, a workspace and a script, and what one session needs of them."""

    journal: Journal
    workspace: InMemoryWorkspace
    directory: Path

    def spec(self, **changes: object) -> SessionSpec:
        workspace = self.workspace
        spec = SessionSpec(
            id=SessionId("work:api@1"),
            role="worker",
            task=API,
            settings=load_config(None, environ={}).config.roles.worker.model_copy(update={"model": "scripted:x"}),
            prompt="p",
            system="You work.",
            brief="Task: api",
            tools=index_tools(
                build_list_tool(workspace),
                build_search_tool(workspace),
                build_read_tool(workspace),
                build_edit_tool(workspace),
                build_write_tool(workspace),
                build_submit_tool("finish", "End.", Handoff),
            ),
            workspace=workspace,
            anchor="refs/orchestrate/x",
        )
        return replace(spec, **changes)  # type: ignore[arg-type]

    async def run(self, *items: ScriptedReply, budget: BudgetSettings | None = None, **changes: object) -> object:
        self.model = ScriptedModel(items)
        limits = RunBudget(budget or BudgetSettings())
        return await run_session(
            self.spec(**changes), ModelCaller(self.model, self.journal, NO_WAIT, limits), self.journal
        )

    async def events(self, kind: type) -> list[object]:
        recorded = await self.journal.list_session_events(SessionId("work:api@1"))
        return [one.event for one in recorded if isinstance(one.event, kind)]

    def reopened(self) -> "Setting":
        """The same run as another process finds it."""
        self.journal.close()
        return Setting(Journal(self.directory, SystemClock()), self.workspace, self.directory)


@pytest.fixture
async def setting(tmp_path: Path) -> AsyncIterator[Setting]:
    journal = Journal(tmp_path, SystemClock())
    spec = Task(id=API, parent=None, depth=1, kind="leaf", title="t", outcome="o")
    await journal.append(TaskCreated(task=API, spec=spec))
    yield Setting(journal, InMemoryWorkspace({"a.py": b"x = 1\n"}), tmp_path)
    journal.close()


async def test_a_reply_that_has_come_is_recorded_although_the_run_is_just_being_stopped(setting: Setting) -> None:
    model = ScriptedModel([DONE])
    with anyio.CancelScope() as scope:

        class StoppedModel:
            async def request_completion(self, request: Request) -> Reply:
                answer = await model.request_completion(request)
                scope.cancel()
                return answer

            find_price = model.find_price
            find_model_problem = model.find_model_problem

        caller = ModelCaller(StoppedModel(), setting.journal, NO_WAIT, RunBudget(BudgetSettings()))
        await run_session(setting.spec(), caller, setting.journal)
    assert len(await setting.events(ModelReplied)) == 1
    assert await setting.events(ModelFailed) == []


async def test_a_final_tool_ends_the_session_with_its_value(setting: Setting) -> None:
    edit = reply(call=[call("edit", path="a.py", old="x = 1", new="x = 2")])
    assert await setting.run(edit, DONE) == Handoff(summary="all done")
    assert setting.workspace.files == {"a.py": b"x = 2\n"}
    assert setting.model.count_remaining() == {}
    assert setting.journal.state.sessions[SessionId("work:api@1")].ended == Exit.FINISHED


async def test_a_value_that_is_not_accepted_any_more_when_the_session_is_looked_up_is_none(setting: Setting) -> None:
    await setting.run(DONE)
    again = setting.reopened()

    async def stricter(_: Handoff) -> tuple[str, ...]:
        return ("say more",)

    tools = index_tools(build_submit_tool("finish", "End.", Handoff, stricter))
    asker = ModelCaller(ScriptedModel(()), again.journal, NO_WAIT, RunBudget(BudgetSettings()))
    result = await run_session(again.spec(tools=tools), asker, again.journal)
    assert result == SessionFailure(exit=Exit.MALFORMED, detail="what it ended with is not accepted any more")
    again.journal.close()


async def test_arguments_that_do_not_fit_go_back_to_the_model(setting: Setting) -> None:
    wrong = reply(call=[call("finish", raw='{"summary": 3')])
    assert await setting.run(wrong, DONE) == Handoff(summary="all done")
    told = [event.observation.head for event in await setting.events(ToolReturned)]
    assert "not valid JSON" in told[0]


async def test_after_a_failed_call_the_rest_of_the_reply_is_not_executed(setting: Setting) -> None:
    calls = [call("read", path="ghost"), call("write", path="b.py", text="no")]
    await setting.run(reply(call=calls), DONE)
    assert "b.py" not in setting.workspace.files
    sent = [message.text for message in setting.model.requests[-1].messages if message.role == "tool"]
    assert sent == ["ghost does not exist", "not executed: an earlier call of this reply failed or ended the session"]


async def test_an_unknown_tool_is_named_with_those_that_exist(setting: Setting) -> None:
    await setting.run(reply(call=[call("bash", command="ls")]), DONE)
    told = [event.observation.head for event in await setting.events(ToolReturned)]
    assert told[0] == "there is no tool 'bash'; the tools are: list, search, read, edit, write, finish"


async def test_words_without_a_tool_are_answered_and_end_the_session_when_they_go_on(setting: Setting) -> None:
    result = await setting.run(reply("Let me think."), reply("Still thinking."), reply("Hm."))
    assert isinstance(result, SessionFailure)
    assert (result.exit, result.detail) == (Exit.STUCK, "3 replies in a row used no tool; can this model call tools?")
    assert "Use a tool; `finish` ends the session" in setting.model.requests[1].messages[-1].text


async def test_going_round_in_circles_is_told_once_and_then_ends_the_session(setting: Setting) -> None:
    again = reply(call=[call("read", path="a.py")])
    result = await setting.run(again, again, again, again)
    assert isinstance(result, SessionFailure)
    assert result.exit == Exit.STUCK
    assert "Doing it again will change nothing" in setting.model.requests[3].messages[-1].text


async def test_turns_are_limited(setting: Setting) -> None:
    settings = setting.spec().settings.model_copy(update={"max_turns": 2})
    items = [reply(call=[call("search", pattern=pattern)]) for pattern in "ab"]
    result = await setting.run(*items, settings=settings)
    assert result == SessionFailure(exit=Exit.OUT_OF_TURNS, detail="no result after 2 turns")


async def test_a_brief_that_fills_the_context_ends_the_session_before_the_provider_refuses(setting: Setting) -> None:
    settings = setting.spec().settings.model_copy(update={"context_tokens": 4_000})
    result = await setting.run(settings=settings, brief="Task: api. " * 1_200)
    assert isinstance(result, SessionFailure)
    assert result.exit == Exit.OUT_OF_CONTEXT
    assert "make the task or its goal shorter, or give the role a model with a larger `context_tokens`" in result.detail


async def test_passing_failures_are_retried_and_every_try_is_recorded(setting: Setting) -> None:
    assert await setting.run(reply(error="unavailable"), reply(error="rate-limited"), DONE) == Handoff(
        summary="all done"
    )
    failures = [event.error for event in await setting.events(ModelFailed)]
    keys = [event.key for event in await setting.events(ModelCalled)]
    assert failures == ["unavailable", "rate-limited"]
    assert keys == ["model/work:api@1/0~0", "model/work:api@1/0~1", "model/work:api@1/0~2"]


async def test_a_provider_that_stays_away_stops_the_run_and_not_the_session(setting: Setting) -> None:
    with pytest.raises(ProviderDown, match="no reply after 3 tries"):
        await setting.run(*[reply(error="unavailable")] * 3)
    assert setting.journal.state.sessions[SessionId("work:api@1")].ended is None
    assert await setting.run(DONE) == Handoff(summary="all done")


async def test_a_refused_request_ends_the_session_with_its_own_name(setting: Setting) -> None:
    result = await setting.run(reply(error="request-refused"))
    assert isinstance(result, SessionFailure)
    assert result.exit == Exit.REFUSED


async def test_a_script_that_runs_dry_is_loud(setting: Setting) -> None:
    with pytest.raises(ScriptExhausted, match="role 'worker', task 'api'"):
        await setting.run(reply(call=[call("read", path="a.py")]))


async def test_the_budget_stops_at_the_call_boundary(setting: Setting) -> None:
    dear = reply(call=[call("read", path="a.py")], usage={"input": 90, "output": 20}, cost_usd="0.6")
    with pytest.raises(LimitReached, match=r"USD budget of \$1.75 for the run.* \(\$1.20 spent, up to \$0.60 wanted\)"):
        await setting.run(dear, dear, dear, budget=BudgetSettings(usd=1.75, reserve=0))
    assert setting.journal.state.spend.total.calls == 2
    with pytest.raises(LimitReached, match=r"token budget of 180 for the run .* is spent \(220\)"):
        await setting.run(DONE, budget=BudgetSettings(tokens=200))


async def test_a_spent_task_budget_ends_the_session_with_its_own_name(setting: Setting) -> None:
    result = await setting.run(
        reply(call=[call("read", path="a.py")]), DONE, budget=BudgetSettings(leaf=Limit(calls=1))
    )
    assert isinstance(result, SessionFailure)
    assert (result.exit, result.detail) == (Exit.OUT_OF_BUDGET, "the call budget of 1 for task api is spent (1)")


async def test_every_call_is_recorded_with_what_it_may_cost(setting: Setting) -> None:
    await setting.run(DONE, reply(usage={"input": 90, "output": 20}))
    (called,) = await setting.events(ModelCalled)
    assert isinstance(called, ModelCalled)
    assert (called.reserved.calls, called.reserved.output_tokens, called.reserved.cost_usd) == (1, 1_000, 0)
    assert called.reserved.input_tokens > 300, "the tools and messages are counted"


def steps() -> Sequence[ScriptedReply]:
    return (
        reply(call=[call("write", path="b.py", text="one\n")]),
        reply(call=[call("edit", path="b.py", old="one", new="two"), call("edit", path="a.py", old="1", new="2")]),
        DONE,
    )


class _Cut(Exception):
    """Stands for the death of the process."""


@pytest.mark.parametrize("cut", range(1, 20))
async def test_a_session_that_was_cut_off_anywhere_goes_on_and_ends_the_same(setting: Setting, cut: int) -> None:
    """The process dies at the cut-th event; what had not become durable is lost with it. No turn is to spare."""
    settings = setting.spec().settings.model_copy(update={"max_turns": len(steps())})
    appended = 0

    def die(_: object) -> None:
        nonlocal appended
        appended += 1
        if appended == cut:
            raise _Cut

    setting.journal.listeners.append(die)
    with suppress(_Cut):
        await setting.run(*steps(), settings=settings)
    setting.workspace.files["b.py"] = b"half-written rubbish"  # whatever the dead process left behind
    again = setting.reopened()
    if not again.workspace.trees:
        again.workspace.files = {"a.py": b"x = 1\n"}  # the engine leases a fresh workspace before the first turn
    used = sum(
        isinstance(event.event, ModelCalled)
        for event in await again.journal.list_session_events(SessionId("work:api@1"))
    )
    replied = again.journal.state.sessions.get(SessionId("work:api@1"))
    for intent in list(again.journal.state.open_intents.values()):
        await again.journal.append(EffectAbandoned(key=intent.key, reason="test"))
    again.model = ScriptedModel(steps(), consumed={("worker", API): replied.replies if replied else 0})
    asker = ModelCaller(again.model, again.journal, NO_WAIT, RunBudget(BudgetSettings(usd=0, tokens=0, calls=0)))
    assert await run_session(again.spec(settings=settings), asker, again.journal) == Handoff(summary="all done")
    assert again.workspace.files == {"a.py": b"x = 2\n", "b.py": b"two\n"}
    assert again.model.count_remaining() == {}
    assert used <= 3
    again.journal.close()


async def test_what_was_said_is_recalled_as_it_was_sent(setting: Setting) -> None:
    await setting.run(reply(call=[call("read", path="a.py")]), reply("hm"), DONE)
    remembered = await restore_session(setting.journal, SessionId("work:api@1"))
    assert remembered is not None
    sent = setting.model.requests[-1].messages
    assert remembered.conversation.build_messages(100_000)[: len(sent)] == sent


async def test_a_session_that_continues_another_begins_with_all_that_was_said(setting: Setting) -> None:
    await setting.run(reply(call=[call("read", path="a.py")]), DONE)
    before = setting.model.requests[-1].messages
    again = reply(call=[call("finish", summary="mended")])
    result = await setting.run(
        again, id=SessionId("work:api@2"), brief="It does not work yet.", continues=SessionId("work:api@1")
    )
    sent = setting.model.requests[0].messages
    assert result == Handoff(summary="mended")
    assert sent[: len(before)] == before
    assert sent[-1].text == "It does not work yet."


async def test_old_observations_are_elided_in_steps_so_that_the_prefix_stays(setting: Setting) -> None:
    settings = setting.spec().settings.model_copy(update={"context_tokens": 16_000})
    setting.workspace.files = {f"{n}.txt": bytes([65 + n]) * 1_990 + b"\n" + bytes([65 + n]) * 1_990 for n in range(20)}
    items = [reply(call=[call("read", path=f"{n}.txt")]) for n in range(20)]
    await setting.run(*items, DONE, settings=settings)
    requests = [request.messages for request in setting.model.requests]
    moved = [one for one, other in pairwise(requests) if other[: len(one)] != one]
    assert len(moved) == 2, "80,000 characters pass through a window that is cut from 38,400 to 19,200"
    assert "left out; run it again" in requests[-1][3].text


async def test_a_call_that_is_cancelled_is_booked_as_possibly_billed_and_brings_no_reply(setting: Setting) -> None:
    async with anyio.create_task_group() as tasks:
        setting.journal.listeners.append(
            lambda recorded: tasks.cancel_scope.cancel() if isinstance(recorded.event, ModelCalled) else None
        )
        tasks.start_soon(setting.run, reply("late", delay_s=60))
    state = setting.journal.state
    assert (list(state.open_intents), state.spend.total.calls, state.spend.possibly_billed_calls) == ([], 0, 1)


async def test_calls_that_cannot_be_read_end_the_session_with_their_own_name(setting: Setting) -> None:
    items = [reply(call=[call("write", raw=f'{{"path": "b.py", "text": "{n}')]) for n in range(5)]
    result = await setting.run(*items)
    assert isinstance(result, SessionFailure)
    assert result.exit == Exit.MALFORMED
    assert result.detail.startswith("5 replies in a row held no call that can be read; not valid JSON at line 1")


async def test_one_call_that_can_be_read_begins_the_count_anew(setting: Setting) -> None:
    bad = [reply(call=[call("write", raw=f'{{"path": {n}')]) for n in range(8)]
    good = reply(call=[call("read", path="a.py")])
    assert await setting.run(*bad[:4], good, *bad[4:], DONE) == Handoff(summary="all done")


async def test_a_reply_that_the_content_filter_withheld_ends_the_session_as_refused(setting: Setting) -> None:
    result = await setting.run(reply(" ", finish_reason="content_filter"))
    assert result == SessionFailure(exit=Exit.REFUSED, detail="the provider's content filter withheld the reply")


async def test_a_reply_that_was_cut_off_is_told_to_be_shorter(setting: Setting) -> None:
    cut = reply(call=[call("write", raw='{"path": "b.py", "te')], finish_reason="length")
    await setting.run(cut, DONE)
    assert "cut off at the provider's output limit" in setting.model.requests[1].messages[-1].text


async def test_a_cut_off_reply_is_recalled_as_one(setting: Setting) -> None:
    await setting.run(reply(call=[call("read", path="a.py")], finish_reason="length"), DONE)
    remembered = await restore_session(setting.journal, SessionId("work:api@1"))
    assert remembered is not None
    assert [turn.finish_reason for turn in remembered.conversation.turns] == ["length", "tool_calls"]


async def test_the_last_turns_are_announced(setting: Setting) -> None:
    settings = setting.spec().settings.model_copy(update={"max_turns": 7})
    items = [reply(call=[call("search", pattern=pattern)]) for pattern in "abcd"]
    await setting.run(*items, DONE, settings=settings)
    told = [request.messages[-1] for request in setting.model.requests]
    announced = [place for place, message in enumerate(told) if message.text.startswith("5 replies are left")]
    assert announced == [2]


async def test_a_window_that_the_provider_finds_too_small_is_told_with_what_to_set(setting: Setting) -> None:
    result = await setting.run(reply(error="context-overflow"))
    assert isinstance(result, SessionFailure)
    assert result.exit == Exit.OUT_OF_CONTEXT
    assert "if the model's window is smaller than 128000 tokens, set `context_tokens`" in result.detail


async def test_a_final_tool_ends_the_reply_too(setting: Setting) -> None:
    calls = [call("finish", summary="all done"), call("write", path="b.py", text="late")]
    assert await setting.run(reply(call=calls)) == Handoff(summary="all done")
    assert "b.py" not in setting.workspace.files


async def test_a_change_counts_even_if_a_later_call_of_the_reply_only_reads(setting: Setting) -> None:
    await setting.run(reply(call=[call("write", path="b.py", text="one\n"), call("read", path="b.py")]), DONE)
    recalled = await restore_session(setting.journal, SessionId("work:api@1"))
    assert recalled is not None
    assert recalled.tree is not None
    assert setting.workspace.trees[recalled.tree]["b.py"] == b"one\n"


async def test_calls_that_were_not_executed_are_recalled_as_such(setting: Setting) -> None:
    calls = [call("read", path="ghost"), call("read", path="a.py")]
    await setting.run(reply(call=calls), DONE)
    remembered = await restore_session(setting.journal, SessionId("work:api@1"))
    assert remembered is not None
    sent = setting.model.requests[-1].messages
    assert remembered.conversation.build_messages(100_000)[: len(sent)] == sent


@pytest.mark.parametrize("tool", ["write", "finish"])
async def test_half_a_character_is_sent_back_and_never_reaches_a_file_or_the_journal(
    setting: Setting, tool: str
) -> None:
    raw = r'{"path": "b.py", "text": "\ud83d"}' if tool == "write" else r'{"summary": "\ud83d"}'
    assert await setting.run(reply(call=[call(tool, raw=raw)]), DONE) == Handoff(summary="all done")
    assert "half of a surrogate pair" in setting.model.requests[1].messages[-1].text
    assert "b.py" not in setting.workspace.files
