"""What a session tells its model of secrets, and that nothing is written in the place of one."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from orchestrator.agent.history import restore_session
from orchestrator.agent.loop import run_session
from orchestrator.agent.model_calls import ModelCaller
from orchestrator.config.model import BudgetSettings
from orchestrator.domain.event.work import ModelFailed, TaskCreated
from orchestrator.domain.ids import SessionId
from orchestrator.domain.run.task import Task
from orchestrator.journal.journal import Journal, SystemClock
from orchestrator.llm.budget import RunBudget
from orchestrator.llm.errors import ModelError
from orchestrator.llm.scripted_model.model import ScriptedModel
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.redact.redactor import Redactor
from tests.doubles.workspace import InMemoryWorkspace
from tests.loopback.builders import call, reply
from tests.unit.agent.test_agent_loop import API, DONE, NO_WAIT, Setting

SECRET = "k7x-Vb7xWp-Tq93"
MARK = "[redacted:MY_TOKEN]"
TOKEN = "ghp_" + "a1B2c3D4e5" * 4


@pytest.fixture
async def setting(tmp_path: Path) -> AsyncIterator[Setting]:
    journal = Journal(tmp_path, SystemClock(), Redactor({"MY_TOKEN": SECRET}))
    spec = Task(id=API, parent=None, depth=1, kind="leaf", title="t", outcome="o")
    await journal.append(TaskCreated(task=API, spec=spec))
    files = {"a.py": f"key = {SECRET}\n".encode(), "b.py": f"token = {TOKEN}\n".encode()}
    yield Setting(journal, InMemoryWorkspace(files), tmp_path)
    journal.close()


def told(setting: Setting) -> list[str]:
    return [message.text for message in setting.model.requests[-1].messages if message.role == "tool"]


def reads(path: str) -> ScriptedReply:
    return reply(call=[call("read", path=path)])


async def test_what_tools_return_is_redacted_in_the_next_request_as_in_the_journal(setting: Setting) -> None:
    await setting.run(reads("a.py"), reads("b.py"), DONE)
    assert MARK in told(setting)[0] and SECRET not in told(setting)[0]
    assert "[redacted:github-token]" in told(setting)[1] and TOKEN not in told(setting)[1]


async def test_a_session_is_recalled_word_for_word_as_it_was_held(setting: Setting) -> None:
    says = reply(f"I saw {SECRET} and {TOKEN}", call=[call("read", path="a.py")])
    await setting.run(says, DONE, brief=f"Task: use {SECRET}", system=f"You know {TOKEN}")
    remembered = await restore_session(setting.journal, SessionId("work:api@1"))
    assert remembered is not None
    sent = setting.model.requests[-1].messages
    assert remembered.conversation.build_messages(100_000)[: len(sent)] == sent
    assert SECRET not in str(sent) and MARK in str(sent)
    assert f"I saw {MARK} and {TOKEN}" in [message.text for message in sent]


async def test_a_token_that_the_model_makes_up_is_written_as_it_says(setting: Setting) -> None:
    await setting.run(reply(call=[call("write", path="test_c.py", text=f"FAKE = '{TOKEN}'\n")]), DONE)
    assert setting.workspace.files["test_c.py"] == f"FAKE = '{TOKEN}'\n".encode()


@pytest.mark.parametrize("text", [f"key = {SECRET}\n", f"key = {MARK}\n", "token = [redacted:github-token]\n"])
async def test_neither_a_secret_nor_what_stands_for_one_is_written(setting: Setting, text: str) -> None:
    await setting.run(reply(call=[call("write", path="c.py", text=text)]), DONE)
    assert "c.py" not in setting.workspace.files
    assert "Nothing was done" in told(setting)[0]


async def test_what_stands_for_a_secret_may_be_spoken_of(setting: Setting) -> None:
    result = await setting.run(reply(call=[call("finish", summary=f"a.py holds {MARK}")]))
    assert MARK in str(result)


async def test_a_providers_error_that_quotes_the_key_is_recorded_without_a_part_of_it(setting: Setting) -> None:
    model = ScriptedModel([reply(error="credentials-missing")], name=f"{'x' * 1_994}{SECRET} is no valid key")
    asker = ModelCaller(model, setting.journal, NO_WAIT, RunBudget(BudgetSettings()))
    with pytest.raises(ModelError):
        await run_session(setting.spec(), asker, setting.journal)
    (failed,) = await setting.events(ModelFailed)
    assert isinstance(failed, ModelFailed)
    assert failed.detail.startswith("xxx") and SECRET[:4] not in failed.detail
