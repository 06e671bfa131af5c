"""A hundred attacks: each is the only task of a run on its own project, with a reviewer who approves everything.

Folders are told of in test_attack_corpus_is_effective.py. An attack that landed is checked out and its oracle is run
there. A scripted verifier submits tests that were written from the task alone (BASE/verifier); `ATTACK_VERIFIER=off`
runs without them. `ATTACK_REPORT=FILE` writes what became of each one and, for each class, how many landed, landed with
a flag for the reviewers, were refused, or were refused by the verifier's tests alone.
"""

import fcntl
import json
import os
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.task import EndCause, TaskStatus
from orchestrator.engine.verification.task_verification import MAX_TRIALS
from orchestrator.llm.scripted_model.script import ScriptedReply
from tests.running.attacks import Attack, find_cargo_folder, load_attacks, load_base, load_known_landed, run_plainly
from tests.running.changes import plays, project_of
from tests.running.goals import Bench
from tests.running.projects import git
from tests.running.scripts import judges, planner_ends, plans, reviews, uses, write_script

pytestmark = [pytest.mark.sandbox, pytest.mark.slow, pytest.mark.timeout(600)]

QUICK = ("001_exits_when_it_cannot_divide", "076_failing_tests_become_plans", "086_old_tests_want_short_runs")
"""Those that `make test` runs too: one for each of a few languages and ways."""
LANDED, FLAGGED, REFUSED = "landed", "landed with flags", "refused"
REFUSED_BY_VERIFIER = "refused by the verifier's tests"
HAS_VERIFIER = os.environ.get("ATTACK_VERIFIER", "on") != "off"


@dataclass(frozen=True)
class Result:
    """What became of an attack."""

    attack: str
    kind: str
    language: str
    outcome: str
    is_wrong: bool
    why: str
    verifier_files: int


def quick_first() -> list[Attack]:
    """Return all attacks, those first that stand for the others in `make test`."""
    return sorted(load_attacks(), key=lambda attack: (attack.name not in QUICK, attack.name))


def by_name(attack: Attack) -> str:
    return attack.name


@pytest.mark.parametrize("name", sorted({attack.base.name for attack in load_attacks()}))
async def test_control_the_right_change_lands(tmp_path: Path, name: str) -> None:
    base = load_base(name)
    attack = next(attack for attack in load_attacks() if attack.base == base)
    attack.skip_if_unsupported()
    ended = await play(attack, base.solution, [], tmp_path)
    task = ended.state.tasks[TaskId(task_of(attack))]
    assert task.status == TaskStatus.MERGED, (task.reason, task.verdicts)
    if HAS_VERIFIER:
        assert task.verification is not None
        submitted = [file["path"] for file in base.load_verifier_files()]
        submitted += [script["name"] for script in base.load_verifier_scripts()]
        assert [file.path for file in task.verification.files] == submitted, task.verification.trials


@pytest.mark.parametrize("attack", quick_first(), ids=by_name)
async def test_an_attack_does_not_land(tmp_path: Path, attack: Attack) -> None:
    attack.skip_if_unsupported()
    ended = await play(attack, attack.change, attack.deletes, tmp_path)
    result = look_at(attack, ended, tmp_path)
    report(result)
    if attack.name in load_known_landed():
        pytest.xfail(load_known_landed()[attack.name])
    assert not (result.outcome in {LANDED, FLAGGED} and result.is_wrong), result


async def play(attack: Attack, change: Path, deletes: Sequence[str], place: Path) -> RunExit:
    """Run the task of an attack on its base; the worker makes the change, in one attempt."""
    project = project_of(attack.base.files, place / "repo")
    key = task_of(attack)
    draft = {"key": key, **attack.document["task"], "grants": attack.document["grants"]}
    work = plays(key, change, deletes)
    tools = [sys.prefix]
    if "cargo" in attack.base.needs:
        tools.append(str(Path(find_cargo_folder()).parent))
    bench = Bench(place, project)
    model = {"model": write_script(bench.root / "script.json", [])}
    roles = {"planner": model, "worker": model, "judge": model}
    submitted: list[ScriptedReply] = []
    if HAS_VERIFIER:
        roles["verifier"] = model | {"when": "always"}
        answer = {"files": attack.base.load_verifier_files(), "scripts": attack.base.load_verifier_scripts()}
        submitted = [uses("verifier", key, "submit_tests", **answer)] * MAX_TRIALS
    return await bench.run(
        plans("root", draft),
        *submitted,
        *work,
        *([reviews(key)] * 4),
        planner_ends(),
        judges(),
        roles=roles,
        gate={"command": attack.base.gate_command(), "report": attack.base.report},
        run={"max_attempts": 1, "max_workers": 1},
        approval={"red_gate": "go-on"},
        hands={"read_only": tools},
    )


def task_of(attack: Attack) -> str:
    """Return the key of its task in the plan."""
    return f"task-{attack.name[:3]}"


def look_at(attack: Attack, ended: RunExit, place: Path) -> Result:
    """Return what became of the attack; of what landed, whether it is wrong for those who use it."""
    task = ended.state.tasks[TaskId(task_of(attack))]
    flags = "\n".join(task.verdicts[-1].verdict.flags) if task.verdicts else ""
    kind, language = attack.document["class"], attack.document["language"]
    counting = len(task.verification.counting_files) if task.verification else 0
    if task.status != TaskStatus.MERGED:
        reasons = "\n".join(task.verdicts[-1].verdict.reasons) if task.verdicts else ""
        refused = REFUSED_BY_VERIFIER if task.cause == EndCause.REFUSED_BY_VERIFIER else REFUSED
        return Result(attack.name, kind, language, refused, False, f"{task.reason}\n{reasons}", counting)
    tree = place / "landed"
    git(place / "repo", "worktree", "add", "-q", "--detach", str(tree), str(ended.state.head))
    oracle = run_plainly(attack.oracle, tree)
    return Result(attack.name, kind, language, FLAGGED if flags else LANDED, oracle.returncode != 0, flags, counting)


def report(result: Result) -> None:
    """Add a result to the file of ATTACK_REPORT, if there is one."""
    name = os.environ.get("ATTACK_REPORT")
    if not name:
        return
    file = Path(name)
    with file.with_name(f"{file.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        attacks: dict[str, Any] = {}
        if file.exists():
            attacks = json.loads(file.read_text(encoding="utf-8"))["attacks"]
        attacks[result.attack] = asdict(result)
        classes: dict[str, Counter[str]] = {}
        for one in attacks.values():
            classes.setdefault(one["kind"], Counter())[one["outcome"]] += 1
        text = json.dumps({"classes": classes, "attacks": attacks}, indent=1, sort_keys=True, ensure_ascii=False)
        file.write_text(text, encoding="utf-8")
