"""Declared paths bind where another task at work has named the file, and advise elsewhere."""

from typing import Any

from orchestrator.domain.ids import ROOT_TASK, TaskId
from orchestrator.domain.run.task import Task
from orchestrator.judge.files.changed_file import ChangedFile
from orchestrator.judge.rules.change_facts import ChangeFacts
from orchestrator.judge.rules.task_scope import check_task_scope, list_parallel_tasks
from tests.unit.judge.changes import changed


def task(name: str, *paths: str, parent: str = ROOT_TASK, **more: Any) -> Task:
    depth = name.count("/") + 1
    values = {"id": TaskId(name), "parent": TaskId(parent), "kind": "leaf", "title": name, "outcome": name}
    return Task.model_validate({**values, "depth": depth, "paths": paths, **more})


def red(mine: Task, other: Task, *files: ChangedFile) -> list[str]:
    found = [one for one in check_task_scope(ChangeFacts(files, task=mine, parallel_tasks=[other])) if one.is_blocking]
    assert all(finding.rule == "scope" for finding in found)
    return [finding.text for finding in found]


def names(mine: Task, *others: Task) -> list[str]:
    """The others that work beside a task, if all are live."""
    tasks = {one.id: one for one in (mine, *others)}
    return [one.id for one in list_parallel_tasks(mine, tasks, list(tasks.values()))]


MINE, OTHER = task("mine", "src/a/**"), task("other", "src/b/**", "docs/new.md", "README.md")
THERE = changed("src/b/x.py", "x = 1\n", "x = 2\n")


def test_a_file_that_another_task_has_named_is_red_and_names_that_task() -> None:
    assert red(MINE, OTHER, THERE, changed("README.md", "a", None)) == [
        "src/b/x.py, README.md: task other is to change that, and this task did not name it: leave it alone"
    ]


def test_outside_of_everybody_s_paths_and_without_paths_of_its_own_nothing_binds() -> None:
    assert red(MINE, OTHER, changed("setup.py", "a", "b"), changed("src/a/x.py", "a", "b")) == []
    assert red(task("free"), OTHER, THERE) == []
    assert red(task("both", "src/**"), OTHER, THERE) == []


def test_a_new_file_is_another_s_only_if_that_one_names_it_without_wildcards() -> None:
    assert red(MINE, OTHER, changed("src/b/new.py", None, "x = 1\n")) == []
    assert len(red(MINE, OTHER, changed("docs/new.md", None, "x\n"))) == 1


def test_a_task_s_own_branches_and_what_is_below_it_are_no_others() -> None:
    branch = task("core", "src/**", kind="branch")
    leaf = task("core/one", "src/a/**", parent="core")
    assert names(leaf, branch, OTHER) == ["other"]
    assert names(branch, leaf, OTHER) == ["other"]


def test_tasks_with_an_order_between_them_are_no_others() -> None:
    later = task("later", "src/a/**", depends_on=("middle",))
    middle = task("middle", "src/m/**", depends_on=("mine",))
    assert names(MINE, later, middle, OTHER) == ["other"]
    assert names(later, MINE, middle, OTHER) == ["other"]


def test_an_order_between_branches_is_one_between_their_tasks() -> None:
    first, second = task("first", kind="branch"), task("second", kind="branch", depends_on=("first",))
    one, two = task("first/one", "a", parent="first"), task("second/two", "b", parent="second")
    three = task("first/three", "c", parent="first")
    assert names(one, first, second, two, three) == ["first/three"]
    assert names(two, first, second, one, three) == []


def test_a_task_that_names_no_paths_takes_nothing_from_others() -> None:
    assert names(MINE, task("free")) == []
