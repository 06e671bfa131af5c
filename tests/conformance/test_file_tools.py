"""Files of a workspace of any kind of hands from outside: read, written, listed, searched, and what is refused."""

from typing import Any

import pytest

from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.errors import ToolRefused
from orchestrator.ports.hands import Workspace
from tests.unit.hands.conftest import Yard

pytestmark = [pytest.mark.conformance, pytest.mark.sandbox, pytest.mark.extended]

TRACKED = (".gitignore", "README.md", "pkg/__init__.py", "pkg/money.py", "tests/data/golden.json", "tests/test_x.py")
OUTSIDE = "is no path in the workspace; give it relative to the repository, without `..`."
GIT = "lies in git's own directory, which is protected; use git commands instead."
INVISIBLE = "contains control or invisible characters; choose a printable name."


@pytest.mark.parametrize("content", [b"", b"print('hi')\r\n", bytes(range(256)), b"x" * 5_000_000])
async def test_what_is_written_is_read_by_tools_and_by_commands(workspace: Workspace, run: Any, content: bytes) -> None:
    await workspace.write_file("src/deep/ä b.bin", content)
    assert await workspace.read_file("src/deep/ä b.bin", len(content)) == content
    assert (await run("wc -c < 'src/deep/ä b.bin'; ls -A src/deep")).output.split("\n") == [
        str(len(content)),
        "ä b.bin",
        "",
    ]


async def test_tools_see_what_commands_write(workspace: Workspace, run: Any) -> None:
    await workspace.write_file("a.txt", b"one\n")
    await run("echo two >> a.txt; mkdir d; echo made > d/by-command")
    assert await workspace.read_file("a.txt") == b"one\ntwo\n"
    assert await workspace.read_file("./d//by-command") == b"made\n"


async def test_a_write_keeps_the_mode_of_a_file_and_belongs_to_the_user_of_commands(
    workspace: Workspace, run: Any
) -> None:
    await run("chmod 755 README.md")
    await workspace.write_file("README.md", b"#!/bin/sh\necho ran\n")
    await workspace.write_file("new/file", b"x")
    assert (
        await run("./README.md; stat -c %a README.md new/file; echo y > new/file; rmdir x 2>/dev/null; rm -r new")
    ).output == ("ran\n755\n644\n")


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("../secret", f"'../secret' {OUTSIDE}"),
        ("pkg/../../secret", f"'pkg/../../secret' {OUTSIDE}"),
        ("/etc/passwd", f"'/etc/passwd' {OUTSIDE}"),
        ("", f"'' {OUTSIDE}"),
        (".", f"'.' {OUTSIDE}"),
        (".git/config", f"'.git/config' {GIT}"),
        ("pkg/.GIT/config", f"'pkg/.GIT/config' {GIT}"),
        ("a\x1b[2Jb", f"'a\\x1b[2Jb' {INVISIBLE}"),
        ("a\0b", f"'a\\x00b' {INVISIBLE}"),
        ("n" * 256, f"{'n' * 40!r}… is too long for a file name; use at most 255 bytes."),
        ("pkg", "pkg is a directory, not a regular file"),
        ("README.md/x", "README.md/x has a component that is not a directory."),
    ],
)
async def test_a_path_that_is_no_file_s_is_refused_in_the_same_words(
    workspace: Workspace, path: str, words: str
) -> None:
    with pytest.raises(ToolRefused) as refused:
        await workspace.read_file(path)
    assert str(refused.value).startswith(words)
    with pytest.raises(ToolRefused) as refused:
        await workspace.write_file(path, b"x")
    assert str(refused.value).startswith(words)


async def test_a_file_that_is_missing_or_too_large_is_refused_in_words(workspace: Workspace) -> None:
    with pytest.raises(ToolRefused, match=r"^nope\.py does not exist\.$"):
        await workspace.read_file("nope.py")
    await workspace.write_file("large", b"x" * 2000)
    with pytest.raises(
        ToolRefused, match=r"^large has 2,000 bytes, more than the limit of 1,024; read a part of it\.$"
    ):
        await workspace.read_file("large", 1024)


