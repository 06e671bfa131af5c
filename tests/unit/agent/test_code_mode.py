"""Code mode without a sandbox: the module of tools, the sources that go in, the record that comes out."""

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator.agent.edits.editor import EditResult, apply_edit
from orchestrator.agent.program import program_tools
from orchestrator.agent.program.program_command import (
    RECORD_VARIABLE,
    build_program_input,
    build_program_line,
    load_sources,
    read_program_calls,
)
from orchestrator.agent.program.program_tools import MAX_RECORDED, ProgramTools
from orchestrator.domain.run.program_calls import ProgramCalls
from orchestrator.errors import ToolRefused


@pytest.fixture
def tools(tmp_path: Path) -> Any:
    """The module of tools in a checkout of one file."""
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    (tmp_path / "a.py").write_bytes(b"one\r\ntwo\nthree")
    return ProgramTools(tmp_path).build_module()


def run_inside(root: Path, program: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A program run as in the sandbox, but without one."""
    words = ["bash", "-c", build_program_line()]
    environment = {"PATH": "/usr/bin:/bin", **variables}
    text = build_program_input(program)
    return subprocess.run(words, cwd=root, env=environment, input=text, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("first", "last", "text"),
    [
        (None, None, "one\r\ntwo\nthree"),
        (2, None, "two\nthree"),
        (2, 2, "two\n"),
        (None, 1, "one\r\n"),
        (3, 9, "three"),
        (9, None, ""),
    ],
)
def test_read_returns_lines_as_they_are(tools: Any, first: int | None, last: int | None, text: str) -> None:
    assert tools.read("a.py", first, last) == text


@pytest.mark.parametrize(("first", "last"), [(0, None), (3, 2), (None, 0)])
def test_lines_that_no_file_has_are_refused(tools: Any, first: int | None, last: int | None) -> None:
    with pytest.raises(tools.Refused):
        tools.read("a.py", first, last)


def test_listing_and_searching_stay_below_a_path(tools: Any) -> None:
    tools.write("b/c.py", "two\n")
    tools.write("b/d.md", "two\n")
    assert tools.list_files() == ["a.py", "b/c.py", "b/d.md"]
    assert tools.list_files("b") == ["b/c.py", "b/d.md"]
    assert tools.list_files("b/c.py") == ["b/c.py"]
    assert tools.list_files(glob="*.py") == ["a.py", "b/c.py"]
    assert tools.list_files("b", "*.py") == ["b/c.py"]
    assert [(found.path, found.line) for found in tools.search("^t", glob="*.py")] == [
        ("a.py", 2),
        ("a.py", 3),
        ("b/c.py", 1),
    ]
    assert [tuple(found) for found in tools.search("^t", "b")] == [("b/c.py", 1, "two"), ("b/d.md", 1, "two")]
    for way in (tools.list_files, lambda path: tools.search("x", path)):
        with pytest.raises(tools.Refused, match="no path in the workspace"):
            way("../x")
    with pytest.raises(tools.Refused, match="leaves the worktree"):
        tools.list_files(glob="../*")
    with pytest.raises(tools.Refused, match="git refused"):
        tools.search("(")


def test_a_path_is_no_pattern(tools: Any) -> None:
    tools.write("app/[id]/page.ts", "x\n")
    tools.write("app/i/page.ts", "x\n")
    assert tools.list_files("app/[id]") == ["app/[id]/page.ts"]
    assert [found.path for found in tools.search("x", "app/[id]", "*.ts")] == ["app/[id]/page.ts"]


def test_a_text_that_read_could_not_show_is_not_written_back(tools: Any, tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9\n")
    with pytest.raises(tools.Refused, match="bytes that are not UTF-8"):
        tools.write("latin.txt", tools.read("latin.txt").upper())
    assert (tmp_path / "latin.txt").read_bytes() == b"caf\xe9\n"
    tools.write("new.txt", "\ufffd")
    assert (tmp_path / "new.txt").read_text() == "\ufffd"


def test_a_command_that_takes_too_long_is_ended_with_all_it_started(tools: Any, tmp_path: Path) -> None:
    result = tools.run("echo begun; (sleep 60; touch late) & sleep 60", timeout_s=0.5)
    assert tuple(result) == (None, "begun\n")
    assert tuple(tools.run("echo $0; exit 3")) == (3, "bash\n")


def test_the_sources_that_go_in_import_nothing_else() -> None:
    """What a module inside imports is in the standard library, or goes in with it."""
    sources = load_sources()
    missing = set()
    for name, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            wanted = []
            if isinstance(node, ast.Import):
                wanted = [alias.name for alias in node.names]
            if isinstance(node, ast.ImportFrom) and node.module:
                inner = [f"{node.module}.{alias.name}" for alias in node.names]
                wanted = [one for one in inner if one in sources] or [node.module]
            missing |= {(name, one) for one in wanted if one.partition(".")[0] not in sys.stdlib_module_names | {""}}
            missing -= {(name, one) for one in sources}
    assert missing == set()


def test_what_goes_in_matches_edits_as_the_tool_does(tmp_path: Path) -> None:
    content, old, new = b"if a:\n    b = 1  \n    c = 2\n", "b = 1\nc = 2", "b = 1\nc = 3"
    (tmp_path / "a.py").write_bytes(content)
    expected = apply_edit(content, old, new)
    assert isinstance(expected, EditResult)
    done = run_inside(tmp_path, f"from tools import *\nprint(edit('a.py', {old!r}, {new!r}))")
    assert (done.stdout, done.stderr) == (f"a.py: {expected.summary}\n", "")
    assert (tmp_path / "a.py").read_bytes() == expected.content


def test_an_error_is_told_by_the_programs_own_lines(tmp_path: Path) -> None:
    program = "import tools\n\ndef look():\n    return tools.read('../x')\n\nprint('begun')\nlook()\n"
    done = run_inside(tmp_path, program)
    assert done.returncode == 1
    assert done.stdout == "begun\n"
    assert [line.strip() for line in done.stderr.splitlines() if "File" in line] == [
        'File "program.py", line 7, in <module>',
        'File "program.py", line 4, in look',
    ]
    assert done.stderr.splitlines()[-1].startswith("tools.Refused: '../x' is no path in the workspace;")


def test_a_program_is_a_whole_main_module(tmp_path: Path) -> None:
    program = """
from __future__ import annotations
import pickle
from dataclasses import dataclass

@dataclass
class Found:
    name: str

print(pickle.loads(pickle.dumps(Found("a"))), __name__)
"""
    assert run_inside(tmp_path, program).stdout == "Found(name='a') __main__\n"


def test_the_repository_cannot_put_a_module_of_its_own_in_place_of_the_tools(tmp_path: Path) -> None:
    for name in ("tools", "json", "orchestrator"):
        (tmp_path / f"{name}.py").write_text("print('mine')\n")
    done = run_inside(tmp_path, "import tools, json\nprint(tools.list_files.__name__)", PYTHONPATH=str(tmp_path))
    assert (done.stdout, done.stderr) == ("list_files\n", "")


def test_calls_are_recorded_by_tool_and_path(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x\n")
    record = tmp_path.parent / f"{tmp_path.name}-record"
    program = "import os\nfrom tools import *\nread('a.py'); read('a.py'); write('b.py', ''); run('true')\n"
    done = run_inside(tmp_path, f"{program}print({RECORD_VARIABLE!r} in os.environ)", **{RECORD_VARIABLE: str(record)})
    assert done.stdout == "False\n"
    expected = ProgramCalls(counts={"read": 2, "write": 1, "run": 1}, paths=("a.py", "b.py"))
    assert read_program_calls(record.read_bytes()) == expected


@pytest.mark.parametrize(
    ("record", "calls"),
    [
        (None, None),
        (b"", ProgramCalls(counts={})),
        (b'["rm", "x"]\n[1]\n{}\n\xff\n["read", "a"]', ProgramCalls(counts={"read": 1}, paths=("a",))),
        (b"[" * 100_000, ProgramCalls(counts={})),
        (b'["run", ""]\n' * (MAX_RECORDED + 5), ProgramCalls(counts={"run": MAX_RECORDED}, is_cut=True)),
    ],
)
def test_a_record_that_a_program_forged_is_read_with_care(record: bytes | None, calls: ProgramCalls | None) -> None:
    assert read_program_calls(record) == calls


def test_a_long_list_of_paths_is_cut() -> None:
    record = "\n".join(json.dumps(["read", f"{number}.py"]) for number in range(300)).encode()
    calls = read_program_calls(record)
    assert calls is not None
    assert (len(calls.paths), calls.more_paths) == (200, 100)


def test_a_recorder_stops_after_so_many_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program_tools, "MAX_RECORDED", 3)
    tools = ProgramTools(tmp_path, tmp_path / "record")
    for _ in range(5):
        with pytest.raises(ToolRefused):
            tools.read_text("..")
    assert len((tmp_path / "record").read_text().splitlines()) == 3
