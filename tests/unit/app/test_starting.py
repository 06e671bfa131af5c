"""`migrate init`: every bundled recipe fits the repository it is written for, and nothing is lost or made up."""

import re
import tomllib
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.config.toml_source import read_toml
from orchestrator.domain.recipe.model import Recipe
from orchestrator.errors import UsageProblem
from orchestrator.migrate.bundled import load_templates
from orchestrator.migrate.recipe import load_recipe
from orchestrator.migrate.recipe.json_schema import build_recipe_schema
from orchestrator.migrate.survey.findings import Findings
from orchestrator.migrate.survey.recipe_draft import RecipeTools, fill_template, find_tools, format_toml_text
from orchestrator.project.options import Options
from orchestrator.scaffold.recipe_file import RecipeRequest, write_recipe_file
from tests.running.projects import git, repository

pytestmark = pytest.mark.anyio

FILES = {
    ".gitignore": ".venv/\nnode_modules/\n",
    ".github/CODEOWNERS": "* @core\n",
    "pytest.ini": "[pytest]\ntestpaths = tests\n",
    "package.json": '{"scripts": {"test": "tape test/*.js"}}',
    "src/shop.py": "class Cart(object):\n    pass\n",
    "src/shop.js": "var a = 1;\n",
    "tests/test_shop.py": "def test_shop():\n    pass\n",
}


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo", FILES)


def wish(name: str) -> RecipeRequest:
    takes_words = load_templates()[name].has_placeholder("goal")
    return RecipeRequest(name, *(('use X, not "Y"', r"\bY\b") if takes_words else ()))


@pytest.mark.parametrize("name", load_templates())
async def test_every_bundled_recipe_becomes_one_that_can_be_read(name: str, repo: Path, tmp_path: Path) -> None:
    file = tmp_path / "r.toml"
    started = await write_recipe_file(Options(repo), wish(name), file, overwrite=False)
    recipe = load_recipe(file)
    jsonschema.validate(read_toml(file), build_recipe_schema())
    assert not re.search(r"@\w+@", file.read_text()), "every place is filled in"
    assert recipe.shard.by == ("owner", "directory")
    is_javascript = started.template.language == "javascript"
    assert recipe.verify.check[0].run == (
        "tape test/*.js" if is_javascript else "python3 -m pytest -q --junitxml={report} {tests}"
    )
    assert recipe.build_checks()[0].run.endswith("test/*.js" if is_javascript else " tests")
    assert recipe.scope.include
    assert git(repo, "status", "--porcelain") == "", "the repository itself is only read"


@pytest.mark.parametrize("name", load_templates())
def test_every_bundled_recipe_says_what_it_does_and_what_it_needs(name: str) -> None:
    one = load_templates()[name]
    assert one.summary.endswith(".")
    assert one.needs or name in {"command", "ast-grep-rule"}
    assert all(need.split()[0] in {"pip", "npm", "model"} for need in one.needs)
    pinned = [word for need in one.needs for word in need.split()[1:]]
    assert all("==" in word or "@" in word for word in pinned), "with the version it was tried with"


async def test_what_is_in_scope_is_counted(repo: Path, tmp_path: Path) -> None:
    started = await write_recipe_file(Options(repo), RecipeRequest("pyupgrade"), tmp_path / "r.toml", overwrite=False)
    assert started.counted == "2 files in scope, 1 sites in 1 of them"
    nothing = await write_recipe_file(
        Options(repo), RecipeRequest(pattern="nowhere"), tmp_path / "n.toml", overwrite=False
    )
    assert "no site was found" in nothing.counted


async def test_an_existing_file_is_kept_unless_it_may_be_lost(repo: Path, tmp_path: Path) -> None:
    file = tmp_path / "r.toml"
    file.write_text("mine")
    with pytest.raises(UsageProblem, match="exists already"):
        await write_recipe_file(Options(repo), RecipeRequest("flynt"), file, overwrite=False)
    assert file.read_text() == "mine"
    await write_recipe_file(Options(repo), RecipeRequest("flynt"), file, overwrite=True)
    assert load_recipe(file).migration.id == "flynt"


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (RecipeRequest("flint"), "there are: ast-grep-rule, command, "),
        (RecipeRequest("flynt", pattern="x"), "takes no --pattern"),
        (RecipeRequest(goal="use X"), "needs --goal TEXT"),
        (RecipeRequest(pattern="("), "no regular expression"),
        (RecipeRequest(goal="\udc80", pattern="x"), "not UTF-8"),
    ],
)
async def test_a_wish_that_makes_no_sense_is_refused(
    repo: Path, tmp_path: Path, asked: RecipeRequest, said: str
) -> None:
    with pytest.raises(UsageProblem, match=said):
        await write_recipe_file(Options(repo), asked, tmp_path / "r.toml", overwrite=False)
    assert not (tmp_path / "r.toml").exists()


async def test_a_recipe_for_a_language_that_is_not_there_is_refused(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", {"a.py": "a = 1\n"})
    with pytest.raises(UsageProblem, match="for javascript, of which no file is committed"):
        await write_recipe_file(Options(repo), RecipeRequest("modern-javascript"), tmp_path / "r.toml", overwrite=False)


async def test_without_a_test_command_the_recipe_says_where_to_write_it_and_nothing_can_land(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", {"README.md": "old\n"})
    started = await write_recipe_file(Options(repo), RecipeRequest(), tmp_path / "r.toml", overwrite=False)
    assert any("test command" in line for line in started.render_lines())
    assert load_recipe(tmp_path / "r.toml").verify.check[0].run == "exit 1"


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1))
def test_a_goal_in_any_words_stands_in_the_recipe_as_it_was_said(goal: str) -> None:
    one = load_templates()["natural-language"]
    text = fill_template(one, Findings(), {"id": "x", "goal": goal, "pattern": "p"}, RecipeTools())
    assert Recipe.model_validate(tomllib.loads(text)).step[0].prompt == goal


def test_a_pattern_is_written_without_escapes_where_that_can_be() -> None:
    assert [format_toml_text(text) for text in (r"\bold\(", r"it's \d", "plain")] == [
        r"'\bold\('",
        r'"it' + "'" + r's \\d"',
        '"plain"',
    ]


def test_programs_are_looked_for_in_the_checkout_and_on_the_path(tmp_path: Path) -> None:
    for place, name in (("repo/.venv/bin", "flynt"), ("tools/bin", "pyupgrade"), ("repo", "x")):
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
        (tmp_path / place / name).touch(mode=0o755)
    steps = "".join(f'[[step]]\nrun = "{name} {{files}}"\n' for name in ("flynt", "pyupgrade", "ghost", "sed"))
    found = find_tools(steps, ("pip ghost==1",), tmp_path / "repo", path=str(tmp_path / "tools" / "bin"))
    assert (found.elsewhere, found.found_there, found.missing) == (
        (str(tmp_path / "tools"),),
        ("pyupgrade",),
        ("ghost",),
    )
    assert "../codemods/bin/pip install ghost==1" in "\n".join(found.render_advice())
