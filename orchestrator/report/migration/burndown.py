"""The burndown of a migration as one object: for `status`, `report`, pull requests and whatever draws it."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from orchestrator.domain.event.migration import RecipeRevised
from orchestrator.domain.migration.burndown import (
    counts_sites,
    get_found_weight,
    get_remaining_weight,
    sum_remaining_weight,
    thin_ticks,
)
from orchestrator.domain.migration.files import FileRecord, FileStatus, ShardStatus
from orchestrator.domain.run.approval import Approval
from orchestrator.domain.run.state import RunState
from orchestrator.report.cost.budgets import build_usage_amount
from orchestrator.report.migration.eta import estimate_eta
from orchestrator.report.migration.file_groups import (
    GroupKind,
    build_file_groups,
    get_failure_key,
    has_failed,
    list_example_paths,
    list_step_names,
)
from orchestrator.report.run.next_step import suggest_next_step

SCHEMA = "orchestrate.burndown/1"


@dataclass(frozen=True)
class BurndownBounds:
    """How much of it is told: points of the series, groups, signatures."""

    points: int = 120
    groups: int = 50
    signatures: int = 20


FULL_BOUNDS = BurndownBounds(points=500, groups=10_000, signatures=1_000)
_USUAL = BurndownBounds()


def build_burndown(state: RunState, bounds: BurndownBounds = _USUAL) -> dict[str, Any]:
    """Where a migration stands. `unit` says what `sites` count: files, where the recipe counts no sites.

    `series` are the points of the curve (see `domain.migration.Tick`), `ideal` two points of a straight line to the
    deadline, in the same measure. `now` has sites and files by the status of the file. `owners` and `directories` are
    groups (see `report.groups`); `signatures` count the files that failed alike.
    """
    has_sites = counts_sites(state.recipe)
    return {
        "schema": SCHEMA,
        "run": state.run.run,
        "title": get_migration_title(state),
        "revision": len(state.revisions) + 1,
        "revisions": [_revision(event) for event in state.revisions],
        "unit": "sites" if has_sites else "files",
        "now": _now(state, has_sites),
        "series": [tick.model_dump(mode="json") for tick in thin_ticks(state.burndown, bounds.points)],
        "ideal": _ideal(state, has_sites),
        "eta": _eta(state, has_sites),
        "owners": _groups(state, "owner", bounds.groups),
        "directories": _groups(state, "dir", bounds.groups),
        "signatures": build_failure_signatures(state)[: bounds.signatures] if bounds.signatures else [],
        "rungs": build_step_results(state),
        "flags": _flags(state),
        "shards": _shards(state),
        "spent": build_usage_amount(state.spent).as_object()
        | {"wall_s": round(state.wall_s, 1), "test_runs": state.test_runs},
        "waiting": [_question(one.approval) for one in state.pending_approvals],
        "prs": [{"group": pr.group, "ref": pr.ref, "url": pr.url} for pr in state.prs.values()],
        "next": suggest_next_step(state),
    }


def _groups(state: RunState, by: GroupKind, most: int) -> list[dict[str, Any]]:
    if most:
        return [group.as_object() for group in build_file_groups(state, by)[:most]]
    return []


def get_migration_title(state: RunState) -> str:
    """The recipe's title, or its id, or what the run calls its goal."""
    told = (state.recipe or {}).get("migration", {})
    return str(told.get("title") or told.get("id") or state.run.goal)


def build_group_objects(state: RunState, by: GroupKind) -> list[dict[str, Any]]:
    """All groups of one kind, as data."""
    return [group.as_object() for group in build_file_groups(state, by)]


def _now(state: RunState, has_sites: bool) -> dict[str, Any]:
    files = Counter(file.status for file in state.files.values())
    sites: dict[FileStatus, float] = defaultdict(float)
    for file in state.files.values():
        sites[file.status] += get_remaining_weight(file, has_sites)
    return {
        "found": round(sum(get_found_weight(file, has_sites) for file in state.files.values()), 3),
        "remaining": round(sum_remaining_weight(state), 3),
        "target": get_site_target(state),
        "open": round(sum((left for status, left in sites.items() if not status.is_terminal), 0.0), 3),
        "sites": {status.value: round(sites[status], 3) for status in FileStatus if files[status]},
        "files": {status.value: files[status] for status in FileStatus if files[status]},
        "in_scope": len(state.files),
    }


