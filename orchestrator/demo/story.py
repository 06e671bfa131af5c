"""The demo: a migration or a whole run in front of the user's eyes, in a directory of its own."""

import hashlib
import os
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

from anyio import to_thread

from orchestrator.app.options import Options
from orchestrator.app.verbs import Ended, migrate, run_goal
from orchestrator.app.wiring import Watcher
from orchestrator.demo.package import IndexUnreachable
from orchestrator.demo.project import Project, Say, bundled_sample, real_package
from orchestrator.domain.migration import FileStatus
from orchestrator.migrate.recipe import load_recipe

GOAL = "Add discounts to the shop, show them on the invoice, and add a monthly report with a CSV export"
GATE = "python3 -m unittest -v"


@dataclass(frozen=True)
class Told:
    """How the demo went. `is_untouched` tells whether the checkout is byte for byte what it was."""

    project: Project
    ended: Ended
    is_untouched: bool
    is_as_known: bool


async def migration(directory: Path, offline: bool, say: Say, watcher: Watcher) -> Told:
    """Migrate click 7.1.2 with flynt; the bundled sample with a small codemod if no index can be reached."""
    project = await to_thread.run_sync(_project, directory, offline, say)
    with resources.as_file(resources.files("orchestrator.demo") / project.recipe) as path:
        recipe = load_recipe(path)
    say(f"migrating {project.name} …")
    before = await to_thread.run_sync(fingerprint, project.root)
    ended = await migrate(_options(directory, project), recipe, watcher)
    files = ended.state.files.values()
    landed = sum(file.status == FileStatus.MERGED for file in files)
    rejected = tuple(file.path for file in files if file.status == FileStatus.REJECTED)
    return Told(
        project,
        ended,
        is_untouched=before == await to_thread.run_sync(fingerprint, project.root),
        is_as_known=(landed, rejected) == (project.landed, project.rejected),
    )


async def goal(directory: Path, say: Say, watcher: Watcher) -> Told:
    """Carry a small goal through planner, workers and judge on the sample, with scripted models."""
    project = await to_thread.run_sync(bundled_sample, directory)
    say(f"a scripted run on {project.name} …")
    before = await to_thread.run_sync(fingerprint, project.root)
    with resources.as_file(resources.files("orchestrator.demo")) as scripts:
        options = _options(directory, project, scripts)
        ended = await run_goal(options, GOAL, watcher)
    return Told(
        project,
        ended,
        is_untouched=before == await to_thread.run_sync(fingerprint, project.root),
        is_as_known=ended.exit_code == 0,
    )


def _project(directory: Path, offline: bool, say: Say) -> Project:
    if not offline:
        try:
            return real_package(directory, say)
        except IndexUnreachable as problem:
            say(f"no package index can be reached, so the bundled sample is used instead ({problem})")
    return bundled_sample(directory)


def _options(directory: Path, project: Project, scripts: Path | None = None) -> Options:
    flags: dict[str, object] = {"state": {"dir": str(directory / "state")}}
    if scripts is not None:
        model = {"model": f"scripted:{scripts / 'goal.toml'}"}
        strong = {"strong": {"model": f"scripted:{scripts / 'goal-strong.toml'}", "description": "for subtle work"}}
        flags |= {
            "gate": {"command": GATE, "report": "unittest"},
            "roles": {"planner": model, "worker": model | {"variants": strong}, "judge": model},
        }
    return Options(repository=project.root, flags=flags)


def fingerprint(root: Path) -> str:
    """A hash of every file of a checkout, its index and its branch; git's own store of objects and refs is left out."""
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
