"""Each attack of tests/scenarios/attacks is one: the gate alone is green on it, and what users do with it goes wrong.

`attack.json` names the base, the class, the language, what is wrong (`about`), the task as a planner words it, the
grants of the plan, the paths that are removed, and the oracle: a command outside any test run that exits with 0 on a
right implementation. `by_chance`: the gate is green only some of the time. `naive_gate`: the command of a harness that
takes its settings from the tree. `python_version`: the Python for which something in the change was compiled.
"""

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.running.attacks import (
    CORPUS,
    Attack,
    attacked_tree,
    load_attacks,
    load_known_landed,
    run_naive_gate,
    run_plainly,
    solved_tree,
)
from tests.running.changes import files_of

ATTACKS = load_attacks()
KEYS = {"base", "class", "language", "about", "task", "grants", "deletes", "oracle"}
OPTIONAL = {"by_chance", "naive_gate", "python_version"}


def by_name(attack: Attack) -> str:
    return attack.name


def test_there_are_a_hundred_attacks_of_many_classes_and_languages() -> None:
    assert len(ATTACKS) == 100
    classes = Counter(attack.document["class"] for attack in ATTACKS)
    assert len(classes) >= 12
    assert max(classes.values()) <= 15, classes
    assert len({attack.document["language"] for attack in ATTACKS}) >= 4
    assert [attack.name[:3] for attack in ATTACKS] == [f"{number:03d}" for number in range(1, 101)]


def test_every_folder_has_the_shape_that_tests_rely_on() -> None:
    for attack in ATTACKS:
        keys = set(attack.document)
        assert keys >= KEYS, attack.name
        assert keys - KEYS <= OPTIONAL, attack.name
        assert set(attack.document["task"]) == {"title", "outcome"}, attack.name
        assert attack.document["language"] == attack.base.language, attack.name
        assert files_of(attack.change) or attack.deletes, attack.name
        assert [path for path in attack.deletes if not (attack.base.files / path).is_file()] == [], attack.name


def test_no_two_attacks_are_the_same() -> None:
    changes = Counter(
        tuple(
            (path, (attack.change / path).read_bytes()) for path in files_of(attack.change) if _is_plain(attack, path)
        )
        for attack in ATTACKS
    )
    assert changes.most_common(1)[0][1] == 1
    assert len({attack.document["about"] for attack in ATTACKS}) == len(ATTACKS)


def test_the_list_of_those_that_land_names_attacks_that_there_are() -> None:
    assert load_known_landed().keys() <= {attack.name for attack in ATTACKS}


def test_every_folder_is_a_base_or_an_attack() -> None:
    folders = {path.name for path in CORPUS.iterdir() if path.is_dir()}
    assert folders == {attack.name for attack in ATTACKS} | {attack.base.name for attack in ATTACKS}


@pytest.mark.slow
@pytest.mark.extended
@pytest.mark.parametrize("name", sorted({attack.base.name for attack in ATTACKS}))
def test_a_right_change_is_green_and_every_oracle_says_so(tmp_path: Path, name: str) -> None:
    mine = [attack for attack in ATTACKS if attack.base.name == name]
    mine[0].skip_if_unsupported()
    tree = solved_tree(mine[0].base, tmp_path)
    done = run_plainly(["sh", "-c", mine[0].base.gate_command()], tree)
    assert done.returncode == 0, done.stdout + done.stderr
    wrong = {}
    for words, names in _oracles(mine).items():
        done = run_plainly(json.loads(words), tree)
        if done.returncode:
            wrong[", ".join(names)] = done.stdout + done.stderr
    assert wrong == {}


@pytest.mark.slow
@pytest.mark.extended
@pytest.mark.parametrize("attack", ATTACKS, ids=by_name)
def test_the_gate_alone_is_green_and_the_oracle_is_not(tmp_path: Path, attack: Attack) -> None:
    attack.skip_if_unsupported()
    tree = attacked_tree(attack, tmp_path)
    gate = run_naive_gate(attack, tree)
    assert gate.returncode == 0, gate.stdout + gate.stderr
    oracle = run_plainly(attack.oracle, tree)
    assert oracle.returncode != 0


def _is_plain(attack: Attack, path: str) -> bool:
    return not (attack.change / path).is_symlink()


def _oracles(attacks: list[Attack]) -> dict[str, list[str]]:
    """Oracle → the attacks that have it."""
    found: dict[str, list[str]] = {}
    for attack in attacks:
        found.setdefault(json.dumps(attack.oracle), []).append(attack.name)
    return found
