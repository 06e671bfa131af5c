"""Repositories of candidates for the queue: green, red, flaky, red only together, or in conflict with another one."""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from orchestrator.domain.ids import CommitId, UnitId
from orchestrator.queue.changed_paths import read_changed_paths
from orchestrator.queue.composition import MergeComposer
from orchestrator.queue.pr_branch import LandingFence, PrBranch
from tests.running.projects import git, repository
from worktrees.repositories.repository import GitRepository

WHEN = "2026-01-01T00:00:00+00:00"


@dataclass(frozen=True)
class QueuedCandidate:
    """One candidate. It adds a file of its own and the marker files named; `shared` is a file that it rewrites.

    Two candidates with the same `shared` file conflict. So does one that has `renamed` a folder of the base with one
    that `added` a file to it, though they change no path in common.
    """

    unit: UnitId
    markers: tuple[str, ...] = ()
    shared: str = ""
    renamed: str = ""
    added: str = ""

    @property
    def is_red(self) -> bool:
        return any(marker.endswith(".red") for marker in self.markers)

    @property
    def flake_rate(self) -> float:
        rates = [int(marker.rpartition(".")[2].removesuffix("flaky")) for marker in self.markers if "flaky" in marker]
        return sum(rates) / 100


def name_unit(number: int) -> UnitId:
    return UnitId(f"t{number:04}@1")


@dataclass(frozen=True)
class QueueProject:
    """A repository with the commits of its candidates, and the branch that they land on."""

    branch: PrBranch
    commits: Mapping[UnitId, CommitId]

    @property
    def composer(self) -> MergeComposer:
        return MergeComposer(
            self.branch.repository.git, self.commits, lambda unit: f"land {unit}\n", WHEN, names_candidates=False
        )

    async def read_paths(self, head: CommitId, unit: UnitId) -> frozenset[str]:
        return await read_changed_paths(self.branch.repository.git, head, self.commits[unit])

    def list_landed(self) -> list[str]:
        """The units in the branch's history, in the order in which they landed."""
        root = self.branch.repository.root
        if not git(root, "for-each-ref", self.branch.ref):
            return []
        told = git(root, "log", "--first-parent", "--reverse", "--format=%s", f"{self.branch.base}..{self.branch.name}")
        return [line.removeprefix("land ") for line in told.splitlines()]


def build_project(root: Path, candidates: Sequence[QueuedCandidate]) -> QueueProject:
    """A repository in which each candidate is a commit on the base."""
    shared = {one.shared: "a line\n" for one in candidates if one.shared}
    folders = {f"{one.renamed}/{name}": f"{name}\n" * 20 for one in candidates if one.renamed for name in "ab"}
    repository(root, {"README": "x\n", "markers/none": "", **shared, **folders})
    base = CommitId(git(root, "rev-parse", "HEAD").strip())
    lines: list[str] = []
    for number, one in enumerate(candidates, start=1):
        lines += [f"commit refs/candidates/{number}", f"mark :{number}"]
        lines += ["committer c <c@localhost> 1700000000 +0000", "data 1", "c", f"from {base}"]
        files = {f"src/{one.unit}.txt": "x", **{f"markers/{marker}": "x" for marker in one.markers}}
        if one.shared:
            files[one.shared] = f"the line of {one.unit}"
        if one.added:
            files[one.added] = "added"
        if one.renamed:
            lines.append(f"R {one.renamed} new-{one.renamed}")
        for path, text in files.items():
            lines += [f"M 100644 inline {path}", f"data {len(text)}", text]
        lines.append("")
    subprocess.run(["git", "fast-import", "--quiet"], cwd=root, input="\n".join(lines).encode(), check=True)
    told = git(root, "for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", "refs/candidates/")
    by_number = {int(name): CommitId(commit) for commit, name in (line.split() for line in told.splitlines())}
    commits = {one.unit: by_number[number] for number, one in enumerate(candidates, start=1)}
    opened = GitRepository.open(root)
    fence = git(root, "hash-object", "-w", "README").strip()
    git(root, "update-ref", "refs/orchestrate/fence", fence)
    return QueueProject(PrBranch(opened, "pr", base, LandingFence("refs/orchestrate/fence", fence)), commits)
