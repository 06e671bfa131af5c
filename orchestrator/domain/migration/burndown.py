"""The burndown of a migration: what remained when, booked as part of the fold.

The last tick is always the state as it is. Ticks within a second of work are one; of very many, some are left out.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

from orchestrator.domain.event import migration, people, run
from orchestrator.domain.event.base import Event
from orchestrator.domain.migration.files import FileRecord, FileStatus, Tick
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.run.state import RunState

MAX_TICKS = 500
"""The number of ticks that a run keeps at most."""
TICK_MERGE_S = 1.0
"""Seconds of work within which moves of files belong to one tick."""

_DONE = {FileStatus.MERGED, FileStatus.NOTHING_TO_DO}


def counts_sites(recipe: Recipe | None) -> bool:
    """Return True if a recipe counts sites. If it does not, each file stands for one."""
    return recipe is not None and bool(recipe.scope.site)


def get_found_weight(file: FileRecord, has_sites: bool = True) -> float:
    """Return the weight of the sites that a file has on the base."""
    if not has_sites:
        return 1.0
    return file.weight or float(file.sites)


def get_remaining_weight(file: FileRecord, has_sites: bool = True) -> float:
    """Return the weight of the sites that a file still has on the PR branch; never more than were found."""
    if not has_sites:
        return 0.0 if file.status in _DONE else 1.0
    if file.sites:
        return get_found_weight(file) * min(file.remaining_sites, file.sites) / file.sites
    return 0.0


def sum_remaining_weight(state: RunState) -> float:
    """Return the weight of all sites that remain."""
    has_sites = counts_sites(state.migration.recipe)
    return round(sum(get_remaining_weight(file, has_sites) for file in state.migration.files.values()), 6)


def record_tick(state: RunState, event: Event, at: datetime, before: FileRecord | None) -> None:
    """Book what an event changed. `state` has taken it in already; `before` is the file that it moved, as it was."""
    if isinstance(event, migration.FilesFound):
        state.migration.inventory_at = at
        state.migration.burndown = [_make_full_tick(state, at, "inventory")]
    if not state.migration.burndown or isinstance(event, migration.FilesFound):
        return
    if before is not None and isinstance(event, migration.FileMoved):
        _add_tick(state, _make_moved_tick(state, at, before, state.migration.files[event.path]))
    elif (mark := describe_tick_event(event)) or isinstance(event, people.CommandTaken):
        _add_tick(state, _make_full_tick(state, at, mark))


def describe_tick_event(event: Event) -> str:
    """Return the burndown's words for the tick of an event; empty for most."""
    match event:
        case migration.WaveStarted():
            return f"wave {event.number} ({event.wave})"
        case migration.RecipeRevised():
            return f"recipe revised: {event.revision}"
        case migration.ShardReverted():
            return f"rolled back: {event.shard}"
        case run.RunPaused():
            return f"paused: {event.reason}"
        case run.RunEnded():
            return f"ended: {event.outcome}"
        case people.CommandTaken(refused=""):
            return _COMMAND_MARKS.get(event.command.do, "")
    return ""


_COMMAND_MARKS = {"skip-files": "files left out", "retry-files": "files tried again", "revise": "recipe revised"}


def _make_full_tick(state: RunState, at: datetime, mark: str) -> Tick:
    files = Counter(file.status.value for file in state.migration.files.values())
    return _make_tick(state, at, sum_remaining_weight(state), dict(sorted(files.items())), mark)


def _make_moved_tick(state: RunState, at: datetime, before: FileRecord, after: FileRecord) -> Tick:
    """Return the tick after a file moved, made from the last one: there may be very many files."""
    last, has_sites = state.migration.burndown[-1], counts_sites(state.migration.recipe)
    files = Counter(last.files)
    files.update({after.status.value: 1})
    files.subtract({before.status.value: 1})
    sites = round(last.sites - get_remaining_weight(before, has_sites) + get_remaining_weight(after, has_sites), 6)
    return _make_tick(state, at, max(sites, 0.0), dict(sorted((+files).items())), "")


def _make_tick(state: RunState, at: datetime, sites: float, files: dict[str, int], mark: str) -> Tick:
    earlier = state.migration.burndown if mark != "inventory" else []
    last = [Tick(at=0.0, sites=0.0), *earlier[-1:]][-1]
    start = state.migration.inventory_at or at
    return Tick(
        at=round(max((at - start).total_seconds(), last.at), 3),
        worked=round(max(state.wall_s, last.worked), 3),
        sites=sites,
        files=files,
        spent_usd=float(state.spend.total.cost_usd),
        mark=mark,
    )


def _add_tick(state: RunState, tick: Tick) -> None:
    """Add a tick; one without a mark takes in what was booked just before it, and keeps its time."""
    ticks = state.migration.burndown
    last = ticks[-1]
    if not tick.mark and not last.mark and tick.worked - last.worked < TICK_MERGE_S:
        ticks[-1] = tick.model_copy(update={"at": last.at, "worked": last.worked})
        return
    ticks.append(tick)
    if len(ticks) > MAX_TICKS:
        state.migration.burndown = thin_ticks(ticks, MAX_TICKS // 2)


def thin_ticks(ticks: Sequence[Tick], limit: int) -> list[Tick]:
    """Return at most `limit` ticks: the first, the last and all with a mark, and some others, evenly over the work.

    Marks are left out only where there are more than `limit` of them.
    """
    if len(ticks) <= limit:
        return list(ticks)
    kept = {0, len(ticks) - 1, *(index for index, tick in enumerate(ticks) if tick.mark)}
    if len(kept) > limit:
        return [ticks[index] for index in _pick_evenly(sorted(kept), limit)]
    room = limit - len(kept)
    others = sorted(set(range(len(ticks))) - kept)
    return [ticks[index] for index in sorted(kept | set(_pick_spread(ticks, others, room)))]


def _pick_evenly(indices: Sequence[int], limit: int) -> list[int]:
    """Return at most `limit` of the places (two at least), the first and the last among them."""
    step = (len(indices) - 1) / (max(limit, 2) - 1)
    return list(dict.fromkeys(indices[round(step * number)] for number in range(max(limit, 2))))


def _pick_spread(ticks: Sequence[Tick], indices: Iterable[int], room: int) -> list[int]:
    """Return at most `room` of the places, no two of them in the same stretch of work."""
    if room <= 0:
        return []
    begin, end = ticks[0].worked, ticks[-1].worked
    stretch = (end - begin) / room or 1.0
    last_in = {min(int((ticks[index].worked - begin) / stretch), room - 1): index for index in indices}
    return list(last_in.values())
