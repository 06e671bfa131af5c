"""The part of a run's state that only migrations have: files, shards, waves and the recipe."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from orchestrator.domain.event.migration import RecipeRevised
from orchestrator.domain.event.run import PrOpened
from orchestrator.domain.migration.files import FileRecord, Shard, ShardStatus, Tick, Wave
from orchestrator.domain.recipe.model import Recipe, RecordedRecipe


@dataclass(slots=True)
class MigrationState:
    """The files of a migration, how far each is, and the recipe that it goes by."""

    files: dict[str, FileRecord] = field(default_factory=dict)
    shards: dict[str, Shard] = field(default_factory=dict)
    waves: list[Wave] = field(default_factory=list)
    recipe: RecordedRecipe | None = None
    """The recipe as it stands: the run's first one, or the last revision."""
    requested_recipe: RecordedRecipe | None = None
    """The recipe that a person wants the run to go on by, until it does."""
    revisions: list[RecipeRevised] = field(default_factory=list)
    """The recipes that a migration went on by after its first one."""
    requested_rollbacks: tuple[str, ...] = ()
    """Shards that a person wants to have taken back."""
    rollback_reasons: dict[str, str] = field(default_factory=dict)
    """By shard, who last wanted it back and why; if it could not be, what stands in the way."""
    requested_publications: tuple[str, ...] = ()
    """Groups whose pull requests a person wants to have opened now."""
    prs: dict[str, PrOpened] = field(default_factory=dict)
    """By group, the pull requests of a run that has several."""
    burndown: list[Tick] = field(default_factory=list)
    """The remaining work over time: the last tick is the present state. See `domain.migration.burndown`."""
    inventory_at: datetime | None = None
    """The time at which the files of a migration were found: the burndown's ticks count from then."""
    step_seconds: dict[str, float] = field(default_factory=dict)
    rung_files: Counter[int] = field(default_factory=Counter)

    @property
    def wished_recipe(self) -> Recipe | None:
        """The recipe that the run goes on by: the one that a person wants, else the one it has; None for a goal."""
        return self.requested_recipe or self.recipe

    def require_recipe(self) -> Recipe:
        """Return the recipe as it stands; every migration has one."""
        if self.recipe is None:
            raise ValueError("the run has no recipe: it carries a goal")
        return self.recipe

    @property
    def current_wave(self) -> Wave | None:
        """The wave under way, None between two waves."""
        if not self.waves or self.waves[-1].is_over:
            return None
        return self.waves[-1]

    @property
    def current_wave_number(self) -> int:
        """The number of the wave that has not ended, 0 if there is none."""
        return self.current_wave.number if self.current_wave else 0

    def list_files(self, shards: Iterable[Shard]) -> list[FileRecord]:
        """Return the files of shards as they stand, in their order."""
        return [self.files[path] for shard in shards for path in shard.files]

    def find_shard_of_file(self, path: str) -> Shard | None:
        """Return the shard that holds a file."""
        return next((shard for shard in self.shards.values() if path in shard.files), None)

    def map_files_to_shards(self) -> dict[str, str]:
        """Return the name of the shard of each path."""
        names: dict[str, str] = {}
        for shard in self.shards.values():
            names |= dict.fromkeys(shard.files, shard.name)
        return names

    def get_shard_status(self, shard: Shard) -> ShardStatus:
        """Return the status of a shard."""
        return shard.compute_status(self.list_files([shard]))
