"""The one place where git is started: explicit directories, an environment built from nothing, a bounded life."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from anyio import sleep, to_thread

from worktrees.errors import GitError, LockedRepository
from worktrees.git_process import GitOutput, GitProcess
from worktrees.locks.lock_holders import find_locking_processes, find_repository_directories
from worktrees.ref_store.remote_view import LIST_SETTINGS, create_remote_view, list_ignored_keys, parse_settings
from worktrees.safety.git_environment import Setting, build_git_environment, build_user_environment

_IN_PLACE = frozenset({"grep", "hash-object", "cat-file", "check-attr"})
"""They search or look for attributes where they stand; with GIT_DIR given that is all they do there."""
_LONG = frozenset({"read-tree", "checkout-index", "update-index", "grep"})
_GREEDY = frozenset({"ls-files", "grep"})
"""They take as much memory as they are told to: for ignore files of any size a worker may have left, for patterns whose
repetitions are repeated."""
_MOST_BYTES = 1024**3
_WITHOUT_PROGRAMS = frozenset({"diff", "diff-tree", "diff-index", "diff-files", "log", "show", "format-patch", "blame"})
_PAUSES_S = (0.02, 0.05, 0.15, 0.4)
MIN_GIT_VERSION = (2, 38)
"""The oldest git that merges trees without a worktree (`merge-tree --write-tree`)."""
_LOCKED_S = 5.0
"""So long a command is tried again whose lock somebody holds; git itself waits as long for some locks."""
_LOCKED = re.compile(rb"'([^'\n]+\.lock)': File exists")
_INTERRUPTED = (-signal.SIGINT, -signal.SIGTERM, -signal.SIGHUP)
"""What is meant for us, as Ctrl-C is, also reaches a git that has no session of its own yet: it is started again."""


@dataclass(frozen=True)
class Git:
    """Git bound to one repository. It never looks for a repository, and runs no hook, filter or driver.

    `git_dir` and the other paths are absolute. Without `work_tree` only objects and refs can be worked on. `overrides`
    are settings that switch off the drivers the repository's own configuration names. `inherit` are file descriptors
    the process gets: a lock held through one of them is held until git has ended, whatever became of us.
    `is_user` gives it the user's own configuration and credentials, see `for_remotes`; `global_config` is the file that
    holds that configuration, where it is not the user's own.
    """

    git_dir: Path
    work_tree: Path | None = None
    index: Path | None = None
    overrides: tuple[Setting, ...] = ()
    inherit: tuple[int, ...] = ()
    is_user: bool = False
    global_config: Path | None = None

    def build_remote_git(self) -> "Git":
        """Return git for talking to a remote as the user, and for nothing else: objects and refs only.

        Each of its commands runs in a directory of its own with the repository's objects, refs and addresses of
        remotes, and with none of its other settings: see `remote_view`.
        """
        return Git(self.git_dir, overrides=self.overrides, is_user=True)

    def with_paths(self, work_tree: Path | None = None, index: Path | None = None) -> "Git":
        """Return the same git with another work tree or index."""
        return replace(self, work_tree=work_tree or self.work_tree, index=index or self.index)

    async def run(
        self,
        *args: str,
        stdin: bytes | None = None,
        ok: Collection[int] = (0,),
        env: Mapping[str, str] | None = None,
        limit_bytes: int | None = None,
    ) -> GitOutput:
        """Run one command to its end; it is killed if the caller is cancelled.

        Args:
            args: the verb, such as `rev-parse`, and what follows it.
            stdin: its standard input, empty by default.
            ok: the exit codes that are no error.
            env: variables that replace those of the guarded environment.
            limit_bytes: end the command once it has written so much; what it wrote until then is returned.

        Raises:
            GitError: any other exit code. Locks held by another git process are waited for a little while.
        """
        if self.is_user and self.global_config is None:
            return await self._run_in_view(args, stdin, ok, env, limit_bytes)
        variables, until = {**self._build_environment(), **(env or {})}, monotonic() + _LOCKED_S
        directory = self._choose_directory(args[0])
        process = GitProcess(self._build_command(args), directory, variables, self.inherit, self.work_tree)
        for pause_s in (*_PAUSES_S, None):
            try:
                output, errors = await process.run(stdin, limit_bytes)
            except OSError as error:
                raise self._build_start_error(args, error) from error
            if output.exit_code in ok or output.is_cut:
                return output
            is_late = monotonic() > until
            if pause_s is None or is_late or not (_is_locked(errors) or output.exit_code in _INTERRUPTED):
                break
            await sleep(pause_s)
        raise await to_thread.run_sync(self._build_failure, args, output.exit_code, errors)

    async def _run_in_view(
        self,
        args: Sequence[str],
        stdin: bytes | None,
        ok: Collection[int],
        env: Mapping[str, str] | None,
        limit_bytes: int | None,
    ) -> GitOutput:
        """Run one command as the user, where no setting of the repository's own can name a program or a detour."""
        with TemporaryDirectory(prefix="orchestrate-remote-") as name:
            listed = parse_settings((await to_thread.run_sync(self.run_sync, *LIST_SETTINGS)).stdout)
            place = Path(name)
            settings = await to_thread.run_sync(create_remote_view, self.git_dir, place, listed)
            view = replace(self, git_dir=place, overrides=(), global_config=settings)
            try:
                return await view.run(*args, stdin=stdin, ok=ok, env=env, limit_bytes=limit_bytes)
            except GitError as error:
                if keys := list_ignored_keys(listed):
                    raise _name_ignored_settings(error, keys) from error
                raise

    async def run_text(
        self,
        *args: str,
        stdin: bytes | None = None,
        ok: Collection[int] = (0,),
        env: Mapping[str, str] | None = None,
    ) -> str:
        """Run a command like `run`, and return its standard output as text without its last newline."""
        return (await self.run(*args, stdin=stdin, ok=ok, env=env)).text

    def _build_start_error(self, args: Sequence[str], error: OSError) -> GitError:
        return GitError(f"git {args[0]} could not be started in {self._choose_directory(args[0])}: {error}", args)

    def _choose_directory(self, verb: str) -> Path:
        """Return where git stands. Inside a work tree it would take paths as relative to that place."""
        if self.work_tree is None:
            return self.git_dir
        if verb in _IN_PLACE:
            return self.work_tree
        return Path("/")

    def run_sync(self, *args: str, ok: Collection[int] = (0,)) -> GitOutput:
        """Run a command like `run`, blocking, for code that runs before an event loop does."""
        try:
            done = subprocess.run(
                self._build_command(args),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                cwd=self._choose_directory(args[0]),
                env=self._build_environment(),
                pass_fds=self.inherit,
                check=False,
            )
        except OSError as error:
            raise self._build_start_error(args, error) from error
        if done.returncode not in ok:
            raise self._build_failure(args, done.returncode, done.stderr)
        return GitOutput(done.stdout, done.returncode)

    def _build_failure(self, args: Sequence[str], exit_code: int, errors: bytes) -> GitError:
        """Return the error for a command that failed. Blocks: who may hold a lock that was in its way is looked for."""
        stderr = errors.decode("utf-8", "replace")
        if (locked := _LOCKED.search(errors)) is None:
            return GitError.from_exit(args, exit_code, stderr)
        lock = self.git_dir / os.fsdecode(locked[1])
        holders = sorted(find_locking_processes(find_repository_directories(self.git_dir), {lock}))
        return LockedRepository.for_held_lock(lock, holders, args, exit_code, stderr)

    def _build_command(self, args: Sequence[str]) -> list[str]:
        verb, *rest = args
        if verb in _WITHOUT_PROGRAMS:
            rest = ["--no-ext-diff", "--no-textconv", *rest]
        bounds = _build_memory_prefix() if verb in _GREEDY else ()
        return [*(build_death_prefix() if verb in _LONG else ()), *bounds, find_git_program(), verb, *rest]

    def _build_environment(self) -> dict[str, str]:
        if self.is_user:
            return build_user_environment(os.environ, self.git_dir, self.overrides, self.global_config)
        search_path = f"{Path(find_git_program()).parent}{os.pathsep}{os.defpath}"
        return build_git_environment(search_path, self.git_dir, self.work_tree, self.index, self.overrides)


