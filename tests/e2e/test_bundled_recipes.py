"""The recipes that come along, each written by `migrate init` for a real project and run as it stands."""

from pathlib import Path
from typing import Any

import pytest

from examples.try_bundled import PROJECTS, prepare
from orchestrator.demo.published_package import IndexUnreachable
from orchestrator.journal.state.derivation import read_state
from tests.running.cli import environment, orchestrate
from tests.running.projects import git

pytestmark = [
    pytest.mark.slow,
    pytest.mark.extended,
    pytest.mark.sandbox,
    pytest.mark.registry,
    pytest.mark.timeout(1800),
]


@pytest.mark.parametrize("name", PROJECTS)
def test_a_bundled_recipe_lands_on_a_real_project_what_is_known(name: str, tmp_path: Path) -> None:
    known: dict[str, Any] = PROJECTS[name]
    try:
        made = prepare(name, tmp_path)
    except IndexUnreachable as problem:
        pytest.skip(f"needs a package index and an npm registry: {problem}")
    words = (
        "migrate",
        "run",
        made["recipe"],
        "--repo",
        made["repository"],
        "--state",
        str(tmp_path / "state"),
        "--json",
    )
    done = orchestrate(*words, cwd=tmp_path, env=environment(tmp_path), timeout_s=1500)
    result = done.json
    state = read_state(Path(result["journal"]))
    rejected = sorted(file["path"] for file in result["files"]["rejected"])
    unchanged = sorted(path for path, file in state.migration.files.items() if file.status == "unchanged")
    seen = (len(result["files"]["landed"]), rejected, unchanged)
    assert seen == (known["landed"], known["rejected"], known["unchanged"]), done.err[-3000:]
    assert (result["gate"]["new_failures"], result["gate"]["missing_tests"]) == ([], [])
    assert git(Path(made["repository"]), "status", "--porcelain") == ""
