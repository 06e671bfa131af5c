"""The size a conversation is taken to have: what a provider counts never exceeds the window, and fills most of it."""

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from orchestrator.agent.carryover_report import CARRY_OVER
from orchestrator.agent.context_size import CHARS_PER_TOKEN, ContextMeter
from orchestrator.agent.tools.base import AnyTool
from orchestrator.domain.budget.usage import Usage
from orchestrator.domain.chat import Role
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.task import Handoff
from orchestrator.llm.scripted_model.model import ScriptedModel
from orchestrator.llm.scripted_model.script import ScriptedReply
from tests.loopback.builders import call, reply
from tests.running.agent_sessions import DONE, AgentSession, build_print_tool

TURNS = 25
CARRIED = reply(call=[call(CARRY_OVER, state="half of it stands", findings=["a.py:3 rounds twice"])])


class CountingModel(ScriptedModel):
    """A scripted model that counts what it is sent: words by so many characters a token, and its tools.

    `counts` are the tokens of its requests, `carried_after` of the last ones before a carryover.
    """

    def __init__(self, build_reply: Callable[[int], ScriptedReply], density: float) -> None:
        super().__init__([])
        self.counts: list[int] = []
        self.carried_after: list[int] = []
        self._build_reply, self._density, self._turns = build_reply, density, 0

    def take_reply(self, role: Role, task: TaskId) -> tuple[int, ScriptedReply]:
        """Return a reply with the count of the latest request."""
        request = self.requests[-1]
        words = sum(message.size_chars for message in request.messages) / self._density
        tokens = int(words + sum(len(tool.json_text) for tool in request.tools) / CHARS_PER_TOKEN)
        item = CARRIED
        if [tool.name for tool in request.tools] == [CARRY_OVER]:
            self.carried_after.append(self.counts[-1])
        else:
            self._turns += 1
            item = self._build_reply(self._turns) if self._turns <= TURNS else DONE
        self.counts.append(tokens)
        usage = item.usage.model_copy(update={"input": tokens, "output": 50})
        return len(self.counts), item.model_copy(update={"usage": usage})


@pytest.fixture
async def session(tmp_path: Path) -> AsyncIterator[AgentSession]:
    opened = AgentSession(tmp_path)
    await opened.open_journal()
    yield opened
    opened.journal.close()


def write_file(number: int) -> ScriptedReply:
    return reply(f"step {number}", call=[call("write", path=f"{number}.py", text="x = 1\n" * 400)])


def print_lines(number: int) -> ScriptedReply:
    return reply(f"step {number}", call=[call("print", chars=(100, 300, 1_500, 3_000)[number % 4] + number)])


def build_many_tools(session: AgentSession) -> Mapping[str, AnyTool]:
    """Tools that take more than 2,500 tokens."""
    return {**session.build_spec().tools, "bulk": replace(build_print_tool(), name="bulk", description="d" * 8_000)}


@pytest.mark.parametrize("density", [1.0, 2.2, 4.0])
@pytest.mark.parametrize(
    ("window", "build_reply"),
    [
        (8_000, print_lines),
        pytest.param(8_000, write_file, marks=pytest.mark.extended),
        pytest.param(16_000, print_lines, marks=pytest.mark.extended),
        pytest.param(16_000, write_file, marks=pytest.mark.extended),
    ],
)
async def test_no_request_fills_the_window_however_dense_its_words_are(
    session: AgentSession, window: int, build_reply: Callable[[int], ScriptedReply], density: float
) -> None:
    session.context_tokens = window
    model = CountingModel(build_reply, density)
    assert await session.run(model, tools=build_many_tools(session), system="w" * 1_000) == Handoff(summary="all done")
    assert max(model.counts) <= 0.9 * window


async def test_tools_that_take_much_of_a_small_window_do_not_make_it_look_full(session: AgentSession) -> None:
    model = CountingModel(print_lines, density=4.0)
    tools = build_many_tools(session)
    assert await session.run(model, tools=tools, system="w" * 6_000) == Handoff(summary="all done")
    assert 1 <= len(model.carried_after) <= 3, "each time that it is nearly full, and no earlier"
    assert min(model.carried_after) >= 0.65 * session.context_tokens


def test_the_first_count_tells_what_words_cost_beside_the_tools_on_offer() -> None:
    meter = ContextMeter(tool_chars=8_000)
    meter.record_request(3_000, Usage(input_tokens=3_000))
    assert meter.count_tokens(3_000 + 300) == 3_000 + 100


def test_what_words_cost_is_learnt_from_growth_and_not_from_the_tools() -> None:
    meter = ContextMeter()
    meter.record_request(3_000, Usage(input_tokens=4_000))
    meter.record_request(9_000, Usage(input_tokens=6_000))
    assert meter.count_tokens(9_000 + 300) == 6_000 + 100
    assert meter.count_tokens(3_000) == 4_000
