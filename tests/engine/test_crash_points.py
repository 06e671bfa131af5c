"""Killed between an effect and the event that tells of it, and resumed, a run ends as if nothing had been."""

import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from orchestrator.demo.story import fingerprint
from orchestrator.domain.event.base import Intent
from orchestrator.domain.fold import fold
from orchestrator.journal.store import read_all
from tests.running import dying
from tests.running.cli import environment
from tests.running.killing import Start, as_json, landed_more_than_once, processes_about, terminal
from tests.running.projects import GATE, calculator, git, refs, shop, tree_at
from tests.running.scripts import edits, judges, planner_ends, plans, reviews, uses, worker_ends, write_script, writes

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(120)]

DEMO = Path(__file__).parents[2] / "orchestrator" / "demo"
GOOD, BROKEN = "    return a + b\n", "    return a - b\n"


def goal(place: Path) -> Start:
    """Two tasks, the first of which is red at first."""
    items = [
        plans("root", {"key": "sum"}, {"key": "more", "depends_on": ["sum"]}),
        edits("sum", "calc.py", GOOD, BROKEN),
        worker_ends("sum"),
        edits("sum", "calc.py", BROKEN, "    return b + a\n"),
        worker_ends("sum"),
        reviews("sum"),
        writes("more", "more.txt", "more\n"),
        uses("worker", "more", "shell", command="echo much >> more.txt"),
        worker_ends("more"),
        reviews("more"),
        planner_ends(),
        judges(),
    ]
    calculator(place / "repo")
    model = write_script(place / "script.json", items)
    models = [word for role in ("planner", "worker", "judge") for word in ("--model", f"{role}={model}")]
    words = ("run", "better sums", "--gate", GATE, "--set", "gate.report=unittest", *models)
    return Start(words, ("--repo", str(place / "repo"), "--state", str(place / "state")), place, environment(place))


def migration(place: Path) -> Start:
    """The sample of the demo, of which one file is ejected."""
    shop(place).rename(place / "repo")
    where = ("--repo", str(place / "repo"), "--state", str(place / "state"))
    return Start(("migrate", "run", str(DEMO / "sample.toml")), where, place, environment(place))


STORIES = {"goal": goal, "migration": migration}
JUDGEMENTS = {"lens.voted", "verdict.given", "iteration.judged"}
MOMENTS = {
    "goal": (
        *("session.ended:1", "check.finished:2", "tool.returned:3", "candidate.taken:2"),
        *("verdict.given:2", "landing.finished:1", "iteration.judged:1", "pr.opening:1", "pr.opened:1"),
    ),
    "migration": ("step.finished:1", "landing.finished:1", "unit.ejected:1"),
}


@pytest.mark.parametrize("story", STORIES)
def test_a_run_killed_after_an_effect_and_again_while_resuming_ends_the_same(story: str, tmp_path: Path) -> None:
    wanted = outcome(STORIES[story](_place(tmp_path, "calm")), moment=None)
    for number, moment in enumerate(MOMENTS[story]):
        place = _place(tmp_path, f"kill-{number}")
        assert outcome(STORIES[story](place), moment) == wanted, f"killed before {moment}"
        assert processes_about(place) == []


def outcome(start: Start, moment: str | None) -> dict[str, object]:
    """How a run ends that is killed at a moment, and once more at the first thing it recovers."""
    repository = start.cwd / "repo"
    before = fingerprint(repository)
    if moment is None:
        result = as_json(start.to_the_end()[0])
    else:
        assert die(start, moment, start.words) == -9
        die(start, "effect.abandoned:1", ("resume",))
        result = as_json(start.resume())
    journal = Path(result["journal"])
    assert fingerprint(repository) == before
    assert landed_more_than_once(journal) == []
    assert unsettled(journal) == []
    known = {result["run"]: "RUN", result["pr_branch"]: "BRANCH"}
    return terminal(result) | {
        "tree": tree_at(repository, result["pr_branch"]),
        "refs": sorted(_renamed(ref, known) for ref in refs(repository) if "/wip/" not in ref),
        "judgements": Counter(one.event.kind for one in read_all(journal) if one.event.kind in JUDGEMENTS),
        "pull requests": git(repository, "rev-list", "--count", "refs/orchestrate/prs/1"),
    }


def die(start: Start, moment: str, words: Sequence[str]) -> int:
    """Work on the run until the moment comes; how the process ended."""
    command = [sys.executable, dying.__file__, moment, *words, *start.where]
    return subprocess.run(
        command, cwd=start.cwd, env=dict(start.env), stdin=subprocess.DEVNULL, capture_output=True, check=False
    ).returncode


def unsettled(journal: Path) -> list[str]:
    """Effects that are still open at the end, and keys that were used for two."""
    events = list(read_all(journal))
    begun = Counter(recorded.event.key for recorded in events if isinstance(recorded.event, Intent))
    return [*fold(events).open_intents, *(key for key, count in begun.items() if count > 1)]


def _place(root: Path, name: str) -> Path:
    place = root / name
    place.mkdir()
    return place


def _renamed(ref: str, known: dict[str, str]) -> str:
    for name, word in sorted(known.items(), key=lambda pair: -len(pair[0])):
        ref = ref.replace(name, word)
    return ref
