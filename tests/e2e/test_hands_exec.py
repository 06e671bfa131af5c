"""`orchestrate hands exec`: a person sees what a worker's command can reach."""

import subprocess
from pathlib import Path

import pytest

from tests.running import projects
from tests.running.cli import Finished, environment
from tests.running.in_process import orchestrate

pytestmark = pytest.mark.sandbox


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    root = projects.repository(tmp_path / "repo", {"a.txt": "committed\n"})
    (root / "a.txt").write_text("not committed\n")
    return root


def execute(repository: Path, *words: str | Path, **variables: str) -> Finished:
    home = repository.parent / "home"
    home.mkdir(exist_ok=True)
    state = ("--state", repository.parent / "state")
    return orchestrate("hands", "exec", *state, *words, cwd=repository, env=environment(home, **variables))


@pytest.mark.parametrize("code", [0, 3, 143])
def test_it_leaves_with_the_exit_code_of_the_command(repository: Path, code: int) -> None:
    assert execute(repository, "--", "sh", "-c", f"exit {code}").code == code


def test_the_command_sees_the_last_commit_at_the_path_of_the_checkout(repository: Path) -> None:
    done = execute(repository, "pwd; cat a.txt; echo changed > a.txt")
    assert done.out == f"{repository}\ncommitted\n"
    assert (repository / "a.txt").read_text() == "not committed\n"
    assert projects.git(repository, "status", "--short").strip() == "M a.txt"


def test_variables_and_files_of_the_user_are_not_there(repository: Path) -> None:
    secret = repository.parent / "home" / ".netrc"
    secret.parent.mkdir()
    secret.write_text("canary")
    done = execute(repository, f"env; cat {secret}", MY_TOKEN="canary")
    assert "canary" not in done.out
    assert "No such file" in done.out
    assert "canary" in subprocess.run(["cat", secret], capture_output=True, text=True, check=True).stdout


def test_words_are_passed_on_as_they_are(repository: Path) -> None:
    assert execute(repository, "--", "printf", "%s|", "a b", "$HOME", "--help").out == "a b|$HOME|--help|"


def test_explain_alone_prints_the_policy_and_runs_nothing(repository: Path) -> None:
    done = execute(repository, "--explain", "--json")
    policy = done.json["policy"]
    assert (done.code, policy["repository"], len(policy["policy"])) == (0, str(repository), 64)
    assert policy["variables"]["CI"] == "1"
    assert "ending" not in done.json


def test_the_policy_has_the_hash_of_its_tier(repository: Path) -> None:
    named = ("--set", 'hands.registries=["registry.test:443"]')
    told = [execute(repository, "--explain", "--json", "--tier", tier, *named).json["policy"] for tier in ("1", "2")]
    assert told[0]["policy"] != told[1]["policy"]


def test_a_command_that_was_ended_says_why(repository: Path) -> None:
    late = execute(repository, "--timeout", "0.5", "--", "sleep", "60")
    assert (late.code, "timed-out" in late.err) == (124, True)
    loud = execute(repository, "--set", "hands.output_mb=1", "--", "yes")
    assert (loud.code, "output-limit" in loud.err) == (125, True)


def test_nothing_to_run_is_a_mistake_with_words(repository: Path) -> None:
    done = execute(repository)
    assert (done.code, done.err.startswith("error: nothing to run")) == (2, True)


@pytest.mark.parametrize("seconds", ["inf", "nan", "1e999"])
def test_a_time_limit_without_an_end_is_refused_in_words(repository: Path, seconds: str) -> None:
    done = execute(repository, "--timeout", seconds, "--", "true")
    assert done.code == 2
    assert "is no time limit: write a number of seconds" in done.err


def test_the_workspace_is_idle_again_afterwards(repository: Path) -> None:
    execute(repository, "--", "true")
    again = execute(repository, "ls")
    assert again.out == "a.txt\n"
    assert list((repository.parent / "state").glob("*/sessions/*/")) == []


@pytest.mark.slow
def test_what_deps_installs_is_there_as_in_a_run(tmp_path: Path) -> None:
    repository = projects.repository(tmp_path / "repo", {"requirements.txt": "# nothing\n"})
    deps = ("--set", 'env.deps=["requirements.txt"]', "--set", 'hands.registries=["registry.test:443"]')
    assert execute(repository, "--", "ls", "-A").out.split() == [".git", "requirements.txt"]
    assert ".venv" in execute(repository, *deps, "--", "ls", "-A").out.split()
    refused = execute(repository, *deps, "--set", "hands.ask_tier=1", "--", "true")
    assert (refused.code, "deps under [env] need tier 2" in refused.err) == (2, True)


def test_a_place_that_is_no_host_and_port_is_named_in_words(repository: Path) -> None:
    done = execute(repository, "--set", 'hands.registries=["https://packages.example"]', "--", "true")
    assert done.code == 2
    assert "hands.registries[0]: 'https://packages.example' is no HOST:PORT, such as packages.example:443" in done.err


def test_a_command_that_used_up_more_than_it_may_is_told_of(repository: Path) -> None:
    done = execute(repository, "--json", "--set", "hands.cpu_s=1", "while :; do :; done")
    assert (done.code, done.json["exit"], done.json["ending"]) == (125, 125, "limit")
    assert "It used more than 1 s of CPU time." in done.err


def test_the_rules_that_are_hashed_name_what_builds_the_walls(repository: Path) -> None:
    rules = execute(repository, "--explain", "--json").json["policy"]["rules"]
    assert rules["backend"] == "bubblewrap"
