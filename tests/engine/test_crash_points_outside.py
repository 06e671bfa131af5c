"""Killed around a hook, a push or a notification and resumed, a run does none of them twice that must happen once."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from orchestrator.config.layers import get_user_config_path
from orchestrator.crash import CRASH_POINT_VARIABLE
from orchestrator.domain.event.base import Intent
from orchestrator.domain.event.external import HookFinished, NotificationSent, PushFinished
from orchestrator.domain.fold.projection import fold_events
from orchestrator.journal.storage.event_store import read_all_events
from tests.running.cli import environment
from tests.running.goals import one
from tests.running.killing import Start, as_json, landed_more_than_once, processes_about
from tests.running.projects import GATE, calculator, git
from tests.running.remotes import bare
from tests.running.scripts import write_script

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(480)]


@dataclass(frozen=True)
class Survived:
    """A run that was killed and resumed to its end, and what the world saw of it."""

    place: Path
    result: Mapping[str, Any]

    @property
    def events(self) -> list[Any]:
        return [recorded.event for recorded in read_all_events(Path(self.result["journal"]))]

    def lines(self, name: str) -> list[str]:
        path = self.place / name
        return path.read_text().splitlines() if path.exists() else []

    def check(self) -> None:
        """What holds however often and wherever a run was killed."""
        journal, remote = Path(self.result["journal"]), self.place / "remote.git"
        assert (self.result["outcome"], self.result["exit"]) == ("done", 0)
        assert git(remote, "rev-parse", self.result["pr_branch"]) == self.result["head"]
        assert git(self.place / "repo", "rev-list", "--count", "refs/orchestrate/prs/1") == "1"
        assert landed_more_than_once(journal) == []
        assert fold_events(read_all_events(journal)).open_intents == {}
        begun = Counter(event.key for event in self.events if isinstance(event, Intent))
        assert [key for key, count in begun.items() if count > 1] == []
        assert sum(isinstance(event, PushFinished) for event in self.events) == 1
        assert processes_about(self.place) == []


def survive(place: Path, moments: Sequence[str], notify: str, hook: str) -> Survived:
    """Run one task to its end, dying at each moment in turn."""
    repository = calculator(place / "repo")
    bare(place / "remote.git", repository)
    model = write_script(place / "script.json", one("a"))
    models = [word for role in ("planner", "worker", "judge") for word in ("--model", f"{role}={model}")]
    config = get_user_config_path({"HOME": str(place)})
    config.parent.mkdir(parents=True)
    config.write_text(
        f'[pr]\npush = "origin"\n[notify]\n{notify}\n'
        f'[[hooks]]\non = "{hook}"\nrun = "echo told >>{place}/hook"\ntrusted = true\n'
    )
    words = ("run", "better", "--gate", GATE, "--set", "gate.report=unittest", *models)
    where = ("--repo", str(repository), "--state", str(place / "state"))
    start = Start(words, where, place, environment(place))
    for number, moment in enumerate(moments):
        doomed = replace(start, env={**start.env, CRASH_POINT_VARIABLE: moment})
        process = doomed.begin() if number == 0 else replace(doomed, words=("resume",)).begin()
        assert process.wait() == 7, f"the engine did not come to {moment}"
    return Survived(place, as_json(start.resume()))


def around(effect: str, *moments: str) -> list[str]:
    return [f"{effect}.{moment}" for moment in moments]


def test_what_was_not_begun_is_done_once_and_a_hook_before_the_fact_runs_again(tmp_path: Path) -> None:
    moments = [
        *around("hook", "before-intent", "after-intent", "before-done", "after-done"),
        *around("push", "before-intent", "after-intent", "after-done"),
        *around("notification", "before-intent"),
    ]
    run = survive(tmp_path, moments, f'command = "cat >>{tmp_path}/sent; echo >>{tmp_path}/sent"', "before_attempt")
    run.check()
    assert [event["kind"] for line in run.lines("sent") for event in json.loads(line)["events"]] == ["run.ended"]
    assert len(run.lines("hook")) == 3, "twice before the process died, once for good"


def test_a_push_nobody_saw_the_end_of_is_found_and_a_notification_begun_is_never_sent_again(tmp_path: Path) -> None:
    moments = ["push.before-done", "notification.after-intent"]
    run = survive(tmp_path, moments, f'command = "cat >>{tmp_path}/sent; echo >>{tmp_path}/sent"', "after_run")
    run.check()
    assert run.lines("sent") == []
    assert [event.is_sent for event in run.events if isinstance(event, NotificationSent)] == [None]
    assert len(run.lines("hook")) == 1


@pytest.mark.parametrize(("moment", "recorded"), [("before-done", None), ("after-done", True)])
def test_a_notification_that_was_sent_is_not_sent_again(moment: str, recorded: bool | None, tmp_path: Path) -> None:
    notify = f'command = "cat >>{tmp_path}/sent; echo >>{tmp_path}/sent"'
    run = survive(tmp_path, around("notification", moment), notify, "after_run")
    run.check()
    assert len(run.lines("sent")) == 1
    assert [event.is_sent for event in run.events if isinstance(event, NotificationSent)] == [recorded]


def test_a_notification_file_is_written_exactly_once_and_a_hook_after_the_fact_runs_at_most_once(
    tmp_path: Path,
) -> None:
    moments = [
        *around("hook", "before-done"),
        *around("notification", "before-intent", "after-intent", "before-done", "after-done"),
    ]
    run = survive(tmp_path, moments, f'dir = "{tmp_path}/box"', "after_attempt")
    run.check()
    (file,) = (tmp_path / "box").iterdir()
    assert [event["kind"] for event in json.loads(file.read_text())["events"]] == ["run.ended"]
    assert len(run.lines("hook")) == 1
    assert [event for event in run.events if isinstance(event, HookFinished)] == []