@cache
def find_git_program() -> str:
    """Return the git program's absolute path.

    Raises:
        GitError: there is none.
    """
    places = os.environ.get("PATH", os.defpath).split(os.pathsep)
    found = shutil.which("git", path=os.pathsep.join(filter(os.path.isabs, places)))
    if found is None:
        needed = ".".join(map(str, MIN_GIT_VERSION))
        raise GitError(f"git was not found on PATH: install git {needed} or newer")
    return found


def require_git_version() -> None:
    """Make sure that the installed git is new enough.

    Raises:
        GitError: there is none, or it is older than `MIN_GIT_VERSION`.
    """
    found = read_git_version()
    if found < MIN_GIT_VERSION:
        version, needed = (".".join(map(str, parts)) for parts in (found, MIN_GIT_VERSION))
        raise GitError(
            f"git {version} is too old: {needed} or newer is needed (merge-tree --write-tree). Install it with your "
            "system's package manager, and see which one PATH finds first"
        )


@cache
def read_git_version() -> tuple[int, ...]:
    """Return the installed git's version, such as (2, 39, 5).

    Raises:
        GitError: there is none.
    """
    said = Git(Path("/")).run_sync("version").text.split()
    return tuple(int(part) for part in said[2].split(".")[:3] if part.isdecimal())


def is_owner_accepted(root: Path) -> bool:
    """Ask git, with the user's own configuration, to find the repository of `root`, which it only does for its owner.

    Raises:
        GitError: git could not be started there.
    """
    try:
        done = subprocess.run(
            [find_git_program(), "rev-parse", "--git-dir"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=root,
            env=build_user_environment(os.environ, None, ()),
            check=False,
        )
    except OSError as error:
        raise GitError(f"git could not be started in {root}: {error}") from error
    return done.returncode == 0


@cache
def build_death_prefix() -> tuple[str, ...]:
    """Return a prefix that has the kernel kill the command when we die; empty where there is no such tool."""
    return _find_working_tool("setpriv", "--pdeathsig", "KILL", "--")


@cache
def _build_memory_prefix() -> tuple[str, ...]:
    """Return a prefix that bounds what the command may keep in memory, not counting files it only maps."""
    return _find_working_tool("prlimit", f"--data={_MOST_BYTES}", "--")


def _find_working_tool(name: str, *options: str) -> tuple[str, ...]:
    tool = shutil.which(name, path="/usr/bin:/bin:/usr/sbin:/sbin")
    prefix = (tool, *options) if tool else ()
    works = prefix and not subprocess.run([*prefix, "/bin/true"], capture_output=True, check=False).returncode
    if works:
        return prefix
    return ()


def _name_ignored_settings(error: GitError, keys: Sequence[str]) -> GitError:
    """Return the error of a command that did without some of the repository's own settings, naming them."""
    told = (
        f"{error} (the repository's own git settings {', '.join(keys)} are not used, because they would act as you: "
        "give what you need of them to your own configuration, git config --global …)"
    )
    return GitError(told, error.args_, error.exit_code, error.stderr)


def _is_locked(errors: bytes) -> bool:
    return _LOCKED.search(errors) is not None or b"/commondir: Success" in errors
