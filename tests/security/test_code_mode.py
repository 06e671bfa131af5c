"""Hostile programs of code mode, judged by what is left on the host; attacks are shown to work without a sandbox."""

import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from orchestrator.agent.program.program_command import build_program_input, build_program_line
from orchestrator.agent.tools.base import ToolResult
from orchestrator.agent.tools.files import build_edit_tool, build_read_tool, build_write_tool
from orchestrator.agent.tools.program import build_program_tool
from orchestrator.hands.workspace import LocalWorkspace

pytestmark = pytest.mark.sandbox
SECRET = "canary-0816"


async def run(workspace: LocalWorkspace, program: str, **options: Any) -> ToolResult:
    """What the tool answers to a program."""
    tool = build_program_tool(workspace, 30, options.pop("output_bytes", 1024 * 1024), **options)
    return await tool(json.dumps({"code": program, "timeout_s": 10}))


def run_outside(outside: Callable[..., str], folder: Path, program: str) -> str:
    """The positive control: what the same program gets without a sandbox."""
    (folder / "order").write_text(build_program_input(program))
    return outside(f"{build_program_line()} < {shlex.quote(str(folder / 'order'))} 2>&1", stdin=None)


@pytest.mark.conformance
@pytest.mark.attack(68)
async def test_a_program_reads_no_keys_of_the_host(
    workspace: LocalWorkspace, yard: Any, outside: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_KEY", SECRET)
    (yard.home / ".ssh").mkdir()
    (yard.home / ".ssh" / "id_rsa").write_text(SECRET)
    attack = f"""
import glob, os, tools
print("BEGUN")
for name in ({str(yard.home / ".ssh/id_rsa")!r}, *glob.glob("/proc/*/environ")):
    try:
        print(open(name, errors="replace").read())
    except OSError as error:
        print(error)
print(tools.run("env; cat {yard.home}/.ssh/*").output)
"""
    assert run_outside(outside, tmp_path, attack).count(SECRET) > 2
    text = (await run(workspace, attack)).text
    assert "BEGUN" in text
    assert SECRET not in text


@pytest.mark.conformance
@pytest.mark.attack(68)
async def test_a_program_writes_nothing_outside(
    workspace: LocalWorkspace, yard: Any, outside: Any, tmp_path: Path
) -> None:
    spots = [yard.home / "x", yard.state / "x", yard.repo / "x", yard.repo.parent / "x"]
    attack = f"""
import os, tools
print("BEGUN")
for spot in {[str(spot) for spot in spots]!r}:
    try:
        open(spot, "w").write("pwned")
    except OSError:
        pass
    above = os.path.relpath(spot)
    for path in (spot, above if above.startswith("..") else spot):
        try:
            tools.write(path, "pwned")
            print("WRITTEN")
        except tools.Refused:
            pass
os.symlink({str(yard.home)!r}, "link")
try:
    tools.write("link/x", "pwned")
    print("WRITTEN")
except tools.Refused as refused:
    print(refused)
"""
    text = (await run(workspace, attack)).text
    assert "BEGUN" in text
    assert "symbolic link" in text or "not a directory" in text
    assert "WRITTEN" not in text
    assert [spot for spot in spots if spot.exists()] == []
    run_outside(outside, tmp_path, attack)
    assert [spot for spot in spots if not spot.exists()] == []


@pytest.mark.conformance
@pytest.mark.attack(68)
async def test_a_daemon_of_a_program_does_not_outlive_it(
    workspace: LocalWorkspace, outside: Any, living: Callable[[str], list[int]], tmp_path: Path
) -> None:
    attack = "import tools\ntools.run('(setsid nohup sleep {} >/dev/null 2>&1 &)')\nprint('BEGUN')"
    assert "BEGUN" in run_outside(outside, tmp_path, attack.format("987.1"))
    with anyio.fail_after(30):  # the control: it lives on
        while not living("987.1"):  # noqa: ASYNC110  it is no process of ours
            await anyio.sleep(0.02)
    assert "BEGUN" in (await run(workspace, attack.format("987.2"))).text
    assert living("987.2") == []


@pytest.mark.conformance
@pytest.mark.attack(68)
async def test_a_flood_of_a_program_ends_at_the_limit(workspace: LocalWorkspace, outside: Any, tmp_path: Path) -> None:
    attack = "for _ in range(300):\n    print('x' * 10_000)"
    assert len(run_outside(outside, tmp_path, attack)) > 3_000_000
    result = await run(workspace, attack, output_bytes=100_000)
    assert result.text.startswith("[output-limit")
    assert len(result.text) < 20_000


@pytest.mark.attack(68)
async def test_an_endless_program_ends_at_its_time_and_its_calls_are_known(
    workspace: LocalWorkspace, outside: Any
) -> None:
    attack = "import tools\ntools.read('README.md')\nprint('BEGUN', flush=True)\nwhile True:\n    pass"
    tool = build_program_tool(workspace, 60, 1024 * 1024)
    result = await tool(json.dumps({"code": attack, "timeout_s": 1.5}))
    assert result.text.startswith("[timed-out after")
    assert "BEGUN" in result.text
    assert not result.is_ok
    assert result.program is not None
    assert (result.program.counts, result.program.paths) == ({"read": 1}, ("README.md",))


@pytest.mark.attack(68)
async def test_a_record_that_a_program_replaces_reads_nothing_of_the_host(workspace: LocalWorkspace, yard: Any) -> None:
    (yard.home / "key").write_text(f'["read", "{SECRET}"]\n')
    attack = f"""
import gc, os, tools
record = tools.read.__self__._record
print(record.name)
os.symlink({str(yard.home / "key")!r}, record)
"""
    result = await run(workspace, attack)
    assert "program-calls" in result.text
    assert result.program is None


PATHS = ["../x", "/etc/passwd", ".git/config", "pkg", "gone.txt", "link", "pipe", "a\nb", "big"]


@pytest.mark.parametrize("path", PATHS)
async def test_the_module_refuses_what_the_tools_refuse_in_the_same_words(workspace: LocalWorkspace, path: str) -> None:
    (workspace.root / "link").symlink_to("README.md")
    os.mkfifo(workspace.root / "pipe")
    with (workspace.root / "big").open("wb") as file:
        file.truncate(1024 * 1024 + 1)
    expected = [
        await build_read_tool(workspace)(json.dumps({"path": path})),
        await build_edit_tool(workspace)(json.dumps({"path": path, "old": "a", "new": "b"})),
    ]
    calls = [f"read({path!r})", f"edit({path!r}, 'a', 'b')"]
    if path not in ("gone.txt", "big"):
        expected.append(await build_write_tool(workspace)(json.dumps({"path": path, "text": "x"})))
        calls.append(f"write({path!r}, 'x')")
    program = "from tools import *\n"
    for call in calls:
        program += f"try:\n    {call}\n    print('DONE')\nexcept Refused as refused:\n    print(refused)\n"
    assert not any(result.is_ok for result in expected)
    told = (await run(workspace, program)).text.partition("\n")[2]
    assert told.replace("\n", "") == "".join(result.text for result in expected).replace("\n", "")


async def test_a_program_of_a_role_that_only_reads_can_write_nothing(workspace: LocalWorkspace) -> None:
    program = "import tools\nprint(tools.read('README.md'))\ntools.write('README.md', 'other')"
    result = await run(workspace, program, is_writing=False)
    assert "hello\n" in result.text
    assert "Read-only file system" in result.text
    assert (workspace.root / "README.md").read_text() == "hello\n"
