"""What git ignores in the user's checkout because it is secret: reached by his own word alone, and never committed."""

import base64
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from orchestrator.app.run_execution import resume_run, run_migration
from orchestrator.cli.main import cli
from orchestrator.config.layers import load_config
from orchestrator.config.live_config import build_effective_config
from orchestrator.config.model import Config
from orchestrator.errors import UsageProblem
from orchestrator.journal.state.derivation import read_state
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.project.options import Options
from orchestrator.run_control.transfer import (
    export_run_archive,
    import_run_archive,
    list_replaced_settings,
    replace_foreign_settings,
)
from tests.running.goals import Bench
from tests.running.migrating import recipe, words
from tests.running.moving import Place
from tests.running.projects import git, repository
from tests.running.scripts import judges, planner_ends, plans, reviews, uses, worker_ends

pytestmark = [pytest.mark.attack(51), pytest.mark.sandbox]

KEY = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
GATE = {"command": "python3 -m unittest -v", "report": "unittest"}
TEST = "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        self.assertTrue(True)\n"
SHARED = {"share": ["config/master.key"]}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    root = repository(tmp_path / "repo", {".gitignore": "*.key\n__pycache__/\n", "test_it.py": TEST, "config/a": "a\n"})
    with_key(root)
    return Bench(tmp_path, root)


def with_key(root: Path) -> Path:
    (root / "config" / "master.key").write_text(f"{KEY}\n")
    return root


def working(line: str) -> list[ScriptedReply]:
    """A whole run of two tasks in which the worker of the second runs a command line."""
    tasks = ({"key": "a"}, {"key": "b", "depends_on": ["a"]})
    first = [uses("worker", "a", "shell", command="echo a > a.txt"), worker_ends("a"), reviews("a")]
    second = [uses("worker", "b", "shell", command=line), worker_ends("b"), reviews("b")]
    return [plans("root", *tasks), *first, *second, planner_ends(), judges()]


COPIES = "cp config/master.key copied.txt; date > b.txt"
ENCODES = "base64 config/master.key | rev > copied.txt; date > b.txt"


def committed(root: Path) -> str:
    """Everything that any ref of the repository holds, as patches."""
    return git(root, "log", "--all", "--patch", "--text", "--format=")


def encoded() -> str:
    return base64.b64encode(f"{KEY}\n".encode()).decode()[::-1]


async def test_control_what_the_user_shares_himself_can_be_read(bench: Bench) -> None:
    ended = await bench.run(*working(ENCODES), gate=GATE, env=SHARED)
    assert ended.exit_code == 0
    assert encoded() in committed(bench.repository)


async def test_a_copy_of_a_shared_file_does_not_end_in_a_commit(bench: Bench) -> None:
    ended = await bench.run(*working(COPIES), gate=GATE, env=SHARED)
    assert ended.exit_code == 0
    assert "b.txt" in git(bench.repository, "ls-tree", "--name-only", ended.state.run.branch)
    assert KEY not in committed(bench.repository)


async def test_nor_does_that_of_a_secret_in_a_shared_directory(bench: Bench) -> None:
    git(bench.repository, "rm", "-q", "-r", "config")
    (bench.repository / "config").mkdir(exist_ok=True)
    with_key(bench.repository)
    (bench.repository / ".gitignore").write_text("config/\n__pycache__/\n")
    git(bench.repository, "add", "-A")
    git(bench.repository, "commit", "-q", "-m", "ignored as a whole")
    ended = await bench.run(*working(COPIES), gate=GATE, env={"share": ["/config"]})
    assert ended.exit_code == 0
    assert KEY not in committed(bench.repository)


async def test_a_repository_that_asks_for_it_is_not_worked_on(bench: Bench) -> None:
    (bench.repository / "orchestrate.toml").write_text("[env]\nshare = ['config/*.key']\n")
    with pytest.raises(UsageProblem, match=r"orchestrate\.toml:2: env\.share may not share .*--trust-project"):
        await bench.run(*working(ENCODES), gate=GATE)
    assert load_config(bench.repository, trust_project=True).config.env.share == ("config/*.key",)


async def gone_on_with(bench: Bench, *, trust_settings: bool) -> tuple[Path, Any]:
    """A run that stopped before its second task, gone on with by another user in a clone that has a secret as well."""
    await bench.run(*working(ENCODES), gate=GATE, env=SHARED, budget={"calls": 4})
    archive, clone = bench.root / "run.tar", bench.root / "clone"
    await export_run_archive(
        Options(bench.repository, {"state": {"dir": str(bench.root / "state")}}), "latest", archive
    )
    git(bench.repository, "clone", "-q", bench.repository.as_uri(), str(clone))
    with_key(clone)
    place = Place(clone, Options(clone, {"state": {"dir": str(bench.root / "there")}}))
    imported = await import_run_archive(place.options, archive, None, trust_settings=trust_settings)
    flags = {"state": {"dir": str(bench.root / "there")}, "budget": {"calls": 100}}
    await resume_run(Options(clone, flags), None)
    return clone, imported


