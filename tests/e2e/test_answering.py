"""Answers at the command line: questions have ids that stay, and each reply says what was answered."""

import re
from pathlib import Path

import pytest

from tests.running.cli import Finished
from tests.running.goals import task
from tests.running.in_process import orchestrate
from tests.running.projects import GATE, calculator, git
from tests.running.scripts import judges, planner_ends, plans, reviews, worker_ends, write_script, writes

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(600)]

THREE = ("rotate", "inspect", "jsonl")


class AskingRun:
    """A run of tasks side by side, each of which asks before it lands."""

    def __init__(self, place: Path) -> None:
        calculator(place / "repo")
        drafts = [{"key": name} for name in THREE]
        again = [writes("rotate", "rotate.txt", "better\n"), worker_ends("rotate"), reviews("rotate")]
        items = [plans("root", *drafts)]
        for name in THREE:
            items += task(name)
        model = write_script(place / "script.json", [*items, *again, planner_ends(), judges()])
        models = [word for role in ("planner", "worker", "judge") for word in ("--model", f"{role}={model}")]
        asks = ("--approval", "review", "--set", 'approval.paths=["*.txt"]')
        self.place = place
        self.where = ("--repo", str(place / "repo"), "--state", str(place / "state"))
        begun = self.says("run", "steps", "--gate", GATE, "--set", "gate.report=unittest", *models, *asks)
        assert begun.code == 6
        self.begun = begun

    def says(self, *words: str) -> Finished:
        return orchestrate(*words, *self.where, cwd=self.place)

    def ids(self) -> dict[str, str]:
        """The id of each task's question that waits."""
        return {one["subject"]: one["id"] for one in self.says("inbox", "--json").json["waiting"]}


def test_two_answers_by_id_land_what_was_named_and_nothing_else(tmp_path: Path) -> None:
    run = AskingRun(tmp_path)
    asked = run.ids()
    assert sorted(asked.values()) == ["q1", "q2", "q3"]
    assert "asks q1: land " in run.begun.err
    exit_text = (
        r"waits for an answer to q1 landing/\S+, q2 .*: orchestrate .* approve \S+ q1 \(or send-back or reject\)"
    )
    assert re.search(exit_text, run.begun.err)
    first, second, third = sorted(asked, key=asked.__getitem__)
    for given, unit, name in ((("latest", "q1"), first, "q1"), (("q2",), second, "q2")):
        done = run.says("approve", *given, "--no-wake")
        assert done.err.startswith(f"approve {name}: waits for the next engine (land {unit}: 1 files, +1 −0 lines)")
    for words, said in (
        (("q2",), f"q2 landing/{second} was answered already: approved by "),
        (
            ("2",),
            f"'2' names no question: the ids of questions begin with q and stay, as q1; waiting: q3 landing/{third}",
        ),
        (("latest", "q9"), "has asked no q9; waiting: q3 "),
        (("q1", "q2"), "'q1' names a question, and so does 'q2'"),
    ):
        refused = run.says("approve", *words, "--no-wake")
        assert (refused.code, said in refused.err) == (2, True), refused.err
    assert run.says("resume").code == 6
    assert run.ids() == {third: "q3"}
    branch = run.says("status", "--json").json["pr_branch"]
    landed = set(git(tmp_path / "repo", "ls-tree", "--name-only", branch).split()) & {f"{name}.txt" for name in THREE}
    assert landed == {f"{unit.partition('@')[0]}.txt" for unit in (first, second)}
    done = run.says("approve", "--json")
    assert (done.code, done.json["question"], done.json["title"]) == (0, "q3", f"land {third}: 1 files, +1 −0 lines")


@pytest.mark.extended
def test_a_note_and_comments_on_lines_are_sent_back_and_shown(tmp_path: Path) -> None:
    run = AskingRun(tmp_path)
    mine = run.ids()["rotate@1"]
    wrong = run.says("send-back", mine, "--comment", "rotate.txt=why")
    assert (wrong.code, "'rotate.txt=why' is no comment on a line: write PATH:LINE=TEXT" in wrong.err) == (2, True)
    words = ("--note", "in capitals", "--comment", "rotate.txt:1=say more")
    done = run.says("send-back", mine, *words, "--no-wake")
    assert (done.code, f"send-back {mine}: waits for the next engine (land rotate@1" in done.err) == (0, True)
    assert run.says("resume").code == 6
    assert run.ids()["rotate@2"] == "q4"
    shown = run.says("show", "latest", "rotate").out
    assert f"{mine}: sent back by " in shown
    assert "rotate.txt:1: say more" in shown
    assert run.says("deny", "q4", "--reason", "not now", "--no-wake").code == 0, "the old name of reject"
    assert run.says("inbox", "--json").json["sent"][0]["command"]["do"] == "reject"
