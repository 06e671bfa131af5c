"""Attacks on what a host has to give: processes, memory, disk, output, the terminal, and the kernel itself.

Everything here bounds itself: what would go on without limits stops at a size that no host minds.
"""

import os
import platform
import resource
import shutil
import signal
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.purpose import Purpose
from orchestrator.hands.execution.workspace_runner import read_log_ends, run_command
from orchestrator.hands.limits import cgroup, cpu_time
from orchestrator.hands.policy import CommandLimits, SandboxGrant
from orchestrator.hands.seccomp.syscalls import ARCHITECTURES
from orchestrator.hands.workspace import LocalWorkspace
from orchestrator.ports.hands import CommandEnding, ShellCommand

pytestmark = pytest.mark.sandbox

MIB = 1024**2


def script(body: str) -> str:
    """A command line that runs a Python program, in which no single quote may stand."""
    return f"python3 -c '{body}'"


BOMB = script("""
import os, sys, time
n = 0
while n < 150:
    try:
        if os.fork() == 0:
            time.sleep(15)
            os._exit(0)
        n += 1
    except OSError:
        break
print("started", n, flush=True)
time.sleep(15 if len(sys.argv) < 2 else 0)
""")


@pytest.mark.attack(15)
async def test_a_fork_bomb_is_stopped_while_another_workers_command_finishes(
    yard: Any, shell_in: Any, outside: Callable[..., str]
) -> None:
    grant = SandboxGrant(limits=CommandLimits(processes=40))
    async with yard.hands(grant, slots=2) as hands:
        head = yard.git("rev-parse", "HEAD")
        mine, theirs = (
            await hands.open_workspace(head, Purpose("bomb")),
            await hands.open_workspace(head, Purpose("other")),
        )
        await mine.start_command("bomb", ShellCommand(line=BOMB, timeout_s=60))
        while "started" not in (told := printed(yard, mine.name)):
            assert await mine.wait_for_result("bomb", 0.02) is None
        ran = await shell_in(theirs, "for i in 1 2 3; do sh -c 'echo alive'; done")
        assert (ran.output, ran.exit_code) == ("alive\n" * 3, 0)
        await mine.kill_command("bomb")
        assert (await mine.wait_for_result("bomb")).ending == CommandEnding.KILLED
    assert 10 < int(told.split()[1]) < 40
    # the control: without limits it gets all it wants; its children have nobody to wait for them and are told to end
    told = outside(f"({BOMB} end & wait; exec 2>&-; kill 0) 2>/dev/null", start_new_session=True)
    assert "started 150" in told


def printed(yard: Any, name: str) -> str:
    return "".join(log.read_text() for log in (yard.state / "logs").glob(f"*/{name}/*.log"))


HUNGRY = script("""
kept = []
for _ in range(%d):
    kept.append(bytearray(b"x") * (8 * 1024 * 1024))
print("HAD ALL", flush=True)
""")