def get_site_target(state: RunState) -> float:
    """The weight of the sites that may remain when the migration is done."""
    sites = (state.recipe or {}).get("scope", {}).get("site", ())
    return round(sum(float(site.get("target", 0)) * float(site.get("weight", 1.0)) for site in sites), 3)


def _eta(state: RunState, has_sites: bool) -> dict[str, Any] | None:
    if state.ended is not None:
        return None
    climbing = (file for file in state.files.values() if not file.status.is_terminal)
    judged = estimate_eta(state.burndown, sum(get_remaining_weight(file, has_sites) for file in climbing))
    if judged:
        return judged.as_object()
    return None


def _ideal(state: RunState, has_sites: bool) -> list[dict[str, float]] | None:
    """From everything at the inventory to the target at the end of the deadline's day."""
    told = (state.recipe or {}).get("migration", {}).get("deadline")
    if not told or state.inventory_at is None:
        return None
    end = datetime.combine(date.fromisoformat(str(told)), time(), UTC) + timedelta(days=1)
    whole = sum(get_found_weight(file, has_sites) for file in state.files.values())
    seconds = (end - state.inventory_at).total_seconds()
    return [{"at": 0.0, "sites": round(whole, 3)}, {"at": round(seconds, 3), "sites": get_site_target(state)}]


def build_failure_signatures(state: RunState) -> list[dict[str, Any]]:
    """What files failed of, most files first: how many, how many of their sites remain, which steps, some paths."""
    alike: dict[str, list[FileRecord]] = defaultdict(list)
    for file in state.files.values():
        if has_failed(file):
            alike[get_failure_key(file)].append(file)
    steps, has_sites = list_step_names(state.recipe), counts_sites(state.recipe)
    rows = []
    for signature, files in alike.items():
        rows.append(
            {
                "signature": signature,
                "files": len(files),
                "sites": round(sum(get_remaining_weight(file, has_sites) for file in files), 3),
                "steps": [steps[rung] for rung in sorted({file.rung for file in files}) if 0 <= rung < len(steps)],
                "examples": list_example_paths(files),
            }
        )
    return sorted(rows, key=lambda row: (-row["files"], row["signature"]))


def build_step_results(state: RunState) -> list[dict[str, Any]]:
    """The steps of the ladder: how many files each was tried on and brought through, at the first try or later."""
    merged = []
    for file in state.files.values():
        if file.status == FileStatus.MERGED:
            merged.append(file)
    made = []
    for rung, step in enumerate((state.recipe or {}).get("step", ())):
        landed = [file for file in merged if file.rung == rung]
        first = sum(file.attempt <= 1 for file in landed)
        made.append(
            {
                "step": step.get("id", ""),
                "kind": step.get("kind", "command"),
                "tried": state.rung_files[rung],
                "landed": len(landed),
                "first_try": first,
                "later_try": len(landed) - first,
                "seconds": state.step_seconds.get(step.get("id", ""), 0.0),
            }
        )
    return made


def _flags(state: RunState) -> list[dict[str, Any]]:
    by_flag: dict[str, list[FileRecord]] = defaultdict(list)
    for file in state.files.values():
        for flag in file.flags:
            by_flag[flag].append(file)
    return [
        {"flag": flag, "files": len(files), "examples": list_example_paths(files, 10)}
        for flag, files in sorted(by_flag.items())
    ]


def _shards(state: RunState) -> dict[str, int]:
    counts = Counter(state.get_shard_status(shard) for shard in state.shards.values() if shard.files)
    return {status.value: counts[status] for status in ShardStatus if counts[status]}


def _revision(event: RecipeRevised) -> dict[str, Any]:
    return {"revision": event.revision, "by": event.by, "files": len(event.redo)}


def _question(approval: Approval) -> dict[str, Any]:
    return {"item": approval.item, "matter": approval.matter, "title": approval.title}


def list_marked_points(series: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The points at which something happened that people should see."""
    return [point for point in series if point["mark"]]
