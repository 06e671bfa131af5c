"""What is special about containers: they are kept between commands, and have to be as good as new for each of them."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from orchestrator.domain.purpose import Purpose
from orchestrator.domain.sandbox.world import World
from orchestrator.hands.containers.engines import ContainerEngine
from orchestrator.hands.containers.run_arguments import ContainerLaunch, build_run_arguments
from orchestrator.hands.local import LocalHands
from orchestrator.hands.policy import BackendChoice, CommandLimits, SandboxGrant
from orchestrator.hands.sandbox.backend import (
    build_link_mount,
    build_read_only_mount,
    build_tmpfs_mount,
    build_writable_mount,
)
from orchestrator.hands.seccomp.engine_profile import tighten_profile
from orchestrator.hands.workspace import LocalWorkspace
from orchestrator.ports.hands import CommandEnding

SOURCE = Path(__file__).parents[3]
WORLD = World(
    uid=7, gid=8, user="x", host="box", home="/home/x", temporary="/tmp", exchange="/mnt/out", objects="/srv/git",
    branch="main", hash_seed=1,
)  # fmt: skip

DRIVER = """
import json, sys
from pathlib import Path
import anyio
from orchestrator.domain.purpose import Purpose
from orchestrator.hands.local import open_local_hands
from orchestrator.hands.policy import BackendChoice, SandboxGrant
from orchestrator.hands.execution.workspace_runner import run_command
from orchestrator.ports.hands import ShellCommand
from worktrees.repositories.repository import GitRepository

async def main(repo, home, state, line):
    repository, grant = GitRepository.open(Path(repo)), SandboxGrant(backend=BackendChoice.CONTAINER)
    async with open_local_hands(repository, Path(state), grant, home=Path(home), environ={}) as hands:
        print(json.dumps({"refusal": hands.refusal_reason}), flush=True)
        workspace = await hands.open_workspace(repository.read_head_commit(), Purpose("driver"))
        await run_command(workspace, ShellCommand(line=line))

