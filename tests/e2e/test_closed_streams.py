"""Nobody is there to answer: with closed standard streams every verb ends by itself, and says so where it can."""

import ast
import subprocess
from pathlib import Path

import pytest

import orchestrator
from tests.running.cli import COMMAND, Finished, environment
from tests.running.projects import repository

SOURCE = Path(orchestrator.__file__).parent
_ASKS = {"confirm", "prompt", "getchar", "input", "pause"}
"""What waits for somebody to type, by click or by Python."""


def closed(place: Path, streams: str, *words: str) -> Finished:
    """A command with some of its standard streams closed; a shell is what can do that."""
    line = f'exec "$@" {streams}'
    done = subprocess.run(
        ["sh", "-c", line, "sh", *COMMAND, *words],
        cwd=place,
        env=environment(place),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    return Finished(done.returncode, done.stdout, done.stderr)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo", {"a.txt": "a\n"})


def test_a_goal_that_cannot_be_read_is_a_mistake_in_usage(place: Path) -> None:
    done = closed(place, "<&-", "run", "-")
    assert done.code == 2
    assert "Error: the goal is empty" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("streams", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_what_has_nothing_to_write_to_ends_as_it_does_elsewhere(place: Path, streams: str) -> None:
    assert closed(place, streams, "config", "show", "--json").code == 0
    done = closed(place, streams, "watch")
    assert (done.code, "Traceback" in done.err) == (2, False)
    assert "2>&-" in streams or "no run of this repository is known" in done.err


def test_no_verb_waits_for_somebody_to_type() -> None:
    """But for `watch` on a terminal, which reads answers beside everything else."""
    calls = [
        f"{path.name}:{node.lineno}"
        for path in (SOURCE / "cli").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and _name(node.func) in _ASKS
    ]
    assert calls == []


def _name(called: ast.expr) -> str:
    if isinstance(called, ast.Attribute):
        return called.attr if isinstance(called.value, ast.Name) and called.value.id == "click" else ""
    return called.id if isinstance(called, ast.Name) else ""
