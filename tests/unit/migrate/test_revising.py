"""Revisions of recipes: which files climb again, what is refused, what is proposed, and how it is shown."""

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.domain.migration.files import FailureKind, FileRecord, FileStatus
from orchestrator.domain.recipe.model import Recipe
from orchestrator.domain.run.migration_state import MigrationState
from orchestrator.domain.run.state import RunState
from orchestrator.errors import UsageProblem
from orchestrator.migrate.recipe.toml_writer import diff_recipes, render_recipe
from orchestrator.migrate.run.recipe_revisions import (
    RecipeProposal,
    build_proposal,
    build_revision,
    find_wished_revision,
    load_known_failures,
)

SITE = {"include": ["*.py"], "site": [{"id": "old", "pattern": r'\bold"'}]}
FIRST = {"id": "first", "run": "unittest2pytest -w {files}"}
TAIL = {"id": "tail", "run": "tail {files}", "when": "failed"}
CHECK = {"check": [{"id": "t", "run": "test"}]}


def recipe(*steps: dict[str, Any], **more: Any) -> Recipe:
    values = {"schema": 1, "migration": {"id": "x"}, "scope": SITE, "step": list(steps), "verify": CHECK}
    return Recipe.model_validate(values | more)


def file(path: str, status: str, rung: int = 0, **more: Any) -> FileRecord:
    return FileRecord(path=path, base="b", mode="100644", sites=1, status=FileStatus(status), rung=rung, **more)


def state(*files: FileRecord) -> RunState:
    return RunState(migration=MigrationState(files={one.path: one for one in files}))


FILES = state(
    file("landed", "merged", left=0),
    file("landed-with-sites", "merged", left=1),
    file("by-tail", "merged", rung=1, left=0),
    file("failed", "rejected", rung=1, signature="E: odd", reason="breaks 1 test"),
    file("idle", "nothing-to-do", rung=-1).model_copy(update={"sites": 0}),
    file("skipped", "skipped"),
    file("reverted", "reverted"),
    file("waiting", "discovered", rung=-1),
)
OLD = recipe(FIRST, TAIL)


def redone(new: Recipe) -> set[str]:
    return set(build_revision(FILES, OLD, new).redo)


def test_a_step_for_failed_files_concerns_the_files_that_failed() -> None:
    assert redone(recipe(FIRST, TAIL, TAIL | {"id": "more", "run": "more {files}"})) == {"failed"}


def test_a_step_for_another_failure_concerns_no_file() -> None:
    assert redone(recipe(FIRST, TAIL, TAIL | {"id": "more", "on_signature": "even"})) == set()


def test_a_signature_is_looked_for_in_the_reason_too() -> None:
    assert redone(recipe(FIRST, TAIL, TAIL | {"id": "more", "on_signature": "breaks 1"})) == {"failed"}


def test_a_changed_first_step_concerns_every_file_that_took_it_also_those_that_landed() -> None:
    changed = recipe(FIRST | {"run": "other {files}"}, TAIL)
    assert redone(changed) == {"landed", "landed-with-sites", "by-tail", "failed"}


def test_a_changed_later_step_concerns_who_took_it() -> None:
    assert redone(recipe(FIRST, TAIL | {"run": "better {files}"})) == {"by-tail", "failed"}


def test_a_step_that_is_gone_concerns_who_took_it() -> None:
    assert redone(recipe(FIRST)) == {"by-tail", "failed"}


def test_a_new_step_for_what_is_left_concerns_files_that_have_sites_left() -> None:
    assert redone(recipe(FIRST, TAIL, {"id": "rest", "run": "rest {files}", "when": "sites-left"})) == {
        "landed-with-sites"
    }


def test_other_checks_concern_the_files_that_failed() -> None:
    assert redone(recipe(FIRST, TAIL, verify={"check": [{"id": "t", "run": "other"}]})) == {"failed"}


def test_what_changes_no_result_concerns_no_file() -> None:
    calmer = recipe(
        FIRST | {"timeout_s": 5}, TAIL | {"id": "renamed"}, stop={"same_signature": 9}, merge={"draft": True}
    )
    assert redone(calmer) == set()


@pytest.mark.parametrize(
    ("before", "after", "failure", "files"),
    [
        ({"idempotent": True}, {}, "repeats", {"failed"}),
        ({"idempotent": True}, {"max_passes": 9}, "repeats", {"failed"}),
        ({"idempotent": True}, {"max_passes": 9}, "command", set()),
        ({"max_passes": 3}, {"max_passes": 9}, "repeats", {"failed"}),
        ({}, {"max_passes": 9}, "queue", {"failed", "landed"}),
        ({}, {"idempotent": True}, "repeats", {"failed"}),
        ({"timeout_s": 1}, {"timeout_s": 9}, "command", {"failed"}),
        ({"timeout_s": 1}, {"timeout_s": 9}, "queue", set()),
    ],
)
def test_another_limit_of_a_step_concerns_the_files_that_it_refused(
    before: dict[str, Any], after: dict[str, Any], failure: str, files: set[str]
) -> None:
    given = state(file("landed", "merged", left=0), file("failed", "rejected", failure=FailureKind(failure)))
    assert set(build_revision(given, recipe(FIRST | before), recipe(FIRST | after)).redo) == files


