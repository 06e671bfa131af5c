"""`--unsafe-no-sandbox`: one run at a time, refused where nobody watches, and said wherever the run shows."""

import os
from pathlib import Path

import pytest

from tests.running.cli import Finished, environment
from tests.running.in_process import orchestrate
from tests.running.projects import calculator, git

RED = "UNSAFE: no sandbox."
RECIPE = """
schema = 1
[migration]
id = "spaces"
[scope]
include = ["*.py"]
[[step]]
id = "sed"
run = "echo ESCAPED > {spot}; sleep {pause_s}; sed -i 's/a + b/b + a/' {{files}}"
[verify]
report = "unittest"
[[verify.check]]
id = "tests"
run = "python3 -m unittest -v"
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A repository where whoever commands run as can come by."""
    for parent in (tmp_path, *tmp_path.parents):
        if parent.stat().st_uid == os.geteuid() == 0 and not parent.stat().st_mode & 0o001:
            parent.chmod(parent.stat().st_mode | 0o055)
    (tmp_path / "spot").mkdir()
    (tmp_path / "spot").chmod(0o777)
    return calculator(tmp_path / "repo")


def call(repo: Path, *words: str, ci: str = "", **env: str) -> Finished:
    where = ("--repo", str(repo), "--state", str(repo.parent / "state"))
    given = environment(repo.parent, **env) | {"CI": ci}
    return orchestrate(*words, *where, cwd=repo.parent, env=given)


def migrate(repo: Path, *words: str, ci: str = "", pause_s: int = 0, **env: str) -> Finished:
    (repo.parent / "recipe.toml").write_text(RECIPE.format(spot=repo.parent / "spot" / "mark", pause_s=pause_s))
    return call(repo, "migrate", "run", "recipe.toml", *words, ci=ci, **env)


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_run_without_a_sandbox_reaches_the_host_and_every_view_of_it_says_so(repo: Path) -> None:
    assert migrate(repo).err.count(RED) == 0
    assert not (repo.parent / "spot" / "mark").exists()
    done = migrate(repo, "--unsafe-no-sandbox", "--json")
    assert done.json["files"]["landed"] == ["calc.py"], done.err
    assert (repo.parent / "spot" / "mark").exists()
    assert done.json["unsafe"] is True
    assert done.err.startswith(RED)
    assert call(repo, "status").out.startswith(RED)
    assert call(repo, "logs").out.startswith(RED)
    assert call(repo, "status", "--json").json["unsafe"] is True
    words = [git(repo, "show", f"refs/orchestrate/prs/{number}:PR.md") for number in (1, 2)]
    assert [RED in text for text in words] == [False, True]


def test_it_is_refused_in_ci(repo: Path) -> None:
    done = migrate(repo, "--unsafe-no-sandbox", ci="true")
    assert (done.code, "refused in CI" in done.err) == (2, True)
    assert not (repo.parent / "spot" / "mark").exists()
    run = call(repo, "run", "x", "--gate", "true", "--unsafe-no-sandbox", ci="1")
    assert (run.code, "refused in CI" in run.err) == (2, True)


def test_no_file_and_no_variable_switches_it_on(repo: Path) -> None:
    by_variable = migrate(repo, ORCHESTRATE__HANDS__WITHOUT_SANDBOX="true")
    assert (by_variable.code, "hands.without_sandbox is per run" in by_variable.err) == (2, True)
    (repo / "orchestrate.toml").write_text("[hands]\nwithout_sandbox = true\n")
    trusted = migrate(repo, "--trust-project")
    assert (trusted.code, "orchestrate.toml:2: hands.without_sandbox is per run" in trusted.err) == (2, True)
    (repo / "orchestrate.toml").unlink()
    user = repo.parent / ".config" / "orchestrate" / "config.toml"
    user.parent.mkdir(parents=True)
    user.write_text("[hands]\nwithout_sandbox = true\n")
    by_user = migrate(repo)
    assert (by_user.code, "config.toml:2: hands.without_sandbox is per run" in by_user.err) == (2, True)
    assert not (repo.parent / "spot" / "mark").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="about starting as root")
def test_root_is_told_where_the_user_of_commands_cannot_come_by(repo: Path) -> None:
    repo.parent.chmod(0o700)
    done = migrate(repo, "--unsafe-no-sandbox")
    assert (done.code, "cannot pass through" in done.err) == (2, True)


@pytest.mark.slow
@pytest.mark.sandbox
def test_a_resume_keeps_it_says_it_and_is_refused_in_ci(repo: Path) -> None:
    stopped = migrate(repo, "--unsafe-no-sandbox", "--time-limit", "1s", pause_s=4)
    assert stopped.code == 5, stopped.err
    in_ci = call(repo, "resume", ci="1")
    assert (in_ci.code, "refused in CI" in in_ci.err) == (2, True)
    done = call(repo, "resume", "--json", "--set", "run.time_limit_s=600")
    assert done.err.startswith(RED), done.err
    assert done.json["unsafe"] is True


def test_doctor_says_it_in_its_place(repo: Path) -> None:
    done = call(repo, "doctor", "--set", "hands.without_sandbox=true")
    assert any(line.startswith("warn  sandbox ") and RED in line for line in done.out.splitlines())
