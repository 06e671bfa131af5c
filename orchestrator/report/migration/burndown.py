"""Build the burndown of a migration, for `status`, `report`, pull requests and the dashboard."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, time

from orchestrator.domain.migration import burndown
from orchestrator.domain.migration.files import FileRecord, FileStatus, ShardStatus
from orchestrator.domain.recipe.step import Step
from orchestrator.domain.run.state import RunState
from orchestrator.report.cost.budgets import build_usage_amount
from orchestrator.report.migration import burndown_model, file_groups
from orchestrator.report.migration.eta import estimate_eta
from orchestrator.report.run.next_step import suggest_next_step

_FLAG_EXAMPLES = 10


@dataclass(frozen=True)
class BurndownBounds:
    """The most that a burndown holds: points of the series, groups, signatures."""

    points: int = 120
    groups: int = 50
    signatures: int = 20


FULL_BOUNDS = BurndownBounds(points=500, groups=10_000, signatures=1_000)
_USUAL = BurndownBounds()


def build_burndown(state: RunState, bounds: BurndownBounds = _USUAL) -> burndown_model.Burndown:
    """Return the state of a migration; `owners` and `directories` have the groups with most left."""
    return burndown_model.Burndown(
        run=state.run.run,
        title=get_migration_title(state),
        revision=len(state.migration.revisions) + 1,
        revisions=tuple(_iterate_revisions(state)),
        unit="sites" if burndown.counts_sites(state.migration.recipe) else "files",
        now=_build_progress(state),
        series=tuple(burndown.thin_ticks(state.migration.burndown, bounds.points)),
        ideal=_build_ideal_line(state),
        eta=_build_eta(state),
        owners=_build_largest_groups(state, "owner", bounds.groups),
        directories=_build_largest_groups(state, "dir", bounds.groups),
        signatures=build_failure_signatures(state)[: bounds.signatures] if bounds.signatures else (),
        rungs=build_step_results(state),
        flags=tuple(_iterate_flags(state)),
        shards=_count_shards(state),
        spent=_build_spending(state),
        waiting=tuple(burndown_model.OpenQuestion(**dict(pending.approval)) for pending in state.pending_approvals),
        prs=tuple(burndown_model.BurndownPullRequest(**dict(pr)) for pr in state.migration.prs.values()),
        next=suggest_next_step(state),
    )


def get_migration_title(state: RunState) -> str:
    """Return the recipe's title, or its id, or what the run calls its goal."""
    recipe = state.migration.recipe
    return (recipe.title if recipe else "") or state.run.goal


def build_group_summaries(state: RunState, by: burndown_model.GroupKind) -> tuple[burndown_model.GroupSummary, ...]:
    """Return all groups of one kind, those with most left first."""
    return tuple(group.build_summary() for group in file_groups.build_file_groups(state, by))


def _build_largest_groups(
    state: RunState, by: burndown_model.GroupKind, limit: int
) -> tuple[burndown_model.GroupSummary, ...]:
    return build_group_summaries(state, by)[:limit] if limit else ()


def _iterate_revisions(state: RunState) -> Iterable[burndown_model.RevisionSummary]:
    for event in state.migration.revisions:
        yield burndown_model.RevisionSummary(revision=event.revision, by=event.by, files=len(event.redo))


def _build_spending(state: RunState) -> burndown_model.MigrationSpending:
    amount = build_usage_amount(state.spend.total)
    return burndown_model.MigrationSpending(**dict(amount), wall_s=round(state.wall_s, 1), test_runs=state.test_runs)


def _build_progress(state: RunState) -> burndown_model.MigrationProgress:
    has_sites = burndown.counts_sites(state.migration.recipe)
    files: Counter[FileStatus] = Counter()
    sites: dict[FileStatus, float] = defaultdict(float)
    found = 0.0
    for file in state.migration.files.values():
        weight = burndown.get_remaining_weight(file, has_sites)
        files[file.status] += 1
        sites[file.status] += weight
        found += burndown.get_found_weight(file, has_sites)
    present = [status for status in FileStatus if files[status]]
    return burndown_model.MigrationProgress(
        found=round(found, 3),
        remaining=round(burndown.sum_remaining_weight(state), 3),
        target=get_site_target(state),
        open=round(sum_open_weight(state), 3),
        sites={status: round(sites[status], 3) for status in present},
        files={status: files[status] for status in present},
        in_scope=len(state.migration.files),
    )


def get_site_target(state: RunState) -> float:
    """Return the weight of the sites that may remain when the migration is done."""
    recipe = state.migration.recipe
    return round(sum(site.target * site.weight for site in recipe.scope.site), 3) if recipe else 0.0


