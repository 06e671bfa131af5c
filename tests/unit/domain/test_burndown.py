"""The burndown as part of the fold: what remained when."""

from collections import Counter
from datetime import timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.event import Event
from orchestrator.domain.event.base import RecordedEvent
from orchestrator.domain.event.migration import FilesFound, WaveStarted
from orchestrator.domain.event.run import EngineStarted, RunPaused
from orchestrator.domain.fold.projection import fold_events
from orchestrator.domain.migration.burndown import MAX_TICKS, get_found_weight, sum_remaining_weight, thin_ticks
from orchestrator.domain.migration.files import FileStatus, Tick
from orchestrator.domain.run.state import RunState
from orchestrator.domain.transitions import FILE_TRANSITIONS
from tests.running import migrated
from tests.running.migrated import DAY, RECIPE, begun, lands, moved, recorded, story, told

PATHS = ("a.py", "b.py", "c.py")


@st.composite
def _moves(draw: st.DrawFn) -> list[Event]:
    """Moves of three files that the transition table allows, with any number of sites left."""
    stand = dict.fromkeys(PATHS, FileStatus.DISCOVERED)
    events: list[Event] = []
    for path in draw(st.lists(st.sampled_from(PATHS), max_size=25)):
        nexts = sorted(FILE_TRANSITIONS[stand[path]])
        stand[path] = draw(st.sampled_from(nexts))
        left = draw(st.none() | st.integers(0, 12))
        events.append(moved(path, stand[path], left=left))
    return events


@given(_moves(), st.sampled_from([0.1, 10.0]), st.booleans())
def test_the_last_tick_is_the_state_and_no_more_remains_than_was_found(
    moves: list[Event], every_s: float, has_sites: bool
) -> None:
    recipe = RECIPE if has_sites else RECIPE | {"scope": {"include": ["*.py"]}}
    files = tuple(migrated.found(path, sites) for path, sites in zip(PATHS, (10, 0, 3), strict=True))
    state = fold_events(recorded([*begun(recipe), FilesFound(files=files), *moves], every_s))
    last = state.migration.burndown[-1]
    assert last.sites == sum_remaining_weight(state)
    assert last.files == Counter(file.status.value for file in state.migration.files.values())
    whole = sum(get_found_weight(file, has_sites) for file in state.migration.files.values())
    assert all(0 <= tick.sites <= whole for tick in state.migration.burndown)
    assert [tick.at for tick in state.migration.burndown] == sorted(tick.at for tick in state.migration.burndown)


_TICKS = st.lists(
    st.builds(Tick, at=st.just(0.0), worked=st.floats(0, 1e6), sites=st.just(1.0), mark=st.sampled_from(["", "", "m"])),
    min_size=1,
    max_size=60,
)


@given(_TICKS, st.integers(2, 40))
def test_thinning_keeps_the_first_the_last_and_every_mark_and_is_bounded(ticks: list[Tick], most: int) -> None:
    ticks = sorted(ticks, key=lambda tick: tick.worked)
    kept = thin_ticks(ticks, most)
    assert len(kept) <= max(most, min(len(ticks), 2))
    assert (kept[0], kept[-1]) == (ticks[0], ticks[-1])
    marked = [tick for tick in ticks if tick.mark]
    if len(marked) + 2 <= most:
        assert [tick for tick in kept if tick.mark] == marked


def test_a_run_of_very_many_moves_keeps_a_bounded_burndown() -> None:
    files = tuple(migrated.found(f"{n}.py", 1) for n in range(2_000))
    moves = [moved(file.path, FileStatus.NOTHING_TO_DO) for file in files]
    state = fold_events(recorded([*begun(), FilesFound(files=files), *moves]))
    assert MAX_TICKS // 2 <= len(state.migration.burndown) <= MAX_TICKS
    assert state.migration.burndown[0].mark == "inventory"


def test_what_happened_stands_at_its_tick() -> None:
    assert [tick.mark for tick in told().migration.burndown if tick.mark] == [
        "inventory",
        "wave 1 (sample)",
        "wave 2 (sweep)",
        "recipe revised: 0badcafe",
        "rolled back: sample",
    ]


def test_what_landed_has_gone_and_what_is_rolled_back_is_there_again() -> None:
    first = migrated.found("a.py", 4)
    events = [*begun(), FilesFound(files=(first,)), *lands("s", "a.py", left=1)]
    assert fold_events(recorded(events)).migration.burndown[-1].sites == 1.0
    assert fold_events(recorded([*events, moved("a.py", FileStatus.REVERTED)])).migration.burndown[-1].sites == 4.0


def test_a_pause_takes_time_but_no_work() -> None:
    events: list[Event] = [*begun(), FilesFound(files=(migrated.found("a.py", 4),)), RunPaused(reason="x", exit=5)]
    later = [EngineStarted(epoch=2, pid=2, host="h", version="1"), WaveStarted(number=1, wave="sweep", shards=())]
    records = recorded(events)
    records += [RecordedEvent(seq, DAY + timedelta(days=1, seconds=seq), event) for seq, event in enumerate(later, 6)]
    pause, wave = fold_events(records).migration.burndown[-2:]
    assert wave.at - pause.at > 86_000
    assert wave.worked - pause.worked < 10


def test_folding_on_from_any_moment_gives_the_same_burndown() -> None:
    events = recorded(story())
    whole = fold_events(events)
    for cut in range(0, len(events), 5):
        assert fold_events(events[cut:], fold_events(events[:cut])).migration.burndown == whole.migration.burndown


def test_a_journal_from_before_sites_were_weighed_counts_them_as_one_each() -> None:
    old: Any = migrated.found("a.py", 4).model_copy(update={"weight": 0.0, "places": ()})
    state: RunState = fold_events(recorded([*begun(), FilesFound(files=(old,))]))
    assert state.migration.burndown[-1].sites == 4.0
