"""The demo: a migration or a whole run in front of the user's eyes, in a directory of its own."""

import hashlib
import os
from collections.abc import Awaitable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from anyio import to_thread

from orchestrator.app.run_execution import RunExit, run_goal, run_migration
from orchestrator.app.wiring import RunWatcher
from orchestrator.demo import published_package
from orchestrator.domain.migration.files import FileStatus
from orchestrator.migrate.recipe import load_recipe
from orchestrator.project.options import Options

DEMO_GOAL = "Add discounts to the shop, show them on the invoice, and add a monthly report with a CSV export"
DEMO_GATE = "python3 -m unittest -v"


@dataclass(frozen=True)
class DemoResult:
    """The end of the demo. `is_untouched` tells whether the checkout is byte for byte what it was."""

    project: published_package.DemoProject
    ended: RunExit
    is_untouched: bool
    is_as_expected: bool


async def run_demo_migration(
    directory: Path, offline: bool, say: published_package.ReportLine, watcher: RunWatcher
) -> DemoResult:
    """Migrate click 7.1.2 with flynt; the bundled sample with a small codemod if no index can be reached."""
    project = await to_thread.run_sync(_project, directory, offline, say)
    with resources.as_file(resources.files("orchestrator.demo") / project.recipe) as path:
        recipe = load_recipe(path)
    say(f"migrating {project.name} …")
    ended, is_untouched = await _watch_checkout(project, run_migration(_options(directory, project), recipe, watcher))
    files = ended.state.migration.files.values()
    landed = sum(file.status == FileStatus.MERGED for file in files)
    rejected = tuple(file.path for file in files if file.status == FileStatus.REJECTED)
    return DemoResult(project, ended, is_untouched, (landed, rejected) == (project.landed, project.rejected))


async def run_demo_goal(directory: Path, say: published_package.ReportLine, watcher: RunWatcher) -> DemoResult:
    """Carry a small goal through planner, workers and judge on the sample, with scripted models."""
    project = await to_thread.run_sync(published_package.create_sample_project, directory)
    say(f"a scripted run on {project.name} …")
    with resources.as_file(resources.files("orchestrator.demo")) as scripts:
        options = _options(directory, project, scripts)
        ended, is_untouched = await _watch_checkout(project, run_goal(options, DEMO_GOAL, watcher))
    return DemoResult(project, ended, is_untouched, is_as_expected=ended.exit_code == 0)


async def _watch_checkout(project: published_package.DemoProject, work: Awaitable[RunExit]) -> tuple[RunExit, bool]:
    """Return the end of a run, and True if the checkout is as it was before."""
    before = await to_thread.run_sync(hash_checkout, project.root)
    ended = await work
    return ended, before == await to_thread.run_sync(hash_checkout, project.root)


def _project(directory: Path, offline: bool, say: published_package.ReportLine) -> published_package.DemoProject:
    if not offline:
        try:
            return published_package.create_real_project(directory, say)
        except published_package.IndexUnreachable as problem:
            say(f"no package index can be reached, so the bundled sample is used instead ({problem})")
    return published_package.create_sample_project(directory)


def _options(directory: Path, project: published_package.DemoProject, scripts: Path | None = None) -> Options:
    flags: dict[str, object] = {"state": {"dir": str(directory / "state")}}
    if scripts is not None:
        model = {"model": f"scripted:{scripts / 'goal.toml'}"}
        strong = {"strong": {"model": f"scripted:{scripts / 'goal-strong.toml'}", "description": "for subtle work"}}
        flags |= {
            "gate": {"command": DEMO_GATE, "report": "unittest"},
            "roles": {"planner": model, "worker": model | {"variants": strong}, "judge": model},
        }
    return Options(repository=project.root, flags=flags)


def hash_checkout(root: Path) -> str:
    """Return a hash of every file of a checkout, its index and its branch, without git's store of objects and refs."""
    digest = hashlib.sha256()
    for path in sorted(_own_files(root)):
        content = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
        digest.update(f"{path.relative_to(root)}\0{path.lstat().st_mode}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def _own_files(root: Path) -> list[Path]:
    found = [root / ".git" / "index", root / ".git" / "HEAD"]
    for directory, names, files in os.walk(root):
        if Path(directory) == root:
            names.remove(".git")
        found += [Path(directory) / name for name in files]
    return found