def _build_eta(state: RunState) -> burndown_model.EtaSummary | None:
    if state.ended is not None:
        return None
    eta = estimate_eta(state.migration.burndown, sum_open_weight(state))
    return burndown_model.EtaSummary(**{name: round(seconds, 1) for name, seconds in eta}) if eta else None


def sum_open_weight(state: RunState) -> float:
    """Return the weight of the remaining sites in files that are still under way."""
    has_sites = burndown.counts_sites(state.migration.recipe)
    total = 0.0
    for file in state.migration.files.values():
        if not file.status.is_terminal:
            total += burndown.get_remaining_weight(file, has_sites)
    return total


def _build_ideal_line(state: RunState) -> tuple[burndown_model.CurvePoint, burndown_model.CurvePoint] | None:
    """Return the line from all sites at the inventory to the target at the end of the deadline's day."""
    recipe = state.migration.recipe
    if recipe is None or recipe.migration.deadline is None or state.migration.inventory_at is None:
        return None
    end = datetime.combine(recipe.migration.deadline, time.max, UTC)
    has_sites = burndown.counts_sites(state.migration.recipe)
    found = sum(burndown.get_found_weight(file, has_sites) for file in state.migration.files.values())
    seconds = (end - state.migration.inventory_at).total_seconds()
    return (
        burndown_model.CurvePoint(at=0.0, sites=round(found, 3)),
        burndown_model.CurvePoint(at=round(seconds, 3), sites=get_site_target(state)),
    )


def build_failure_signatures(state: RunState) -> tuple[burndown_model.SignatureSummary, ...]:
    """Return what files failed of, most files first."""
    files_by_key: dict[str, list[FileRecord]] = defaultdict(list)
    for file in state.migration.files.values():
        if file.has_failed:
            files_by_key[file_groups.get_failure_key(file)].append(file)
    summaries = [_summarize_signature(state, key, files) for key, files in files_by_key.items()]
    return tuple(sorted(summaries, key=_rank_signature))


def _rank_signature(summary: burndown_model.SignatureSummary) -> tuple[int, str]:
    return -summary.files, summary.signature


def _summarize_signature(state: RunState, signature: str, files: list[FileRecord]) -> burndown_model.SignatureSummary:
    names, has_sites = file_groups.list_step_names(state), burndown.counts_sites(state.migration.recipe)
    steps = []
    for rung in sorted({file.rung for file in files}):
        name = file_groups.get_step_name(names, rung)
        if name is not None:
            steps.append(name)
    return burndown_model.SignatureSummary(
        signature=signature,
        files=len(files),
        sites=round(sum(burndown.get_remaining_weight(file, has_sites) for file in files), 3),
        steps=tuple(steps),
        examples=file_groups.list_example_paths(files),
    )


def build_step_results(state: RunState) -> tuple[burndown_model.StepProgress, ...]:
    """Return the steps of the ladder: how many files each was tried on and brought through."""
    landed: Counter[int] = Counter()
    at_first_try: Counter[int] = Counter()
    for file in state.migration.files.values():
        if file.status == FileStatus.MERGED:
            landed[file.rung] += 1
            at_first_try[file.rung] += file.attempt <= 1
    results = []
    recipe = state.migration.recipe
    for rung, step in enumerate(recipe.step if recipe else ()):
        results.append(_build_step_progress(state, rung, step, landed[rung], at_first_try[rung]))
    return tuple(results)


def _build_step_progress(
    state: RunState, rung: int, step: Step, landed: int, at_first_try: int
) -> burndown_model.StepProgress:
    return burndown_model.StepProgress(
        step=step.id,
        kind=step.kind,
        tried=state.migration.rung_files[rung],
        landed=landed,
        first_try=at_first_try,
        later_try=landed - at_first_try,
        seconds=state.migration.step_seconds.get(step.id, 0.0),
    )


def _iterate_flags(state: RunState) -> Iterable[burndown_model.FlagSummary]:
    files_by_flag: dict[str, list[FileRecord]] = defaultdict(list)
    for file in state.migration.files.values():
        for flag in file.flags:
            files_by_flag[flag].append(file)
    for flag, files in sorted(files_by_flag.items()):
        yield burndown_model.FlagSummary(
            flag=flag, files=len(files), examples=file_groups.list_example_paths(files, _FLAG_EXAMPLES)
        )


def _count_shards(state: RunState) -> dict[ShardStatus, int]:
    counts: Counter[ShardStatus] = Counter()
    for shard in state.migration.shards.values():
        if shard.files:
            counts[state.migration.get_shard_status(shard)] += 1
    return {status: counts[status] for status in ShardStatus if counts[status]}
