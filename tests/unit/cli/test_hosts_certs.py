"""`hosts certs`: the directories that it makes, says and keeps."""

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from orchestrator.cli.main import cli
from orchestrator.errors import EnvironmentProblem
from tests.running.schemas import problems


def call(*words: str | Path) -> Result:
    return CliRunner().invoke(cli, ["hosts", "certs", *map(str, words)])


def outcomes(done: Result) -> dict[str, str]:
    """Return what was done to the certificate of each host, and to that of the brain under its role."""
    return {row["name"] or row["role"]: row["outcome"] for row in json.loads(done.output)["certificates"]}


def test_it_says_which_directory_goes_where(tmp_path: Path) -> None:
    said = call(tmp_path / "c", "--host", "a").output
    assert f"{tmp_path}/c/brain: name it on this machine as certs under [hosts]" in said
    assert f"{tmp_path}/c/hosts/a: copy it to host a, and name it there by --certs" in said
    assert f"{tmp_path}/c/authority stays with you" in said


def test_it_prints_an_object_as_its_schema_says(tmp_path: Path) -> None:
    done = call(tmp_path, "--host", "a", "--host", "b", "--host", "a", "--json")
    assert problems(json.loads(done.output)) == []
    assert outcomes(done) == {"brain": "made", "a": "made", "b": "made"}


def test_a_second_call_adds_hosts_and_keeps_the_others(tmp_path: Path) -> None:
    call(tmp_path, "--host", "a")
    assert outcomes(call(tmp_path, "--host", "b", "--json")) == {"brain": "kept", "a": "kept", "b": "made"}


def test_renew_makes_all_anew_or_those_that_are_named(tmp_path: Path) -> None:
    call(tmp_path, "--host", "a", "--host", "b")
    assert outcomes(call(tmp_path, "--renew", "--json")) == dict.fromkeys(("brain", "a", "b"), "renewed")
    named = call(tmp_path, "--renew", "--host", "a", "--json")
    assert outcomes(named) == {"brain": "kept", "a": "renewed", "b": "kept"}


def test_days_are_the_life_of_what_is_made(tmp_path: Path) -> None:
    rows = json.loads(call(tmp_path, "--days", "3", "--json").output)
    assert rows["certificates"][0]["expires_at"] < rows["authority_expires_at"]
    assert call(tmp_path, "--days", "0").exit_code == 2


@pytest.mark.parametrize("package", ["distributed", "cryptography"])
def test_without_the_extra_it_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    done = call(tmp_path / "c")
    assert isinstance(done.exception, EnvironmentProblem)
    assert f"need the package {package}, which is not installed: pip install 'orchestrate-goals[hosts]'" in str(
        done.exception
    )
    assert not (tmp_path / "c").exists()
