"""A scripted model plays one queue per role and task, and refuses what a real provider would choke on."""

from decimal import Decimal
from pathlib import Path

import anyio
import pytest

from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import Reply, ToolCall
from orchestrator.domain.ids import SessionId, TaskId
from orchestrator.llm.errors import CallTimedOut, RateLimited, ScriptExhausted
from orchestrator.llm.scripted_model.model import InvariantBroken, ScriptedModel
from orchestrator.llm.scripted_model.script import ScriptedUsage
from tests.loopback.builders import call, called, reply, request, returned, user


async def texts(model: ScriptedModel, *tasks: str, role: str = "worker") -> list[str]:
    return [
        (await model.request_completion(request(role=role, task=task, session=f"{task}-{role}"))).text for task in tasks
    ]


async def test_a_reply_carries_everything_the_script_says() -> None:
    item = reply(
        "Looking.",
        model="some-model",
        call=(call(command="ls"), call(raw="{oops")),
        usage=ScriptedUsage(input=9, output=2, cached=4),
        cost_usd=Decimal("0.5"),
    )
    assert await ScriptedModel.from_items(item).request_completion(request()) == Reply(
        text="Looking.",
        tool_calls=(
            ToolCall(id="call_0_0", name="shell", arguments='{"command": "ls"}'),
            ToolCall(id="call_0_1", name="shell", arguments="{oops"),
        ),
        model="some-model",
        finish_reason="tool_calls",
        usage=Usage(calls=1, input_tokens=9, output_tokens=2, cached_tokens=4, cost_usd=Decimal("0.5")),
    )


async def test_a_reply_claims_the_model_that_was_asked_unless_the_script_says_otherwise() -> None:
    answer = await ScriptedModel.from_items(reply("Yes.")).request_completion(request(model="scripted:play.toml"))
    assert (answer.model, answer.finish_reason) == ("scripted:play.toml", "stop")


async def test_each_role_and_task_draws_from_its_own_queue() -> None:
    model = ScriptedModel.from_items(
        reply("a1", task="a"), reply("b1", task="b"), reply("a2", task="a"), reply("judged", task="a", role="judge")
    )
    assert await texts(model, "a", "b", "a") == ["a1", "b1", "a2"]
    assert await texts(model, "a", role="judge") == ["judged"]
    assert model.count_remaining() == {}


async def test_parallel_tasks_never_take_from_each_other() -> None:
    tasks = [f"t{n}" for n in range(20)]
    model = ScriptedModel.from_items(
        *(reply(f"{task}:{turn}", task=task, delay_s=0.001 * turn) for task in tasks for turn in range(3))
    )
    seen: dict[str, list[str]] = {}

    async def work(task: str) -> None:
        seen[task] = await texts(model, task, task, task)

    async with anyio.create_task_group() as group:
        for task in tasks:
            group.start_soon(work, task)
    assert seen == {task: [f"{task}:{turn}" for turn in range(3)] for task in tasks}


async def test_tasks_without_a_queue_each_play_the_roles_common_sequence() -> None:
    model = ScriptedModel.from_items(reply("1", task="*"), reply("2", task="*"), reply("own", task="c"))
    assert await texts(model, "a", "b", "a", "c", "b") == ["1", "1", "2", "own", "2"]
    assert model.count_remaining() == {}


async def test_remaining_counts_what_nobody_asked_for() -> None:
    model = ScriptedModel.from_items(
        reply("1", task="*"), reply("2", task="*"), reply("own", task="c"), reply("x", task="*", role="judge")
    )
    await texts(model, "a")
    assert model.count_remaining() == {("worker", "a"): 1, ("worker", "c"): 1, ("judge", "*"): 1}


