"""What people say of files and shards while steps, gates and the end of a migration are under way."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.run_execution import RunExit, run_migration
from orchestrator.domain.commands.definitions import Command, HoldShard, ReleaseShard, RetryFiles, SkipFiles
from orchestrator.domain.event.work import SessionStarted
from orchestrator.journal.locations.run_directory import RunDirectory
from orchestrator.journal.storage.event_store import read_all_events
from orchestrator.run_control.send_command import send_command
from tests.engine import test_model_steps as models
from tests.running.goals import When
from tests.running.migrating import GATE, SED, Migrated, recipe, words

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(240)]

SLOW = {"report": "unittest", "coverage": False, "check": [{"id": "t", "run": f"sleep 2.5; {GATE}"}]}
LAST = {"id": "last", "run": "sleep 3", "report": "exit-code", "level": "final"}
LATE = {"report": "unittest", "coverage": False, "check": [{"id": "t", "run": GATE}, LAST]}
SKIP, AGAIN = SkipFiles(files=("a/1.txt",)), RetryFiles(files=("a/1.txt",))
HOLD, RELEASE = HoldShard(shard="b"), ReleaseShard(shard="b")
THREE = (
    {"run": "sleep 2; sed -i '1i first' {files}"},
    {"run": "sleep 2; sed -i '1i second' {files}", "when": "always"},
    {"run": SED, "when": "always"},
)
TOGETHER = {"files": 0, "first": 5}
"""All shards in one wave."""

Moment = Callable[[Any], bool]


class Said:
    """Commands of a person, each as soon as its moment has been recorded, in order."""

    def __init__(self, root: Path, *said: tuple[Moment, tuple[Command, ...]]) -> None:
        self._root, self._said = root, list(said)

    def on_run_opened(self, state: object) -> None:
        """Nothing is said when the run is opened."""

    def on_event_recorded(self, recorded: Any) -> None:
        """Say what is due."""
        if self._said and self._said[0][0](recorded.event):
            say(self._root, *self._said.pop(0)[1])


def say(root: Path, *commands: Command) -> None:
    for command in commands:
        send_command(RunDirectory(max(root.parent.glob("state/*/runs/*"))), command, by="ada")


def at_step(name: str) -> Moment:
    return lambda event: event.kind == "step.started" and event.step == name


def at_baseline(event: Any) -> bool:
    return bool(event.kind == "check.started")


def in_queue(event: Any) -> bool:
    return event.kind == "check.started" and event.purpose_facts.kind == "queue"


class Past:
    """The final check after the wave, which also runs on the base."""

    def __init__(self) -> None:
        self._is_over = False

    def __call__(self, event: Any) -> bool:
        self._is_over |= event.kind == "wave.ended"
        return self._is_over and event.kind == "check.started" and event.check == "last"


def two(tmp_path: Path, second: str) -> Migrated:
    """Two files: `a/1.txt` and another, in its directory's shard."""
    return Migrated(words(tmp_path / "repo", {"a/1.txt": "old", second: "old"}))


async def carried(run: Migrated, recipe_of_it: dict[str, Any], *said: tuple[Moment, tuple[Command, ...]]) -> RunExit:
    """The migration to its first end."""
    run.ended = await run_migration(run.options(), recipe_of_it, Said(run.root, *said))
    return run.ended


def stands(run: Migrated) -> dict[str, tuple[str, str]]:
    """The status of each file, and its words on the branch."""
    return {path: (status, run.text(path).strip()) for path, status in run.statuses().items()}


@pytest.mark.parametrize(
    ("other", "first", "then"), [("b/1.txt", HOLD, RELEASE), ("a/2.txt", SKIP, AGAIN)], ids=["held", "left out"]
)
async def test_what_misses_a_step_lands_with_all_of_them_all_the_same(
    tmp_path: Path, other: str, first: Command, then: Command
) -> None:
    run = two(tmp_path, other)
    said = (at_step("step-0"), (first,)), (at_step("step-1"), (then,))
    ended = await carried(run, recipe(*THREE, sample=TOGETHER), *said)
    assert ended.exit_code == 0, ended.error
    assert set(stands(run).values()) == {("merged", "second\nfirst\nnew")}


async def test_a_shard_that_is_released_within_its_wave_lands_with_the_next(tmp_path: Path) -> None:
    run = two(tmp_path, "b/1.txt")
    said = (lambda event: event.kind == "wave.started", (HOLD,)), (in_queue, (RELEASE,))
    await carried(run, recipe({"run": f"sleep 2; {SED}"}, verify=SLOW, sample=TOGETHER), *said)
    assert set(stands(run).values()) == {("merged", "new")}
    assert len(run.ended.state.migration.waves) == 2


@pytest.mark.parametrize("moment", [at_baseline, at_step("step-0")], ids=["before its step", "after its step"])
async def test_a_shard_that_was_held_to_the_end_lands_when_it_is_released(tmp_path: Path, moment: Moment) -> None:
    run = two(tmp_path, "b/1.txt")
    held = await carried(run, recipe({"run": f"sleep 2; {SED}"}, verify=SLOW, sample=TOGETHER), (moment, (HOLD,)))
    assert (held.exit_code, run.statuses()["a/1.txt"], run.text("b/1.txt").strip()) == (3, "merged", "old")
    released = await run.say(RELEASE)
    assert released.exit_code == 0, released.error
    assert stands(run)["b/1.txt"] == ("merged", "new")


