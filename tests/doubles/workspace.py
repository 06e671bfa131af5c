"""A workspace in memory: files, snapshots by content hash, no commands."""

import hashlib
import json
from fnmatch import fnmatch

from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.sandbox.tier import Tier
from orchestrator.errors import EnvironmentProblem, ToolRefused
from orchestrator.ports.hands import CommandResult, OutputEnd, ShellCommand, Snapshot
from orchestrator.ports.processes import ProcessPipes


class InMemoryWorkspace:
    """Files as a dict; `trees` remembers every snapshot, so that `restore` works."""

    name = "memory"
    host = ""
    takes_turns = False

    def __init__(self, files: dict[str, bytes] | None = None) -> None:
        self.files = dict(files or {})
        self.trees: dict[str, dict[str, bytes]] = {}
        self.snapshots: list[str] = []

    async def get_policy_hash(self, tier: Tier) -> str:
        return ""

    async def start_command(self, call_id: str, command: ShellCommand) -> None:
        raise EnvironmentProblem("no commands in memory")

    async def open_process(self, call_id: str, command: ShellCommand) -> ProcessPipes:
        raise EnvironmentProblem("no commands in memory")

    async def wait_for_result(self, call_id: str, timeout_s: float = 10.0) -> CommandResult | None:
        raise EnvironmentProblem("no commands in memory")

    async def read_output(self, call_id: str, limit_bytes: int) -> OutputEnd:
        raise EnvironmentProblem("no commands in memory")

    async def kill_command(self, call_id: str) -> None:
        raise EnvironmentProblem("no commands in memory")

    async def interrupt_commands(self) -> None:
        pass

    async def read_file(self, path: str, limit_bytes: int = 1024 * 1024) -> bytes:
        if path not in self.files:
            raise ToolRefused(f"{path} does not exist")
        return self.files[path]

    async def write_file(self, path: str, content: bytes) -> None:
        self.files[path] = content

    async def list_paths(self, glob: str = "**") -> tuple[str, ...]:
        return tuple(sorted(path for path in self.files if glob == "**" or fnmatch(path, glob)))

    async def list_paths_beside(self, tree: TreeId, limit: int) -> tuple[str, ...]:
        return tuple(sorted(self.files.keys() - self.trees.get(tree, {}).keys()))[:limit]

    async def search_text(self, pattern: str, glob: str, limit: int) -> tuple[str, ...]:
        found = [
            f"{path}:{number}:{line}"
            for path in await self.list_paths(glob)
            for number, line in enumerate(self.files[path].decode().splitlines(), start=1)
            if pattern in line
        ]
        return tuple(found[:limit])

    async def take_snapshot(
        self, message: str, ref: str, parent: CommitId | None = None, *, is_followed: bool = False
    ) -> Snapshot:
        content = json.dumps({path: text.hex() for path, text in sorted(self.files.items())})
        tree = hashlib.sha256(content.encode()).hexdigest()[:40]
        self.trees[tree] = dict(self.files)
        self.snapshots.append(tree)
        return Snapshot(commit=CommitId(tree), tree=TreeId(tree))

    async def get_unchanged_tree(self) -> TreeId | None:
        return None

    async def restore_tree(self, tree: TreeId) -> None:
        self.files = dict(self.trees[tree])

    async def close(self) -> None:
        pass
