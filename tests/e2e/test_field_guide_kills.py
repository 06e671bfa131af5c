"""The field guide of runs that are killed around its writing, and of runs and people that write it at once."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path

import pytest

from orchestrator.domain.event.memory import GuideChanged
from orchestrator.domain.memory.entry import RetirementCause
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.memory.guide_document import GuideDocument
from orchestrator.memory.guide_file import GuideFile
from tests.running.cli import Finished, orchestrate
from tests.running.killing import Start, as_json, die, landed_more_than_once, processes_about, unsettled
from tests.running.learning import (
    all_of_it,
    begin_repository,
    describe_guide,
    make_entry,
    meet_before_work,
    start_chain,
    start_run,
)

pytestmark = [pytest.mark.extended, pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(900)]

WRITES = 3
"""So often an undisturbed run writes the guide: after each landing, and at its end."""
POINTS = ("guide.before-lock", "guide.before-rename", "guide.after-rename")
DEATHS = [
    *[("landing.after-done:1",), ("landing.after-done:2",)],
    *[(f"{point}:{number}",) for point in POINTS for number in range(1, WRITES + 1)],
    ("landing.after-done:1", "guide.before-lock", "guide.before-rename", "guide.before-rename", "guide.after-rename"),
    ("guide.after-rename:2", "guide.before-rename", "recovery.after"),
]
"""The moments at which a run dies, one after the other; each of them but the first while it is resumed."""


def find_guide(place: Path) -> GuideFile:
    """The field guide of the repository in a place."""
    return GuideFile(next(place.glob("state/*/runs")).parent)


def list_drafts(guide: GuideFile) -> list[Path]:
    return list(guide.path.parent.glob(".*.draft"))


@pytest.fixture(scope="module")
def wanted(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[object, ...]]:
    """The content of the guide after a run that nobody killed."""
    place = tmp_path_factory.mktemp("calm")
    result = as_json(all_of_it(place).to_the_end()[0])
    assert result["outcome"] == "done"
    found = describe_guide(find_guide(place), Path(result["journal"]))
    names = {row[1] for row in found}
    assert names == {("one", 1, 0), ("two", 1, 0), ("root", 2, 0), "used", "wrong", "kept"}
    return found


@pytest.mark.parametrize("deaths", DEATHS, ids=", ".join)
def test_a_run_that_is_killed_between_a_landing_and_the_guide_leaves_the_guide_of_a_run_that_was_not(
    deaths: Sequence[str], wanted: list[tuple[object, ...]], tmp_path: Path
) -> None:
    start = all_of_it(tmp_path)
    guide = find_guide_after(start, deaths)
    result = as_json(start.resume())
    journal = Path(result["journal"])
    assert result["outcome"] == "done"
    assert describe_guide(guide, journal) == wanted
    assert list_drafts(guide) == []
    assert (landed_more_than_once(journal), unsettled(journal)) == ([], [])
    assert processes_about(tmp_path) == []
    kinds = [one.event.kind for one in read_all_events(journal)]
    assert kinds.count("memory.changed") == WRITES


def find_guide_after(start: Start, deaths: Sequence[str]) -> GuideFile:
    """The guide of a run that has died at each of these moments in turn, and could be read after each."""
    for number, moment in enumerate(deaths):
        assert die(start, moment, ("resume",) if number else start.words), f"it did not come to {moment}"
        told = orchestrate("memory", "list", "--json", *start.where, cwd=start.cwd, env=start.env)
        assert told.code == 0, told.err
        if moment.startswith("guide.before-rename"):
            assert len(list_drafts(find_guide(start.cwd))) == 1
    return find_guide(start.cwd)


@pytest.mark.parametrize("moment", POINTS)
def test_a_person_s_word_that_is_killed_is_kept_whole_or_not_at_all(moment: str, tmp_path: Path) -> None:
    guide = begin_repository(tmp_path)
    one, other = (make_entry(guide, tmp_path, name) for name in ("one", "other"))
    start = start_run(tmp_path, "unused", ())
    assert die(start, moment, ("memory", "drop", one.id))
    left = [one, other] if moment != "guide.after-rename" else [other]
    assert list(guide.read_guide().entries) == left
    done = orchestrate("memory", "pin", other.id, *start.where, cwd=tmp_path, env=start.env)
    assert done.code == 0, done.err
    assert [entry.is_pinned for entry in guide.read_guide().entries if entry.id == other.id] == [True]
    assert list_drafts(guide) == []


class Watch:
    """Reads the guide again and again while others write it, by its parser and by the verb."""

    def __init__(self, start: Start, guide: GuideFile) -> None:
        self._start, self._guide = start, guide
        self.states: list[GuideDocument] = []
        """The guide's states one after the other, as far as they were seen."""

    def watch_until(self, is_over: Callable[[], bool]) -> None:
        """Read until nobody writes any more; a guide that is not whole is an error of the first read of it."""
        with ThreadPoolExecutor(1) as thread:
            verb = thread.submit(self._list_until, is_over)
            while not (is_over() and verb.done()):
                found = self._guide.read_guide()
                if not self.states or found != self.states[-1]:
                    self.states.append(found)
                time.sleep(0.001)
            verb.result()
        self.states.append(self._guide.read_guide())

    def _list_until(self, is_over: Callable[[], bool]) -> None:
        while not is_over():
            told = orchestrate("memory", "list", "--json", *self._start.where, cwd=self._start.cwd, env=self._start.env)
            assert told.code == 0, told.err

    def list_lost(self) -> list[str]:
        """The claims that stood in the guide once and were missing later, though nobody ended them."""
        seen, lost = set[str](), list[str]()
        for state in self.states:
            held = {one.id for one in state.entries} | state.list_ended_ids()
            lost += seen - held
            seen |= held
        return lost


