"""`migrate plan`: what a recipe has in scope."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from anyio import to_thread

from orchestrator.app.options import Options, look_around
from orchestrator.domain.event.migration import FilesFound, FoundFile
from orchestrator.domain.event.run import Noticed
from orchestrator.domain.ids import CommitId
from orchestrator.domain.plain import strip_controls
from orchestrator.migrate.inventory import take_inventory
from orchestrator.migrate.recipe import Recipe


@dataclass(frozen=True)
class Inventory:
    """A recipe with what it finds on the current commit."""

    recipe: Recipe
    base: CommitId
    files: tuple[FoundFile, ...]
    notices: tuple[str, ...]

    @property
    def sites(self) -> int:
        """All sites together."""
        return sum(file.sites for file in self.files)

    def as_object(self) -> dict[str, Any]:
        """For --json."""
        return {
            "schema": "orchestrate.inventory/1",
            "migration": self.recipe.migration.id,
            "revision": self.recipe.revision,
            "base": self.base,
            "sites": self.sites,
            "files": [{"path": file.path, "sites": file.sites} for file in self.files],
            "steps": [step.id for step in self.recipe.step],
            "checks": [check.run for check in self.recipe.verify.check],
            "notices": list(self.notices),
        }

    def lines(self) -> Iterator[str]:
        """For a person."""
        counted = f", {self.sites} sites" if self.recipe.scope.site else ""
        yield f"{self.recipe.title}: {len(self.files)} files in scope{counted} at {self.base[:12]}"
        for step in self.recipe.step:
            yield f"  step {step.id} (per {step.per}, when {step.when}): {step.run}"
        for check in self.recipe.verify.check:
            yield f"  check {check.id}: {check.run}"
        for file in self.files:
            yield f"  {file.sites:5}  {strip_controls(file.path)}" if counted else f"  {strip_controls(file.path)}"
        yield from (f"  note: {notice}" for notice in self.notices)


async def inventory(options: Options, recipe: Recipe) -> Inventory:
    """Find what the recipe covers.

    Raises:
        UsageProblem: nothing, or the repository cannot be read.
    """
    around = await to_thread.run_sync(look_around, options)
    base = CommitId(around.repository.head())
    events = await take_inventory(around.repository.git, base, recipe)
    files = tuple(file for event in events if isinstance(event, FilesFound) for file in event.files)
    return Inventory(recipe, base, files, tuple(event.text for event in events if isinstance(event, Noticed)))
