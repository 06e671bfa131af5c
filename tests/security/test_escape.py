"""Attacks on the host from inside, judged by what is left outside; each is shown to work without a sandbox."""

import hashlib
import os
import shlex
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest

from orchestrator.domain.purpose import Purpose
from orchestrator.hands.local import LocalHands
from orchestrator.hands.workspace import LocalWorkspace

pytestmark = pytest.mark.sandbox

SECRET = "canary-0815"
IS_ROOT = os.geteuid() == 0


@pytest.mark.conformance
@pytest.mark.attack(1)
async def test_nothing_is_written_outside(
    hands: LocalHands, workspace: LocalWorkspace, shell_in: Any, yard: Any, outside: Callable[..., str]
) -> None:
    other = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("other"))
    spots = [yard.home / "x", yard.state / "x", yard.repo.parent / "x", other.root / "x", yard.repo / "x"]
    attack = "echo BOOTED; " + "; ".join(f"mkdir -p {s.parent}; echo pwned > {s}" for s in spots) + "; echo > /etc/x"
    ran = await shell_in(workspace, attack)
    assert ran.output.startswith("BOOTED")
    assert [s for s in (*spots, Path("/etc/x")) if s.exists()] == []
    outside(attack.removesuffix("; echo > /etc/x"))
    assert [s for s in spots if not s.exists()] == []


@pytest.mark.conformance
@pytest.mark.attack(2)
async def test_credentials_in_the_home_directory_are_not_there(shell: Any, yard: Any, outside: Any) -> None:
    names = (".ssh/id_rsa", ".netrc", ".aws/credentials", ".gitconfig", ".config/gh/hosts.yml")
    for name in names:
        (yard.home / name).parent.mkdir(exist_ok=True, parents=True)
        (yard.home / name).write_text(SECRET)
    attack = f"cd {yard.home} && cat {' '.join(names)}; grep -rs {SECRET} {yard.home} {yard.state}"
    assert SECRET in outside(attack)
    assert SECRET not in (await shell(f"echo BOOTED; {attack}")).output.partition("BOOTED")[2]


@pytest.mark.conformance
@pytest.mark.attack(3)
async def test_no_variable_of_any_process_outside_is_readable(
    monkeypatch: pytest.MonkeyPatch, shell: Any, outside: Callable[..., str]
) -> None:
    monkeypatch.setenv("API_KEY", SECRET)
    attack = "env; cat /proc/*/environ | tr '\\0' '\\n'"
    assert SECRET in outside(attack)
    ran = await shell(attack)
    assert "HOME=" in ran.output
    assert SECRET not in ran.output


@pytest.mark.attack(3)
async def test_bubblewrap_itself_keeps_none_of_our_variables(shell: Any, outside: Callable[..., str]) -> None:
    attack = "tr '\\0' '\\n' < /proc/$PPID/environ | cut -d= -f1 | sort"
    nested = f"bash -c {shlex.quote(attack)}; true"  # a runner that names itself writes over its own variables
    assert "HOME" in outside(nested).split()
    first, *kept = (await shell(f"echo $PPID; {attack}")).output.split()
    assert (first, {"PATH"} <= set(kept) <= {"PATH", "PWD"}) == ("1", True)


@pytest.mark.conformance
@pytest.mark.attack(4)
async def test_kernel_settings_cannot_be_opened_for_writing(shell: Any, outside: Callable[..., str]) -> None:
    opener = "import os; os.open('/proc/sys/kernel/core_pattern', os.O_WRONLY); print('OPEN')"
    attack = f'python3 -c "{opener}"'
    if IS_ROOT:
        assert "OPEN" in outside(attack)
    ran = await shell(attack)
    assert "Error" in ran.output
    assert "OPEN\n" not in ran.output
    mounted = "python3 -c \"import os; print(os.statvfs('/proc/sys').f_flag & os.ST_RDONLY)\""
    assert outside(mounted) == "0\n"
    assert (await shell(mounted)).output == "1\n"


