"""The hands, in which commands run and files are touched. Payloads are plain data, so workspaces may be remote.

A command is started under an id of the caller's choosing and asked for in short waits, so that the engine never
awaits a call that lasts minutes; starting the same id twice starts one command.
"""

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from pydantic import Field

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.policy.rules import HostRules
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.sandbox.network import NetworkDecision
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.domain.sandbox.world import World
from orchestrator.ports.processes import ProcessPipes, ProgramGrant

MAX_WAIT_S = 10.0


class ShellCommand(FrozenModel):
    """A command line for the shell of the sandbox.

    `cwd` is relative to the workspace. `timeout_s` is wall time. With `writable` false the workspace is mounted
    read-only. `files` names files that the command writes outside the workspace and the caller wants back:
    variable name → file name; the command finds each path in the environment variable. `stdin` is what it reads on
    its standard input. `tier` is how much it may reach. With `is_watched` its result names the files that it
    opened and wrote. One that an agent asked for (`is_agent`) lets the harness's own go first. `host_rules` are the
    policy's, for what it reaches at tier 2.

    `grant` is what the user grants this one program, whose tier then counts whatever other commands may reach. One
    that runs in the background (`is_background`) for a long time takes no place from commands; it should be not
    `writable`, or nothing else can run in the workspace meanwhile where commands are not root's.
    """

    line: str
    cwd: str = "."
    env: dict[str, str] = Field(default_factory=dict)
    timeout_s: float = 120.0
    output_bytes: int = 64 * 1024 * 1024
    writable: bool = True
    files: dict[str, str] = Field(default_factory=dict)
    stdin: str = ""
    tier: Tier = Tier.COMMANDS
    is_watched: bool = False
    is_agent: bool = False
    host_rules: HostRules | None = None
    grant: ProgramGrant | None = None
    is_background: bool = False


class MountPoint(FrozenModel):
    """A place in the sandbox, and what of the machine stands there."""

    path: str
    kind: str
    source: str


class PolicyExplanation(FrozenModel):
    """A policy for a person: in words, with the variables and places that a command sees, and the rules as hashed."""

    repository: str
    policy: str
    unsafe: bool
    in_words: dict[str, str]
    variables: dict[str, str]
    places: tuple[MountPoint, ...]
    rules: dict[str, Any]


class CommandEnding(StrEnum):
    """The reason that a command is no longer running."""

    EXITED = "exited"
    TIMED_OUT = "timed-out"
    OUTPUT_LIMIT = "output-limit"
    KILLED = "killed"
    LIMIT = "limit"
    NOT_STARTED = "not-started"


class CommandResult(FrozenModel):
    """The result of a command.

    `exit_code` is None unless it exited. `log` is a file on this machine that holds the whole output, standard output
    and error in the order written; `output_bytes` is its size. `files` maps each variable of `Command.files` to the
    content that was written, for those that were. `detail` says in words why it did not start, or what it used more of
    than it may. `network` is what it reached of the network, and what it was kept from, at a tier where something
    decides that. `stray_packets` counts packets that had no way out, as something inside tried to send them.
    `opened` and `written` are the files of the workspace that it opened, and those that it wrote, replaced or removed,
    relative to the workspace; None where it was not watched, or could not be.
    `world` is what it saw of the machine; None where it saw the machine itself.
    """

    ending: CommandEnding
    exit_code: int | None
    seconds: float
    log: Path
    output_bytes: int
    files: dict[str, bytes] = Field(default_factory=dict)
    detail: str = ""
    network: tuple[NetworkDecision, ...] = ()
    stray_packets: int = 0
    opened: tuple[str, ...] | None = None
    written: tuple[str, ...] | None = None
    world: World | None = None

    @property
    def is_success(self) -> bool:
        """Exited with 0."""
        return self.ending == CommandEnding.EXITED and self.exit_code == 0


class OutputEnd(FrozenModel):
    """The last bytes that a command has printed so far; `is_cut` where it printed more than these."""

    content: bytes
    is_cut: bool


class Snapshot(FrozenModel):
    """A workspace's content as a commit; `dropped` names what may not be committed and was left out, with reasons.

    `flagged` names what was taken although a reviewer should look at it: new files that run unasked, and such.
    """

    commit: CommitId
    tree: TreeId
    dropped: tuple[str, ...] = ()
    flagged: tuple[str, ...] = ()