def list_claims(guide: GuideFile) -> list[str]:
    return sorted(one.claim for one in guide.read_guide().entries)


def test_two_runs_at_once_that_learn_lose_nothing_of_each_other(tmp_path: Path) -> None:
    guide, count = begin_repository(tmp_path), 4
    meet_before_work(tmp_path, 2)
    starts = [start_chain(tmp_path, goal, count) for goal in ("left", "right")]
    watch = Watch(starts[0], guide)
    with ThreadPoolExecutor(len(starts)) as threads:
        runs = [threads.submit(start.to_the_end) for start in starts]
        watch.watch_until(lambda: all(run.done() for run in runs))
        results = [as_json(run.result()[0]) for run in runs]
    assert [result["outcome"] for result in results] == ["done", "done"]
    assert results[0]["run"] != results[1]["run"]
    assert list_claims(guide) == [f"{goal}{number} is learnt" for goal in ("left", "right") for number in range(count)]
    assert (watch.list_lost(), guide.read_guide().ended) == ([], ())
    times = [list_change_times(Path(result["journal"])) for result in results]
    assert max(found[0] for found in times) < min(found[-1] for found in times), "they did not write at the same time"


def list_change_times(journal: Path) -> list[datetime]:
    """The moments at which a run had something new for the guide."""
    return [one.at for one in read_all_events(journal) if isinstance(one.event, GuideChanged)]


def test_eight_people_who_drop_and_pin_while_a_run_writes_lose_nothing(tmp_path: Path) -> None:
    guide, count = begin_repository(tmp_path), 6
    dropped = [make_entry(guide, tmp_path, f"dropped-{number}").id for number in range(8)]
    pinned = [make_entry(guide, tmp_path, f"pinned-{number}").id for number in range(8)]
    start = start_chain(tmp_path, "chain", count)
    watch = Watch(start, guide)

    def speak(number: int, is_over: Callable[[], bool]) -> list[Finished]:
        """Drop one entry, and pin another one again and again while the run works."""
        words = [("drop", dropped[number])]
        said = list[Finished]()
        while words or not is_over():
            for word in words or [("pin", pinned[number]), ("pin", pinned[number], "--off")]:
                said.append(orchestrate("memory", *word, *start.where, cwd=tmp_path, env=start.env))
            words = []
        return [*said, orchestrate("memory", "pin", pinned[number], *start.where, cwd=tmp_path, env=start.env)]

    with ThreadPoolExecutor(9) as threads:
        run = threads.submit(start.to_the_end)
        people = [threads.submit(speak, number, run.done) for number in range(8)]
        watch.watch_until(lambda: run.done() and all(one.done() for one in people))
        result = as_json(run.result()[0])
        said = [done for one in people for done in one.result()]
    assert result["outcome"] == "done"
    assert [done.err for done in said if done.code] == []
    found = guide.read_guide()
    learnt = [f"chain{number} is learnt" for number in range(count)]
    assert list_claims(guide) == learnt + [f"pinned-{number} is known" for number in range(8)]
    assert sorted(one.id for one in found.entries if one.is_pinned) == pinned
    assert {one.entry: one.cause for one in found.ended} == dict.fromkeys(dropped, RetirementCause.DROPPED)
    assert watch.list_lost() == []
    sizes = [len(state.entries) + len(state.ended) for state in watch.states if state.ended]
    assert min(sizes) < 16 + count <= max(sizes), "nobody dropped anything while the run wrote"