async def test_links_pipes_and_sockets_that_a_command_made_are_refused(workspace: Workspace, run: Any) -> None:
    bind = "import socket; socket.socket(socket.AF_UNIX).bind('socket')"
    made = await run(f'ln -s /etc/passwd link; ln -s /etc folder-link; mkfifo pipe; python3 -c "{bind}"; ls')
    assert {"link", "folder-link", "pipe", "socket"} <= set(made.output.split())
    for path in ("link", "folder-link/passwd", "pipe", "socket"):
        with pytest.raises(ToolRefused):
            await workspace.read_file(path)
        with pytest.raises(ToolRefused):
            await workspace.write_file(path, b"x")


async def test_files_that_would_be_in_a_snapshot_are_listed(workspace: Workspace, run: Any) -> None:
    await run("mkdir -p build new; touch build/x out.log new/file.py new/ä 'new/a b'; rm tests/test_x.py")
    assert await workspace.list_paths() == (
        ".gitignore",
        "README.md",
        "new/a b",
        "new/file.py",
        "new/ä",
        "pkg/__init__.py",
        "pkg/money.py",
        "tests/data/golden.json",
    )
    assert await workspace.list_paths("**/*.py") == ("new/file.py", "pkg/__init__.py", "pkg/money.py")
    assert await workspace.list_paths("new/a*") == ("new/a b",)


async def test_what_lies_beside_a_tree_is_listed(workspace: Workspace, run: Any, yard: Yard, head: CommitId) -> None:
    tree = TreeId(yard.git("rev-parse", f"{head}^{{tree}}"))
    assert await workspace.list_paths_beside(tree, 10) == ()
    await run(r"""mkdir build; touch build/x out.log new "$(printf 'odd\377')"; echo x > README.md; ln -s /etc link""")
    found = await workspace.list_paths_beside(tree, 10)
    assert sorted(found) == ["build", "link", "new", "odd\udcff", "out.log"]
    assert len(await workspace.list_paths_beside(tree, 2)) == 2


async def test_a_name_that_is_no_text_is_listed_as_everywhere(workspace: Workspace, run: Any) -> None:
    await run(r"""touch "$(printf 'odd\377')" "$(printf 'two\nlines')" """)
    assert await workspace.list_paths("[ot][dw]*") == ("odd\udcff", "two\nlines")


async def test_a_glob_that_leaves_the_workspace_is_refused(workspace: Workspace) -> None:
    with pytest.raises(ToolRefused):
        await workspace.list_paths("../*")
    assert await workspace.list_paths() == TRACKED


async def test_lines_are_found_by_pattern_and_glob_up_to_a_limit(workspace: Workspace) -> None:
    await workspace.write_file("src/a.py", b"import os\nimport sys\nimport re\n")
    await workspace.write_file("src/b.txt", "import os ä\n".encode())
    assert await workspace.search_text("^import (os|re)$", "**", 10) == ("src/a.py:1:import os", "src/a.py:3:import re")
    assert await workspace.search_text("import", "**/*.py", 2) == ("src/a.py:1:import os", "src/a.py:2:import sys")
    assert await workspace.search_text("ä", "**", 10) == ("src/b.txt:1:import os ä",)
    assert await workspace.search_text("nothing like it", "**", 10) == ()


async def test_a_line_that_is_no_text_is_found_as_everywhere(workspace: Workspace) -> None:
    await workspace.write_file("latin.txt", b"caf\xe9 one\n")
    (found,) = await workspace.search_text("one", "latin.txt", 10)
    assert (found.startswith("latin.txt:1:caf"), found.endswith(" one")) == (True, True)


@pytest.mark.parametrize(
    "pattern",
    ["(", pytest.param("((((a{1,200}){1,200}){1,200}){1,200}){1,200}")],
    ids=["broken", "gigabytes"],
)
async def test_a_pattern_that_cannot_be_searched_for_is_refused(workspace: Workspace, pattern: str) -> None:
    with pytest.raises(ToolRefused, match=r"^The search was refused: "):
        await workspace.search_text(pattern, "**", 10)
    assert await workspace.search_text("hello", "**", 1) == ("README.md:1:hello",)


async def test_nothing_of_all_that_touches_the_checkout(workspace: Workspace, run: Any, yard: Yard) -> None:
    before = yard.git("status", "--short", "--ignored")
    await workspace.write_file("README.md", b"changed\n")
    await run("rm -r pkg; echo x > new")
    assert (yard.repo / "README.md").read_text() == "hello\n"
    assert yard.git("status", "--short", "--ignored") == before
