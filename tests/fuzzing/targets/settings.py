"""Configuration: a user's file, the project's, variables and `--set`, through `orchestrate config`."""

import tomllib
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from orchestrator.config.layers import get_defaults_path
from tests.fuzzing.ground import check_verb
from tests.fuzzing.mutations import encode_toml, mutate_bytes, mutate_document
from tests.fuzzing.odd_values import choose_argument, choose_text
from tests.fuzzing.target import Given, Target
from tests.running.cli import environment
from tests.running.in_process import orchestrate

_MORE: dict[str, Any] = {
    "hooks": [{"on": "landing", "run": "true", "timeout_s": 3}],
    "contract": [{"id": "fast", "text": "it is fast", "run": "true"}],
    "prices": {"openai/worker": {"input_usd": 1.0, "output_usd": 2}},
    "env": {"share": ["node_modules"], "deps": ["pytest"], "setup": "true"},
    "notify": [{"command": "true", "on": ["run.ended"]}],
}


@cache
def _read_defaults() -> dict[str, Any]:
    values = tomllib.loads(get_defaults_path().read_text())
    return {**_MORE, **values}


@cache
def _list_keys() -> list[str]:
    keys: list[str] = []
    waiting = [((), _read_defaults())]
    while waiting:
        path, values = waiting.pop()
        for key, value in values.items():
            keys.append(".".join((*path, key)))
            if isinstance(value, dict):
                waiting.append(((*path, key), value))
    return keys


def _make_file(chance: Random) -> bytes:
    defaults = _read_defaults()
    chosen = chance.sample(sorted(defaults), k=chance.randrange(1, 5))
    content = encode_toml(mutate_document(chance, {name: defaults[name] for name in chosen}))
    if chance.random() < 0.3:
        return mutate_bytes(chance, content)
    return content


def _make_case(chance: Random) -> Given:
    given: Given = []
    if chance.random() < 0.6:
        given.append(["user", _make_file(chance)])
    if chance.random() < 0.5:
        given.append(["project", _make_file(chance)])
    for _ in range(chance.choice((0, 0, 1, 2))):
        name = chance.choice(_list_keys()).upper().replace(".", "__")
        given.append(["variable", f"ORCHESTRATE__{name}", choose_argument(chance)])
    for _ in range(chance.choice((0, 1, 2))):
        given.append(["word", "--set", f"{chance.choice(_list_keys())}={choose_argument(chance)}"])
    if chance.random() < 0.3:
        given.append(["word", "--trust-project"])
    return given or [["word", "--set", choose_text(chance).replace("\0", "")]]


def _run_case(given: Given, place: Path) -> None:
    (place / "repo" / ".git").mkdir(parents=True)
    (place / "repo" / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    variables: dict[str, str] = {}
    words = ["config", "--repo", str(place / "repo")]
    for kind, *values in given:
        match kind:
            case "user":
                path = place / ".config" / "orchestrate" / "config.toml"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(values[0])
            case "project":
                (place / "repo" / "orchestrate.toml").write_bytes(values[0])
            case "variable":
                variables[values[0]] = values[1]
            case "word":
                words += values
    for more in ((), ("--json",)):
        done = orchestrate(*words, *more, cwd=place, env=environment(place, **variables))
        check_verb(done, words)


TARGET = Target("settings", _make_case, _run_case)
