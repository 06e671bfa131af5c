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
from orchestrator.project.options import Options
from orchestrator.run_control.control import send_command
from tests.engine import test_model_steps as models
from tests.running.holds import Hold
from tests.running.migrating import GATE, SED, Migrated, recipe, words
from tests.running.scripts import uses

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(240)]

SKIP, AGAIN = SkipFiles(files=("a/1.txt",)), RetryFiles(files=("a/1.txt",))
HOLD, RELEASE = HoldShard(shard="b"), ReleaseShard(shard="b")
TOGETHER = {"files": 0, "first": 5}
"""All shards in one wave."""

Moment = Callable[[Any], bool]


class Said:
    """Commands of a person, each as soon as its moment has been recorded, in order.

    What comes to the hold waits from such a moment until all of its commands are taken.
    """

    def __init__(self, root: Path, hold: Hold, *said: tuple[Moment, tuple[Command, ...]]) -> None:
        self._root, self._hold, self._said = root, hold, list(said)
        self._open = 0

    def on_run_opened(self, state: object) -> None:
        """Nothing is said when the run is opened."""

    def on_event_recorded(self, recorded: Any) -> None:
        """Say what is due, and let go on what waits for it to be taken."""
        if recorded.event.kind == "command.taken":
            self._open -= 1
            if not self._open:
                self._hold.open()
        if self._said and self._said[0][0](recorded.event):
            commands = self._said.pop(0)[1]
            self._open += len(commands)
            self._hold.close()
            say(self._root, *commands)


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


class Run(Migrated):
    """Two files, `a/1.txt` and another, in its directory's shard, whose commands may come to a hold."""

    def __init__(self, tmp_path: Path, second: str, hold: Hold) -> None:
        super().__init__(words(tmp_path / "repo", {"a/1.txt": "old", second: "old"}), None, {"hands": hold.settings})
        self.hold = hold

    @property
    def step(self) -> dict[str, Any]:
        """The step that migrates a file, once it is let."""
        return {"run": f"{self.hold.command}; {SED}"}

    @property
    def steps(self) -> tuple[dict[str, Any], ...]:
        """Three of them, of which the first two may come to the hold."""
        first, second = (f"{self.hold.command}; sed -i '1i {word}' {{files}}" for word in ("first", "second"))
        return {"run": first}, {"run": second, "when": "always"}, {"run": SED, "when": "always"}

    @property
    def slow(self) -> dict[str, Any]:
        """Checks that may come to the hold."""
        held = {"id": "t", "run": f"{self.hold.command}; {GATE}"}
        return {"report": "unittest", "coverage": False, "check": [held]}

    @property
    def late(self) -> dict[str, Any]:
        """Checks of which only the last one, at the end of the run, may."""
        last = {"id": "last", "run": self.hold.command, "report": "exit-code", "level": "final"}
        return {"report": "unittest", "coverage": False, "check": [{"id": "t", "run": GATE}, last]}


async def carried(run: Run, recipe_of_it: dict[str, Any], *said: tuple[Moment, tuple[Command, ...]]) -> RunExit:
    """The migration to its first end."""
    run.ended = await run_migration(run.options(), recipe_of_it, Said(run.root, run.hold, *said))
    return run.ended


def stands(run: Migrated) -> dict[str, tuple[str, str]]:
    """The status of each file, and its words on the branch."""
    return {path: (status, run.text(path).strip()) for path, status in run.statuses().items()}


@pytest.mark.extended
@pytest.mark.parametrize(
    ("other", "first", "then"), [("b/1.txt", HOLD, RELEASE), ("a/2.txt", SKIP, AGAIN)], ids=["held", "left out"]
)
async def test_what_misses_a_step_lands_with_all_of_them_all_the_same(
    tmp_path: Path, hold: Hold, other: str, first: Command, then: Command
) -> None:
    run = Run(tmp_path, other, hold)
    said = (at_step("step-0"), (first,)), (at_step("step-1"), (then,))
    ended = await carried(run, recipe(*run.steps, sample=TOGETHER), *said)
    assert ended.exit_code == 0, ended.error
    assert set(stands(run).values()) == {("merged", "second\nfirst\nnew")}


async def test_a_shard_that_is_released_within_its_wave_lands_with_the_next(tmp_path: Path, hold: Hold) -> None:
    run = Run(tmp_path, "b/1.txt", hold)
    said = (lambda event: event.kind == "wave.started", (HOLD,)), (in_queue, (RELEASE,))
    await carried(run, recipe(run.step, verify=run.slow, sample=TOGETHER), *said)
    assert set(stands(run).values()) == {("merged", "new")}
    assert len(run.ended.state.migration.waves) == 2


@pytest.mark.parametrize("moment", [at_baseline, at_step("step-0")], ids=["before its step", "after its step"])
async def test_a_shard_that_was_held_to_the_end_lands_when_it_is_released(
    tmp_path: Path, hold: Hold, moment: Moment
) -> None:
    run = Run(tmp_path, "b/1.txt", hold)
    held = await carried(run, recipe(run.step, verify=run.slow, sample=TOGETHER), (moment, (HOLD,)))
    assert (held.exit_code, run.statuses()["a/1.txt"], run.text("b/1.txt").strip()) == (3, "merged", "old")
    released = await run.say(RELEASE)
    assert released.exit_code == 0, released.error
    assert stands(run)["b/1.txt"] == ("merged", "new")