class Workspace(Protocol):
    """A checkout of one commit with hands in it, on this machine or another. Paths are relative, with `/`.

    Any method raises `HostLost` where the machine that it stands on is lost; what was done there since the last
    snapshot is gone then.
    """

    @property
    def name(self) -> str:
        """Its name in the pool."""

    @property
    def host(self) -> str:
        """The host that it is on; empty for this machine."""

    @property
    def takes_turns(self) -> bool:
        """True if commands that write run one after the other here, so that one can never wait for another."""

    async def get_policy_hash(self, tier: Tier) -> str:
        """Return the hash of the policy that commands of a tier run under here."""

    async def start_command(self, call_id: str, command: ShellCommand) -> None:
        """Start a command; a no-op if `call_id` was started before.

        Raises:
            EnvironmentProblem: this host has no sandbox to run commands in.
            ToolRefused: it cannot be run as asked, or this host has nothing for its tier.
        """

    async def wait_for_result(self, call_id: str, timeout_s: float = MAX_WAIT_S) -> CommandResult | None:
        """Return the result, or None if the command still runs after `timeout_s` (at most 10) seconds."""

    async def read_output(self, call_id: str, limit_bytes: int) -> OutputEnd:
        """Return the last bytes that a started command has printed, while it runs or once it is over."""

    async def open_process(self, call_id: str, command: ShellCommand) -> ProcessPipes:
        """Start a program to speak with; its errors go into its log, its `stdin` is not used.

        It is a command in everything else: `wait_for_result` tells its end, `kill_command` and `close` bring it about,
        and it dies with everything it started when the engine does.

        Raises:
            EnvironmentProblem: this host has no sandbox to run it in, or its grant cannot be given.
            ToolRefused: it cannot be run as asked, or this host has nothing for its tier.
        """

    async def kill_command(self, call_id: str) -> None:
        """End the command and everything it started."""

    async def interrupt_commands(self) -> None:
        """End all commands that run in it, but those in the background.

        Whoever waits for one gets a result with what it printed.
        """

    async def read_file(self, path: str, limit_bytes: int = 1024 * 1024) -> bytes:
        """Return a regular file's content.

        Raises:
            ToolRefused: it does not exist, is no regular file, lies outside the workspace or is larger than the limit.
        """

    async def write_file(self, path: str, content: bytes) -> None:
        """Replace or create a regular file atomically, keeping an existing file's mode.

        Raises:
            ToolRefused: the path leaves the workspace, is protected, or is no regular file.
        """

    async def list_paths(self, glob: str = "**") -> tuple[str, ...]:
        """Return all files that would be in a snapshot and fit the glob, sorted."""

    async def list_paths_beside(self, tree: TreeId, limit: int) -> tuple[str, ...]:
        """Return the first paths that belong to no file of a tree, whether git ignores them or not.

        Directories are among them, and places where something is lent to commands. No link is followed.
        """

    async def search_text(self, pattern: str, glob: str, limit: int) -> tuple[str, ...]:
        """Return the first `limit` lines that match a POSIX extended regular expression, as `path:line:text`.

        Raises:
            ToolRefused: the pattern is no regular expression.
        """

    async def take_snapshot(
        self, message: str, ref: str, parent: CommitId | None = None, *, is_followed: bool = False
    ) -> Snapshot:
        """Commit the content on top of `parent` (default: the commit it was opened at) and point `ref` at it.

        One that `is_followed` by others while commands run makes it worth to watch what is written from here on.
        """

    async def get_unchanged_tree(self) -> TreeId | None:
        """Return the tree of the last snapshot if certainly nothing was written since; else None."""

    async def restore_tree(self, tree: TreeId, *, keeps_ignored: bool = True) -> None:
        """Make the content equal to `tree`; files that git ignores stay, or go as well."""

    async def close(self) -> None:
        """Kill what still runs and give the checkout back to the pool; on a lost host there is nothing to do."""


class Hands(Protocol):
    """Workspaces, on this machine or on several."""

    @property
    def refusal_reason(self) -> str | None:
        """The reason that commands are refused here, with how to mend it; None when they run."""

    @property
    def slots(self) -> int:
        """The number of commands that run at once, now; hosts come and go."""

    @property
    def environment_hash(self) -> str:
        """A hash of what decides a command's outcome besides the tree: policy, tool chains, variables."""

    @property
    def policy_summary(self) -> Mapping[str, str]:
        """The policy in words, for `doctor` and reports."""

    async def open_workspace(self, commit: CommitId, purpose: Purpose) -> Workspace:
        """Return a clean workspace at a commit.

        Raises:
            EnvironmentProblem: it could not be prepared; the user's own checkout is never used instead.
        """
