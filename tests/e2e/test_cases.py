"""Real codemods on real projects from the user's own index: what lands and what is rejected is what is known."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from examples.prepare import CASES, prepare
from orchestrator.demo.published_package import IndexUnreachable
from orchestrator.demo.runs import hash_checkout
from orchestrator.journal.state.derivation import read_state
from tests.running.cli import environment
from tests.running.killing import (
    Start,
    as_json,
    kill_after,
    landed_more_than_once,
    moments,
    processes_about,
    terminal,
)
from tests.running.projects import git, refs, tree_at

pytestmark = [
    pytest.mark.slow,
    pytest.mark.sandbox,
    pytest.mark.registry,
    pytest.mark.timeout(1800),
]

KNOWN: dict[str, Any] = tomllib.loads(CASES.read_text())
QUICK = ("click", "sqlparse")
LONG = ("deep-equal", "django-filter", "django-filter-env", "minimist", "simplejson", "waitress", "webob")
KILLS = 10

Prepared = Callable[[str], dict[str, str]]


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    place = tmp_path_factory.mktemp("cases")
    made: dict[str, dict[str, str]] = {}

    def get(name: str) -> dict[str, str]:
        try:
            made[name] = made.get(name) or prepare(name, place)
        except IndexUnreachable as problem:
            pytest.skip(f"needs a package index and an npm registry: {problem}")
        return made[name]

    return get


def migration(case: dict[str, str], place: Path) -> Start:
    place.mkdir(exist_ok=True)
    where = ("--repo", case["repository"], "--state", str(place / "state"))
    return Start(("migrate", "run", case["recipe"]), where, place, environment(place))


def assert_told(name: str, result: dict[str, Any]) -> None:
    """What a case shows beside what lands: sites that went, the rung that saved a file, a proposed revision."""
    state = read_state(Path(result["journal"]))
    assert sum(file.sites for file in state.migration.files.values()) > sum(
        file.remaining_sites for file in state.migration.files.values()
    )
    assert all(file["reason"] and file["signature"] for file in result["files"]["rejected"])
    revisions = [answered.approval for answered in state.approvals.values() if answered.approval.matter == "recipe"]
    if name == "waitress":
        assert state.migration.files["tests/test_adjustments.py"].rung == 1, "brought through by the second rung"
        assert sum(file.remaining_sites for file in state.migration.files.values()) == 65
    if name == "simplejson":
        assert any("deftest" in line for one in revisions for line in one.detail), "a rung for what failed alike"
    else:
        assert revisions == []


@pytest.mark.parametrize("name", [*QUICK, *(pytest.param(name, marks=pytest.mark.extended) for name in LONG)])
def test_a_real_project_is_migrated_as_far_as_its_tests_allow(name: str, prepared: Prepared, tmp_path: Path) -> None:
    case = prepared(name)
    root = Path(case["repository"])
    checkout, refs_before = hash_checkout(root), refs(root)
    done, _ = migration(case, tmp_path).to_the_end()
    result = as_json(done)
    rejected = sorted(file["path"] for file in result["files"]["rejected"])
    landed = result["files"]["landed"]
    assert (len(landed), rejected) == (KNOWN[name]["landed"], sorted(KNOWN[name]["rejected"])), done.err[-3000:]
    assert (result["gate"]["new_failures"], result["gate"]["missing_tests"]) == ([], [])
    assert git(root, "diff", "--name-only", "main", result["pr_branch"]).splitlines() == sorted(landed)
    for path in landed:
        if path.endswith(".py"):
            compile(git(root, "show", f"{result['pr_branch']}:{path}"), path, "exec", dont_inherit=True)
    assert_told(name, result)
    assert hash_checkout(root) == checkout
    new = refs(root).keys() - refs_before.keys()
    assert {ref for ref in new if not ref.startswith("refs/orchestrate/")} == {f"refs/heads/{result['pr_branch']}"}
    assert {ref: refs(root)[ref] for ref in refs_before} == refs_before


@pytest.mark.extended
def test_a_real_migration_that_is_killed_at_ten_moments_ends_as_if_it_had_not_been(
    prepared: Prepared, tmp_path: Path
) -> None:
    case = prepared("click")
    root = Path(case["repository"])
    checkout = hash_checkout(root)
    done, duration_s = migration(case, tmp_path / "calm").to_the_end()
    wanted = as_json(done)
    for number, moment in enumerate(moments(KILLS, duration_s, seed=3)):
        place = tmp_path / f"kill-{number}"
        start = migration(case, place)
        kill_after(start, moment)
        result = as_json(start.resume())
        assert terminal(result) == terminal(wanted), f"killed after {moment:.2f} s of {duration_s:.2f}"
        assert tree_at(root, result["pr_branch"]) == tree_at(root, wanted["pr_branch"])
        assert landed_more_than_once(Path(result["journal"])) == []
        assert processes_about(place) == []
    assert hash_checkout(root) == checkout
