"""`orchestrate init` as a user calls it: what it writes, and what it leaves alone."""

import stat
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from orchestrator.config.layers import load_config
from tests.running.cli import Finished, environment
from tests.running.in_process import orchestrate
from tests.running.projects import calculator, git, repository

PYTEST = {
    "pyproject.toml": '[tool.pytest.ini_options]\ntestpaths = ["tests"]\naddopts = "-x"\n',
    "src/shop.py": "A = 1\n",
    "tests/test_shop.py": "def test_a():\n    pass\n",
    "requirements.txt": "",
}
GITHUB = Path(".github/workflows/orchestrate.yml")


def init(repo: Path, *words: str, **more: str) -> Finished:
    return orchestrate("init", *words, cwd=repo, env=environment(repo.parent, **more))


def test_a_project_gets_its_test_command_and_the_file_is_one_that_counts(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", PYTEST)
    done = init(repo)
    assert (done.code, done.err) == (0, "")
    values = tomllib.loads((repo / "orchestrate.toml").read_text())
    assert values["gate"]["command"] == "python -m pytest -q -o addopts='' --junitxml={report} tests"
    config = load_config(repo, environ={"HOME": str(tmp_path)}).config
    assert (config.gate.command, config.gate.report) == (values["gate"]["command"], "junit")
    assert "src/**/*.py" in done.out
    assert '# deps = ["requirements.txt"]' in (repo / "orchestrate.toml").read_text()
    assert git(repo, "status", "--porcelain") == "?? orchestrate.toml"


def test_a_file_that_exists_is_left_alone_unless_it_may_be_lost(tmp_path: Path) -> None:
    repo = calculator(tmp_path / "repo")
    (repo / "orchestrate.toml").write_text("# mine\nschema = 1\n")
    done = init(repo)
    assert done.code == 2
    assert "orchestrate.toml exists already" in done.err
    assert (repo / "orchestrate.toml").read_text() == "# mine\nschema = 1\n"
    assert init(repo, "--force").code == 0
    assert "# mine" not in (repo / "orchestrate.toml").read_text()


@pytest.mark.parametrize("words", [(), ("--ci", "github"), ("--ci", "gitlab")])
def test_a_dry_run_prints_the_file_and_writes_nothing(tmp_path: Path, words: tuple[str, ...]) -> None:
    repo = calculator(tmp_path / "repo")
    done = init(repo, *words, "--dry-run")
    assert done.code == 0
    assert yaml.safe_load(done.out) if words else tomllib.loads(done.out)["gate"]
    assert "nothing was written" in done.err
    assert git(repo, "status", "--porcelain", "--ignored") == ""


def test_a_workflow_lands_at_its_place_from_anywhere_in_the_repository(tmp_path: Path) -> None:
    repo = repository(tmp_path / "a repo", {"deep/er/x.txt": "x\n"})
    done = orchestrate(
        *("init", "--ci", "github", "--package", "orchestrate==1.2", "--time-limit", "2h", "--json"),
        cwd=repo / "deep" / "er",
        env=environment(tmp_path, ORCHESTRATE__ROLES__WORKER__MODEL="anthropic/x"),
    )
    assert (done.code, done.json["written"], done.json["file"]) == (0, True, str(repo / GITHUB))
    document = yaml.safe_load((repo / GITHUB).read_text())
    assert document["env"]["ORCHESTRATE_PACKAGE"] == "orchestrate==1.2"
    assert document["jobs"]["work"]["timeout-minutes"] == 130
    to_do = " ".join(done.json["to_do"])
    assert "set the secret ANTHROPIC_API_KEY" in to_do
    assert "ORCHESTRATE_MODEL_KEY" in to_do, "planner and judge have no model yet"
    assert "no gate command" in to_do
    assert done.json["text"] == (repo / GITHUB).read_text()


def test_gitlab_gets_a_file_to_include(tmp_path: Path) -> None:
    repo = calculator(tmp_path / "repo")
    done = init(repo, "--ci", "gitlab", "--package", "x")
    assert done.code == 0
    assert "include: [{local: .gitlab/orchestrate.yml}]" in done.out
    assert "orchestrate-publish" in yaml.safe_load((repo / ".gitlab" / "orchestrate.yml").read_text())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--ci", "jenkins"), "'jenkins' is not one of"),
        (("--package", "x"), "--package is for workflow files"),
        (("--ci", "github", "--time-limit", "5"), "a minute at least"),
        (("--ci", "github", "--package", "a\nb"), "one line"),
        (("--ci", "github", "--package", "${{ secrets.X }}"), "expression"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    done = init(calculator(tmp_path / "repo"), *words)
    assert done.code == 2
    assert said in done.err


def test_where_there_is_no_repository_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    done = orchestrate("init", cwd=tmp_path / "empty", env=environment(tmp_path) | {"GIT_CEILING_DIRECTORIES": "/"})
    assert (done.code, "Traceback" in done.err) == (2, False)
    assert not [*(tmp_path / "empty").iterdir()]


def test_a_repository_without_a_commit_is_told_to_have_one(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path / "repo"], check=True)
    done = init(tmp_path / "repo")
    assert done.code == 2
    assert "has no commit" in done.err


def test_a_project_of_which_nothing_is_known_gets_a_file_that_says_so(tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", {"notes.txt": "x\n"})
    done = init(repo)
    assert done.code == 0
    assert "not found: the test command" in done.out
    assert load_config(repo, environ={"HOME": str(tmp_path)}).config.gate.command == ""


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_no_link_leads_it_out_of_the_repository(tmp_path: Path, force: tuple[str, ...]) -> None:
    repo, outside = calculator(tmp_path / "repo"), tmp_path / "outside"
    outside.mkdir()
    (repo / ".github").symlink_to(outside)
    done = init(repo, "--ci", "github", *force)
    assert done.code == 2
    assert "symbolic link" in done.err
    assert not [*outside.iterdir()]


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    repo = calculator(tmp_path / "repo")
    (repo / ".github").write_text("a file where the directory would be\n")
    done = init(repo, "--ci", "github")
    assert (done.code, "Traceback" in done.err) == (7, False)
    assert ".github" in done.err
    assert stat.S_ISREG((repo / ".github").stat().st_mode)
