"""Changes as folders: what a worker writes over a project, what it removes; files of any kind, links, modes."""

import base64
import shlex
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from orchestrator.domain.chat import ToolCall
from orchestrator.llm.scripted_model.script import ScriptedReply
from tests.loopback.builders import call, reply
from tests.running.projects import git
from tests.running.scripts import worker_ends


def plays(task: str, change: Path, deletes: Sequence[str]) -> list[ScriptedReply]:
    """A worker makes the change in one turn and reports."""
    made = [one for path in files_of(change) for one in _calls(change / path, path)]
    gone = [call("shell", command=f"rm {shlex.quote(path)}") for path in deletes]
    return [reply(role="worker", task=task, call=[*gone, *made]), worker_ends(task)]


def files_of(change: Path) -> list[str]:
    """Every file and link of a folder, in order; none if there is no folder."""
    found = (path for path in change.rglob("*") if path.is_symlink() or path.is_file())
    return sorted(str(path.relative_to(change)) for path in found)


def lay_over(change: Path, project: Path, deletes: Sequence[str]) -> None:
    """Make the change without a worker."""
    for path in deletes:
        (project / path).unlink()
    for path in files_of(change):
        source, target = change / path, project / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        if source.is_symlink():
            target.symlink_to(source.readlink())
        else:
            target.write_bytes(source.read_bytes())
            target.chmod(source.stat().st_mode)


def _calls(source: Path, path: str) -> Iterator[ToolCall]:
    """The tools that make a file what it is in the folder."""
    quoted = shlex.quote(path)
    if source.is_symlink():
        yield call("shell", command=f"ln -sfn {shlex.quote(str(source.readlink()))} {quoted}")
        return
    content = source.read_bytes()
    try:
        yield call("write", path=path, text=content.decode())
    except UnicodeDecodeError:
        yield call("shell", command=f"echo {base64.b64encode(content).decode()} | base64 -d >{quoted}")
    if source.stat().st_mode & 0o100:
        yield call("shell", command=f"chmod +x {quoted}")


def project_of(base: Path, project: Path) -> Path:
    """A repository at `project` whose only commit is the folder `base`."""
    shutil.copytree(base, project, symlinks=True)
    git(project, "init", "-q", "-b", "main")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "base")
    return project
