"""Every verb that takes RUN finds it from outside of any repository, or says why it cannot and what to do."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import anyio
import click
import pytest

from orchestrator.cli.main import cli
from orchestrator.domain.event.run import RepositoryMoved
from orchestrator.journal.journal import Journal, SystemClock
from orchestrator.journal.locations.run_directory import StateDirectory
from tests.running.cli import Finished
from tests.running.in_process import orchestrate
from tests.running.projects import calculator
from tests.unit.journal.test_golden_journals import JOURNALS, restore

RUN = "20261120-131127-e989"
FOUND: Mapping[str, tuple[int, tuple[str, ...]]] = {
    "migrate status": (2, ()),
    "migrate report": (2, ()),
    "migrate resume": (0, ()),
    "migrate retry": (2, ("--failed",)),
    "migrate skip": (2, ("pricing.py", "--reason", "generated")),
    "migrate hold": (2, ("one",)),
    "migrate release": (2, ("one",)),
    "migrate publish": (2, ()),
    "migrate rollback": (2, ("--all",)),
    "status": (0, ()),
    "watch": (0, ("--plain",)),
    "logs": (0, ()),
    "show": (0, ()),
    "cost": (0, ()),
    "traces": (0, ()),
    "report": (0, ()),
    "diff": (7, ()),
    "approve": (2, ()),
    "send-back": (2, ("--note", "smaller")),
    "reject": (2, ()),
    "pause": (2, ()),
    "continue": (2, ()),
    "retry": (2, ("nothing",)),
    "cancel": (2, ()),
    "tell": (2, ("root", "hurry")),
    "stop-call": (2, ("root",)),
    "criterion add": (2, ("docs: explained",)),
    "criterion drop": (2, ("docs",)),
    "inbox": (0, ()),
    "label": (0, ("team=web",)),
    "resume": (0, ()),
    "engine": (0, ()),
    "repair": (0, ()),
    "replay": (2, ("--offline",)),
    "run export": (7, ("archive.tar",)),
    "memory diff": (0, ()),
    "hosts status": (0, ()),
    "hosts drain": (2, ("build-1",)),
    "hosts cordon": (2, ("build-1",)),
    "hosts uncordon": (2, ("build-1",)),
}
"""Verb → the exit code and more words, with which it does no work: the run has ended, and git lacks its base."""
OF_ONE_REPOSITORY = {"gc", "retro", "ci run"}
"""The verbs that name runs by an option, and act on one repository."""
BY_OPTION = {"memory diff"}
LOOKUPS = (
    "status",
    "show",
    "report",
    "tell",
    "resume",
    "migrate resume",
    "replay",
    "run export",
    "engine",
    "memory diff",
)
"""A verb of each way to look a run up."""


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory in no repository, beside one whose only run has ended."""
    tmp_path = tmp_path_factory.mktemp("home")
    root, outside = calculator(tmp_path / "shop"), tmp_path / "outside"
    outside.mkdir()
    run = StateDirectory.locate_for(root, str(tmp_path / "state")).path / "runs" / RUN
    run.mkdir(parents=True)
    run.parent.parent.chmod(0o700)
    restore(JOURNALS / "goal.v2.jsonl", run / "journal.db")

    async def move() -> None:
        journal = Journal(run, SystemClock())
        await journal.append(RepositoryMoved(repository=str(root)))
        journal.close()

    anyio.run(move)
    return outside


def say(home: Path, *words: str) -> Finished:
    return orchestrate(*words, "--state", home.parent / "state", cwd=home)


def iterate_verbs(command: click.Command, *words: str) -> Iterator[str]:
    """Yield the verbs that take a run."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from iterate_verbs(below, *words, name)
    elif any(
        one.name == "run" or "--run" in one.opts or getattr(one, "metavar", "") == "RUN" for one in command.params
    ):
        yield " ".join(words)


def test_the_table_names_every_verb_that_takes_a_run() -> None:
    assert {*iterate_verbs(cli), "run export"} == {*FOUND, *OF_ONE_REPOSITORY}


@pytest.mark.parametrize("verb", FOUND)
def test_a_run_is_found_from_outside_of_its_repository(verb: str, home: Path) -> None:
    code, more = FOUND[verb]
    named = ("--run", "e989") if verb in BY_OPTION else ("e989",)
    done = say(home, *verb.split(), *named, *more)
    for problem in ("no git repository", "not inside a git repository", "no run of"):
        assert problem not in done.out + done.err
    assert done.code == code, done.err


@pytest.mark.parametrize("verb", LOOKUPS)
def test_outside_of_any_repository_a_run_has_to_be_named(verb: str, home: Path) -> None:
    named = ("--run", "latest") if verb in BY_OPTION else ("latest",)
    done = say(home, *verb.split(), *named, *FOUND[verb][1])
    assert (done.code, "orchestrate runs lists" in done.err, "--repo DIR" in done.err) == (2, True, True), done.err


@pytest.mark.parametrize("words", ["gc --run e989", "retro --run e989", "ci run --resume e989"])
def test_a_verb_for_one_repository_asks_for_it(words: str, home: Path) -> None:
    done = say(home, *words.split())
    assert (done.code, "name a directory inside a checkout" in done.err) == (2, True), done.err


def test_a_name_that_fits_no_run_of_any_repository_is_refused(home: Path) -> None:
    done = say(home, "tell", "7f3a", "root", "hurry")
    assert (done.code, "'7f3a' is no run of any repository; orchestrate runs lists them" in done.err) == (2, True)
