"""Runs that are exported from one repository, and clones of it that they are imported into."""

import json
import sqlite3
import tarfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import anyio

from orchestrator.domain.ids import RunId
from orchestrator.journal.locations.run_directory import RunDirectory, StateDirectory
from orchestrator.portable.run_import import ImportedRun
from orchestrator.project.options import Options
from orchestrator.run_control.transfer import export_run_archive, import_run_archive
from tests.running.goals import Bench, When, task
from tests.running.projects import calculator, git, repository
from tests.running.scripts import judges, planner_ends, plans, reviews, worker_ends, writes

TURNS = [
    plans("root", {"key": "a"}, {"key": "b", "depends_on": ["a"]}),
    writes("a", "a.txt", "not yet\n"),
    *task("a"),
    *task("b"),
    planner_ends(),
    judges(),
]
"""A run of two tasks one after the other, the first of which has a tree after a turn that nothing of git's holds."""

REJECTED = [
    plans("root", {"key": "good"}, {"key": "bad"}),
    *task("good"),
    writes("bad", "bad.txt", "bad\n"),
    worker_ends("bad"),
    reviews("bad", "restart", "no"),
    *[planner_ends()] * 2,
    judges(),
]
"""A run of two tasks, one of which makes a candidate that does not land."""


@dataclass(frozen=True)
class Source:
    """A repository with two commits and an ended run; `early` was exported while the run was at work, `late` after it.

    `partial` is of another run, of which task `bad` did not land.
    """

    repository: Path
    options: Options
    early: Path
    late: Path
    partial: Path
    run: RunId
    branch: str

    @property
    def directory(self) -> RunDirectory:
        """The run where it was made."""
        return directory(self.options, self.run)


@dataclass(frozen=True)
class Place:
    """A clone at another path, with a state directory of its own."""

    repository: Path
    options: Options

    async def take(self, archive: Path) -> ImportedRun:
        """Import."""
        return await import_run_archive(self.options, archive, None)

    def directory(self, run: RunId) -> RunDirectory:
        """A run here."""
        return directory(self.options, run)

    @property
    def words(self) -> tuple[str, ...]:
        """What the command line needs to find it."""
        return ("--repo", str(self.repository), "--state", str(self.options.flags["state"]["dir"]))


def directory(options: Options, run: RunId) -> RunDirectory:
    """Where a run lies."""
    return StateDirectory.locate_for(options.repository, options.flags["state"]["dir"]).get_run(run)


def make_source(root: Path) -> Source:
    """Run, and export meanwhile and afterwards."""
    repo = repository(calculator(root / "repo"), {"second.txt": "second\n"})
    bench, early = Bench(root, repo), root / "early.tar.gz"
    options = Options(repo, {"state": {"dir": str(root / "state")}})

    def export(_: object) -> None:
        thread = threading.Thread(target=anyio.run, args=(export_run_archive, options, "latest", early))
        thread.start()
        thread.join()

    ended = anyio.run(partial(bench.run, *TURNS, when=When("landing.finished", export)))
    anyio.run(export_run_archive, options, ended.directory.run, root / "late.tar.gz")
    other = anyio.run(partial(bench.run, *REJECTED, run={"max_attempts": 1}))
    anyio.run(export_run_archive, options, other.directory.run, root / "partial.tar")
    paths = (early, root / "late.tar.gz", root / "partial.tar")
    return Source(repo, options, *paths, ended.directory.run, ended.state.run.branch)


def make_place(source: Source, root: Path) -> Place:
    """A clone that has the base and nothing of the runs."""
    git(
        source.repository,
        "clone",
        "-q",
        "--single-branch",
        "-b",
        "main",
        source.repository.as_uri(),
        str(root / "it's ü"),
    )
    return Place(root / "it's ü", Options(root / "it's ü", {"state": {"dir": str(root / "there")}}))


def rewrite(archive: Path, target: Path, change: Callable[[dict[str, bytes], dict[str, Any]], None]) -> Path:
    """The archive with members and manifest changed, and every size and hash as the content is then."""
    from hashlib import sha256

    with tarfile.open(archive) as tar:
        members = {entry.name: tar.extractfile(entry).read() for entry in tar}  # type: ignore[union-attr]
    manifest = json.loads(members.pop("manifest.json"))
    change(members, manifest)
    told = {name: {"size": len(text), "sha256": sha256(text).hexdigest()} for name, text in members.items()}
    manifest["members"] = manifest["members"] if manifest.pop("keep", False) else told
    with tarfile.open(target, "w", format=tarfile.GNU_FORMAT) as tar:
        for name, text in {"manifest.json": json.dumps(manifest).encode(), **members}.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            tar.addfile(entry, BytesIO(text))
    return target


def with_sql(journal: bytes, sql: str, scratch: Path) -> bytes:
    """A journal file in which somebody has executed something."""
    scratch.write_bytes(journal)
    connection = sqlite3.connect(scratch)
    connection.executescript(sql)
    connection.close()
    return scratch.read_bytes()


def everything(place: Place) -> dict[str, object]:
    """What an import that is refused must leave as it was: refs, checkout, state."""
    from tests.running.projects import refs

    state = StateDirectory.locate_for(place.repository, place.options.flags["state"]["dir"]).path
    files = {str(path): path.read_bytes() for path in state.rglob("*") if path.is_file()} if state.exists() else {}
    packs = sorted(path.name for path in (place.repository / ".git" / "objects" / "pack").iterdir())
    changed = {name: content for name, content in files.items() if not name.endswith(("lock", "-shm", "-wal"))}
    return {
        "refs": refs(place.repository),
        "status": git(place.repository, "status", "--porcelain"),
        "packs": packs,
    } | changed