async def test_a_run_of_which_everything_is_held_says_so_and_not_that_nothing_changed(
    tmp_path: Path, hold: Hold
) -> None:
    run = Run(tmp_path, "b/1.txt", hold)
    both = HoldShard(shard="a"), HOLD
    ended = await carried(run, recipe(run.step, sample=TOGETHER), (at_step("step-0"), both))
    assert ended.state.ended
    assert ended.state.ended.outcome == "partial"
    assert ended.state.ended.reason == "0 files landed, 0 failed, 2 changed and held back"


@pytest.mark.parametrize("said", [SKIP, HoldShard(shard="a")], ids=["left out", "held"])
async def test_what_is_left_out_or_held_as_it_lands_is_told_as_what_it_is(
    tmp_path: Path, hold: Hold, said: Command
) -> None:
    run = Run(tmp_path, "a/2.txt", hold)
    ended = await carried(run, recipe({"run": SED}, verify=run.slow), (in_queue, (said,)))
    assert ended.error is None
    status, text = stands(run)["a/1.txt"]
    assert (status == "merged") == (text == "new")
    assert stands(run)["a/2.txt"] == ("merged", "new")


@pytest.mark.parametrize("word", ["new", "wrong"], ids=["green", "red"])
async def test_a_file_that_is_tried_again_as_it_is_judged_is_tried_in_the_next_wave(
    tmp_path: Path, hold: Hold, word: str
) -> None:
    run = Run(tmp_path, "a/2.txt", hold)
    step = f"case {{files}} in a/1.txt) sed -i s/old/{word}/ {{files}};; *) {SED};; esac"
    ended = await carried(run, recipe({"run": step}, verify=run.slow), (in_queue, (SKIP, AGAIN)))
    assert ended.error is None
    status, text = stands(run)["a/1.txt"]
    assert (status, text) == (("merged", "new") if word == "new" else ("rejected", "old"))
    assert stands(run)["a/2.txt"] == ("merged", "new")


@pytest.mark.extended
async def test_a_file_that_is_wanted_again_after_its_steps_have_run_is_not_forgotten(
    tmp_path: Path, hold: Hold
) -> None:
    run = Run(tmp_path, "a/2.txt", hold)
    await carried(run, recipe({"run": SED}, verify=run.slow), (at_baseline, (SKIP,)), (in_queue, (AGAIN,)))
    assert set(stands(run).values()) == {("merged", "new")}


@pytest.mark.extended
async def test_a_file_that_is_wanted_again_during_the_final_checks_is_tried_before_the_end(
    tmp_path: Path, hold: Hold
) -> None:
    run = Run(tmp_path, "b/1.txt", hold)
    step = f"case {{files}} in a/1.txt) test -e seen || exit 1;; *) {SED};; esac"
    await carried(run, recipe({"run": step}, verify=run.late), (Past(), (AGAIN,)))
    tried = [event for event in run.events(object) if event.kind == "file.moved" and event.path == "a/1.txt"]
    assert run.statuses()["a/1.txt"] == "unchanged", "as the step fails again"
    assert [event.status for event in tried] == ["restored", "unchanged"] * 2


async def test_a_shard_that_is_released_during_the_final_checks_lands_before_the_end(
    tmp_path: Path, hold: Hold
) -> None:
    run = Run(tmp_path, "b/1.txt", hold)
    await carried(run, recipe({"run": SED}, verify=run.late), (at_baseline, (HOLD,)), (Past(), (RELEASE,)))
    assert set(stands(run).values()) == {("merged", "new")}


def by_models(tmp_path: Path, hold: Hold) -> tuple[Options, dict[str, Any]]:
    """Two files that a command leaves to a model, which comes to the hold first."""
    root = models.words(tmp_path / "repo", {"a": ["old", "better"], "b": ["old", "better"]})
    given = models.recipe({"run": models.SED}, models.TAIL, models.HAND)
    held = uses("worker", models.leaf(given, "a.txt"), "shell", command=hold.command)
    items = [held, *models.made(given, "a.txt", "better\n"), *models.made(given, "b.txt", "better\n")]
    return models.options(root, items, run={"max_workers": 1}, hands=hold.settings), given


def at_model(event: Any) -> bool:
    return bool(event.kind == "attempt.started")


def briefs(ended: RunExit) -> list[str]:
    begun = [one.event for one in read_all_events(ended.directory.journal)]
    return [str(event.brief.head) for event in begun if isinstance(event, SessionStarted)]


@pytest.mark.extended
async def test_no_model_is_asked_of_a_file_that_was_left_out_while_it_waited(tmp_path: Path, hold: Hold) -> None:
    options, given = by_models(tmp_path, hold)
    said = Said(options.repository, hold, (at_model, (SkipFiles(files=("b.txt",)),)))
    ended = await run_migration(options, given, said)
    (brief,) = briefs(ended)
    assert "a.txt" in brief


@pytest.mark.extended
async def test_a_note_to_a_model_that_is_at_work_reaches_its_next_attempt(tmp_path: Path, hold: Hold) -> None:
    options, given = by_models(tmp_path, hold)
    wanted = RetryFiles(files=("a.txt",), note="in CAPITALS")
    said = Said(options.repository, hold, (at_model, (SkipFiles(files=("a.txt",)), wanted)))
    ended = await run_migration(options, given, said)
    assert any("in CAPITALS" in brief for brief in briefs(ended))
