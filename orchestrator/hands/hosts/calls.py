"""The requests to one workspace on a host, each with its reply."""

from typing import ClassVar, Generic, TypeVar

from pydantic import Field

from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.hands.hosts.messages import Content, DoneReply, HostReply, HostRequest
from orchestrator.ports.hands import CommandResult, OutputEnd, ShellCommand

R = TypeVar("R", bound=HostReply)


class WorkspaceRequest(HostRequest[R], Generic[R]):
    """A request to one workspace."""

    workspace: str


class PolicyHash(HostReply):
    """The hash of a policy."""

    hash: str


class GetPolicyHash(WorkspaceRequest[PolicyHash], call="get-policy-hash", reply=PolicyHash):
    """Say which policy commands of a tier run under."""

    tier: Tier


class StartCommand(WorkspaceRequest[DoneReply], call="start-command", reply=DoneReply):
    """Start a command; a program to speak with if it `has_pipes`."""

    call_id: str
    command: ShellCommand
    has_pipes: bool = False


class FinishedCommand(HostReply):
    """The result of a command, None while it runs.

    `files` are what it handed back, and `log` its output where that fits into one message.
    """

    result: CommandResult | None = None
    files: dict[str, Content] = Field(default_factory=dict)
    log: Content | None = None


class WaitForResult(WorkspaceRequest[FinishedCommand], call="wait-for-result", reply=FinishedCommand):
    """Say how a command ended, or after a while that it still runs."""

    is_wait: ClassVar[bool] = True

    call_id: str
    timeout_s: float


class ContentReply(HostReply):
    """Bytes; none at the end."""

    content: Content


class ReadLog(WorkspaceRequest[ContentReply], call="read-log", reply=ContentReply):
    """Return a part of the output of a command that has ended."""

    call_id: str
    offset: int


class OutputEndReply(HostReply):
    """The last bytes that a command has printed."""

    content: Content
    is_cut: bool

    @classmethod
    def from_output_end(cls, end: OutputEnd) -> "OutputEndReply":
        """Return the reply that holds an end of output."""
        return cls(content=end.content, is_cut=end.is_cut)


class ReadOutput(WorkspaceRequest[OutputEndReply], call="read-output", reply=OutputEndReply):
    """Return the last bytes that a command has printed so far."""

    call_id: str
    limit_bytes: int


class KillCommand(WorkspaceRequest[DoneReply], call="kill-command", reply=DoneReply):
    """End a command and everything it started."""

    call_id: str


class InterruptCommands(WorkspaceRequest[DoneReply], call="interrupt-commands", reply=DoneReply):
    """End all commands but those in the background."""


class SendInput(WorkspaceRequest[DoneReply], call="send-input", reply=DoneReply):
    """Write to a program's standard input, or end it."""

    call_id: str
    content: Content = b""
    is_end: bool = False


class ReceivedOutput(HostReply):
    """The output of a program; None while there is nothing yet, no bytes at its end."""

    content: Content | None = None


class ReceiveOutput(WorkspaceRequest[ReceivedOutput], call="receive-output", reply=ReceivedOutput):
    """Return what a program has printed after its first `offset` bytes, or after a while that there is nothing.

    What was read before and did not arrive is returned again.
    """

    is_wait: ClassVar[bool] = True

    call_id: str
    offset: int
    limit: int
    timeout_s: float


class ReadFile(WorkspaceRequest[ContentReply], call="read-file", reply=ContentReply):
    """Return a file's content."""

    path: str
    limit_bytes: int


class WriteFile(WorkspaceRequest[DoneReply], call="write-file", reply=DoneReply):
    """Replace or create a file."""

    path: str
    content: Content


class Lines(HostReply):
    """Paths, or lines that were found."""

    lines: tuple[str, ...]


class ListPaths(WorkspaceRequest[Lines], call="list-paths", reply=Lines):
    """Return the files that fit a glob."""

    glob: str


class ListPathsBeside(WorkspaceRequest[Lines], call="list-paths-beside", reply=Lines):
    """Return the first paths that belong to no file of a tree."""

    tree: TreeId
    limit: int


class SearchText(WorkspaceRequest[Lines], call="search-text", reply=Lines):
    """Return the first lines that match."""

    pattern: str
    glob: str
    limit: int


class TakenSnapshot(HostReply):
    """A snapshot; `pack` holds its new objects, or `size_bytes` says how large a pack there is to fetch."""

    commit: CommitId
    tree: TreeId
    dropped: tuple[str, ...] = ()
    flagged: tuple[str, ...] = ()
    pack: Content | None = None
    size_bytes: int = 0


class TakeSnapshot(WorkspaceRequest[TakenSnapshot], call="take-snapshot", reply=TakenSnapshot):
    """Commit the content on top of `parent`; objects that the brain has are not packed."""

    message: str
    parent: CommitId | None
    is_followed: bool = False


class ReadPack(WorkspaceRequest[ContentReply], call="read-pack", reply=ContentReply):
    """Return a part of the pack of the last snapshot."""

    offset: int


class UnchangedTree(HostReply):
    """The tree of the last snapshot, if nothing was written since."""

    tree: TreeId | None


class GetUnchangedTree(WorkspaceRequest[UnchangedTree], call="get-unchanged-tree", reply=UnchangedTree):
    """Say whether nothing was written since the last snapshot."""


class RestoreTree(WorkspaceRequest[DoneReply], call="restore-tree", reply=DoneReply):
    """Make the content equal to a tree."""

    tree: TreeId
    keeps_ignored: bool


class CloseWorkspace(WorkspaceRequest[DoneReply], call="close-workspace", reply=DoneReply):
    """Kill what still runs, and give the checkout back."""
