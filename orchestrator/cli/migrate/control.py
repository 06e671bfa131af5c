"""`orchestrate migrate skip`, `retry`, `hold`, `release`, `rollback` and `publish`, made from the catalog."""

from collections.abc import Mapping

import click

from orchestrator.cli.control.verbs import Fields, TargetResolver, build_verb
from orchestrator.domain.commands.catalog import MIGRATION_VERBS
from orchestrator.domain.commands.catalog_entry import Target
from orchestrator.domain.run.state import RunState
from orchestrator.errors import UsageProblem
from orchestrator.run_control.control import RunLocation
from orchestrator.run_control.migration_commands import (
    FileSelection,
    build_publish_command,
    list_landed_shards,
    resolve_tracked_paths,
    select_files,
)


def _resolve_paths(location: RunLocation, state: RunState, values: Fields) -> Fields:
    return {"files": resolve_tracked_paths(location, state, values["paths"]), "reason": values["reason"]}


def _resolve_selection(location: RunLocation, state: RunState, values: Fields) -> Fields:
    note = values.pop("note")
    return {"files": select_files(location, state, FileSelection(**values)), "note": note}


def _resolve_shards(_location: RunLocation, state: RunState, values: Fields) -> Fields:
    if bool(values["shards"]) == values["all"]:
        raise UsageProblem("name the shards to take back, or say --all")
    shards = values["shards"] or list_landed_shards(state)
    return {"shards": shards, "reason": values["reason"]}


def _resolve_groups(_location: RunLocation, state: RunState, values: Fields) -> Fields:
    return {"groups": build_publish_command(state, values["groups"]).groups}


_RESOLVERS: Mapping[Target, TargetResolver] = {
    "files": _resolve_paths,
    "failed-files": _resolve_selection,
    "shards": _resolve_shards,
    "groups": _resolve_groups,
}
COMMANDS: Mapping[str, click.Command] = {
    name: build_verb(name, entry, _RESOLVERS) for name, entry in MIGRATION_VERBS.items()
}
