"""Every effect is known, is told to users, and has its crash points in the code."""

import ast
from pathlib import Path

from orchestrator.domain.effects import CRASH_MOMENTS, CRASH_POINTS, EFFECTS
from orchestrator.domain.event import EVENT_CLASSES, Intent

ROOT = Path(__file__).parents[3]
SOURCES = [path for room in ("orchestrator", "roles", "worktrees") for path in (ROOT / room).rglob("*.py")]


def test_every_intent_is_one_of_the_effects_whose_recovery_is_told() -> None:
    intents = {
        cls.model_fields["kind"].default.partition(".")[0] for cls in EVENT_CLASSES.values() if issubclass(cls, Intent)
    }
    assert intents == set(EFFECTS)


def test_users_are_told_the_same_table() -> None:
    lines = (ROOT / "docs" / "effects.md").read_text().splitlines()
    told = dict(line.strip("| ").split(" | ", 1) for line in lines if line.startswith("| `"))
    assert told == {f"`{name}`": text for name, text in EFFECTS.items()}


def test_every_named_crash_point_is_in_the_code() -> None:
    calls = [
        node.args[0]
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "crash_point"
    ]
    plain = {arg.value for arg in calls if isinstance(arg, ast.Constant)}
    built = {ast.unparse(arg).rpartition(".")[2].rstrip("'\"") for arg in calls if isinstance(arg, ast.JoinedStr)}
    around = {f"{name}.{moment}" for name in EFFECTS for moment in built}
    assert built == set(CRASH_MOMENTS)
    assert plain | around == set(CRASH_POINTS)
    assert len(CRASH_POINTS) > 40


def test_nobody_records_an_intent_but_through_an_effect() -> None:
    names = {cls.__name__ for cls in EVENT_CLASSES.values() if issubclass(cls, Intent)}
    appended = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append"
        for arg in node.args
        if isinstance(arg, ast.Call) and isinstance(arg.func, ast.Name) and arg.func.id in names
    ]
    assert appended == []
