"""Policy files: a user's and the project's, through `orchestrate policy check` and `explain`."""

from pathlib import Path
from random import Random
from typing import Any

from tests.fuzzing.ground import check_verb
from tests.fuzzing.mutations import encode_toml, mutate_bytes, mutate_document
from tests.fuzzing.odd_values import choose_argument
from tests.fuzzing.target import Given, Target
from tests.running.cli import environment
from tests.running.in_process import orchestrate

_FILE: dict[str, Any] = {
    "default": "ask",
    "rule": [
        {"effect": "deny", "tools": ["shell", "github__*"], "roles": "planner", "reason": "planners read"},
        {"effect": "ask", "writes": ["infra/**", "*.lock"], "variants": "cheap"},
        {"effect": "allow", "tools": "read", "paths": ["src/**/[a-z]*.py"], "mcp": "web"},
        {"effect": "deny", "hosts": "*.evil.test", "tiers": [2, 3], "merges": "db"},
    ],
}
_SUBJECTS = ("--tool", "--mcp", "--host", "--write", "--merge", "--path", "--variant")


def _make_file(chance: Random) -> bytes:
    content = encode_toml(mutate_document(chance, _FILE))
    if chance.random() < 0.3:
        return mutate_bytes(chance, content)
    return content


def _make_case(chance: Random) -> Given:
    given: Given = [[chance.choice(("user", "project")), _make_file(chance)]]
    if chance.random() < 0.5:
        given.append(["user", _make_file(chance)])
    for _ in range(chance.choice((0, 1, 3))):
        given.append(["word", chance.choice(_SUBJECTS), choose_argument(chance)])
    return given


def _run_case(given: Given, place: Path) -> None:
    (place / "repo" / ".git").mkdir(parents=True)
    (place / "repo" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    files = {
        "user": place / ".config" / "orchestrate" / "policy.toml",
        "project": place / "repo" / ".orchestrate" / "policy.toml",
    }
    repository = ["--repo", str(place / "repo")]
    explain = ["policy", "explain", "--role", "worker", "--tool", "write", *repository]
    for kind, *values in given:
        if kind == "word":
            explain += values
        else:
            files[kind].parent.mkdir(parents=True, exist_ok=True)
            files[kind].write_bytes(values[0])
    for words in (["policy", "check", *repository], explain, [*explain, "--json"]):
        check_verb(orchestrate(*words, cwd=place, env=environment(place)), words)


TARGET = Target("policies", _make_case, _run_case)
