"""Files of model steps as tasks: one for each path and climb, found again after a restart, ended with their file."""

from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.event.work import TaskEnded, VerdictGiven
from orchestrator.domain.ids import CommitId, TaskId, format_task_ref
from orchestrator.domain.judging.verdict import Verdict, VerdictKind
from orchestrator.domain.migration.files import FileRecord, FileStatus
from orchestrator.domain.paths.globs import matches_glob
from orchestrator.domain.run.state import RunState, TaskState
from orchestrator.domain.run.task import Attempt, TaskStatus
from orchestrator.migrate.models.file_tasks import (
    build_file_task_events,
    build_file_task_id,
    build_step_task,
    build_task_ends,
    escape_glob,
    find_open_file_task,
)
from tests.running.words import recipe

RECIPE = recipe({"kind": "llm", "budget_usd": 2.5})
STEP = RECIPE.step[0]
PATHS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=60)


def state(**of_task: object) -> RunState:
    """A run whose file `a.txt` has one leaf."""
    made = RunState()
    made.migration.files = {"a.txt": FileRecord(path="a.txt", base="old", mode="100644")}
    made.tasks = {TaskId("step/step-0"): TaskState(spec=build_step_task(RECIPE, STEP).spec)}
    (event,) = build_file_task_events(made, RECIPE, STEP, "a.txt")
    spec = event.spec  # type: ignore[attr-defined]
    made.tasks[spec.id] = TaskState(spec=spec).model_copy(update=of_task)
    return made


def tried(count: int, judged: int) -> dict[str, object]:
    task = build_file_task_id(STEP, "a.txt")
    attempts = [Attempt(task=task, number=n + 1, mode="fresh", base=CommitId("c"), model="m") for n in range(count)]
    verdict = Verdict(kind=VerdictKind.RESTART, reasons=("no",))
    verdicts = [VerdictGiven(task=task, number=n + 1, verdict=verdict) for n in range(judged)]
    return {"attempts": tuple(attempts), "verdicts": tuple(verdicts), "status": TaskStatus.JUDGING}


@given(PATHS, PATHS)
def test_every_path_has_a_task_of_its_own_that_can_stand_in_a_ref(one: str, other: str) -> None:
    name = build_file_task_id(STEP, one)
    assert (name == build_file_task_id(STEP, other)) == (one == other)
    assert set(format_task_ref(name)) <= set("abcdefghijklmnopqrstuvwxyz0123456789-.")
    assert ".." not in format_task_ref(name)


@given(st.text(alphabet="ab*?[]!.-", min_size=1).filter(lambda path: path not in {".", "..", "!"}))
def test_a_path_as_a_glob_matches_itself_and_nothing_shorter(path: str) -> None:
    assert matches_glob(escape_glob(path), path)
    assert not matches_glob(escape_glob(path), path[:-1] + "x") or path[-1] == "x"


def test_an_attempt_goes_on_in_the_leaf_of_the_climb_and_a_new_climb_has_a_new_one() -> None:
    assert find_open_file_task(state(), STEP, "a.txt", 1) is not None, "created, and cut off before the attempt"
    assert find_open_file_task(state(**tried(1, 0)), STEP, "a.txt", 1) is not None, "cut off in the attempt"
    assert find_open_file_task(state(**tried(1, 1)), STEP, "a.txt", 2) is not None, "the next attempt"
    again = state(**tried(2, 2))
    assert find_open_file_task(again, STEP, "a.txt", 1) is None, "the file climbs the ladder anew"
    ended, created = build_file_task_events(again, RECIPE, STEP, "a.txt")
    assert isinstance(ended, TaskEnded)
    assert (ended.task, ended.status) == (build_file_task_id(STEP, "a.txt"), TaskStatus.CANCELLED)
    assert created.task == build_file_task_id(STEP, "a.txt", 2)


def test_a_leaf_ends_as_its_file_does() -> None:
    ends = []
    for status, rung in ((FileStatus.MERGED, 0), (FileStatus.MERGED, 1), (FileStatus.SKIPPED, 0)):
        run = state(**tried(1, 1) | {"status": TaskStatus.QUEUED})
        run.migration.files["a.txt"] = run.migration.files["a.txt"].model_copy(update={"status": status, "rung": rung})
        ends += [ended.status for ended in build_task_ends(run, RECIPE)]
    assert ends == [TaskStatus.MERGED, TaskStatus.REJECTED, TaskStatus.CANCELLED]
    assert not list(build_task_ends(state(**tried(1, 1)), RECIPE)), "the file is still on its way"


def test_the_budget_of_a_step_is_that_of_its_task() -> None:
    assert build_step_task(RECIPE, STEP).spec.budget_usd == 2.5