@pytest.fixture(params=["as the host lets us", "without control groups"])
def _groups(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways in which a limit can be held: with groups, where there are any, and by the watchdog alone."""
    if request.param == "without control groups":
        monkeypatch.setattr(cgroup, "find_usable_group_parent", lambda limits: None)


@pytest.mark.attack(16)
@pytest.mark.usefixtures("_groups")
async def test_memory_is_limited_for_a_command_with_all_its_processes(
    yard: Any, shell_in: Any, outside: Callable[..., str]
) -> None:
    """Four processes of 960 MB and a wait: each alone would stay below many a limit of one process."""
    attack = f"for i in 1 2 3 4; do {HUNGRY % 120} & done; wait; sleep 5"
    async with yard.hands(SandboxGrant(limits=CommandLimits(memory_bytes=96 * MIB)), slots=2) as hands:
        head = yard.git("rev-parse", "HEAD")
        one, other = (
            await hands.open_workspace(head, Purpose("one")),
            await hands.open_workspace(head, Purpose("other")),
        )
        ran = await shell_in(one, attack)
        assert (ran.result.ending, ran.result.detail) == (CommandEnding.LIMIT, "It used more than 96 MiB of memory.")
        assert "HAD ALL" not in ran.output.splitlines()
        assert (await shell_in(other, "echo fine")).output == "fine\n"
        assert (await shell_in(one, HUNGRY % 4)).output == "HAD ALL\n"
    assert outside(HUNGRY % 20) == "HAD ALL\n"


HOLD_IN_MEMORY = script("""
import ctypes, mmap, os, socket, sys, time
libc, kept, way = ctypes.CDLL(None, use_errno=True), [], sys.argv[1]
libc.shmat.restype = ctypes.c_void_p
piece = 8 << 20
def hold_file(file):
    for _ in range(8):
        os.write(file, b"x" * (piece // 8))
    if way == "descriptor":
        return
    if way == "page":
        kept.append(mmap.mmap(file, 4096, mmap.MAP_SHARED))
        os.closerange(3, 64)  # Python keeps a descriptor for itself
    if way == "socket":
        kept.append(socket.socketpair())
        socket.send_fds(kept[-1][0], [b"x"], [file])
        os.close(file)
def hold_segment():
    number = libc.shmget(0, piece, 0o1600)
    if number < 0:
        sys.exit("refused")
    place = ctypes.c_void_p(libc.shmat(number, None, 0))
    ctypes.memset(place, 1, piece)
    libc.shmdt(place)
    libc.shmctl(number, 0, None) if float(sys.argv[2]) == 0 else None  # nothing stays on the host
for n in range(30):
    if way in ("descriptor", "page", "socket"):
        hold_file(os.memfd_create("held"))
    if way == "segment":
        hold_segment()
    if way == "shared":
        kept.append(mmap.mmap(-1, piece))
        kept[-1].write(b"x" * piece)
        kept[-1].madvise(mmap.MADV_DONTNEED)  # no process has the pages any more
    if way == "file":
        kept.append(open("/dev/shm/held", "wb"))
        os.unlink("/dev/shm/held")
        kept[-1].write(b"x" * piece)
    time.sleep(0.05)
print("HELD ALL", flush=True)
time.sleep(float(sys.argv[2]))
""")


@pytest.mark.attack(62)
@pytest.mark.usefixtures("_groups")
@pytest.mark.parametrize("way", ["descriptor", "page", "socket", "segment", "shared", "file"])
async def test_memory_that_belongs_to_no_process_counts_as_well(
    yard: Any, shell_in: Any, outside: Callable[..., str], way: str
) -> None:
    """In a memfd that is open, mapped by one page or sent to nobody; System V; shared mappings; a file in memory."""
    async with yard.hands(SandboxGrant(limits=CommandLimits(memory_bytes=96 * MIB))) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        ran = await shell_in(workspace, f"{HOLD_IN_MEMORY} {way} 20")
        assert (ran.result.ending, ran.result.detail) == (CommandEnding.LIMIT, "It used more than 96 MiB of memory.")
        assert "HELD ALL" not in ran.output.splitlines()
    assert outside(f"{HOLD_IN_MEMORY} {way} 0") == "HELD ALL\n"


SHARE_HONESTLY = script("""
import ctypes, mmap, multiprocessing, os, time
from multiprocessing import shared_memory
libc = ctypes.CDLL(None)
block = shared_memory.SharedMemory(create=True, size=40 << 20)
block.buf[:] = b"x" * (40 << 20)
reserved = mmap.mmap(-1, 1 << 30)
number = libc.shmget(0, 56, 0o1600)
def read(name):
    mine = shared_memory.SharedMemory(name)
    total = sum(bytes(mine.buf[::4096]))
    time.sleep(1)
    mine.close()
    os._exit(total != 120 * 10240)
workers = [multiprocessing.Process(target=read, args=(block.name,)) for _ in range(4)]
for one in workers:
    one.start()
for one in workers:
    one.join()
print(number >= 0, [one.exitcode for one in workers], flush=True)
block.close()
block.unlink()
libc.shmctl(number, 0, None)
""")


@pytest.mark.usefixtures("_groups")
async def test_memory_that_processes_share_counts_once(yard: Any, shell_in: Any) -> None:
    """Five processes with the same 40 MiB, and a GiB that is reserved and never used, under a limit of 120."""
    async with yard.hands(SandboxGrant(limits=CommandLimits(memory_bytes=120 * MIB))) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        ran = await shell_in(workspace, SHARE_HONESTLY)
        assert (ran.result.ending, ran.output) == (CommandEnding.EXITED, "True [0, 0, 0, 0]\n"), ran.result.detail


@pytest.mark.attack(16)
async def test_tmp_cannot_be_filled_beyond_its_size(
    yard: Any, shell_in: Any, outside: Callable[..., str], tmp_path: Path
) -> None:
    attack = f"head -c 24M /dev/zero > {{0}}/big-{os.getpid()}; wc -c < {{0}}/big-{os.getpid()}"
    async with yard.hands(SandboxGrant(limits=CommandLimits(tmpfs_bytes=8 * MIB))) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        ran = await shell_in(workspace, attack.format("/tmp"))
        assert "No space left on device" in ran.output
        assert ran.output.endswith(f"{8 * MIB}\n")
        assert not exists(f"/tmp/big-{os.getpid()}")
        assert (await shell_in(workspace, "echo x > /tmp/new && cat /tmp/new")).output == "x\n"
    assert outside(attack.format(tmp_path)).strip() == str(24 * MIB)


def exists(path: str) -> bool:
    """Whether something is there on the host."""
    return os.path.lexists(path)


FILLERS = {
    "one file": "head -c 300M /dev/zero > big",
    "many files": "for i in 1 2 3 4 5 6 7 8; do head -c 40M /dev/zero > big$i; done",
    "a closed directory": "mkdir bigger; head -c 300M /dev/zero > bigger/f; chmod 0 bigger",
    "git's own directory": "head -c 300M /dev/zero > .git/big",
}


@pytest.mark.attack(16)
@pytest.mark.parametrize("filler", FILLERS.values(), ids=FILLERS)
async def test_a_workspace_cannot_fill_the_disk(
    yard: Any, shell_in: Any, outside: Callable[..., str], filler: str
) -> None:
    async with yard.hands(SandboxGrant(limits=CommandLimits(disk_bytes=48 * MIB))) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        ran = await shell_in(workspace, f"{filler}; sleep 20")
        assert ran.result.ending == CommandEnding.LIMIT
        assert ran.result.detail == "It filled its workspace with more than 48 MiB."
        small = await shell_in(
            workspace, "chmod -f 700 bigger; rm -rf big* .git/big; head -c 20M /dev/zero > big; sleep 0.4; echo ok"
        )
        assert (small.result.ending, small.output) == (CommandEnding.EXITED, "ok\n")
    control = filler.replace(".git/", "").replace("300M", "60M").replace("40M", "10M")
    outside(control)
    (yard.repo / "bigger").exists() and (yard.repo / "bigger").chmod(0o700)
    assert sum(file.stat().st_size for file in yard.repo.rglob("*") if file.is_file()) >= 60 * MIB


NAMELESS = script("""
import os, time
for n in range(8):
    number = os.open(".", os.O_TMPFILE | os.O_RDWR)
    os.write(number, b"x" * (15 << 20))
    time.sleep(0.05)
print(sum(os.stat(f"/proc/self/fd/{n}").st_blocks * 512 for n in range(3, 11)) >> 20, flush=True)
time.sleep(%d)
""")


@pytest.mark.attack(16)
async def test_files_without_a_name_count_as_well(yard: Any, shell_in: Any, outside: Callable[..., str]) -> None:
    async with yard.hands(SandboxGrant(limits=CommandLimits(disk_bytes=48 * MIB))) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        ran = await shell_in(workspace, NAMELESS % 20)
        assert ran.result.ending == CommandEnding.LIMIT
        assert ran.result.detail == "It filled its workspace with more than 48 MiB."
    assert int(outside(NAMELESS % 0)) >= 120


HOLD_ON_DISK = script("""
import mmap, os, socket, sys, time
kept, way = [], sys.argv[1]
for n in range(10):
    with open("held%d" % n, "w+b") as file:
        file.write(b"x" * (12 << 20))
        os.unlink(file.name)
        if way == "descriptor":
            kept.append(os.dup(file.fileno()))
        if way == "mapping":
            kept.append(mmap.mmap(file.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ))
        if way == "socket":
            kept.append(socket.socketpair())
            socket.send_fds(kept[-1][0], [b"x"], [file.fileno()])
    if way == "mapping":
        os.closerange(3, 64)  # Python keeps a descriptor for itself
    time.sleep(0.05)
print("HELD ALL", flush=True)
time.sleep(float(sys.argv[2]))
""")

RUN_FROM_DISK = """
for n in 1 2 3 4 5 6 7 8 9 10; do
    cp "$(command -v sleep)" held; head -c 12M /dev/zero >> held; ./held SECONDS & sleep 0.05; rm held
done; echo HELD ALL; sleep SECONDS
"""
WAYS_TO_HOLD = {
    **{f"a {way}": f"{HOLD_ON_DISK} {way} SECONDS" for way in ("descriptor", "mapping", "socket")},
    "a program": RUN_FROM_DISK,
}


@pytest.mark.attack(61)
@pytest.mark.parametrize("way", WAYS_TO_HOLD.values(), ids=WAYS_TO_HOLD)
async def test_files_without_a_name_fill_no_disk_however_they_are_held(
    yard: Any, shell_in: Any, outside: Callable[..., str], way: str
) -> None:
    """A page of a file that was mapped keeps all of it, and so does a descriptor that nobody has received yet."""
    async with yard.hands(SandboxGrant(limits=CommandLimits(disk_bytes=48 * MIB))) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        ran = await shell_in(workspace, way.replace("SECONDS", "30"))
        assert (ran.result.ending, ran.result.detail) == (
            CommandEnding.LIMIT,
            "It filled its workspace with more than 48 MiB.",
        )
    assert "HELD ALL" in outside(way.replace("SECONDS", "0"))


MAP_HONESTLY = script("""
import mmap, os, socket, time
kept = []
with open("big", "w+b") as file:
    file.write(b"x" * (40 << 20))
    file.flush()
    kept += [mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ) for _ in range(20)]
    kept += [os.dup(file.fileno()) for _ in range(20)]
with open("replaced", "w+b") as file:
    file.write(b"x" * (4 << 20))
    file.flush()
    kept.append(mmap.mmap(file.fileno(), 0, mmap.MAP_PRIVATE, mmap.PROT_READ))
os.unlink("replaced")
print(sum(one.find(b"y") + len(one) + 1 for one in kept if not isinstance(one, int)) >> 20, flush=True)
time.sleep(1)
""")


async def test_files_that_are_mapped_or_open_many_times_count_once(yard: Any, shell_in: Any) -> None:
    """Twenty times 40 MiB of a file under a limit of 80, all of it also read, under 64 MiB of memory."""
    limits = CommandLimits(disk_bytes=80 * MIB, memory_bytes=64 * MIB)
    async with yard.hands(SandboxGrant(limits=limits)) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        ran = await shell_in(workspace, MAP_HONESTLY)
        assert (ran.result.ending, ran.output) == (CommandEnding.EXITED, "804\n"), ran.result.detail


@pytest.mark.attack(16)
@pytest.mark.parametrize("place", [".", "/tmp"])
async def test_a_workspace_and_tmp_cannot_hold_files_without_number(
    yard: Any, shell_in: Any, outside: Callable[..., str], place: str
) -> None:
    attack = script('import os\nfor n in range(%d): os.close(os.open(f"%s/{n}", os.O_CREAT))')
    async with yard.hands(SandboxGrant(limits=CommandLimits(files=2_000))) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        ran = await shell_in(workspace, f"{attack % (6_000, place)}; sleep 20")
        assert ran.result.ending == CommandEnding.LIMIT
        assert "more than 2,000 files" in ran.result.detail
    outside(attack % (2_100, "."))
    assert len(list(yard.repo.iterdir())) > 2_100


@pytest.mark.usefixtures("_groups")
async def test_cpu_time_is_limited_for_a_command_with_all_its_processes(yard: Any, shell_in: Any) -> None:
    """Short-lived processes that spend little each, one after the other."""
    attack = "while :; do sh -c 'i=0; while [ $i -lt 9000 ]; do i=$((i+1)); done'; done"
    async with yard.hands(SandboxGrant(limits=CommandLimits(cpu_s=1))) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        ran = await shell_in(workspace, attack, timeout_s=50)
        assert (ran.result.ending, ran.result.detail) == (CommandEnding.LIMIT, "It used more than 1 s of CPU time.")
        assert ran.result.seconds >= 1 / len(os.sched_getaffinity(0))
        assert (await shell_in(workspace, "sleep 1.2; echo fine")).output == "fine\n"


BURN = script("""
import mmap, os, signal, struct, sys, time
each, most = map(float, sys.argv[1:])
with open("burnt", "w+b") as file:
    file.write(bytes(8))
    file.flush()
    burnt = mmap.mmap(file.fileno(), 8)
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
before = sum(os.times()[2:4])
while struct.unpack("d", burnt[:])[0] < most:
    if os.fork() == 0:
        while time.process_time() < each:
            pass
        burnt[:] = struct.pack("d", struct.unpack("d", burnt[:])[0] + each)
        os._exit(0)
    try:
        os.wait()
    except ChildProcessError:
        pass  # the last one has ended, and nobody was told what it used
print("burnt all, of which are known", sum(os.times()[2:4]) - before, flush=True)
""")


@pytest.fixture(params=["as the host lets us", "counters of the kernel", "samples alone"])
def _clocks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The three ways in which CPU time can be counted."""
    if request.param != "as the host lets us":
        monkeypatch.setattr(cgroup, "find_usable_group_parent", lambda limits: None)
    if request.param == "samples alone":
        monkeypatch.setattr(cpu_time, "open_cpu_counters", lambda first: ())


@pytest.mark.attack(63)
@pytest.mark.usefixtures("_clocks")
@pytest.mark.parametrize("each", [0.02, 0.3])
async def test_cpu_time_of_children_that_nobody_waits_for_counts(
    yard: Any, shell_in: Any, outside: Callable[..., str], each: float
) -> None:
    async with yard.hands(SandboxGrant(limits=CommandLimits(cpu_s=1))) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        ran = await shell_in(workspace, f"{BURN} {each} 8")
        burnt = read_double(workspace.root / "burnt")
        assert (ran.result.ending, ran.result.detail) == (CommandEnding.LIMIT, "It used more than 1 s of CPU time."), (
            burnt
        )
        assert burnt <= 2
    assert outside(f"{BURN} {each} 0.5") == "burnt all, of which are known 0.0\n"


def read_double(file: Path) -> float:
    """The number that a program keeps in a file."""
    return float(struct.unpack("d", file.read_bytes())[0])


@pytest.mark.usefixtures("_clocks")
async def test_many_short_programs_below_the_limit_of_cpu_time_run_to_their_end(yard: Any, shell_in: Any) -> None:
    """As a build has them: two at a time, each with children of its own that are waited for."""
    work = "for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do (python3 -c 'import json' | cat); done"
    async with yard.hands(SandboxGrant(limits=CommandLimits(cpu_s=6))) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        ran = await shell_in(workspace, f"({work}) & ({work}) & wait; times")
        assert ran.result.ending == CommandEnding.EXITED, ran.result.detail


FLOODS = {
    "yes forever": "yes",
    "one line of 100 MB": "head -c 100000000 /dev/zero | tr '\\0' x",
    "nothing but NULs": "cat /dev/zero",
    "invalid UTF-8": "tr '\\0' '\\377' < /dev/zero",
}


@pytest.mark.attack(17)
@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
async def test_a_flood_of_output_is_cut_and_shown_as_its_ends(
    workspace: LocalWorkspace, outside: Callable[..., str], flood: str
) -> None:
    most = 8 * MIB
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ran = await run_command(workspace, ShellCommand(line=f"{flood}; sleep 20", timeout_s=30, output_bytes=most))
    shown = read_log_ends(ran.log)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert (ran.ending, ran.log.stat().st_size) == (CommandEnding.OUTPUT_LIMIT, most)
    assert 1_000 < len(shown) < 40_000
    shown.encode()
    assert (after - before) * 1024 < 24 * MIB
    assert outside(f"({flood}) | head -c {most + MIB} | wc -c").split()[-1] == str(most + MIB)


TYPE = """
import ctypes, errno, os, pty, sys
pid, master = pty.fork()
if pid == 0:
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        for command in (0x5412, 0x1_0000_5412):
            done = libc.ioctl(0, ctypes.c_ulong(command), b"x")
            print("typed" if done == 0 else errno.errorcode[ctypes.get_errno()])
    finally:
        sys.stdout.flush()
        os._exit(0)
try:
    while told := os.read(master, 1000):
        print(told.decode(), end="")
except OSError as error:
    assert error.errno == errno.EIO  # the end, as a terminal tells it
os.waitpid(pid, 0)
"""


@pytest.mark.attack(10)
async def test_nothing_is_typed_into_a_terminal(shell: Any, outside: Callable[..., str]) -> None:
    """Even into one of its own, which a command may open; neither with bits that the kernel ignores in the request."""
    assert (await shell(script(TYPE))).output.split() == ["EPERM", "EPERM"]
    assert "EPERM" not in outside(script(TYPE))  # the kernel may have switched typing off by itself, as EIO


CALLS = """
import ctypes, errno, platform, socket
libc = ctypes.CDLL(None, use_errno=True)
arm = platform.machine() == "aarch64"
def call(name, x86, generic, *arguments):
    words = [ctypes.c_long(one) for one in (generic if arm else x86, *arguments)]
    ctypes.set_errno(0)
    done = libc.syscall(*words)
    print(name, "done" if done >= 0 else errno.errorcode[ctypes.get_errno()])
call("keyctl", 250, 219, 0, -3, 1)
call("perf_event_open", 298, 241, 0, 0, 0, 0, -1)
call("userfaultfd", 323, 282, -1)
call("io_uring_setup", 425, 425, 0, 0)
call("clone3", 435, 435, 0, 0)
call("setns", 308, 268, -1, 0)
call("kexec_load", 246, 104, 0, 0, 0, -1)
call("unshare", 272, 97, 0x10000000 | 0x1)
for name, family, kind in (("packet", 17, 3), ("vsock", 40, 1), ("unix", 1, 1), ("inet6", 10, 1), ("netlink", 16, 3)):
    call(name, 41, 198, family, kind, 0)
for family in range(60):
    call(f"family {family}", 41, 198, family, 99, 0)
"""

SERVED = {0, 1, 2, 10, 16}
"""The families of sockets that a network namespace holds: unspecified, Unix, IPv4, IPv6 and netlink."""

REFUSED = {
    **dict.fromkeys(("keyctl", "perf_event_open", "userfaultfd", "setns", "kexec_load", "unshare"), "EPERM"),
    **dict.fromkeys(("io_uring_setup", "clone3"), "ENOSYS"),
    **dict.fromkeys(("packet", "vsock"), "EAFNOSUPPORT"),
    **dict.fromkeys(("unix", "inet6", "netlink"), "done"),
}
NEEDS_A_FILTER = pytest.mark.skipif(
    platform.machine() not in ARCHITECTURES, reason="the numbers of this machine's system calls are not known to us"
)
NEED_ROOT = {"perf_event_open", "kexec_load", "keyctl", "userfaultfd", "unshare", "packet"}
"""Calls that the kernel itself, or a container, may refuse a normal user in the same words."""


def answers(output: str) -> dict[str, str]:
    """What each call was answered, by its name."""
    return {name: answer for name, _, answer in (line.rpartition(" ") for line in output.splitlines())}


@NEEDS_A_FILTER
@pytest.mark.attack(64)
@pytest.mark.conformance
async def test_calls_that_reach_past_the_walls_are_refused(shell: Any, outside: Callable[..., str]) -> None:
    """Above all vsock: it reaches the host of a virtual machine, and no network namespace holds it back.

    A kind of socket that no family knows shows which families the filter lets through to the kernel at all.
    """
    told = answers((await shell(script(CALLS))).output)
    families = {int(name.split()[1]): told.pop(name) for name in list(told) if name.startswith("family")}
    assert told == REFUSED
    assert {family for family, answer in families.items() if answer != "EAFNOSUPPORT"} <= SERVED
    without = answers(outside(script(CALLS)))
    compared = REFUSED.keys() - {"unix", "inet6", "netlink"} - (NEED_ROOT if os.geteuid() else set())
    same = {name for name in compared if without[name] == REFUSED[name]}
    assert same <= {"vsock", "io_uring_setup"}  # as on a host whose kernel was built without them


FOREIGN = """
import ctypes, mmap, os
code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
code.write(bytes.fromhex("b814000000cd80c3"))  # getpid, as a program of 32 bits asks for it
function = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))
print("pid" if function() == os.getpid() else "refused")
"""


@pytest.mark.attack(64)
@pytest.mark.conformance
@pytest.mark.skipif(platform.machine() != "x86_64", reason="only this machine also speaks to 32-bit programs here")
async def test_calls_in_the_manner_of_another_machine_are_refused(shell: Any, outside: Callable[..., str]) -> None:
    if "pid" not in outside(script(FOREIGN)):
        pytest.skip("this kernel serves no 32-bit programs, so there is nothing to be refused")
    ran = await shell(script(FOREIGN))
    assert ran.output == "refused\n" or (ran.output, ran.exit_code) == ("", 128 + signal.SIGSYS)


TOOLS = {
    "python3": "import subprocess, threading, concurrent.futures as f, multiprocessing as m, socket\n"
    "t = threading.Thread(target=print, args=(1,)); t.start(); t.join()\n"
    "p = m.Process(target=print, args=(2,)); p.start(); p.join()\n"
    "print(subprocess.check_output(['echo', '3'], text=True), socket.socketpair())\n"
    "with f.ProcessPoolExecutor(1) as pool: print(pool.submit(int, '4').result())\n",
    "node": "const { Worker } = require('worker_threads');\n"
    'new Worker(\'require("fs").readFile("README.md", e => { if (e) throw e })\', { eval: true });\n'
    "require('child_process').execSync('true'); require('http').createServer().listen(0, function () { this.close() })",
    "gcc": "#include <pthread.h>\n#include <unistd.h>\nvoid *f(void *x) { return x; }\n"
    "int main(void) { pthread_t t; if (fork() == 0) return 0; return pthread_create(&t, 0, f, 0); }\n",
    "make": "all:\n\t@(echo 1) & (echo 2); wait\n",
}
RUN = {
    "python3": "python3 source",
    "node": "node source",
    "gcc": "gcc -pthread -x c source -o built && ./built",
    "make": "make -j2 -f source",
}


@pytest.mark.parametrize("tool", TOOLS)
async def test_common_tools_do_not_notice_the_filter(shell: Any, workspace: LocalWorkspace, tool: str) -> None:
    if not shutil.which(tool, path="/usr/bin:/bin"):
        pytest.skip(f"{tool} is not installed")
    (workspace.root / "source").write_text(TOOLS[tool])
    ran = await shell(RUN[tool])
    assert ran.exit_code == 0, ran.output