anyio.run(main, *sys.argv[1:])
"""


@pytest.fixture
def backend() -> BackendChoice:
    return BackendChoice.CONTAINER


@pytest.fixture
async def engine(hands: LocalHands) -> AsyncIterator[ContainerEngine]:
    """The engine that the hands work with."""
    engine = hands._host.backend.engine  # type: ignore[union-attr]
    yield engine


async def names(engine: ContainerEngine, state: Path) -> list[str]:
    """The containers of a state directory that the engine knows."""
    told = await engine.run_engine_command(
        "ps", "--all", "--filter", f"label=orchestrate.state={state}", "--format", "{{.Names}}"
    )
    return told.split()


@pytest.mark.sandbox
@pytest.mark.slow
class TestContainers:
    async def test_a_workspace_keeps_one_container_until_it_is_closed(
        self, hands: LocalHands, yard: Any, shell_in: Any, engine: ContainerEngine
    ) -> None:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        await shell_in(workspace, "true")
        first = await names(engine, yard.state)
        await shell_in(workspace, "true")
        assert (await names(engine, yard.state), len(first)) == (first, 1)
        await workspace.close()
        assert await names(engine, yard.state) == []

    async def test_commands_at_the_same_time_do_not_end_each_other(
        self, workspace: LocalWorkspace, shell_in: Any
    ) -> None:
        outputs: list[str] = []

        async def one(line: str) -> None:
            outputs.append((await shell_in(workspace, line)).output)

        async with anyio.create_task_group() as group:
            group.start_soon(one, "sleep 1; echo long")
            group.start_soon(one, "echo short")
        assert sorted(outputs) == ["long\n", "short\n"]

    async def test_a_time_limit_costs_the_container_and_not_the_workspace(self, shell: Any) -> None:
        late = await shell("echo kept > file; sleep 99", timeout_s=5)
        assert late.result.ending == CommandEnding.TIMED_OUT
        assert (await shell("cat file")).output == "kept\n"

    async def test_what_a_command_leaves_outside_the_workspace_is_gone_for_the_next(self, shell: Any) -> None:
        await shell("for d in ~ /tmp /dev/shm; do mkdir -p $d/a/b; chmod 0 $d/a; echo x > $d/c; done; ls -A ~")
        assert (await shell("ls -A ~ /tmp/a /tmp/c /dev/shm")).output.count("x") == 0
        assert (await shell("ls -A ~ /dev/shm | grep -v :; ls -d /tmp/a /tmp/c 2>/dev/null")).output.split() == []

    async def test_a_workspace_that_was_restored_has_a_container_that_knows(
        self, workspace: LocalWorkspace, shell: Any, yard: Any
    ) -> None:
        await shell("git checkout -q -b work; echo x > new; git add new; git commit -qm evil")
        await workspace.restore_tree(yard.git("rev-parse", "HEAD^{tree}"))
        ran = await shell("git status --short --branch; ls")
        assert workspace.world is not None
        assert ran.output.splitlines() == [f"## {workspace.world.branch}", "README.md", "pkg"]

    async def test_a_shared_file_stays_the_workspaces_own_after_its_place_was_swept_and_made_again(
        self, yard: Any, shell_in: Any
    ) -> None:
        (yard.repo / "pkg" / "fast.log").write_text("machine code")
        async with yard.hands(SandboxGrant(share=("*.log",))) as hands:
            workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
            for known in ("machine code", "changed"):
                ran = await shell_in(workspace, "cat pkg/fast.log; echo changed > pkg/fast.log")
                assert ran.output.startswith(known)
                await workspace.list_paths()  # takes away what is not the workspace's own
        assert (yard.repo / "pkg" / "fast.log").read_text() == "machine code"

    async def test_the_first_process_can_be_neither_read_nor_traced_nor_called(
        self, shell: Any, outside: Callable[..., str]
    ) -> None:
        attack = "ls /proc/{pid}/fd; cat /proc/{pid}/environ; kill -9 {pid}; kill -STOP {pid}; echo STILL"
        assert "Permission denied" not in outside(attack.format(pid="self").split(" kill")[0])
        ran = await shell(attack.format(pid=1) + "; ls /run/control")
        assert ran.output.count("Permission denied") == 2
        assert ran.output.splitlines()[-1] == "STILL"
        assert (await shell("echo again")).output == "again\n"

    async def test_a_command_that_kills_all_it_can_is_only_itself_killed(self, shell: Any) -> None:
        assert (await shell("kill -9 -1 2>/dev/null; echo still")).output == "still\n"
        assert (await shell("kill -9 $$")).exit_code == 137
        assert (await shell("echo next")).output == "next\n"

    async def test_a_container_that_dies_under_a_command_is_told_and_replaced(
        self, workspace: LocalWorkspace, shell: Any, engine: ContainerEngine, yard: Any
    ) -> None:
        async def end_it() -> None:
            while not (workspace.root / "up").exists():  # noqa: ASYNC110 -- made in another process
                await anyio.sleep(0.05)
            (name,) = await names(engine, yard.state)
            await engine.run_engine_command("kill", "--signal", "KILL", name)

        await shell("true")
        async with anyio.create_task_group() as group:
            group.start_soon(end_it)
            ran = await shell("touch up; sleep 99", timeout_s=99)
        assert ran.result.ending == CommandEnding.KILLED
        assert (await shell("echo next")).output == "next\n"

    async def test_an_imported_root_serves_as_well_as_a_directory(self, yard: Any, hands: LocalHands) -> None:
        """What docker is given, which takes no directory; podman can import, too."""
        from orchestrator.hands.containers.engines import build_image_archive

        backend = hands._host.backend
        engine, image = backend.engine, "orchestrate-test-root"  # type: ignore[union-attr]
        root = backend.folder / "root"  # type: ignore[union-attr]
        await engine.run_engine_command("import", "-", image, input_bytes=build_image_archive(root))
        backend.root = (image,)  # type: ignore[union-attr]
        try:
            workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
            from orchestrator.hands.execution.workspace_runner import run_command
            from orchestrator.ports.hands import ShellCommand

            result = await run_command(workspace, ShellCommand(line="pwd; ls; touch /x"))
            assert result.log.read_text().splitlines()[:3] == [str(yard.repo), "README.md", "pkg"]
            await workspace.close()
        finally:
            await engine.run_engine_command("rmi", "--force", image)


def drive(yard: Any, line: str) -> "subprocess.Popen[str]":
    words = [sys.executable, "-c", DRIVER, str(yard.repo), str(yard.home), str(yard.state), line]
    return subprocess.Popen(words, cwd=SOURCE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def is_sleep(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/comm").read_text() == "sleep\n"
    except OSError:
        return False


@pytest.mark.sandbox
@pytest.mark.slow
@pytest.mark.attack(13)
async def test_13_killing_our_process_leaves_no_process_and_no_container(
    yard: Any, living: Callable[[str], list[int]]
) -> None:
    with drive(yard, "sleep 983.1 & (setsid sleep 983.1 &) ; sleep 983.1") as driver:
        assert driver.stdout is not None
        refusal = json.loads(driver.stdout.readline())["refusal"]
        if refusal:
            pytest.skip(f"no container runs here: {refusal}")
        until = time.monotonic() + 90
        while len([pid for pid in living("983.1") if is_sleep(pid)]) < 3:
            assert time.monotonic() < until
            await anyio.sleep(0.01)
        driver.send_signal(signal.SIGKILL)
        until = time.monotonic() + 60
        while left := living("983.1"):
            assert time.monotonic() < until, left
            await anyio.sleep(0.01)
    async with yard.hands() as hands:
        assert await names(hands._host.backend.engine, yard.state) == []


@pytest.mark.sandbox
@pytest.mark.slow
async def test_a_container_whose_session_is_no_more_is_removed_at_the_next_start(yard: Any, tmp_path: Path) -> None:
    async with yard.hands() as hands:
        engine = hands._host.backend.engine
        left = ("--label", f"orchestrate.state={yard.state}", "--label", f"orchestrate.session={yard.state}/gone")
        (tmp_path / "root").mkdir()
        await engine.run_engine_command(
            "create", "--name", f"left-{os.getpid()}", *left, "--rootfs", str(tmp_path / "root"), "x"
        )
        assert await names(engine, yard.state) == [f"left-{os.getpid()}"]
    async with yard.hands():
        assert await names(engine, yard.state) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="started by a normal user every other test is this one")
@pytest.mark.skipif(shutil.which("podman") is None, reason="podman is not installed")
@pytest.mark.slow
@pytest.mark.sandbox
def test_a_normal_user_without_mapped_ids_is_told_what_to_do(yard: Any, tmp_path: Path) -> None:
    from tests.unit.hands.test_hands_process_life import as_a_normal_user

    for parent in tmp_path.parents:
        if parent.stat().st_uid == 0 and not parent.stat().st_mode & 0o001:
            parent.chmod(parent.stat().st_mode | 0o055)
    for folder, _, files in os.walk(tmp_path):
        for name in (".", *files):
            os.lchown(Path(folder) / name, 65534, 65534)
    words = [sys.executable, "-c", DRIVER, str(yard.repo), str(yard.home), str(yard.state), "true"]
    environ = {**os.environ, "HOME": str(yard.home)}
    done = subprocess.run(
        [*as_a_normal_user(), *words], cwd=SOURCE, env=environ, capture_output=True, text=True, check=False
    )
    refusal = json.loads(done.stdout.splitlines()[0])["refusal"]
    assert refusal is None or "podman" in refusal, done.stderr
    assert refusal is None or "--add-subuids" in refusal


def launch(**fields: Any) -> ContainerLaunch:
    given = {
        "name": "box",
        "labels": {"of": "us"},
        "root": ("image",),
        "mounts": (
            build_read_only_mount("/usr"),
            build_link_mount("/bin", "usr/bin"),
            build_writable_mount("/w", "/repo"),
            build_tmpfs_mount("/tmp", 5000),
        ),
        "files": "/s/files",
        "control": "/s/control",
        "world": WORLD,
        "limits": CommandLimits(processes=9, memory_bytes=1000),
        "python": "/usr/bin/python3",
        "script": "pass",
        "seccomp": None,
        "supported_limits": frozenset({"pids", "memory"}),
        "hard_processes": 99,
    }
    return ContainerLaunch(**given | fields)  # type: ignore[arg-type]


def test_docker_is_given_the_same_walls_in_words_it_knows() -> None:
    words = build_run_arguments(launch(), is_podman=False)
    text = " ".join(words)
    for part in (
        "--network none --cap-drop ALL --security-opt no-new-privileges --read-only",
        "--pids-limit 9 --memory 1000 --memory-swap 1000",
        "--mount type=bind,source=/usr,target=/usr,bind-nonrecursive=true,readonly",
        "--mount type=bind,source=/w,target=/repo,bind-nonrecursive=true --",
        "--tmpfs /tmp:rw,exec,nosuid,nodev,size=5000,mode=1777 --",
        "--user 7:8 --workdir / image /usr/bin/python3 -I -S -X utf8 -c pass",
    ):
        assert part in text
    podman_only = (
        "--passwd",
        "--http-proxy",
        "mask=/sys",
        "--read-only-tmpfs",
        "--no-hosts",
        "--systemd",
        "notmpcopyup",
    )
    assert not [word for word in words if any(part in word for part in podman_only)]


def test_a_path_that_no_words_can_hold_is_refused() -> None:
    assert "--volume" in build_run_arguments(launch(mounts=(build_read_only_mount("/a,b"),)), is_podman=True)
    with pytest.raises(OSError, match="both commas and colons"):
        build_run_arguments(launch(mounts=(build_read_only_mount("/a,b:c"),)), is_podman=True)


def test_the_filter_of_system_calls_keeps_what_no_rule_of_ours_names() -> None:
    theirs = [{"names": ["read", "unshare", "clone"], "action": "SCMP_ACT_ALLOW"}]
    subs = [{"architecture": "SCMP_ARCH_X86_64", "subArchitectures": ["SCMP_ARCH_X86"]}]
    profile = tighten_profile({"defaultAction": "SCMP_ACT_ERRNO", "archMap": subs, "syscalls": theirs})
    assert profile["archMap"] == [{"architecture": "SCMP_ARCH_X86_64", "subArchitectures": []}]
    entries = profile["syscalls"]
    assert entries[0] == {"names": ["read"], "action": "SCMP_ACT_ALLOW"}
    allowed = [
        name for rule in entries if rule["action"] == "SCMP_ACT_ALLOW" and "args" not in rule for name in rule["names"]
    ]
    assert allowed == ["read"]
