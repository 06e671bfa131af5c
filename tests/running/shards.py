"""Migrations whose shards have landed, one commit each, with whatever content a test wants them to have."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from orchestrator.app.run_creation import create_migration_run
from orchestrator.app.wiring import open_run
from orchestrator.domain.commands.definitions import Command
from orchestrator.domain.event.landing import LandedPart, LandingFinished, LandingStarted, TrialJudged
from orchestrator.domain.event.migration import FileMoved, ShardsPlanned
from orchestrator.domain.ids import CommitId, TreeId, UnitId
from orchestrator.domain.migration.files import FileStatus, Shard
from orchestrator.domain.purpose import Purpose
from orchestrator.domain.recipe.model import Recipe
from orchestrator.engine.context import RunContext
from orchestrator.engine.control.command_consumer import CommandConsumer
from orchestrator.engine.recovery.open_intents import settle_open_intents
from orchestrator.project.options import Options
from orchestrator.queue.composition import OverlayComposer
from orchestrator.run_control.control import RunLocation, send_command
from tests.running.projects import GATE, repository
from worktrees.object_store.trees import read_tree_id, write_blob

TEST = """import pathlib
import unittest


def first(name):
    return pathlib.Path(name).read_text().split()[0]


class FilesTest(unittest.TestCase):
"""


def project(root: Path, tests: Mapping[str, str], texts: Mapping[str, str]) -> Path:
    """Text files, and one test for each condition, in which `first(PATH)` is the first word of a file."""
    methods = "".join(
        f"    def test_{name}(self):\n        self.assertTrue({what})\n\n" for name, what in tests.items()
    )
    return repository(root, {".gitignore": "__pycache__/\n", "test_files.py": TEST + methods, **texts})


def shard_recipe(**more: Any) -> Recipe:
    """A recipe for text files, whose steps are never run here."""
    values: dict[str, Any] = {
        "schema": 1,
        "migration": {"id": "words", "title": "Better words"},
        "scope": {"include": ["*.txt"]},
        "step": [{"id": "first", "run": "true {files}"}],
        "verify": {"report": "unittest", "check": [{"id": "t", "run": GATE}]},
    }
    return Recipe.model_validate(values | more)


@asynccontextmanager
async def begun(root: Path, recipe: Recipe, **flags: Any) -> AsyncIterator[tuple[RunLocation, RunContext]]:
    """A run of the recipe with its baseline, of which nothing has landed."""
    place = await create_migration_run(Options(root, {"state": {"dir": str(root.parent / "state")}} | flags), recipe)
    async with open_run(place) as context:
        await context.gate.record_baseline(context.state.run.base, context.state.run.base_tree)
        yield place, context


@asynccontextmanager
async def again(place: RunLocation, watcher: Any = None) -> AsyncIterator[RunContext]:
    """The same run in what might be another process."""
    async with open_run(place, watcher) as context:
        await settle_open_intents(context)
        yield context


async def land(context: RunContext, shards: Sequence[Shard], contents: Mapping[str, str]) -> None:
    """Land the shards in order, each with the new contents of its files, in one landing of a commit each."""
    git = context.repository.git
    journal, old = context.journal, await context.read_branch_tip()
    await journal.append(ShardsPlanned(shards=tuple(shards)))
    blobs = {path: await write_blob(git, text.encode()) for path, text in contents.items()}
    for path, blob in blobs.items():
        if context.state.migration.files[path].status == FileStatus.MERGED:
            await journal.append(FileMoved(path=path, status=FileStatus.DISCOVERED, rung=0))
        await journal.append(FileMoved(path=path, status=FileStatus.TRANSFORMED, rung=0, blob=blob))
    tip, parts = old or context.state.run.base, []
    for shard in shards:
        changes = {UnitId(path): ("100644", blobs[path]) for path in shard.files}
        composer = OverlayComposer(git, changes, _message(shard), context.commit_date)
        tip = (await composer.compose_union(tip, tuple(changes))).commit
        parts.append(LandedPart(name=shard.name, commit=tip, units=tuple(changes)))
    tree = TreeId(await read_tree_id(git, tip))
    judged = await context.gate.judge_tree(CommitId(tip), tree, Purpose("shards"))
    assert judged.difference.is_green
    units = tuple(unit for part in parts for unit in part.units)
    await journal.append(
        TrialJudged(round="shards", units=units, tree=tree, difference=judged.difference, cached=False)
    )
    key = journal.build_next_key(f"land/{tip}")
    told: dict[str, Any] = {"key": key, "branch": context.branch.name, "new": CommitId(tip), "tree": tree}
    told |= {"units": units, "parts": tuple(parts)}
    await journal.append(LandingStarted(old=old, **told))
    await context.branch.move_to_commit(old, CommitId(tip), "land")
    await journal.append(LandingFinished(**told))
    for path, blob in blobs.items():
        await journal.append(FileMoved(path=path, status=FileStatus.MERGED, rung=0, blob=blob))


def _message(shard: Shard) -> Any:
    return lambda _part, _units: f"Better words: {shard.name}\n\nShard: {shard.name}\n"


async def told(context: RunContext, *commands: Command) -> None:
    """Have the run take commands as they come from people."""
    for command in commands:
        send_command(context.directory, command, by="ada")
    await CommandConsumer(context.journal, context.directory.inbox).take_pending_commands()