async def test_a_run_of_which_everything_is_held_says_so_and_not_that_nothing_changed(tmp_path: Path) -> None:
    run = two(tmp_path, "b/1.txt")
    both = HoldShard(shard="a"), HOLD
    ended = await carried(run, recipe({"run": f"sleep 2; {SED}"}, sample=TOGETHER), (at_step("step-0"), both))
    assert ended.state.ended
    assert ended.state.ended.outcome == "partial"
    assert ended.state.ended.reason == "0 files landed, 0 failed, 2 changed and held back"


@pytest.mark.parametrize("said", [SKIP, HoldShard(shard="a")], ids=["left out", "held"])
async def test_what_is_left_out_or_held_as_it_lands_is_told_as_what_it_is(tmp_path: Path, said: Command) -> None:
    run = two(tmp_path, "a/2.txt")
    ended = await carried(run, recipe({"run": SED}, verify=SLOW), (in_queue, (said,)))
    assert ended.error is None
    status, text = stands(run)["a/1.txt"]
    assert (status == "merged") == (text == "new")
    assert stands(run)["a/2.txt"] == ("merged", "new")


@pytest.mark.parametrize("word", ["new", "wrong"], ids=["green", "red"])
async def test_a_file_that_is_tried_again_as_it_is_judged_is_tried_in_the_next_wave(tmp_path: Path, word: str) -> None:
    run = two(tmp_path, "a/2.txt")
    step = f"case {{files}} in a/1.txt) sed -i s/old/{word}/ {{files}};; *) {SED};; esac"
    ended = await carried(run, recipe({"run": step}, verify=SLOW), (in_queue, (SKIP, AGAIN)))
    assert ended.error is None
    status, text = stands(run)["a/1.txt"]
    assert (status, text) == (("merged", "new") if word == "new" else ("rejected", "old"))
    assert stands(run)["a/2.txt"] == ("merged", "new")


async def test_a_file_that_is_wanted_again_after_its_steps_have_run_is_not_forgotten(tmp_path: Path) -> None:
    run = two(tmp_path, "a/2.txt")
    await carried(run, recipe({"run": SED}, verify=SLOW), (at_baseline, (SKIP,)), (in_queue, (AGAIN,)))
    assert set(stands(run).values()) == {("merged", "new")}


async def test_a_file_that_is_wanted_again_during_the_final_checks_is_tried_before_the_end(tmp_path: Path) -> None:
    run = two(tmp_path, "b/1.txt")
    step = f"case {{files}} in a/1.txt) test -e seen || exit 1;; *) {SED};; esac"
    await carried(run, recipe({"run": step}, verify=LATE), (Past(), (AGAIN,)))
    tried = [event for event in run.events(object) if event.kind == "file.moved" and event.path == "a/1.txt"]
    assert run.statuses()["a/1.txt"] == "unchanged", "as the step fails again"
    assert [event.status for event in tried] == ["restored", "unchanged"] * 2


async def test_a_shard_that_is_released_during_the_final_checks_lands_before_the_end(tmp_path: Path) -> None:
    run = two(tmp_path, "b/1.txt")
    await carried(run, recipe({"run": SED}, verify=LATE), (at_baseline, (HOLD,)), (Past(), (RELEASE,)))
    assert set(stands(run).values()) == {("merged", "new")}


def by_models(tmp_path: Path) -> tuple[Path, dict[str, Any], list[Any]]:
    """Two files that a command leaves to a model, and what it answers, the first time after a while."""
    root = models.words(tmp_path / "repo", {"a": ["old", "better"], "b": ["old", "better"]})
    given = models.recipe({"run": models.SED}, models.TAIL, models.HAND)
    first, *rest = models.made(given, "a.txt", "better\n")
    items = [first.model_copy(update={"delay_s": 3}), *rest, *models.made(given, "b.txt", "better\n")]
    return root, given, items


def briefs(ended: RunExit) -> list[str]:
    begun = [one.event for one in read_all_events(ended.directory.journal)]
    return [str(event.brief.head) for event in begun if isinstance(event, SessionStarted)]


async def test_no_model_is_asked_of_a_file_that_was_left_out_while_it_waited(tmp_path: Path) -> None:
    root, given, items = by_models(tmp_path)
    when = When("attempt.started", lambda _: say(root, SkipFiles(files=("b.txt",))))
    ended = await run_migration(models.options(root, items, run={"max_workers": 1}), given, when)
    (brief,) = briefs(ended)
    assert "a.txt" in brief


async def test_a_note_to_a_model_that_is_at_work_reaches_its_next_attempt(tmp_path: Path) -> None:
    root, given, items = by_models(tmp_path)
    wanted = RetryFiles(files=("a.txt",), note="in CAPITALS")
    when = When("attempt.started", lambda _: say(root, SkipFiles(files=("a.txt",)), wanted))
    ended = await run_migration(models.options(root, items, run={"max_workers": 1}), given, when)
    assert any("in CAPITALS" in brief for brief in briefs(ended))
