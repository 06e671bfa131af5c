"""A forge in the repository itself: a pull request is a ref with its text and data, and a Markdown file to read.

`refs/orchestrate/prs/<number>` points at a commit whose tree holds `pr.json` and `PR.md`; its history is the history
of the pull request. It travels with the repository and needs no server.
"""

import json
from collections.abc import Sequence
from pathlib import Path

from anyio import to_thread

from orchestrator.domain.ids import CommitId
from orchestrator.domain.refs import (
    LOCAL_FORGE,
    PULL_REQUEST_PREFIX,
    build_pull_request_ref,
    format_merge_command,
    parse_pull_request_number,
)
from orchestrator.errors import PersonNeeded
from orchestrator.ports.forge import ForgeCheck, OpenedPullRequest, PullRequest
from worktrees.errors import RefMoved
from worktrees.git import Git
from worktrees.object_store.merge import commit_tree
from worktrees.object_store.tree_overlay import overlay_tree
from worktrees.object_store.trees import list_tree, read_blob, read_tree_id, write_blob, write_empty_tree
from worktrees.ref_store.refs import list_refs, move_ref, remove_dead_ref_locks
from worktrees.safety.private_directory import create_private_directory


class LocalForge:
    """A `ports.Forge` for a repository without a forge, or for people who want to look first."""

    name = LOCAL_FORGE
    has_checks = False
    moves_local_targets = True

    def __init__(self, git: Git, directory: Path, when: str) -> None:
        self._git = git
        self._directory = directory
        self._when = when

    async def open_pull_request(self, request: PullRequest) -> OpenedPullRequest:
        """Open the pull request, or update the one that has the same head branch."""
        await remove_dead_ref_locks(self._git, (PULL_REQUEST_PREFIX,))
        ref = await self._record_ref(request)
        while ref is None:  # another run took the number
            ref = await self._record_ref(request)
        page = self._directory / f"{parse_pull_request_number(ref)}.md"
        await to_thread.run_sync(_write_page, page, request)
        return OpenedPullRequest(forge=self.name, ref=ref, url=page.as_uri())

    async def list_checks(self, ref: str, commit: CommitId) -> Sequence[ForgeCheck]:
        """Return none: a repository runs no checks by itself."""
        return ()

    async def merge_pull_request(self, ref: str, commit: CommitId) -> CommitId:
        """Refuse: only a run that has judged what lands may move a branch of yours."""
        raise PersonNeeded(f"{ref} is yours to merge: git merge {commit[:12]}")

    async def close_pull_request(self, ref: str, comment: str) -> None:
        """Do nothing: the pull request stays a ref with its history."""

    async def _record_ref(self, request: PullRequest) -> str | None:
        """Return the ref that now holds the pull request; None if somebody else moved it at the same time."""
        refs = await list_refs(self._git, PULL_REQUEST_PREFIX)
        number = max((parse_pull_request_number(ref) or 0 for ref in refs), default=0) + 1
        ref = await self._find_ref_of_branch(refs, request.head) or build_pull_request_ref(number)
        commit = await self._commit_request(request, refs.get(ref))
        try:
            await move_ref(self._git, ref, commit, refs.get(ref), f"pull request {request.head}")
        except RefMoved:
            return None
        return ref

    async def _find_ref_of_branch(self, refs: dict[str, str], head: str) -> str | None:
        for ref, commit in refs.items():
            entries = {entry.path: entry.oid for entry in await list_tree(self._git, commit)}
            if "pr.json" in entries and json.loads(await read_blob(self._git, entries["pr.json"]))["head"] == head:
                return ref
        return None

    async def _commit_request(self, request: PullRequest, previous: str | None) -> str:
        data = json.dumps(request.model_dump(mode="json", exclude={"body"}), indent=1).encode()
        files = {
            "PR.md": ("100644", await write_blob(self._git, _render_page(request).encode())),
            "pr.json": ("100644", await write_blob(self._git, data)),
        }
        tree = await overlay_tree(self._git, await write_empty_tree(self._git), files)
        if previous and await read_tree_id(self._git, previous) == tree:
            return previous
        return await commit_tree(self._git, tree, [previous] if previous else [], request.title, self._when)


class LocalForgeRepository:
    """A `ports.ForgeRepository` where there is no forge: nothing to ask, and nobody to tell."""

    async def describe_access(self) -> str:
        """Return nothing: pull requests stay in the repository."""
        return ""

    async def upsert_comment(self, _issue: int, _marker: str, _text: str) -> None:
        """Do nothing: there are no issues."""


async def read_pull_request(git: Git, ref: str) -> PullRequest:
    """Return the pull request that a ref of this forge holds."""
    data = json.loads(await read_blob(git, f"{ref}:pr.json"))
    page = (await read_blob(git, f"{ref}:PR.md")).decode()
    bare = PullRequest.model_validate({**data, "body": ""})
    return bare.model_copy(update={"body": page.removeprefix(_render_page(bare).removesuffix("\n")).removesuffix("\n")})


def _render_page(request: PullRequest) -> str:
    target = f" → `{request.target}`" * bool(request.target)
    command = format_merge_command(request.head, request.target)
    marks = ["draft"] * request.draft + [f"label: {label}" for label in request.labels]
    heading = f"{', '.join(marks)}\n\n" if marks else ""
    return (
        f"# {request.title}\n\n{heading}"
        f"`{request.head}` ({request.commit[:12]}){target}, from base {request.base[:12]}\n\n"
        f"Merge it: `{command}`\n\n{request.body}\n"
    )


def _write_page(path: Path, request: PullRequest) -> None:
    create_private_directory(path.parent)
    path.write_text(_render_page(request), encoding="utf-8")
