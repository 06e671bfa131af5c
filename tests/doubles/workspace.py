"""A workspace in memory: files, snapshots by content hash, no commands."""

import hashlib
import json
from fnmatch import fnmatch
from pathlib import Path

from orchestrator.domain.ids import CommitId, TreeId
from orchestrator.domain.tier import Tier
from orchestrator.errors import EnvironmentProblem, ToolRefused
from orchestrator.ports.hands import Command, CommandResult, Snapshot


class InMemoryWorkspace:
    """Files as a dict; `trees` remembers every snapshot, so that `restore` works."""

    name = "memory"
    root = Path("/nowhere")

    def __init__(self, files: dict[str, bytes] | None = None) -> None:
        self.files = dict(files or {})
        self.trees: dict[str, dict[str, bytes]] = {}
        self.snapshots: list[str] = []

    async def policy(self, tier: Tier) -> str:
        return ""

    async def start(self, call_id: str, command: Command) -> None:
        raise EnvironmentProblem("no commands in memory")

    async def wait(self, call_id: str, timeout_s: float = 10.0) -> CommandResult | None:
        raise EnvironmentProblem("no commands in memory")

    async def kill(self, call_id: str) -> None:
        raise EnvironmentProblem("no commands in memory")

    async def interrupt(self) -> None:
        pass

    async def read(self, path: str, limit_bytes: int = 1024 * 1024) -> bytes:
        if path not in self.files:
            raise ToolRefused(f"{path} does not exist")
        return self.files[path]

    async def write(self, path: str, content: bytes) -> None:
        self.files[path] = content

    async def paths(self, glob: str = "**") -> tuple[str, ...]:
        return tuple(sorted(path for path in self.files if glob == "**" or fnmatch(path, glob)))

    async def search(self, pattern: str, glob: str, limit: int) -> tuple[str, ...]:
        found = [
            f"{path}:{number}:{line}"
            for path in await self.paths(glob)
            for number, line in enumerate(self.files[path].decode().splitlines(), start=1)
            if pattern in line
        ]
        return tuple(found[:limit])

    async def snapshot(self, message: str, ref: str, parent: CommitId | None = None) -> Snapshot:
        content = json.dumps({path: text.hex() for path, text in sorted(self.files.items())})
        tree = hashlib.sha256(content.encode()).hexdigest()[:40]
        self.trees[tree] = dict(self.files)
        self.snapshots.append(tree)
        return Snapshot(commit=CommitId(tree), tree=TreeId(tree))

    async def restore(self, tree: TreeId) -> None:
        self.files = dict(self.trees[tree])

    async def close(self) -> None:
        pass
