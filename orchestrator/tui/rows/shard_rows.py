"""The shards of a migration as rows: which are on their way, which landed, were taken back or are kept back."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.landing import LandingFinished
from orchestrator.domain.event.run import CheckStarted
from orchestrator.domain.migration.files import FileStatus, Shard, ShardStatus
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.rows.activity import Activity
from orchestrator.report.rows.row_filter import FilteredByAttributes

_CHARS = 300
_DOING: Mapping[ShardStatus, Activity] = {
    ShardStatus.OPEN: Activity.QUEUE,
    ShardStatus.RUNNING: Activity.RUN,
    ShardStatus.MERGED: Activity.DONE,
    ShardStatus.FAILED: Activity.FAIL,
    ShardStatus.HELD: Activity.PAUSE,
    ShardStatus.REVERTED: Activity.STOP,
    ShardStatus.EMPTY: Activity.DONE,
}
_ORDER = [
    *(Activity.ASK, Activity.TEST, Activity.RUN, Activity.RETRY, Activity.PAUSE, Activity.QUEUE, Activity.FAIL),
    *(Activity.STOP, Activity.DONE),
]


@dataclass(frozen=True)
class ShardRow(FilteredByAttributes):
    """A shard: `landed` of `files` files are on the branch, `failed` failed; `wave` is 0 before its first."""

    FILTER_FIELDS: ClassVar = {
        "shard": "name", "state": "activity.filter_values", "status": "status.value", "owner": "owner", "wave": "wave",
        "files": "files", "left": "left", "commit": "commit", "reason": "note",
    }  # fmt: skip

    name: str
    activity: Activity
    status: ShardStatus
    owner: str
    wave: int
    files: int
    landed: int
    failed: int
    commit: str
    note: str
    at: datetime | None = None

    @property
    def left(self) -> int:
        """The number of files that are not on the branch."""
        return self.files - self.landed


SHARD_KEYS = tuple(ShardRow.FILTER_FIELDS)
"""The fields that filters of shards can name."""


def build_shard_rows(state: RunState, recent: Iterable[RecordedEvent] = ()) -> list[ShardRow]:
    """Return shards: those under test, then on their way, held, to come, failed, rolled back and landed."""
    waves, landed_at = _find_latest_waves(state), _find_landing_times(recent)
    rows = []
    for shard in _list_shards_with_files(state):
        rows.append(_build_row(state, shard, waves, landed_at))
    return sorted(rows, key=lambda row: _ORDER.index(row.activity))


def _list_shards_with_files(state: RunState) -> list[Shard]:
    """Return the shards that still have files: what does not land with its shard moves on to the next one."""
    return [shard for shard in state.migration.shards.values() if shard.files]


def _build_row(state: RunState, shard: Shard, waves: Mapping[str, int], landed_at: Mapping[str, datetime]) -> ShardRow:
    files = state.migration.list_files([shard])
    counts = Counter(file.status for file in files)
    status = shard.compute_status(files)
    is_going = shard.name in state.migration.requested_rollbacks
    return ShardRow(
        name=shard.name,
        activity=Activity.RETRY if is_going else _DOING[status],
        status=status,
        owner=shard.owner,
        wave=waves.get(shard.name, 0),
        files=len(files),
        landed=counts[FileStatus.MERGED],
        failed=sum(file.has_failed for file in files),
        commit=(shard.commit or "")[:10],
        note=to_one_line(_note(state, shard, counts), _CHARS),
        at=landed_at.get(shard.name),
    )


def _note(state: RunState, shard: Shard, counts: Counter[FileStatus]) -> str:
    reason = state.migration.rollback_reasons.get(shard.name, "")
    if shard.name in state.migration.requested_rollbacks:
        return reason or "is to be taken back"
    if shard.is_reverted:
        return reason or "taken back"
    if shard.held:
        return f"held: {shard.held}"
    if reason and shard.commit:
        return f"stays: {reason}"
    others = sorted(counts.items() - {(FileStatus.MERGED, counts[FileStatus.MERGED])})
    return ", ".join(f"{count} {status.word}" for status, count in others)


def _find_latest_waves(state: RunState) -> Mapping[str, int]:
    """Return, by shard, the latest wave it went up in."""
    latest: dict[str, int] = {}
    for wave in state.migration.waves:
        latest |= dict.fromkeys(wave.shards, wave.number)
    return latest


def _find_landing_times(recent: Iterable[RecordedEvent]) -> Mapping[str, datetime]:
    times = {}
    for recorded in recent:
        if isinstance(recorded.event, LandingFinished):
            times.update(dict.fromkeys((part.name for part in recorded.event.parts), recorded.at))
    return times


def render_shards_line(state: RunState) -> str:
    """Return `wave 2 (sweep)  12 of 40 shards landed  searching: union of 14 is red, 6 looks  3 files ejected`."""
    wave = next((wave for wave in reversed(state.migration.waves) if not wave.is_over), None)
    shards = Counter(map(state.migration.get_shard_status, _list_shards_with_files(state)))
    ejected = sum(file.status == FileStatus.EJECTED for file in state.migration.files.values())
    parts = [f"wave {wave.number} ({wave.kind})"] if wave else []
    parts.append(f"{shards[ShardStatus.MERGED]} of {shards.total() - shards[ShardStatus.EMPTY]} shards landed")
    if shards[ShardStatus.REVERTED]:
        parts.append(f"{shards[ShardStatus.REVERTED]} rolled back")
    if state.trials:
        parts.append(_describe_search(state))
    if ejected:
        parts.append(f"{ejected} files ejected")
    return "  ".join(parts)


def _describe_search(state: RunState) -> str:
    """Return the state of the queue's search for a culprit, in words."""
    last = state.trials[-1]
    looks = sum(trial.round == last.round for trial in state.trials)
    result = "green" if last.difference.is_green else "red"
    testing = "testing; " * any(isinstance(intent, CheckStarted) for intent in state.open_intents.values())
    return f"{testing}last union of {len(last.units)}: {result}" + f" (look {looks})" * (looks > 1)
