"""`approve --edit` and `--plan`: a person changes a plan that waits, and a broken text is refused at its line."""

from pathlib import Path

import pytest

from tests.running.cli import Finished, environment
from tests.running.goals import task
from tests.running.in_process import orchestrate
from tests.running.projects import GATE, calculator
from tests.running.scripts import judges, planner_ends, plans, write_script

pytestmark = [pytest.mark.sandbox, pytest.mark.timeout(600)]
DROP_SECOND = """sed -i '/key = "b"/,$d' "$1" && sed -i '$d' "$1" """


class PlannedRun:
    """A run whose plan of two tasks waits for an answer."""

    def __init__(self, place: Path) -> None:
        items = [plans("root", {"key": "a"}, {"key": "b"}), *task("a"), planner_ends(), judges()]
        model = write_script(place / "script.json", items)
        models = [word for role in ("planner", "worker", "judge") for word in ("--model", f"{role}={model}")]
        self.place = place
        self.where = ("--repo", str(calculator(place / "repo")), "--state", str(place / "state"))
        asks = ("--approval", "review", "--set", "approval.max_tasks=1", "--set", "gate.report=unittest")
        assert self.type_words("run", "a and b", "--gate", GATE, *models, *asks).code == 6

    def type_words(self, *words: str, editor: str = "false") -> Finished:
        """Type a verb; the editor is a script of the shell whose `$1` is the file."""
        program = self.place / "editor"
        program.write_text(f"#!/bin/sh\n{editor}\n")
        program.chmod(0o755)
        env = environment(self.place, EDITOR=str(program))
        return orchestrate(*words, *self.where, cwd=self.place, env=env)

    @property
    def waiting(self) -> list[str]:
        """The questions that wait."""
        return [one["item"] for one in self.type_words("inbox", "--json").json["waiting"]]


def test_a_plan_is_edited_in_the_editor_and_the_report_says_so(tmp_path: Path) -> None:
    run = PlannedRun(tmp_path)
    assert "approve latest q1 --edit" in run.type_words("inbox").out.replace(
        run.type_words("inbox", "--json").json["run"], "latest"
    )
    done = run.type_words("approve", "--edit", "--json", "--no-wake", editor=DROP_SECOND)
    assert (done.code, done.json["question"], done.json["edited"]) == (0, "q1", ["dropped b (b)"]), done.err
    assert run.type_words("resume").code == 0
    report = run.type_words("report", "latest", "--md", "-").out
    assert "dropped b (b)" in report.partition("Plans edited by people")[2].partition("Tasks")[0]
    assert "edited the plan of round 1 of root: dropped b (b)" in run.type_words("logs", "latest", "--all").out


def test_a_broken_text_answers_nothing_and_names_its_line_and_its_file(tmp_path: Path) -> None:
    run = PlannedRun(tmp_path)
    broken = run.type_words("approve", "q1", "--edit", editor="""sed -i 's/key = "b"/key = b/' "$1" """)
    kept = Path(broken.err.partition("mend ")[2].partition(",")[0])
    line = kept.read_text().splitlines().index("key = b") + 1
    assert (broken.code, f"{kept}:{line}: " in broken.err) == (2, True), broken.err
    rule = tmp_path / "plan.toml"
    rule.write_text(kept.read_text().replace("key = b", 'key = "b"\ndepends_on = ["ghost"]'))
    refused = run.type_words("approve", "q1", "--plan", str(rule))
    assert (refused.code, f"{rule}:{line - 1}: task 'b' depends on 'ghost'" in refused.err) == (2, True), refused.err
    for editor in ("true", ': > "$1"', "false"):
        nothing = run.type_words("approve", "q1", "--edit", editor=editor)
        assert (nothing.code, "nothing was answered" in nothing.err) == (2, True), nothing.err
    assert run.waiting == ["plan/root@1"]


@pytest.mark.extended
def test_a_plan_of_a_file_is_approved_and_other_questions_take_none(tmp_path: Path) -> None:
    run, file = PlannedRun(tmp_path), tmp_path / "plan.toml"
    file.write_text('rationale = "mine"\n\n[[tasks]]\nkey = "a"\ntitle = "A"\noutcome = "a is there"\n')
    both = run.type_words("approve", "q1", "--plan", str(file), "--edit")
    assert "give one of them" in both.err
    done = run.type_words("approve", "q1", "--plan", str(file), "--no-wake")
    assert done.code == 0, done.err
    assert "changed a (A): title, outcome" in done.out
    again = run.type_words("approve", "q1", "--plan", str(file), "--no-wake")
    assert (again.code, "was answered already" in again.err) == (2, True)
