"""What a user grants one program, as its sandbox is built: mounts, files, variables and hosts."""

import os
import shlex
import shutil
from pathlib import Path, PurePosixPath

from orchestrator.domain.sandbox.world import World
from orchestrator.errors import EnvironmentProblem
from orchestrator.hands.policy import Registries
from orchestrator.hands.sandbox.backend import HostPaths, Mount, build_read_only_mount, is_system_folder
from orchestrator.ports.hands import ShellCommand
from orchestrator.ports.processes import HostGrant, LentFile, ProgramGrant

_MAX_FILE_BYTES = 16 * 1024 * 1024
_COPIES = ".lent"


def build_granted_registries(grant: HostGrant) -> Registries:
    """Return what a program reaches at tier 2: its hosts, and nothing that pip or npm are configured for."""
    return Registries(hosts=grant.hosts, private=grant.private, plain=grant.plain, budget_bytes=grant.budget_bytes)


def check_grant(grant: ProgramGrant, host_paths: HostPaths) -> None:
    """Refuse a grant that cannot be given on this host.

    Raises:
        EnvironmentProblem: a directory or file is missing, or may not be shown to any program.
    """
    for name in grant.read_only:
        folder = Path(name)
        if not folder.exists():
            raise EnvironmentProblem(f"{folder} is to be shown to a program, and does not exist: mend its read_only")
        objection = host_paths.find_bind_objection(folder)
        if objection and not is_system_folder(folder):
            raise EnvironmentProblem(f"{folder} may not be shown to a program: {objection}")
    for file in grant.files:
        if not Path(file.source).is_file():
            raise EnvironmentProblem(
                f"the file {file.source} is to be lent to a program, and there is none: log in with that program "
                "first, or take it out of its files"
            )


def build_grant_mounts(grant: ProgramGrant, exchange: Path, home: str, owner: int | None) -> tuple[Mount, ...]:
    """Return the mounts of a grant: its directories, and copies of its files in a command's exchange folder. Blocks.

    `home` is the program's home inside, `owner` the user that commands run as, who may not be able to read the
    originals.

    Raises:
        OSError: a file cannot be read or is too large.
    """
    mounts = []
    for folder in grant.read_only:
        if not is_system_folder(Path(folder)):
            mounts.append(build_read_only_mount(folder))
    for number, file in enumerate(grant.files):
        copy = exchange / f"{_COPIES}-{number}"
        if Path(file.source).stat().st_size > _MAX_FILE_BYTES:
            raise OSError(f"{file.source} is larger than {_MAX_FILE_BYTES // 1024**2} MiB")
        shutil.copyfile(file.source, copy)
        copy.chmod(0o600)
        if owner is not None:
            os.chown(copy, owner, owner)
        if not file.is_writable:
            mounts.append(build_read_only_mount(copy, PurePosixPath(home) / file.place))
    return tuple(mounts)


def prepare_granted_command(command: ShellCommand, world: World | None) -> ShellCommand:
    """Return the command with what its grant makes of its line: copies of files in its home, its places on PATH.

    Without a `world` it runs in the user's own home, where all its files are.
    """
    grant = command.grant
    if grant is None:
        return command
    lines = []
    for number, file in enumerate(grant.files):
        if file.is_writable and world is not None:
            lines.append(_format_copy_line(file, f"{world.exchange}/{_COPIES}-{number}"))
    folders: list[str] = []
    for folder in grant.read_only:
        folders += [f"{folder}/bin", folder]
    if folders:
        lines.append(f'export PATH="$PATH:"{shlex.quote(":".join(folders))}')
    return command.model_copy(update={"line": "\n".join((*lines, command.line))})


def _format_copy_line(file: LentFile, source: str) -> str:
    place = PurePosixPath(file.place)
    target, parent = shlex.quote(str(place)), shlex.quote(str(place.parent))
    return f'mkdir -p "$HOME"/{parent} && mv {shlex.quote(source)} "$HOME"/{target} || exit 126'
