"""Recipes: strict, complete in their complaints, and the same after a round trip."""

import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.config.layers import iterate_leaf_values
from orchestrator.domain.recipe.field_types import check_glob
from orchestrator.domain.recipe.model import Recipe
from orchestrator.errors import UsageProblem
from orchestrator.migrate.recipe import load_recipe, parse_recipe

EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "recipes").glob("*.toml"))
MINIMAL: dict[str, Any] = {
    "schema": 1,
    "migration": {"id": "x"},
    "scope": {"include": ["*.py"]},
    "step": [{"id": "a", "run": "tool {files}"}],
    "verify": {"check": [{"id": "t", "run": "test"}]},
}


def problem(tmp_path: Path, values: dict[str, Any]) -> str:
    path = tmp_path / "r.toml"
    path.write_text("schema = 1\n")
    with pytest.raises(UsageProblem) as raised:
        parse_recipe(values, path)
    return str(raised.value)


def changed(**changes: Any) -> dict[str, Any]:
    return copy.deepcopy(MINIMAL) | changes


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_recipe_is_valid(path: Path) -> None:
    recipe = load_recipe(path)
    assert path.read_text().startswith("# "), "an example says in its first line what it shows"
    assert recipe.step
    assert recipe.build_checks()


def test_a_minimal_recipe_has_sensible_defaults() -> None:
    recipe = Recipe.model_validate(MINIMAL)
    step = recipe.step[0]
    assert (step.per, step.when, step.must_parse, step.ok_exit) == ("file", "sites", True, (0,))
    assert (recipe.title, recipe.build_checks()[0].report.value) == ("x", "auto")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (changed(schema=2), "schema"),
        (changed(migration={"id": "Not A Name"}), "migration.id"),
        (changed(scope={"include": []}), "scope.include"),
        (changed(step=[]), "step"),
        (changed(step=[{"id": "a", "run": "tool"}]), "write {files} in it"),
        (changed(step=[{"id": "a", "run": "{files}", "when": "failed"}]), "nothing can have failed before it"),
        (changed(step=[{"id": "a", "run": "{files}"}] * 2), "same id"),
        (changed(step=[{"id": "a", "run": "{files}", "per": "repo"}]), "'file', 'shard' or 'tree'"),
        (changed(verify={"check": []}), "verify.check"),
        (changed(verify={"check": [{"id": "t", "run": " "}]}), "verify.check[0].run"),
        (changed(scope={"include": ["*"], "max_file_kb": 10**6}), "less than or equal to 65536"),
        (changed(scope={"include": ["*"], "site": [{"id": "s", "pattern": "("}]}), "no regular expression"),
    ],
)
def test_a_wrong_value_is_named(tmp_path: Path, values: dict[str, Any], said: str) -> None:
    assert said in problem(tmp_path, values)


def test_all_mistakes_are_told_at_once(tmp_path: Path) -> None:
    told = problem(tmp_path, changed(migration={"id": "X Y"}, scope={"include": []}, extra=1))
    assert len(told.splitlines()) == 3


@given(st.data())
def test_an_unknown_key_anywhere_is_refused_by_its_name(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    values = copy.deepcopy(MINIMAL)
    tables = [values, values["migration"], values["scope"], values["step"][0], values["verify"]]
    tables.append(values["verify"]["check"][0])
    data.draw(st.sampled_from(tables))["unheard_of"] = data.draw(st.one_of(st.integers(), st.text(), st.booleans()))
    told = problem(tmp_path_factory.mktemp("r"), values)
    assert "unheard_of" in told
    assert "unknown key" in told


@given(st.data())
def test_a_missing_required_key_is_refused_by_its_name(tmp_path_factory: pytest.TempPathFactory, data: Any) -> None:
    values = copy.deepcopy(MINIMAL)
    key = data.draw(st.sampled_from(sorted(values)))
    del values[key]
    assert f"{key} is missing" in problem(tmp_path_factory.mktemp("r"), values)


names = st.from_regex(r"[a-z][a-z0-9-]{0,8}", fullmatch=True)
steps = st.lists(
    st.fixed_dictionaries(
        {"id": names, "run": st.text(max_size=20).map(lambda text: text + "{files}")},
        optional={
            "per": st.sampled_from(["file", "shard"]),
            "when": st.sampled_from(["always", "sites", "sites-left"]),
            "timeout_s": st.floats(0.1, 1e6),
            "ok_exit": st.lists(st.integers(0, 255), max_size=3),
            "must_parse": st.booleans(),
        },
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda step: step["id"],
)


def is_glob(text: str) -> bool:
    try:
        check_glob(text)
    except ValueError:
        return False
    return True


globs = st.text(min_size=1, max_size=10).filter(is_glob)


@given(names, steps, st.lists(globs, min_size=1, max_size=3))
def test_a_recipe_survives_being_kept_in_the_journal(name: str, step: list[Any], include: list[str]) -> None:
    recipe = Recipe.model_validate(changed(migration={"id": name}, step=step, scope={"include": include}))
    again = Recipe.model_validate(recipe.dump_values())
    assert again == recipe
    assert again.revision == recipe.revision
    assert dict(iterate_leaf_values(again.dump_values())) == dict(iterate_leaf_values(recipe.dump_values()))


def test_instructions_in_a_file_beside_the_recipe_become_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "tail.md").write_text("Do it well.\n")
    path = tmp_path / "r.toml"
    path.write_text(
        'schema = 1\n[migration]\nid = "x"\n[scope]\ninclude = ["*"]\n[[step]]\nid = "t"\nkind = "llm"\n'
        'prompt = "tail.md"\n[[verify.check]]\nid = "t"\nrun = "t"\n'
    )
    recipe = load_recipe(path)
    assert recipe.step[0].prompt == "Do it well.\n"
    assert Recipe.model_validate(recipe.dump_values()) == recipe
    before = recipe.revision
    (tmp_path / "tail.md").write_text("Do it better.\n")
    assert load_recipe(path).revision != before


@pytest.mark.parametrize(
    ("name", "said"), [("no.md", "No such file"), ("../out.md", "does not lie beside or below the recipe")]
)
def test_instructions_that_cannot_be_read_are_named_with_file_and_line(tmp_path: Path, name: str, said: str) -> None:
    path = tmp_path / "recipes" / "r.toml"
    path.parent.mkdir()
    (tmp_path / "out.md").write_text("x")
    path.write_text(f'schema = 1\n[[step]]\nid = "t"\nkind = "llm"\nprompt = "{name}"\n')
    with pytest.raises(UsageProblem) as raised:
        load_recipe(path)
    assert f"{path}:5: step[0].prompt: {name} cannot be used: " in str(raised.value)
    assert said in str(raised.value)


def test_a_review_by_a_model_needs_a_step_whose_changes_it_looks_at(tmp_path: Path) -> None:
    assert "no step has kind = 'llm'" in problem(tmp_path, changed(judge={"diff_review": "llm"}))
    tail = {"id": "t", "kind": "llm"}
    assert Recipe.model_validate(changed(step=[tail], judge={"diff_review": "llm"})).needed_roles == ("worker", "judge")
    assert Recipe.model_validate(changed(step=[tail])).needed_roles == ("worker",)
    assert not Recipe.model_validate(MINIMAL).needs_models
