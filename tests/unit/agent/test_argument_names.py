"""Arguments under the names that other tools have taught a model: taken, and told of once."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from orchestrator.domain.event.work import TaskCreated
from orchestrator.domain.run.task import Handoff, Task
from orchestrator.journal.journal import Journal, SystemClock
from tests.doubles.workspace import InMemoryWorkspace
from tests.loopback.builders import call, reply
from tests.unit.agent.test_agent_loop import API, DONE, Setting

HINT = "[`content` was taken as `text`: that is its name here]"


@pytest.fixture
async def setting(tmp_path: Path) -> AsyncIterator[Setting]:
    journal = Journal(tmp_path, SystemClock())
    spec = Task(id=API, parent=None, depth=1, kind="leaf", title="t", outcome="o")
    await journal.append(TaskCreated(task=API, spec=spec))
    yield Setting(journal, InMemoryWorkspace({"a.py": b"x = 1\n"}), tmp_path)
    journal.close()


def observed(setting: Setting) -> list[str]:
    return [message.text for message in setting.model.requests[-1].messages if message.role == "tool"]


async def test_the_right_name_is_told_once_in_a_conversation(setting: Setting) -> None:
    writes = [reply(call=[call("write", path=f"{n}.py", content="x\n")]) for n in range(3)]
    assert await setting.run(*writes, DONE) == Handoff(summary="all done")
    assert setting.workspace.files["2.py"] == b"x\n"
    assert observed(setting) == [f"wrote 0.py (2 bytes)\n{HINT}", "wrote 1.py (2 bytes)", "wrote 2.py (2 bytes)"]


async def test_two_calls_of_one_reply_are_told_once(setting: Setting) -> None:
    calls = [call("write", path="b.py", content="x\n"), call("write", path="c.py", content="x\n")]
    await setting.run(reply(call=calls), DONE)
    assert [HINT in text for text in observed(setting)] == [True, False]


async def test_another_tool_or_another_name_is_told_of_again(setting: Setting) -> None:
    first = reply(call=[call("read", file_path="a.py")])
    second = reply(call=[call("write", file_path="b.py", content="x\n")])
    await setting.run(first, second, DONE)
    assert "[`file_path` was taken as `path`" in observed(setting)[0]
    assert "[`content` was taken as `text`, `file_path` was taken as `path`" in observed(setting)[1]


async def test_a_call_with_the_right_names_is_told_nothing(setting: Setting) -> None:
    await setting.run(reply(call=[call("write", path="b.py", text="x\n")]), DONE)
    assert observed(setting) == ["wrote b.py (2 bytes)"]


async def test_what_may_mean_two_things_is_not_taken(setting: Setting) -> None:
    await setting.run(reply(call=[call("write", path="b.py", content="x\n", file_text="y\n")]), DONE)
    assert "b.py" not in setting.workspace.files
    assert "was taken as" not in observed(setting)[0]
