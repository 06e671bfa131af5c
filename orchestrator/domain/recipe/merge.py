"""`[merge]` and `[stop]`: how changes land and are shown to people, and when the run stops by itself."""

from typing import Annotated, Literal

from pydantic import Field

from orchestrator.domain.frozen_model import FrozenModel
from orchestrator.domain.recipe.field_types import AtLeastOne, Count, Fraction

TITLE_PLACEHOLDERS = ("{migration.id}", "{migration.title}", "{shard.name}", "{shard.files}")
"""Placeholders in the title of a pull request."""


class MergeRules(FrozenModel):
    """`[merge]`: landing and pull requests.

    `on_red` says what becomes of a union that is red: a search for the guilty (`bisect`), file by file or shard by
    shard (`bisect_unit`), or the rejection of each red shard as a whole. `group_pr` divides what landed into pull
    requests, each of which is green on its own; at most `max_open_prs` are open at a time (0: no limit). Shards that
    are only green together go into one, but not where `mode` is `pr-only`: they are kept back and named. In `title`
    stand `{migration.id}`, `{migration.title}`, `{shard.name}` and `{shard.files}` (their number).
    """

    mode: Literal["queue", "pr-only"] = "queue"
    on_red: Literal["bisect", "reject-shard"] = "bisect"
    bisect_unit: Literal["file", "shard"] = "file"
    group_pr: Literal["shard", "owner", "directory", "all"] = "all"
    max_files_per_pr: Count = 0
    max_open_prs: Count = 0
    draft: bool = False
    title: str = ""
    labels: tuple[str, ...] = ()

    @property
    def has_groups(self) -> bool:
        """True if pull requests are cut from what landed; else what landed is the one pull request."""
        return self.group_pr != "all" or self.max_files_per_pr > 0 or self.mode == "pr-only"


class StopRules(FrozenModel):
    """`[stop]`: the circuit breaker.

    The run stops once more than `max_failed_fraction` of the files tried have failed, after at least `after_shards`
    shards; or when `same_signature` files have failed alike and no later step is for them (0: never). `budget_usd` and
    `wall_s` are limits of the run (0: what the configuration says).
    """

    max_failed_fraction: Fraction = 0.34
    after_shards: AtLeastOne = 10
    same_signature: Count = 3
    budget_usd: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    wall_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
