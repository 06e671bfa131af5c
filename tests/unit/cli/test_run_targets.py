"""One word after `show`, `logs` and `diff`: a run, else a task, file or question of the latest run."""

from pathlib import Path

import pytest

from orchestrator.domain.event.people import ApprovalRequested
from orchestrator.domain.ids import RunId
from orchestrator.domain.run.approval import Approval
from orchestrator.journal.journal import Journal, SystemClock
from orchestrator.journal.locations.run_directory import StateDirectory
from tests.running.cli import Finished
from tests.running.in_process import orchestrate
from tests.running.projects import calculator
from tests.unit.journal.test_golden_journals import JOURNALS, restore

OLDER, LATEST = "20261119-101010-aaaa", "20261120-131127-e989"


class Shop:
    """A repository with two runs of a goal, whose journals are kept ones."""

    def __init__(self, root: Path, *runs: str) -> None:
        self.root = calculator(root / "shop")
        self.state = root / "state"
        for run in runs:
            directory = StateDirectory.locate_for(self.root, str(self.state)).path / "runs" / run
            directory.mkdir(parents=True)
            directory.parent.parent.chmod(0o700)
            restore(JOURNALS / "goal.v2.jsonl", directory / "journal.db")

    def say(self, *words: str) -> Finished:
        return orchestrate(*words, "--state", self.state, cwd=self.root)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path, OLDER, LATEST)


@pytest.mark.parametrize("verb", ["show", "logs"])
def test_one_word_that_is_a_task_means_the_latest_run(shop: Shop, verb: str) -> None:
    assert shop.say(verb, "reporting/csv").out == shop.say(verb, LATEST, "reporting/csv").out != ""


def test_one_word_that_is_a_run_means_the_whole_run(shop: Shop) -> None:
    assert shop.say("show", "aaaa").out == shop.say("show", OLDER, "root").out != ""


def test_show_without_a_word_shows_the_goal_of_the_latest_run(shop: Shop) -> None:
    assert shop.say("show").out == shop.say("show", LATEST, "root").out != ""


@pytest.mark.parametrize("verb", ["show", "logs", "diff"])
def test_one_word_that_is_neither_names_what_may_have_been_meant(shop: Shop, verb: str) -> None:
    refused = shop.say(verb, "reporting/cvs")
    problem = f"no run and no task, file or question of the latest run ({LATEST}) is called 'reporting/cvs'"
    assert (refused.code, f"{problem}; did you mean reporting/csv" in refused.err) == (2, True)


def test_one_word_that_is_a_run_and_a_task_means_the_run_and_says_so(tmp_path: Path) -> None:
    shop = Shop(tmp_path, "discounts", "e-latest")
    shown = shop.say("logs", "discounts")
    assert "discounts is a run; for what is called discounts in the latest run, write: latest discounts" in shown.err
    assert shown.out == shop.say("logs", "latest").out


async def test_one_word_that_is_a_question_means_the_question_and_its_task(shop: Shop) -> None:
    directory = StateDirectory.locate_for(shop.root, str(shop.state)).get_run(RunId(LATEST))
    asked = Approval(item="landing/invoice@1", matter="landing", subject="invoice@1", title="may invoice land?")
    journal = Journal(directory.path, SystemClock())
    await journal.append(ApprovalRequested(approval=asked))
    journal.close()
    shown = shop.say("show", asked.item).out.splitlines()
    assert shown[0] == "may invoice land?"
    assert any(line.startswith("invoice  merged  ") for line in shown)
    assert shop.say("logs", asked.item).out == shop.say("logs", "invoice").out != ""
    assert shop.say("show", "q1").out.splitlines()[0] == shown[0]
    assert shop.say("logs", "q1").out == shop.say("logs", "invoice").out


def test_a_mistyped_run_names_the_one_that_is_like_it(shop: Shop) -> None:
    refused = shop.say("status", "aaab")
    assert (refused.code, "; did you mean aaaa?" in refused.err) == (2, True)
