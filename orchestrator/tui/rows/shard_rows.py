"""The shards of a migration as rows: which are on their way, which landed, were taken back or are kept back."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from orchestrator.domain.event import RecordedEvent
from orchestrator.domain.event.landing import LandingFinished
from orchestrator.domain.event.run import CheckStarted
from orchestrator.domain.migration.files import FileStatus, Shard, ShardStatus
from orchestrator.domain.run.state import RunState
from orchestrator.domain.text.sanitization import to_one_line
from orchestrator.report.migration.file_groups import has_failed
from orchestrator.report.rows.activity import Activity
from orchestrator.report.rows.row_filter import FilterValue

SHARD_KEYS = ("shard", "state", "status", "owner", "wave", "files", "left", "commit", "reason")
"""What the shards can be filtered by."""
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
class ShardRow:
    """A shard: `landed` of `files` files are on the branch, `failed` failed; `wave` is 0 before its first."""

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

    def get_filter_values(self) -> Mapping[str, FilterValue]:
        """Return the values that filters compare."""
        return {
            "shard": self.name,
            "state": self.activity.value,
            "status": self.status.value,
            "owner": self.owner,
            "wave": float(self.wave),
            "files": float(self.files),
            "left": float(self.files - self.landed),
            "commit": self.commit,
            "reason": self.note,
        }


def build_shard_rows(state: RunState, recent: Iterable[RecordedEvent] = ()) -> list[ShardRow]:
    """Return shards: those under test, then on their way, held, to come, failed, rolled back and landed."""
    waves, at = _waves(state), _landed_at(recent)
    made = []
    for shard in _whole(state):
        made.append(_row(state, shard, waves, at))
    return sorted(made, key=lambda row: _ORDER.index(row.activity))


def _whole(state: RunState) -> Iterator[Shard]:
    """Return the shards that still have files: what does not land with its shard moves on to the next one."""
    return (shard for shard in state.shards.values() if shard.files)


def _row(state: RunState, shard: Shard, waves: Mapping[str, int], at: Mapping[str, datetime]) -> ShardRow:
    files = [state.files[path] for path in shard.files]
    counts = Counter(file.status for file in files)
    status = shard.compute_status(files)
    return ShardRow(
        name=shard.name,
        activity=_doing(state, shard, status),
        status=status,
        owner=shard.owner,
        wave=waves.get(shard.name, 0),
        files=len(files),
        landed=counts[FileStatus.MERGED],
        failed=sum(has_failed(file) for file in files),
        commit=(shard.commit or "")[:10],
        note=to_one_line(_note(state, shard, counts), _CHARS),
        at=at.get(shard.name),
    )


def _doing(state: RunState, shard: Shard, status: ShardStatus) -> Activity:
    if shard.name in state.requested_rollbacks:
        return Activity.RETRY
    return _DOING[status]


def _note(state: RunState, shard: Shard, counts: Counter[FileStatus]) -> str:
    said = state.rollback_reasons.get(shard.name, "")
    if shard.name in state.requested_rollbacks:
        return said or "is to be taken back"
    if shard.is_reverted:
        return said or "taken back"
    if shard.held:
        return f"held: {shard.held}"
    if said and shard.commit:
        return f"stays: {said}"
    others = []
    for status, count in sorted(counts.items()):
        if status != FileStatus.MERGED:
            others.append(f"{count} {status.value}")
    return ", ".join(others)


def _waves(state: RunState) -> Mapping[str, int]:
    """Return, by shard, the latest wave it went up in."""
    return {name: wave.number for wave in state.waves for name in wave.shards}


def _landed_at(recent: Iterable[RecordedEvent]) -> Mapping[str, datetime]:
    landings = ((one.at, one.event) for one in recent if isinstance(one.event, LandingFinished))
    return {part.name: at for at, event in landings for part in event.parts}


def render_shards_line(state: RunState) -> str:
    """Return `wave 2 (sweep)  12 of 40 shards landed  searching: union of 14 is red, 6 looks  3 files ejected`."""
    wave = next((wave for wave in reversed(state.waves) if not wave.is_over), None)
    shards = []
    for shard in _whole(state):
        shards.append(state.get_shard_status(shard))
    ejected = sum(file.status == FileStatus.EJECTED for file in state.files.values())
    parts = [
        f"wave {wave.number} ({wave.kind})" if wave else "",
        f"{shards.count(ShardStatus.MERGED)} of {len(shards) - shards.count(ShardStatus.EMPTY)} shards landed",
        f"{shards.count(ShardStatus.REVERTED)} rolled back" if ShardStatus.REVERTED in shards else "",
        _search(state),
        f"{ejected} files ejected" if ejected else "",
    ]
    return "  ".join(part for part in parts if part)


def _search(state: RunState) -> str:
    """Return the state of the queue's search for a culprit, in words."""
    if not state.trials:
        return ""
    last = state.trials[-1]
    looks = sum(trial.round == last.round for trial in state.trials)
    if last.difference.is_green:
        word = "green"
    else:
        word = "red"
    is_testing = any(isinstance(one, CheckStarted) for one in state.open_intents.values())
    verb = "testing; " if is_testing else ""
    return f"{verb}last union of {len(last.units)}: {word}" + (f" (look {looks})" if looks > 1 else "")
