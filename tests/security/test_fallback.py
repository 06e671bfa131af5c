"""Which backend commands run on where bubblewrap is missing, broken or somebody else's; seen from the command line.

What is missing is hidden in a mount namespace of the test's own: the programs that are looked for are the real ones.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.running.cli import Finished, environment
from tests.running.projects import calculator
from tests.running.scripts import plans, write_script

pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.attack(46),
    pytest.mark.skipif(os.geteuid() != 0, reason="hiding a program in a mount namespace needs root"),
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="bubblewrap is not installed, so it cannot go missing"),
]

BROKEN = """#!/bin/sh
case $1 in --version|--help) exec /bin/echo bubblewrap;; esac
echo 'bwrap: No permissions' >&2
exit 1
"""


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return calculator(tmp_path / "repo")


def hidden(*names: str) -> str:
    """Shell words that hide programs wherever they are."""
    return "".join(f"mount --bind /dev/null {found} && " for name in names if (found := shutil.which(name)))


def without(hide: str, repo: Path, *words: str, **env: str) -> Finished:
    """A verb of the command line where some programs are not what they were."""
    line = f'{hide}exec "$@"'
    told = [*words, "--repo", str(repo), "--state", str(repo.parent / "state")]
    done = subprocess.run(
        ["unshare", "--mount", "bash", "-c", line, "-", sys.executable, "-m", "orchestrator", *told],
        cwd=repo.parent,
        env=environment(repo.parent, **env),
        capture_output=True,
        text=True,
        check=False,
    )
    return Finished(done.returncode, done.stdout, done.stderr)


def doctor(hide: str, repo: Path, **env: str) -> dict[str, Any]:
    """What `doctor` finds, by name."""
    done = without(hide, repo, "doctor", "--json", **env)
    return {finding["name"]: finding for finding in json.loads(done.out)["findings"]}


def require_containers(found: dict[str, Any]) -> None:
    if not found["sandbox"]["ok"]:
        pytest.skip(f"no container runs here: {found['sandbox']['detail']}")


@pytest.mark.slow
def test_46_without_bubblewrap_commands_run_in_containers_and_doctor_says_why(repo: Path) -> None:
    assert doctor("", repo)["sandbox backend"]["detail"] == "bubblewrap"
    found = doctor(hidden("bwrap"), repo)
    require_containers(found)
    assert found["sandbox backend"]["detail"].startswith(("podman", "docker"))
    assert "bubblewrap: bwrap is not installed" in found["sandbox not used"]["detail"]


@pytest.mark.slow
def test_46_a_bubblewrap_that_does_not_come_up_is_passed_over_and_quoted(repo: Path, tmp_path: Path) -> None:
    (tmp_path / "broken").write_text(BROKEN)
    (tmp_path / "broken").chmod(0o755)
    found = doctor(f"mount --bind {tmp_path / 'broken'} {shutil.which('bwrap')} && ", repo)
    require_containers(found)
    assert found["sandbox backend"]["detail"].startswith(("podman", "docker"))
    assert "bubblewrap: The sandbox does not start: bwrap: No permissions." in found["sandbox not used"]["detail"]


def test_46_where_nothing_holds_each_reason_is_named_and_no_command_runs(repo: Path) -> None:
    hide = hidden("bwrap", "podman", "docker")
    done = without(hide, repo, "run", "make it better", "--gate", "touch RAN", *models(repo))
    assert done.code == 7
    for part in ("bwrap is not installed", "podman is not installed", "docker is not installed", "orchestrate plan"):
        assert part in done.err
    assert not list(repo.parent.rglob("RAN"))
    control = without("", repo, "run", "make it better", "--gate", "touch RAN && false", *models(repo))
    assert "Commands are refused" not in control.err


def test_46_with_files_only_a_planner_still_plans(repo: Path) -> None:
    done = without(hidden("bwrap", "podman", "docker"), repo, "plan", "make it better", "--json", *models(repo))
    assert done.code == 0, done.err
    assert [task["key"] for task in done.json["tasks"]] == ["a"]


def models(repo: Path) -> list[str]:
    script = write_script(repo.parent / "script.json", [plans("root", {"key": "a"})])
    return [word for role in ("planner", "worker", "judge") for word in ("--set", f"roles.{role}.model={script}")]


@pytest.mark.parametrize("name", ["bwrap", "podman", "docker"])
def test_46_a_program_of_the_repository_that_comes_first_on_path_is_never_run(
    repo: Path, tmp_path: Path, name: str
) -> None:
    fake = repo / "bin" / name
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\ntouch {tmp_path}/FAKE-RAN\n")
    fake.chmod(0o755)
    path = f"{fake.parent}:bin:.:{os.environ['PATH']}"
    found = doctor(hidden("bwrap", "podman", "docker"), repo, PATH=path)
    assert not found["sandbox"]["ok"]
    assert not (tmp_path / "FAKE-RAN").exists()
    subprocess.run([name, "--version"], env={"PATH": path}, check=True)
    assert (tmp_path / "FAKE-RAN").exists()
