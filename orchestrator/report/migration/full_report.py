"""Build the report of a migration: its burndown with every file, from which HTML, Markdown, CSV and JSON are made."""

from collections.abc import Iterator
from pathlib import Path

from orchestrator.domain.migration.files import FileRecord, FileStatus, Shard
from orchestrator.domain.run.state import RunState
from orchestrator.report.migration.burndown import FULL_BOUNDS, build_burndown
from orchestrator.report.migration.burndown_model import BurndownFields
from orchestrator.report.migration.file_groups import get_step_name, list_step_names
from orchestrator.report.read_model import Omittable, ReadModel
from orchestrator.report.run.condition import ConditionSummary
from orchestrator.report.run.model import FlakyTest, GateComparison, select_details
from orchestrator.report.run.result import build_run_result


class ReportedFile(ReadModel):
    """A file that has something to do; `commit` is the one of its shard if it landed."""

    path: str
    status: FileStatus
    owner: str
    shard: str
    step: str
    attempt: int
    sites: int
    sites_left: int
    reason: str
    signature: str
    flags: tuple[str, ...]
    commit: str
    seconds: float


class ReportedInvariant(ReadModel):
    """An invariant of the recipe, with the keys that it was written with."""

    kind: str
    site: Omittable[str] = None
    max: Omittable[int] = None
    min: Omittable[int] = None
    pattern: Omittable[str] = None
    paths: Omittable[tuple[str, ...]] = None
    lines: Omittable[int] = None
    run: Omittable[str] = None
    timeout_s: Omittable[float] = None
    level: Omittable[str] = None

    @property
    def details(self) -> str:
        """Its keys but the kind, in words."""
        return ", ".join(f"{name} = {value}" for name, value in self.list_details())

    def list_details(self) -> list[tuple[str, str]]:
        """Return each of its keys but the kind, with its value in words."""
        return [(name, str(value)) for name, value in self.as_object().items() if name != "kind"]


class MigrationReport(BurndownFields, schema="orchestrate.migration-report/1"):
    """The burndown in full, with what the run says of itself, the recipe's invariants as written, and every file."""

    outcome: str
    sentence: str = ""
    condition: ConditionSummary
    reason: str
    base: str
    pr_branch: str
    head: str | None
    unsafe: bool
    notices: tuple[str, ...]
    flaky: tuple[FlakyTest, ...]
    gate: GateComparison
    started_at: str
    invariants: tuple[ReportedInvariant, ...]
    files: tuple[ReportedFile, ...]

    @property
    def details(self) -> str:
        """The recorded reason, where it says more than the sentence."""
        return select_details(self.outcome, self.reason)


_FROM_RESULT = (
    *("outcome", "condition", "sentence", "reason", "base", "pr_branch", "head", "unsafe", "notices", "flaky", "gate"),
)


def build_migration_report(state: RunState, is_at_work: bool | None = None) -> MigrationReport:
    """Return the whole report, with files sorted by path. Files with nothing to do are left out.

    For `is_at_work` see `find_condition`.
    """
    result, recipe = build_run_result(state, Path(), is_at_work), state.migration.recipe
    fields = build_burndown(state, FULL_BOUNDS).copy_fields()
    for name in _FROM_RESULT:
        fields[name] = getattr(result, name)
    return MigrationReport(
        **fields,
        started_at=state.run.started_at.isoformat(),
        invariants=tuple(recipe.dump_values().get("invariant", ())) if recipe else (),
        files=tuple(_iterate_files(state)),
    )


def _iterate_files(state: RunState) -> Iterator[ReportedFile]:
    steps = list_step_names(state)
    shards: dict[str, Shard] = {}
    for shard in state.migration.shards.values():
        shards.update(dict.fromkeys(shard.files, shard))
    for path in sorted(state.migration.files):
        file = state.migration.files[path]
        if file.status != FileStatus.NOTHING_TO_DO:
            yield _build_file(file, shards.get(path), steps)


def _build_file(file: FileRecord, shard: Shard | None, steps: list[str]) -> ReportedFile:
    shard_name = commit = ""
    if shard is not None:
        shard_name = shard.name
        if file.status == FileStatus.MERGED:
            commit = shard.commit or ""
    return ReportedFile(
        **{**dict(file), "seconds": round(file.seconds, 3)},
        shard=shard_name,
        step=get_step_name(steps, file.rung) or "",
        sites_left=file.remaining_sites,
        commit=commit,
    )
