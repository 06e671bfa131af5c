"""The tools as a model sees them: what is shown, what is left out, what is refused."""

import json
from pathlib import Path

import pytest

from orchestrator.agent.tools.base import ToolResult
from orchestrator.agent.tools.files import (
    build_edit_tool,
    build_list_tool,
    build_read_tool,
    build_search_tool,
    build_write_tool,
)
from orchestrator.agent.tools.harness import build_recall_tool
from orchestrator.agent.tools.shell import build_shell_tool
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.event.work import PlanRefused
from orchestrator.domain.ids import TaskId
from orchestrator.journal.journal import Journal, SystemClock
from orchestrator.ports.hands import CommandEnding, CommandResult, ShellCommand
from tests.doubles.workspace import InMemoryWorkspace

LONG = "".join(f"line {number}\n" for number in range(1, 1_001)).encode()


def written(**arguments: object) -> str:
    """Arguments as a model writes them."""
    return json.dumps(arguments)


@pytest.mark.parametrize(
    ("content", "arguments", "shown"),
    [
        (b"a\r\nb\n", {}, "1\ta\n2\tb"),
        (b"", {}, "[empty file]"),
        (b"a\nb\nc\n", {"start": 2, "end": 2}, "2\tb\n[1 more lines of 3]"),
        (b"a\nb\n", {"start": 2, "end": 99}, "2\tb"),
        (b"\xff\n", {}, "1\t\ufffd"),
    ],
)
async def test_read_numbers_lines(content: bytes, arguments: dict[str, int], shown: str) -> None:
    tool = build_read_tool(InMemoryWorkspace({"f": content}))
    assert await tool(written(path="f", **arguments)) == ToolResult(shown)


async def test_read_shows_at_most_400_lines_and_says_how_many_there_are() -> None:
    shown = (await build_read_tool(InMemoryWorkspace({"f": LONG}))(written(path="f", start=301))).text.splitlines()
    assert (shown[0], shown[-2], shown[-1]) == ("301\tline 301", "700\tline 700", "[300 more lines of 1000]")
    assert len(shown) == 401


async def test_read_past_the_end_says_how_long_the_file_is() -> None:
    tool = build_read_tool(InMemoryWorkspace({"f": b"a\n"}))
    assert await tool(written(path="f", start=2)) == ToolResult("f has 1 lines", is_ok=False)


async def test_read_backwards_is_refused() -> None:
    tool = build_read_tool(InMemoryWorkspace({"f": LONG}))
    expected = ToolResult("the last line, 1, comes before the first, 3", is_ok=False)
    assert await tool(written(path="f", start=3, end=1)) == expected


@pytest.mark.parametrize(
    ("text", "said"), [("a\0b", "may not hold a NUL character"), ("é" * 60_000, "is longer than 100,000 bytes")]
)
async def test_what_no_command_line_can_hold_is_refused_to_the_model(tmp_path: Path, text: str, said: str) -> None:
    workspace = RecordingWorkspace(ended(tmp_path / "log", CommandEnding.EXITED, 0))
    refused = [
        await build_search_tool(workspace)(written(pattern=text)),
        await build_list_tool(workspace)(written(glob=text)),
        await build_read_tool(workspace)(written(path=text)),
        await build_shell_tool(workspace, 60, 1024)(written(command=text)),
    ]
    assert all(said in result.text and not result.is_ok for result in refused)
    assert workspace.commands == []


async def test_long_listings_and_findings_are_cut_with_a_note() -> None:
    workspace = InMemoryWorkspace({f"{number:03}.py": b"x\n" for number in range(500)})
    listed = (await build_list_tool(workspace)("")).text.splitlines()
    found = (await build_search_tool(workspace)(written(pattern="x"))).text.splitlines()
    assert (len(listed), listed[-1]) == (401, "[100 more of 500]")
    assert (len(found), found[-1]) == (101, "[more than 100 lines match: narrow the pattern]")


async def test_nothing_found_is_said() -> None:
    workspace = InMemoryWorkspace({"a.py": b"x\n"})
    assert (await build_list_tool(workspace)(written(glob="*.js"))).text == "no file fits *.js"
    assert (await build_search_tool(workspace)(written(pattern="zzz"))).text == "no line matches"


async def test_a_refused_edit_names_the_file_and_leaves_it() -> None:
    workspace = InMemoryWorkspace({"a.py": b"x = 1\nx = 1\n"})
    result = await build_edit_tool(workspace)(written(path="a.py", old="x = 1", new="x = 2"))
    assert not result.is_ok
    assert result.text.startswith("a.py was not changed. `old` matches 2 places, at lines 1, 2.")
    assert workspace.files == {"a.py": b"x = 1\nx = 1\n"}


