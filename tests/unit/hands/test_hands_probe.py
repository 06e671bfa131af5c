"""The self-test: what it says when the sandbox is missing, broken, or does not hold."""

import os
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.purpose import Purpose
from orchestrator.errors import EnvironmentProblem
from orchestrator.hands import policy_resolution
from orchestrator.hands.policy import SandboxPolicy
from orchestrator.hands.sandbox import program_search
from orchestrator.hands.sandbox.backend import HostPaths
from orchestrator.hands.sandbox.backend_trials import render_repair_advice
from orchestrator.hands.sandbox.program_search import BackendContext, ProgramMissing, find_sandbox_programs
from orchestrator.ports.hands import ShellCommand

IS_ROOT = os.geteuid() == 0

PRETENDER = """#!/usr/bin/env python3
# Knows bubblewrap's options and builds no sandbox at all.
import os, re, subprocess, sys
words = sys.argv[1:]
if words[0] in ("--version", "--help"):
    sys.exit(subprocess.run(["/usr/bin/bwrap", words[0]]).returncode)
if "--json-status-fd" not in words[: words.index("--")]:  # the outer one of root
    start = words.index("--") + 1
    command = words[start:]
    command = command[command.index(sys.argv[0]) :]
    os.close(int(words[words.index("--info-fd") + 1]))
else:
    status = int(words[words.index("--json-status-fd") + 1])
    done = subprocess.run(words[words.index("--") + 1 :], cwd="/")
    os.write(status, b'{ "exit-code": %d }' % done.returncode)
    sys.exit(done.returncode)
sys.exit(subprocess.run(command, close_fds=False).returncode)
"""


POWERLESS = """#!/bin/sh
case $1 in --version|--help) exec /usr/bin/bwrap $1;; esac
echo 'bwrap: No permissions' >&2
exit 1
"""


def install(folder: Path, name: str, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text)
    (folder / name).chmod(0o755)
    return folder