@pytest.mark.parametrize("trust_settings", [False, True])
async def test_what_an_imported_run_shares_counts_only_if_its_settings_are_trusted(
    bench: Bench, trust_settings: bool
) -> None:
    clone, imported = await gone_on_with(bench, trust_settings=trust_settings)
    config = build_effective_config(read_state(imported.directory.journal))
    assert (("config/master.key" in config.env.share), encoded() in committed(clone)) == (trust_settings,) * 2
    assert 'env.share = ["config/master.key"]' in list_replaced_settings(imported.settings)


@pytest.mark.parametrize(("theirs", "granted", "counts"), [(2, 1, 1), (0, 1, 0), (2, 2, 2)])
def test_an_imported_run_has_no_higher_tier_than_the_user_grants(theirs: int, granted: int, counts: int) -> None:
    def settings(tier: int) -> Config:
        return load_config(None, {"roles": {"worker": {"tier": tier}}}).config

    came = settings(theirs).model_dump(mode="json", by_alias=True)
    assert replace_foreign_settings(came, settings(granted))["roles"]["worker"]["tier"] == counts


def test_what_is_a_secret_for_the_importing_user_stays_one() -> None:
    came = load_config(None, {"redact": {"env": ["THEIRS"]}}).config.model_dump(mode="json", by_alias=True)
    own = load_config(None, {"redact": {"env": ["OURS"]}}).config
    assert replace_foreign_settings(came, own)["redact"]["env"] == ["OURS", "THEIRS"]


def test_an_imported_run_reads_its_prompts_from_no_place_that_somebody_else_named() -> None:
    came = load_config(None, {"prompts": {"dir": "/theirs"}}).config.model_dump(mode="json", by_alias=True)
    own = load_config(None, {"prompts": {"dir": "/ours"}}).config
    assert replace_foreign_settings(came, own)["prompts"] == {"dir": "/ours"}


def has_runs(state: Path) -> bool:
    return any(state.glob("*/runs/*"))


OPENING = (
    {"share": ["config/master.key"]},
    {"read_only": ["config"]},
    {"read_only_after": ["/usr/share"]},
    {"read_only_before": ["../beside"]},
)


@pytest.mark.parametrize("env", OPENING, ids=lambda env: next(iter(env)))
async def test_a_run_whose_recipe_opens_places_of_this_machine_is_not_imported(
    tmp_path: Path, env: dict[str, list[str]]
) -> None:
    root = words(tmp_path / "repo", {"a/a.txt": "old", "b/b.txt": "old"})
    for folder in (root / "config", tmp_path / "beside"):
        folder.mkdir()
    state = {"state": {"dir": str(tmp_path / "state")}}
    given = recipe({"run": "sed -i s/old/new/ {files}"}, env=env)
    await run_migration(Options(root, state), given)
    archive, clone = tmp_path / "run.tar", tmp_path / "clone"
    await export_run_archive(Options(root, state), "latest", archive)
    git(root, "clone", "-q", root.as_uri(), str(clone))
    place = Options(clone, {"state": {"dir": str(tmp_path / "there")}})
    with pytest.raises(UsageProblem, match=r"by its \[env\] .*--trust-settings"):
        await import_run_archive(place, archive, None)
    assert not has_runs(tmp_path / "there")
    await import_run_archive(place, archive, None, trust_settings=True)


RECIPE = """schema = 1
[migration]
id = "words"
[scope]
include = ["*.txt"]
[env]
share = ["config/master.key"]
[[step]]
id = "sed"
run = "sed -i s/old/new/ {files}"
[[verify.check]]
id = "t"
run = "true"
"""


@pytest.mark.parametrize("verb", [("plan",), ("run",), ("run", "--dry-run")], ids=" ".join)
def test_a_recipe_of_the_repositorys_own_shares_dependencies_alone(tmp_path: Path, verb: tuple[str, ...]) -> None:
    root = repository(tmp_path / "repo", {"a.txt": "old\n", "recipe.toml": RECIPE})
    (tmp_path / "own.toml").write_text(RECIPE)

    def invoke(file: Path, *more: str) -> Any:
        where = ("--repo", str(root), "--state", str(tmp_path / "state"))
        return CliRunner().invoke(cli, ["migrate", verb[0], str(file), *where, *verb[1:], *more])

    refused = invoke(root / "recipe.toml")
    assert isinstance(refused.exception, UsageProblem)
    assert f"{root}/recipe.toml:7: env.share[0]: share under [env] may not show" in str(refused.exception)
    assert invoke(tmp_path / "own.toml").exit_code == 0
    assert invoke(root / "recipe.toml", "--trust-project").exit_code == 0
