"""The house rules that a program can check, and proof that the checks can fail."""

import ast
import hashlib
import json
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from orchestrator.domain.event import EVENT_CLASSES
from tests.golden import check_golden

ROOT = Path(__file__).parents[1]
ROOMS = ("orchestrator", "roles", "prompts", "worktrees")
MAX_LINES = 400
MAX_FUNCTION_LINES = 40


def sources() -> list[Path]:
    return [path for room in ROOMS for path in sorted((ROOT / room).rglob("*.py")) if "demo/sample" not in str(path)]


def lint_imports(place: Path) -> subprocess.CompletedProcess[str]:
    words = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"]
    environment = {"PYTHONPATH": str(place), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    return subprocess.run(words, cwd=place, env=environment, capture_output=True, text=True, check=False)


def test_imports_obey_the_contract() -> None:
    done = lint_imports(ROOT)
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("house")
    for room in ROOMS:
        shutil.copytree(ROOT / room, place / room, ignore=shutil.ignore_patterns("__pycache__", "sample"))
    shutil.copy(ROOT / "pyproject.toml", place)
    return place


@pytest.mark.parametrize(
    ("module", "line", "contract"),
    [
        ("orchestrator/domain/ids.py", "import orchestrator.journal.storage.event_store", "Rooms"),
        ("orchestrator/engine/goal/run.py", "import orchestrator.migrate.run.runner", "Rooms"),
        ("orchestrator/judge/gate/harness.py", "import orchestrator.queue.lander", "Rooms"),
        ("worktrees/git.py", "import orchestrator.errors", "Rooms"),
        ("orchestrator/engine/goal/run.py", "import roles.worker", "Only app wires concrete roles"),
        ("orchestrator/agent/loop.py", "import litellm", "Only llm.litellm_adapter.client imports litellm"),
        ("orchestrator/report/documents/run_html.py", "import jinja2", "Only report.text.html_templates"),
        ("orchestrator/queue/pr_branch.py", "import git", "Only worktrees imports git libraries"),
        ("orchestrator/domain/budget/usage.py", "import subprocess", "domain is pure data"),
        ("orchestrator/cli/inspect/status.py", "import textual", "Only tui imports textual"),
    ],
)
def test_a_planted_violation_breaks_the_contract(copy: Path, module: str, line: str, contract: str) -> None:
    path = copy / module
    sound = path.read_text()
    path.write_text(f"{sound}\n{line}\n")
    try:
        done = lint_imports(copy)
    finally:
        path.write_text(sound)
    assert done.returncode != 0
    broken = [text for text in done.stdout.splitlines() if "BROKEN" in text]
    assert any(text.startswith(contract) for text in broken), done.stdout


def test_modules_and_functions_stay_small() -> None:
    large = [
        f"{path.relative_to(ROOT)}: {n}" for path in sources() if (n := len(path.read_text().splitlines())) > MAX_LINES
    ]
    long = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path in sources()
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno > MAX_FUNCTION_LINES
    ]
    assert (large, long) == ([], [])


def test_no_room_is_named_after_nothing() -> None:
    names = {path.stem for path in sources()}
    assert not names & {"utils", "util", "helpers", "helper", "manager", "common", "misc"}


def test_the_shape_of_every_event_is_the_one_its_version_promises() -> None:
    """An event that is stored must be readable for ever: change a shape only by a new version beside the old one."""
    shapes = {
        f"{kind} v{version}": hashlib.sha256(json.dumps(_shape(cls.model_json_schema()), sort_keys=True).encode())
        for (kind, version), cls in sorted(EVENT_CLASSES.items())
    }
    digests = {name: digest.hexdigest()[:16] for name, digest in shapes.items()}
    check_golden("events.json", json.dumps(digests, indent=1) + "\n")


def _shape(schema: object) -> object:
    """A JSON schema without its words and the order of its fields, which may change."""
    if isinstance(schema, dict):
        shape = {key: _shape(value) for key, value in schema.items() if not (_is_word(key) and isinstance(value, str))}
        return shape | ({"required": sorted(schema["required"])} if isinstance(schema.get("required"), list) else {})
    return [_shape(item) for item in schema] if isinstance(schema, list) else schema


def _is_word(key: str) -> bool:
    return key in {"description", "title"}


def test_no_test_reaches_beyond_this_machine() -> None:
    with socket.socket() as connection, pytest.raises(RuntimeError, match=r"loopback interface only, not 192\.0\.2\.1"):
        connection.connect(("192.0.2.1", 9))
