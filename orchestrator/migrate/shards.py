"""Dividing files into shards."""

from collections.abc import Sequence

from orchestrator.domain.migration import FileRecord, Shard
from orchestrator.migrate.recipe import ShardRules


def plan_shards(files: Sequence[FileRecord], rules: ShardRules) -> tuple[Shard, ...]:
    """All in one."""
    return (Shard(name="all", files=tuple(file.path for file in files)),) if files else ()