@pytest.mark.conformance
@pytest.mark.attack(5)
async def test_mounts_cannot_be_changed_and_no_user_namespace_made(shell: Any, outside: Callable[..., str]) -> None:
    own = "unshare -Urm sh -c 'mount -t tmpfs none /tmp' && echo MADE"
    assert "MADE" in outside(own)
    attack = "mount -o remount,rw,bind /usr && echo MADE; umount /tmp && echo MADE; unshare -Ur true && echo MADE"
    ran = await shell(f"{own}; {attack}; grep -E '^(Cap|NoNewPrivs)' /proc/self/status")
    assert "MADE" not in ran.output
    assert ran.output.count("\n") >= 3
    assert ran.output.count("\t0000000000000000\n") == 5  # of five kinds of capabilities
    assert "NoNewPrivs:\t1" in ran.output


@pytest.mark.attack(1)
@pytest.mark.attack(5)
async def test_only_the_workspace_and_empty_places_are_mounted_writable(
    shell: Any, workspace: LocalWorkspace, yard: Any, outside: Callable[..., str]
) -> None:
    attack = "awk '$6 ~ /^rw/ && $5 !~ \"^/(dev/[^s]|proc$)\" {print $5}' /proc/self/mountinfo"
    assert "/\n" in outside(attack)
    mounted, world = sorted((await shell(attack)).output.split()), workspace.world
    assert world is not None
    assert mounted == sorted(["/dev/shm", "/tmp", world.exchange, world.home, str(yard.repo), f"{yard.repo}/.git"])