@pytest.fixture
def only_from(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Makes one directory the only place where the sandbox's programs are looked for, with real ones for the rest."""

    def limit(folder: Path) -> None:
        for name in ("prlimit", "setpriv"):
            if not (folder / name).exists():
                (folder / name).symlink_to(f"/usr/bin/{name}")
        monkeypatch.setattr(program_search, "_SYSTEM_PATH", (str(folder),))

    return limit


async def commands_are_refused(yard: Any, **options: Any) -> str:
    """The words of the refusal; files can be worked on all the same."""
    async with yard.hands(**options) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        with pytest.raises(EnvironmentProblem) as refused:
            await workspace.start_command("call", ShellCommand(line="touch started"))
        await workspace.write_file("new", b"x")
        assert await workspace.list_paths() == (".gitignore", "README.md", "new", "pkg/__init__.py")
        assert hands.refusal_reason == str(refused.value) == hands.policy_summary["commands"]
        return str(refused.value)


@pytest.mark.sandbox
@pytest.mark.attack(46)
async def test_without_bubblewrap_there_are_files_only(yard: Any, only_from: Any, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    only_from(tmp_path / "bin")
    refusal = await commands_are_refused(yard)
    assert "bwrap is not installed" in refusal
    assert "apt-get install bubblewrap" in refusal


@pytest.mark.sandbox
@pytest.mark.attack(46)
async def test_a_broken_bubblewrap_means_files_only(yard: Any, only_from: Any, tmp_path: Path) -> None:
    only_from(install(tmp_path / "bin", "bwrap", "#!/bin/sh\necho out of order >&2; exit 1\n"))
    assert "bwrap does not start" in await commands_are_refused(yard)


@pytest.mark.sandbox
@pytest.mark.attack(46)
async def test_a_sandbox_that_does_not_come_up_is_quoted(yard: Any, only_from: Any, tmp_path: Path) -> None:
    only_from(install(tmp_path / "bin", "bwrap", POWERLESS))
    refusal = await commands_are_refused(yard)
    assert refusal.startswith("The sandbox does not start: bwrap: No permissions. Commands are refused on this host.")


@pytest.mark.sandbox
async def test_a_sandbox_that_isolates_nothing_is_found_out(yard: Any, only_from: Any, tmp_path: Path) -> None:
    only_from(install(tmp_path / "bin", "bwrap", PRETENDER))
    refusal = await commands_are_refused(yard)
    assert refusal.startswith("The sandbox does not hold: ")
    expected = {
        "a file outside could be read",
        "processes outside could be seen",
        "TCP on loopback, an abstract socket",
    }
    if IS_ROOT:
        expected |= {"environment of a process outside could be read", "could be written", "core_pattern"}
    assert {words for words in expected if words in refusal} == expected


@pytest.mark.sandbox
@pytest.mark.attack(46)
async def test_a_fake_bubblewrap_of_the_repository_is_never_run(yard: Any, tmp_path: Path) -> None:
    fake = f"#!/bin/sh\ntouch {tmp_path}/FAKE-RAN\n"
    environ = {"PATH": f"{install(yard.repo / 'bin', 'bwrap', fake)}:bin:.:{os.environ['PATH']}"}
    install(yard.state / "bin", "bwrap", fake)
    async with yard.hands(environ=environ) as hands:
        assert hands.refusal_reason is None
    assert not (tmp_path / "FAKE-RAN").exists()


def test_programs_are_looked_for_on_absolute_trusted_paths_only(
    only_from: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(program_search, "_SYSTEM_PATH", ())
    repo, elsewhere = tmp_path / "repo", tmp_path / "elsewhere"
    install(repo, "bwrap", "#!/bin/sh\n")
    elsewhere.mkdir()
    (elsewhere / "bwrap").symlink_to(repo / "bwrap")
    monkeypatch.chdir(repo)
    around = HostPaths(repo, tmp_path / "home", tmp_path / "state")

    def context(uid: int | None, path: str) -> BackendContext:
        return BackendContext(SandboxPolicy(uid=uid), around, {"PATH": path}, tmp_path)

    with pytest.raises(ProgramMissing, match="bwrap is not installed"):
        find_sandbox_programs(context(None, f".:{repo}:{elsewhere}:"))
    found = find_sandbox_programs(context(65534, f".:{repo}:{elsewhere}:/usr/bin"))
    assert (found.bwrap, found.prlimit, found.setpriv) == ("/usr/bin/bwrap", "/usr/bin/prlimit", "/usr/bin/setpriv")
    assert found.has_option("--unshare-all")
    assert not found.has_option("--no-such-option")


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1", "apparmor_restrict_unprivileged_userns=0"),
        ("proc/sys/kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"),
        ("proc/sys/user/max_user_namespaces", "0", "user.max_user_namespaces=15000"),
        (".dockerenv", "", "seccomp=unconfined"),
        ("run/.containerenv", "", "seccomp=unconfined"),
        ("proc/sys/user/max_user_namespaces", "100", "orchestrate doctor"),
    ],
)
def test_the_advice_fits_the_host(tmp_path: Path, file: str, content: str, words: str) -> None:
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(content + "\n")
    assert words in render_repair_advice("bwrap: Operation not permitted", tmp_path)


@pytest.mark.skipif(not IS_ROOT, reason="about starting as root")
@pytest.mark.sandbox
@pytest.mark.attack(11)
async def test_commands_never_run_as_root(yard: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_resolution, "SandboxPolicy", lambda **fields: SandboxPolicy(**fields | {"uid": None}))
    assert "commands never run as root" in await commands_are_refused(yard)


@pytest.mark.sandbox
async def test_the_self_test_leaves_nothing_behind(yard: Any) -> None:
    before = {p for folder in (yard.home, yard.repo.parent) for p in folder.rglob("*")}
    async with yard.hands() as hands:
        assert hands.refusal_reason is None
    assert {p for folder in (yard.home, yard.repo.parent) for p in folder.rglob("*")} == before
