"""Files that run as their owner or with its group: no command can make one, whatever call it takes."""

import os
import shlex
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.domain.purpose import Purpose
from orchestrator.hands.deps.store import DepsStore
from orchestrator.hands.policy import SandboxGrant
from orchestrator.hands.workspace import LocalWorkspace
from tests.running.users import run_as_another

pytestmark = pytest.mark.sandbox

SET_ID = stat.S_ISUID | stat.S_ISGID
WAYS = """
import ctypes, os, platform
libc = ctypes.CDLL(None, use_errno=True)
call = libc.syscall
numbers = {"x86_64": (90, 91, 268, 2, 85, 257, 133, 259), "aarch64": (0, 52, 53, 0, 0, 56, 0, 33)}[platform.machine()]
chmod, fchmod, fchmodat, open_, creat, openat, mknod, mknodat = numbers
at, new = -100, os.O_CREAT | os.O_WRONLY
for kind, bits in (("u", 0o4755), ("g", 0o2755), ("ug", 0o6755)):
    def plain(name):
        name = f"{kind}-{name}"
        return name.encode(), os.open(name, new, 0o755)
    os.umask(0)
    if chmod: call(chmod, plain("chmod")[0], bits)
    call(fchmod, plain("fchmod")[1], bits)
    call(fchmodat, at, plain("fchmodat")[0], bits)
    call(452, at, plain("fchmodat2")[0], bits, 0)
    if open_: call(open_, f"{kind}-open".encode(), new, bits)
    if creat: call(creat, f"{kind}-creat".encode(), bits)
    call(openat, at, f"{kind}-openat".encode(), new, bits)
    how = (ctypes.c_uint64 * 3)(new, bits, 0)
    call(437, at, f"{kind}-openat2".encode(), how, 24)
    if mknod: call(mknod, f"{kind}-mknod".encode(), 0o100000 | bits, 0)
    call(mknodat, at, f"{kind}-mknodat".encode(), 0o100000 | bits, 0)
    tmpfile = call(openat, at, b".", os.O_TMPFILE | os.O_RDWR, bits)
    if tmpfile >= 0: libc.linkat(at, f"/proc/self/fd/{tmpfile}".encode(), at, f"{kind}-tmpfile".encode(), 0x400)
print("DONE")
"""
ATTACK = (
    f"cp /bin/true evil; chmod 4755 evil; cp /bin/true evil2; chmod ug+s evil2; python3 -c {shlex.quote(WAYS)}; "
    "install -m 6755 /bin/true evil3; mkdir d; chmod 2755 d; echo END"
)


def set_id_files(root: Path) -> set[str]:
    places = (place for place in root.rglob("*") if not place.is_symlink())
    return {str(place.relative_to(root)) for place in places if place.lstat().st_mode & SET_ID}


@pytest.mark.conformance
@pytest.mark.attack(56)
async def test_no_call_makes_a_file_that_runs_as_its_owner_or_group(
    workspace: LocalWorkspace, shell: Any, outside: Any, tmp_path: Path
) -> None:
    ran = await shell(ATTACK)
    assert ran.output.splitlines()[-1] == "END"
    assert "DONE" in ran.output
    assert set_id_files(workspace.root) == set()

    free = tmp_path / "free"
    free.mkdir()
    outside(ATTACK, cwd=free)
    made = set_id_files(free)
    assert {"evil", "evil2", "evil3", "d"} <= made
    assert {
        f"{kind}-{call}" for kind in ("u", "g", "ug") for call in ("fchmod", "openat", "mknodat", "tmpfile")
    } <= made


@pytest.mark.conformance
@pytest.mark.attack(56)
async def test_what_honest_tools_do_with_modes_goes_on(workspace: LocalWorkspace, shell: Any) -> None:
    line = (
        "umask 022; cp /bin/true a; chmod 700 a; chmod 1777 . && chmod 755 .; install -m 755 a b; tar cf t.tar a b; "
        "mkdir out; tar xpf t.tar -C out; cp -a out again; git init -q inner; "
        "python3 -c \"import os, tempfile; os.close(os.open('d', os.O_CREAT | os.O_RDWR, 0o640)); "
        "os.open('d', os.O_RDONLY, 0o6777); tempfile.TemporaryFile(dir='.').write(b'x')\" && echo GOOD"
    )
    ran = await shell(f"set -e; {line}")
    assert ran.output == "GOOD\n"
    modes = {name: stat.S_IMODE((workspace.root / name).stat().st_mode) for name in ("a", "b", "again/a", "d")}
    assert modes == {"a": 0o700, "b": 0o755, "again/a": 0o700, "d": 0o640}


@pytest.fixture
def other_user() -> Callable[..., str]:
    """Runs a command as somebody who is neither root nor whom commands run as; gives its output."""
    if os.geteuid() != 0:
        pytest.skip("about starting as root")
    return run_as_another


@pytest.mark.attack(56)
async def test_without_a_sandbox_nobody_else_reaches_what_a_command_has_made(
    yard: Any, shell_in: Any, other_user: Callable[..., str], tmp_path: Path
) -> None:
    for parent in (tmp_path, *tmp_path.parents):
        if not parent.stat().st_mode & 0o001:
            parent.chmod(parent.stat().st_mode | 0o055)
    async with yard.hands(SandboxGrant(without_sandbox=True)) as hands:
        workspace = await hands.open_workspace(yard.git("rev-parse", "HEAD"), Purpose("test"))
        ran = await shell_in(workspace, "cp /usr/bin/id evil; chmod 4755 evil; ./evil -u")
        evil = workspace.root / "evil"
        assert (ran.output, bool(evil.stat().st_mode & stat.S_ISUID)) == ("65534\n", True)
        assert "uid=" not in other_user(str(evil))
        free = tmp_path / "evil"
        free.write_bytes(evil.read_bytes())
        os.chown(free, 65534, 65534)
        free.chmod(0o4755)
        assert "euid=65534" in other_user(str(free))


@pytest.mark.attack(56)
def test_what_was_installed_is_kept_without_such_bits(tmp_path: Path) -> None:
    made = tmp_path / "made"
    (made / ".venv" / "bin").mkdir(parents=True)
    tool = made / ".venv" / "bin" / "tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o6755)
    assert set_id_files(made) == {".venv/bin/tool"}
    store = DepsStore(tmp_path / "store")
    with store.hold_entry("key") as place:
        store.move_into_entry("key", made, [".venv"])
    assert set_id_files(place) == set()
    assert (place / ".venv" / "bin" / "tool").stat().st_mode & 0o777 == 0o755