@pytest.mark.conformance
@pytest.mark.attack(6)
async def test_no_socket_of_the_network_is_reachable(shell: Any, outside: Callable[..., str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
        udp.bind(("127.0.0.1", 0))
        for listener in (tcp, udp):
            listener.settimeout(0.2)
        ports = tcp.getsockname()[1], udp.getsockname()[1]
        attack = f"(echo > /dev/tcp/127.0.0.1/{ports[0]}) && echo CONNECTED; echo x > /dev/udp/127.0.0.1/{ports[1]}; "
        assert "CONNECTED" in outside(attack)
        tcp.accept()[0].close()
        assert udp.recv(10) == b"x\n"
        ran = await shell(f"{attack} timeout 2 getent ahosts example.com && echo RESOLVED; true")
        with pytest.raises(TimeoutError):
            udp.recv(10)
        with pytest.raises(TimeoutError):
            tcp.accept()
    assert "CONNECTED" not in ran.output
    assert "RESOLVED" not in ran.output


@pytest.mark.attack(6)
async def test_there_is_no_way_out_over_ipv6_or_any_other_interface(shell: Any, outside: Callable[..., str]) -> None:
    interfaces = "ls /sys/class/net 2>/dev/null; tail -n +3 /proc/net/dev | cut -d: -f1 | tr -d ' '"
    assert (await shell(interfaces)).output.split() == ["lo"]
    try:
        listener = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("this host has no IPv6 on loopback")
    with listener:
        listener.settimeout(0.2)
        attack = f"(echo > /dev/tcp/::1/{listener.getsockname()[1]}) && echo CONNECTED"
        assert "CONNECTED" in outside(attack)
        listener.accept()[0].close()
        assert "CONNECTED" not in (await shell(attack)).output
        with pytest.raises(TimeoutError):
            listener.accept()


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A directory whose path fits into a socket's address."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.conformance
@pytest.mark.attack(7)
async def test_no_unix_socket_is_reachable(shell: Any, short_folder: Path, outside: Callable[..., str]) -> None:
    path, abstract = short_folder / "agent.sock", f"canary-{os.getpid()}"
    script = (
        "import socket, sys\nfor name in sys.argv[1:]:\n  try:\n"
        "    socket.socket(socket.AF_UNIX).connect(name.replace('@', chr(0)))\n    print('CONNECTED')\n"
        "  except OSError as e: print('refused', e)"
    )
    attack = f'python3 -c "{script}" {path} @{abstract}'
    with socket.socket(socket.AF_UNIX) as one, socket.socket(socket.AF_UNIX) as two:
        one.bind(str(path))
        two.bind(f"\0{abstract}")
        one.listen()
        two.listen()
        assert outside(attack).split() == ["CONNECTED"] * 2
        ran = await shell(attack)
    assert [line.split()[0] for line in ran.output.splitlines()] == ["refused"] * 2


@pytest.mark.conformance
@pytest.mark.attack(9)
async def test_processes_outside_are_neither_seen_nor_killed(shell: Any, outside: Callable[..., str]) -> None:
    async with await anyio.open_process(["sleep", "987.9"]) as victim:
        assert "987.9" in outside("cat /proc/[0-9]*/cmdline")
        ran = await shell(f"cat /proc/[0-9]*/cmdline; kill -9 {victim.pid}; kill -9 1; kill -9 -1; echo BOOTED")
        assert "987.9" not in ran.output
        assert victim.returncode is None
        victim.kill()


TRACED = "import ctypes, time; ctypes.CDLL(None).prctl(0x59616D61, -1); print('up', flush=True); time.sleep(99)"
TRACER = "import ctypes, sys; print('ATTACHED' if ctypes.CDLL(None).ptrace(16, int(sys.argv[1]), 0, 0) == 0 else 'no')"


@pytest.mark.attack(9)
async def test_processes_outside_are_not_traced(shell: Any, outside: Callable[..., str]) -> None:
    async with await anyio.open_process(["python3", "-c", TRACED]) as victim:
        assert victim.stdout is not None
        assert (await victim.stdout.receive()).strip() == b"up"
        attack = f'python3 -c "{TRACER}" {victim.pid}'
        assert "ATTACHED" in outside(attack)
        ran = await shell(attack)
        victim.kill()
    assert ran.output == "no\n"


@pytest.mark.conformance
@pytest.mark.attack(10)
async def test_there_is_no_terminal_to_type_into(shell: Any, outside: Callable[..., str]) -> None:
    attack = "(exec 3<>/dev/tty) 2>/dev/null && echo TERMINAL || echo none"
    program = "import pty, sys; pty.spawn(['bash', '-c', sys.argv[1]])"
    assert "TERMINAL" in outside(f"python3 -c {shlex.quote(program)} {shlex.quote(attack)}")
    assert (await shell(attack)).output == "none\n"


@pytest.mark.conformance
@pytest.mark.attack(12)
async def test_a_daemon_does_not_survive_a_time_limit(
    shell: Any, outside: Callable[..., str], living: Callable[[str], list[int]]
) -> None:
    attack = "(setsid sleep {} >/dev/null 2>&1 &) ; (setsid setsid nohup sleep {} >/dev/null 2>&1 &); "
    outside(attack.format("986.1", "986.1"))
    while len(living("986.1")) < 2:
        pass  # the control: they live on; pytest's time limit ends a wait in vain
    await shell(attack.format("986.2", "986.2") + "sleep 99", timeout_s=0.5)
    assert living("986.2") == []


@pytest.mark.conformance
@pytest.mark.attack(14)
async def test_a_child_that_keeps_the_output_open_delays_nothing(shell: Any, outside: Callable[..., str]) -> None:
    attack = "sleep 3 & echo main"
    with pytest.raises(subprocess.TimeoutExpired):
        outside(attack, timeout=0.5)
    ran = await shell(attack)
    assert (ran.output, ran.result.seconds < 1) == ("main\n", True)


@pytest.mark.conformance
@pytest.mark.attack(22)
async def test_the_git_directory_of_a_workspace_cannot_be_replaced(
    shell: Any, workspace: LocalWorkspace, tmp_path: Path, outside: Callable[..., str]
) -> None:
    target = tmp_path / "target"
    target.mkdir()  # the control changes the mode of what its link names
    attack = f"rm -rf .git; mv .git x; echo gitdir: {target} > .git; ln -sfn {target} .git; chmod 777 .git"
    await shell(attack)
    assert not (workspace.root / ".git").is_symlink()
    assert list((workspace.root / ".git").iterdir()) == []  # what commands see there lies elsewhere
    control = tmp_path / "control"
    control.mkdir()
    (control / ".git").write_text("gitdir: there\n")
    outside(attack, cwd=control)
    assert (control / ".git").readlink() == target


@pytest.mark.conformance
@pytest.mark.attack(24)
async def test_the_administration_of_a_worktree_is_out_of_reach(
    shell: Any, workspace: LocalWorkspace, yard: Any, outside: Callable[..., str]
) -> None:
    admin = Path((workspace.root / ".git").read_text().split(":", 1)[1].strip())
    before = _content(admin)
    attack = (
        f"mkdir -p {admin}; for f in commondir gitdir config.worktree HEAD; do echo /tmp/evil > {admin}/$f; done; "
        "echo /tmp/evil > .git/commondir; git config core.fsmonitor 'touch MARK'; git status; echo BOOTED"
    )
    ran = await shell(attack)
    assert "BOOTED" in ran.output
    assert _content(admin) == before
    await workspace.list_paths()
    await workspace.take_snapshot("after", "refs/orchestrate/test/after")
    assert not list(yard.repo.rglob("MARK"))
    outside(attack.replace(".git/commondir", f"{yard.repo.parent}/commondir"))
    assert _content(admin) != before


@pytest.mark.conformance
@pytest.mark.attack(27)
async def test_the_repository_is_the_same_byte_for_byte_after_any_git_command(
    shell: Any, workspace: LocalWorkspace, yard: Any, outside: Callable[..., str], tmp_path: Path
) -> None:
    assert workspace.world is not None
    attack = (
        "git update-ref refs/heads/evil HEAD; git branch -f main HEAD; git checkout -q -b work; echo x > new; "
        "git add .; git commit -qm evil; git tag evil; git config core.hooksPath /tmp; git stash -u; "
        "git gc --prune=now -q; "
        f'd=$(git rev-parse --git-path objects); rm -rf "$d"/*; rm -rf {workspace.world.objects}/*; '
        "git reflog expire --all"
    )
    before, objects = _content(yard.repo / ".git"), _content(yard.repo / ".git" / "objects")
    await shell(attack)
    assert (_content(yard.repo / ".git"), _content(yard.repo / ".git" / "objects")) == (before, objects)
    assert yard.git("fsck", "--strict") == ""
    copy = tmp_path / "copy"
    outside(f"cp -r . {copy}; cd {copy}; {attack}")
    assert _content(copy / ".git") != before


def _content(folder: Path) -> dict[str, str]:
    files = (f for f in sorted(folder.rglob("*")) if f.is_file())
    return {str(f.relative_to(folder)): hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


@pytest.mark.conformance
@pytest.mark.attack(47)
async def test_one_workspace_sees_nothing_of_another(
    hands: LocalHands, shell_in: Any, yard: Any, outside: Callable[..., str]
) -> None:
    head = yard.git("rev-parse", "HEAD")
    mine, theirs = (
        await hands.open_workspace(head, Purpose("mine")),
        await hands.open_workspace(head, Purpose("theirs")),
    )
    await shell_in(theirs, f"echo {SECRET} | tee secret; git config user.token {SECRET}")
    attack = f"grep -rs {SECRET} {yard.state} {theirs.root} /run /tmp; echo evil > {theirs.root}/README.md"
    ran = await shell_in(mine, f"echo BOOTED; {attack}")
    assert SECRET not in ran.output.partition("BOOTED")[2].replace(attack, "")
    assert (theirs.root / "README.md").read_text() == "hello\n"
    alter = f"for f in $(grep -rlIs {SECRET} {yard.state}); do echo evil >> $f; done"
    before = {file: file.read_bytes() for file in yard.state.rglob("*") if file.is_file()}
    await shell_in(mine, alter)
    mine_too = {file for file in before if not file.exists() or file.read_bytes() != before[file]}
    assert not [file for file in mine_too if file.is_relative_to(theirs.root) or theirs.name in file.parts]
    found = outside(f"grep -rs {SECRET} {yard.state} {theirs.root}; {alter}")
    assert found.count(SECRET) >= 3  # its file, its git directory and its log
    assert (theirs.root / "secret").read_text() == f"{SECRET}\nevil\n"