async def test_write_says_what_it_wrote() -> None:
    workspace = InMemoryWorkspace()
    assert await build_write_tool(workspace)(written(path="a.py", text="é\n")) == ToolResult("wrote a.py (3 bytes)")


class RecordingWorkspace(InMemoryWorkspace):
    """Ends every command with one result and remembers what was asked for."""

    def __init__(self, result: CommandResult) -> None:
        super().__init__()
        self.commands: list[ShellCommand] = []
        self._result = result

    async def start_command(self, call_id: str, command: ShellCommand) -> None:
        self.commands.append(command)

    async def wait_for_result(self, call_id: str, timeout_s: float = 10.0) -> CommandResult | None:
        return self._result


def ended(
    log: Path, ending: CommandEnding, exit_code: int | None, printed: str = "", detail: str = ""
) -> CommandResult:
    log.write_text(printed)
    return CommandResult(
        ending=ending, exit_code=exit_code, seconds=1.5, log=log, output_bytes=len(printed), detail=detail
    )


@pytest.mark.parametrize(
    ("ending", "exit_code", "shown", "is_ok"),
    [
        (CommandEnding.EXITED, 0, "[exit code 0, 1.5 s]\nhello", True),
        (CommandEnding.EXITED, 3, "[exit code 3, 1.5 s]\nhello", False),
        (CommandEnding.TIMED_OUT, None, "[timed-out after 1.5 s]\nhello", False),
    ],
)
async def test_a_command_tells_how_it_ended(
    tmp_path: Path, ending: CommandEnding, exit_code: int | None, shown: str, is_ok: bool
) -> None:
    workspace = RecordingWorkspace(ended(tmp_path / "log", ending, exit_code, "hello\n"))
    assert await build_shell_tool(workspace, 60, 1024)(written(command="x")) == ToolResult(shown, is_ok=is_ok)


async def test_a_command_that_used_too_much_tells_of_what(tmp_path: Path) -> None:
    told = "It used more than 512 MiB of memory."
    workspace = RecordingWorkspace(ended(tmp_path / "log", CommandEnding.LIMIT, None, "hello\n", told))
    result = await build_shell_tool(workspace, 60, 1024)(written(command="x"))
    assert result == ToolResult(f"[limit after 1.5 s] {told}\nhello", is_ok=False)


async def test_a_command_gets_no_more_time_and_output_than_the_configuration_allows(tmp_path: Path) -> None:
    workspace = RecordingWorkspace(ended(tmp_path / "log", CommandEnding.EXITED, 0))
    shell = build_shell_tool(workspace, longest_s=60, output_bytes=1024)
    await shell(written(command="x", timeout_s=3_600))
    await shell(written(command="x", timeout_s=5))
    assert [(command.timeout_s, command.output_bytes) for command in workspace.commands] == [(60, 1024), (5, 1024)]


async def test_recall_shows_who_said_what_newest_first_and_says_when_nobody_did(tmp_path: Path) -> None:
    journal = Journal(tmp_path, SystemClock())
    await journal.append(
        Noticed(level="info", text="the parser chokes on tabs"),
        PlanRefused(task=TaskId("storage"), round=1, problems=("the parser has two owners",)),
    )
    tool = build_recall_tool(journal)
    assert (await tool(written(query="parser"))).text.splitlines() == [
        "2 storage plan.refused: the «parser» has two owners",
        "1 run.noticed: info the «parser» chokes on tabs",
    ]
    assert len((await tool(written(query="parser", limit=1))).text.splitlines()) == 1
    nothing = await tool(written(query='"two parsers" ( AND *'))
    assert nothing.text == "nothing that you can recall holds all of these words"
    assert not (await tool(written(query="x", limit=99))).is_ok
    journal.close()


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "f", "text": "x\n"},
        {"path": "f", "content": "x\n"},
        {"file_path": "f", "contents": "x\n"},
        {"filename": "f", "file_text": "x\n"},
    ],
)
async def test_write_takes_the_names_that_models_know_from_other_tools(arguments: dict[str, str]) -> None:
    workspace = InMemoryWorkspace({})
    assert (await build_write_tool(workspace)(written(**arguments))).is_ok
    assert await workspace.read_file("f") == b"x\n"


async def test_edit_and_read_take_other_names_too() -> None:
    workspace = InMemoryWorkspace({"f": b"a\nb\n"})
    assert (await build_edit_tool(workspace)(written(file_path="f", old_string="b", new_string="c"))).is_ok
    assert await build_read_tool(workspace)(written(file_path="f", start_line=2)) == ToolResult("2\tc")


async def test_an_argument_under_two_names_is_refused_and_nothing_is_written() -> None:
    workspace = InMemoryWorkspace({"f": b"a"})
    result = await build_write_tool(workspace)(written(path="f", text="x", content="y"))
    assert not result.is_ok
    assert "content" in result.text
    assert await workspace.read_file("f") == b"a"