async def test_running_dry_names_role_task_and_how_many_were_used() -> None:
    model = ScriptedModel.from_items(reply("1"), reply("2"))
    await texts(model, "api", "api")
    with pytest.raises(ScriptExhausted, match=r"role 'worker', task 'api': all 2 were used"):
        await model.request_completion(request())
    with pytest.raises(ScriptExhausted, match=r"role 'judge', task 'api': all 0 were used"):
        await model.request_completion(request(role="judge"))


async def test_a_second_process_goes_on_where_the_first_stopped() -> None:
    items = (reply("1"), reply("2", call=(call(),)), reply("3"), reply("a", task="*"), reply("b", task="*"))
    first = ScriptedModel.from_items(*items)
    await texts(first, "api", "other")
    second = ScriptedModel.from_items(*items, consumed=first.used_counts)
    answer = await second.request_completion(request())
    assert (answer.text, answer.tool_calls[0].id) == ("2", "call_1_0")
    assert await texts(second, "api", "other") == ["3", "b"]
    assert second.used_counts == {("worker", "api"): 3, ("worker", "other"): 2}
    assert second.count_remaining() == {}


async def test_a_scripted_error_is_raised_and_used_up() -> None:
    model = ScriptedModel.from_items(reply(error="rate-limited", retry_after_s=1.5), reply("then"))
    with pytest.raises(RateLimited) as failure:
        await model.request_completion(request())
    assert failure.value.retry_after_s == 1.5
    assert await texts(model, "api") == ["then"]


async def test_a_delay_is_waited_and_one_beyond_the_timeout_times_out() -> None:
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    model = ScriptedModel([reply("late", delay_s=3), reply("too late", delay_s=30)], sleep=sleep)
    assert (await model.request_completion(request(timeout_s=10))).text == "late"
    with pytest.raises(CallTimedOut, match="no reply within 10 s"):
        await model.request_completion(request(timeout_s=10))
    assert waited == [3, 10]


async def test_requests_are_recorded() -> None:
    model = ScriptedModel.from_items(reply("1"), reply("2"))
    first, second = request(), request(called(), session=SessionId("other"), messages=(*request().messages, user("x")))
    await model.request_completion(first)
    await model.request_completion(second)
    assert model.requests == (first, second)


async def test_a_malformed_request_is_refused_before_it_uses_up_a_reply() -> None:
    model = ScriptedModel.from_items(reply("1"))
    with pytest.raises(InvariantBroken):
        await model.request_completion(request(returned("a")))
    assert model.count_remaining() == {("worker", "api"): 1}


async def test_a_session_that_rewrites_what_was_said_is_refused() -> None:
    model = ScriptedModel.from_items(reply("1"), reply("2"), reply("3"))
    await model.request_completion(request())
    step = called(ToolCall(id="a", name="shell", arguments="{}"))
    await model.request_completion(request(step, returned("a", "a long output"), turn=1))
    with pytest.raises(InvariantBroken, match="rewrites its conversation: message 3 was tool 'a long output'"):
        await model.request_completion(request(step, returned("a", "some other output"), turn=2))


async def test_eliding_old_results_is_allowed_and_counted() -> None:
    model = ScriptedModel.from_items(reply("1"), reply("2"))
    step = called(ToolCall(id="a", name="shell", arguments="{}"))
    await model.request_completion(request(step, returned("a", "a long output"), turn=1))
    await model.request_completion(request(step, returned("a", "[gone]"), turn=2))
    assert model.elision_count == 1


async def test_a_script_file_is_played(tmp_path: Path) -> None:
    path = tmp_path / "play.toml"
    path.write_text('schema = 1\n[[reply]]\nrole = "worker"\ntask = "api"\ntext = "Hi."\n')
    model = ScriptedModel.from_file(path, {("worker", TaskId("other")): 0})
    assert await model.find_model_problem(f"scripted:{path}", None, None) is None
    assert (await model.request_completion(request())).text == "Hi."
    with pytest.raises(ScriptExhausted, match=r"play\.toml has no more replies"):
        await model.request_completion(request())
