"""Scripts of models: as files, and played, so that agents, plans and verdicts meet odd replies."""

import json
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from orchestrator.errors import UsageProblem
from orchestrator.llm.scripted_model.script import read_script
from tests.fuzzing.ground import Ground, build_script
from tests.fuzzing.mutations import encode_json, encode_toml, mutate_bytes, mutate_document
from tests.fuzzing.odd_values import choose_text
from tests.fuzzing.target import Given, Target
from tests.running.projects import GATE

_TOOLS = ("shell", "read", "edit", "search", "recall", "list", "request_tier", "note", "submit_plan", "finish", "x")


@cache
def _read_seed() -> dict[str, Any]:
    replies = [item.model_dump(mode="json", exclude_defaults=True) for item in build_script()]
    return {"schema": 1, "reply": replies}


def _make_case(chance: Random) -> Given:
    document = mutate_document(chance, _read_seed())
    name = chance.choice(("script.json", "script.toml"))
    if name.endswith("json"):
        content = encode_json(document)
    else:
        content = encode_toml(document)
    if chance.random() < 0.4:
        content = mutate_bytes(chance, content)
    return [name, content]


def _run_case(given: Given, place: Path) -> None:
    name, content = given
    path = place / name
    path.write_bytes(content)
    try:
        read_script(path)
    except UsageProblem as problem:
        text = str(problem)
        assert text.startswith(f"the script {path}"), text


def _make_play(chance: Random) -> Given:
    """Return replies of which some say odd things in a valid script."""
    replies: list[dict[str, Any]] = json.loads(json.dumps(_read_seed()["reply"]))
    for number in chance.sample(range(len(replies)), k=chance.randrange(1, 4)):
        call = replies[number]["call"][0]
        match chance.randrange(4):
            case 0:
                call["raw"] = encode_json(mutate_document(chance, call.pop("arguments"))).decode()
            case 1:
                raw = mutate_bytes(chance, encode_json(call.pop("arguments")))
                call["raw"] = raw.decode("utf-8", "replace")
            case 2:
                replies[number] = {**replies[number], "text": choose_text(chance) or "x", "call": []}
            case _:
                arguments = {"path": choose_text(chance), "command": choose_text(chance), "query": choose_text(chance)}
                replies[number]["call"] = [{"tool": chance.choice(_TOOLS), "arguments": arguments}]
    return replies


def _run_play(given: Given, place: Path) -> None:
    ground = Ground(place)
    script = place / "odd.json"
    script.write_text(json.dumps({"schema": 1, "reply": given}))
    models = [word for role in ("planner", "worker", "judge") for word in ("--model", f"{role}=scripted:{script}")]
    gate = ("--gate", GATE, "--set", "gate.report=unittest", "--set", "run.max_attempts=1")
    ground.call_verb("run", "make it better", *gate, *models, *ground.where)
    ground.call_verb("show", *ground.where)
    ground.call_verb("logs", *ground.where)


TARGET = Target("scripts", _make_case, _run_case)
PLAYED = Target("played-scripts", _make_play, _run_play, has_ground=True, wall_s=60)