@pytest.mark.parametrize("part", [{"scope": {"include": ["*"]}}, {"shard": {"depth": 1}}, {"env": {"setup": ["x"]}}])
def test_a_revision_cannot_change_which_files_there_are(part: dict[str, Any]) -> None:
    with pytest.raises(UsageProblem, match=rf"cannot change {next(iter(part))}: begin a new run"):
        build_revision(FILES, OLD, recipe(FIRST, TAIL, **part))


def test_a_revision_that_a_person_wished_for_is_taken_once() -> None:
    new = recipe(FIRST, TAIL, TAIL | {"id": "more", "run": "more {files}"})
    wished = RunState(migration=MigrationState(files=FILES.migration.files, requested_recipe=new))
    taken = find_wished_revision(wished, OLD)
    assert taken is not None
    assert (taken.revision, taken.redo) == (new.revision, ("failed",))
    assert find_wished_revision(FILES, OLD) is None


EXCEPTION = "AttributeError: 'ExceptionInfo' object has no attribute 'exception'"


def stuck(signature: str, count: int = 3, status: str = "rejected", **more: Any) -> RunState:
    alike = [file(f"{n}.py", status, signature=signature, reason="breaks 1 test", **more) for n in range(count)]
    return state(*alike, file("other.py", "rejected", signature="another"))


def proposed(given_: RunState, *steps: dict[str, Any], has_model: bool = False, **more: Any) -> RecipeProposal | None:
    return build_proposal(given_, recipe(*steps, **more), load_known_failures(), has_model)


def test_a_known_failure_is_answered_with_its_known_remedy() -> None:
    found = proposed(stuck(EXCEPTION), FIRST)
    assert found is not None
    step = found.recipe.step[-1]
    assert (step.kind, step.engine, step.pattern, step.rewrite) == ("rewrite", "ast-grep", "$A.exception", "$A.value")
    assert (found.group.signature, found.group.paths) == (EXCEPTION, ("0.py", "1.py", "2.py"))
    assert set(build_revision(stuck(EXCEPTION), recipe(FIRST), found.recipe).redo) == {"0.py", "1.py", "2.py"}


def test_files_that_do_not_parse_are_mended_from_what_was_made_of_them() -> None:
    found = proposed(stuck("does not parse: line N: invalid syntax", status="ejected"), FIRST)
    assert found is not None
    assert (found.recipe.step[-1].start, found.recipe.step[-1].rewrite) == ("tried", "def test_")


@pytest.mark.parametrize(("has_model", "kind"), [(True, "llm"), (False, "human")])
def test_an_unknown_failure_goes_to_a_model_or_to_a_person(has_model: bool, kind: str) -> None:
    found = proposed(stuck("E: odd"), FIRST, has_model=has_model)
    assert found is not None
    assert found.recipe.step[-1].kind == kind


def test_a_new_rung_stands_before_a_persons() -> None:
    found = proposed(stuck(EXCEPTION), FIRST, {"id": "hand", "kind": "human", "when": "failed"})
    assert found is not None
    assert [step.id for step in found.recipe.step] == ["first", "exc-value", "hand"]


def test_nothing_is_proposed_for_too_few_files_or_where_a_later_step_is_for_them() -> None:
    assert proposed(stuck(EXCEPTION, count=2), FIRST) is None
    assert proposed(stuck(EXCEPTION), FIRST, TAIL | {"on_signature": "ExceptionInfo"}) is None
    assert proposed(stuck(EXCEPTION), FIRST, stop={"same_signature": 0}) is None
    assert proposed(stuck("E: odd"), FIRST, {"id": "hand", "kind": "human", "when": "failed"}) is None


def test_a_remedy_that_did_not_help_is_not_proposed_twice() -> None:
    found = proposed(stuck(EXCEPTION), FIRST)
    assert found is not None
    again = build_proposal(stuck(EXCEPTION, rung=1), found.recipe, load_known_failures(), has_model=True)
    assert again is not None
    assert again.recipe.step[-1].kind == "llm"


def test_every_known_remedy_is_a_step_that_a_recipe_can_hold() -> None:
    for known in load_known_failures():
        step = known.build_remedy(["first"])
        assert Recipe.model_validate(OLD.dump_values() | {"step": [FIRST, step.model_dump(exclude_defaults=True)]})


def test_a_revision_is_shown_as_a_diff_of_the_recipe() -> None:
    found = proposed(stuck(EXCEPTION), FIRST)
    assert found is not None
    lines = diff_recipes(recipe(FIRST), found.recipe).splitlines()
    assert lines[0].startswith("--- recipe ")
    assert {'+id = "exc-value"', "+[[step]]", '+pattern = "$A.exception"'} <= set(lines)
    assert not any(line.startswith("-") for line in lines[2:])
    assert diff_recipes(OLD, OLD) == ""


WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)


@given(WORDS, WORDS, st.dictionaries(WORDS, WORDS, max_size=3), st.floats(0.01, 1e6), st.lists(st.integers(0, 255)))
def test_a_written_recipe_reads_as_the_same_recipe(
    title: str, run: str, names: dict[str, str], timeout_s: float, exits: list[int]
) -> None:
    step = {"id": "a", "run": f"{run} {{files}}", "timeout_s": timeout_s, "ok_exit": exits, "when": "always"}
    written = recipe(step, TAIL, migration={"id": "x", "title": title, "atomic": True}, env={"vars": names})
    assert Recipe.model_validate(tomllib.loads(render_recipe(written))) == written
