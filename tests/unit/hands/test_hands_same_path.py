"""Tool chains and borrowed environments: a workspace stands where the user's repository stands."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.purpose import Purpose
from orchestrator.errors import ToolRefused
from orchestrator.hands.policy import GrantedFolder, SandboxGrant

pytestmark = pytest.mark.sandbox


@pytest.fixture
def editable(yard: Any) -> Path:
    """A virtual environment in the checkout with the repository installed in it for editing; returns its Python."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(yard.repo / ".venv")], check=True)
    (packages,) = (yard.repo / ".venv").glob("lib/python*/site-packages")
    (packages / "editable.pth").write_text(f"{yard.repo}\n")
    yard.commit({"pkg/__init__.py": "WHERE = 'checkout'\n"})
    return yard.repo / ".venv" / "bin" / "python"


@pytest.mark.conformance
async def test_an_editable_install_imports_the_workspace_and_not_the_checkout(
    yard: Any, editable: Path, shell_in: Any, outside: Any
) -> None:
    async with yard.hands() as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        await workspace.write_file("pkg/__init__.py", b"WHERE = 'workspace'\n")
        line = 'cd /tmp && python -c "import sys, pkg; print(pkg.WHERE, pkg.__file__, sys.prefix)"'
        inside = (await shell_in(workspace, line)).output
        environment = (await shell_in(workspace, 'echo "$VIRTUAL_ENV $(command -v python)"')).output
    assert inside == f"workspace {yard.repo}/pkg/__init__.py {yard.repo}/.venv\n"
    assert environment == f"{yard.repo}/.venv {editable}\n"
    assert outside(f'{editable} -c "import pkg; print(pkg.WHERE)"', cwd=yard.home) == "checkout\n"


async def test_a_shared_environment_is_read_only_and_out_of_every_snapshot(
    yard: Any, editable: Path, shell_in: Any
) -> None:
    before = sorted(p.name for p in editable.parents[1].iterdir())
    async with yard.hands() as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        ran = await shell_in(workspace, "touch .venv/x; rm -rf .venv; echo > .venv/pyvenv.cfg; git status --short")
        with pytest.raises(ToolRefused, match="shared read-only"):
            await workspace.write_file(".venv/x", b"")
        assert (await workspace.read_file(".venv/pyvenv.cfg")).startswith(b"home = ")
        assert await workspace.list_paths() == (".gitignore", "README.md", "pkg/__init__.py")
    assert "Read-only file system" in ran.output
    assert sorted(p.name for p in editable.parents[1].iterdir()) == before


@pytest.mark.conformance
async def test_shared_things_below_the_top_are_there_also_in_a_read_only_workspace(yard: Any, shell_in: Any) -> None:
    yard.commit({"web/index.js": ""})
    (yard.repo / "web" / "node_modules" / "left-pad").mkdir(parents=True)
    (yard.repo / "pkg" / "fast.so").write_text("machine code")
    async with yard.hands(SandboxGrant(share=("node_modules", "*.so"))) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        line = "ls web/node_modules; cat pkg/fast.so; echo; touch pkg/fast.so web/node_modules/x"
        for writable in (True, False):
            ran = await shell_in(workspace, line, writable=writable)
            assert ran.output.splitlines()[:2] == ["left-pad", "machine code"]
            assert ran.output.count("cannot touch") == 2 - writable
        assert (yard.repo / "pkg" / "fast.so").read_text() == "machine code"
        await workspace.write_file(
            ".gitignore", b""
        )  # what was ignored no longer is: no trace of it may be taken along
        assert await workspace.list_paths() == (".gitignore", "README.md", "pkg/__init__.py", "web/index.js")


async def test_a_mount_point_that_a_command_replaced_by_a_link_is_not_followed(
    yard: Any, shell_in: Any, tmp_path: Path
) -> None:
    yard.commit({"web/index.js": ""})
    (yard.repo / "web" / "node_modules").mkdir()
    victim = tmp_path / "victim"
    victim.mkdir()
    victim.chmod(0o777)
    async with yard.hands() as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        await shell_in(workspace, f"mv web old; ln -s /oldroot{victim} web")
        ran = await shell_in(workspace, "echo STARTED; ls -A old")
    assert ran.output.splitlines() == ["STARTED", "index.js", "node_modules"]
    assert list(victim.iterdir()) == []


async def test_what_the_tree_itself_holds_wins_over_what_could_be_shared(yard: Any, shell_in: Any) -> None:
    (yard.repo / "node_modules").mkdir()
    (yard.repo / "node_modules" / "borrowed").touch()
    yard.git("checkout", "--quiet", "-b", "vendored")
    blob = yard.git("hash-object", "-w", "README.md")
    yard.git("update-index", "--add", "--cacheinfo", f"100644,{blob},node_modules/vendored")
    yard.git("commit", "--quiet", "--message", "Vendored")
    head = yard.git("rev-parse", "HEAD")
    yard.git("checkout", "--quiet", "main")
    async with yard.hands() as hands:
        workspace = await hands.open_workspace(head, Purpose("test"))
        assert (await shell_in(workspace, "ls node_modules")).output == "vendored\n"


async def test_a_tool_in_a_private_home_directory_works(yard: Any, shell_in: Any) -> None:
    tool = yard.home / ".tools" / "v1" / "bin" / "greet"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\necho hello from $0\n")
    tool.chmod(0o755)
    yard.home.chmod(0o700)
    (yard.home / "private").write_text("secret")
    grant = SandboxGrant(read_only=(GrantedFolder(path="~/.tools/v1"),))
    async with yard.hands(grant) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        ran = await shell_in(workspace, "greet; ls -A ~; touch ~/.tools/v1/x")
    assert ran.output.splitlines()[:2] == [f"hello from {tool}", ".tools"]
    assert "Read-only file system" in ran.output


async def test_our_own_python_is_there_as_a_last_resort(shell: Any) -> None:
    wanted = f"{sys.version_info.major}.{sys.version_info.minor}"
    ran = await shell(
        f"python{wanted} -c 'import sys, ssl, sqlite3; print(sys.base_prefix)'; echo ${{PATH##*/usr/local}}"
    )
    assert ran.output.splitlines() == [sys.base_prefix, "/bin:/usr/bin:/bin"]


@pytest.mark.conformance
async def test_masked_credentials_in_a_given_directory_cannot_be_read(yard: Any, shell_in: Any) -> None:
    (yard.home / ".cargo" / "bin").mkdir(parents=True)
    (yard.home / ".cargo" / "credentials.toml").write_text("token-4711")
    async with yard.hands(SandboxGrant(read_only=(GrantedFolder(path="~/.cargo"),))) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        ran = await shell_in(workspace, "ls ~/.cargo; cat ~/.cargo/credentials.toml")
    assert ran.output == "bin\ncredentials.toml\n"


async def test_an_ignored_directory_given_inside_the_repository_is_shared(yard: Any, shell_in: Any) -> None:
    yard.commit({".gitignore": "/build\n"})
    tool = yard.repo / "build" / "bin" / "made"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/bin/sh\necho made\n")
    tool.chmod(0o755)
    async with yard.hands(SandboxGrant(read_only=(GrantedFolder(path="build"),))) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        assert (await shell_in(workspace, "made")).output == "made\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="a normal user's own home is readable to it")
async def test_the_home_directory_of_root_holds_nothing_but_what_was_given(yard: Any, shell_in: Any) -> None:
    yard.home.chmod(0o700)
    (yard.home / "note").write_text("private")
    async with yard.hands() as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        assert (await shell_in(workspace, "ls -A ~")).output == ""
