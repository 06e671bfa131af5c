"""Killed with SIGKILL at named points around effects, and resumed, a run ends as if nothing had been."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from orchestrator.config.layers import user_path
from orchestrator.crash import VARIABLE
from orchestrator.demo.story import fingerprint
from orchestrator.domain.effects import CRASH_POINTS
from orchestrator.domain.event.base import Intent
from orchestrator.domain.fold import fold
from orchestrator.journal.store import read_all
from orchestrator.migrate.models.leaves import leaf_id
from orchestrator.migrate.recipe import load_recipe
from tests.running.cli import environment, orchestrate
from tests.running.killing import Start, as_json, landed_more_than_once, processes_about, terminal
from tests.running.migrating import words as texts
from tests.running.projects import GATE, calculator, git, refs, shop, tree_at
from tests.running.remotes import bare
from tests.running.scripts import edits, judges, planner_ends, plans, reviews, uses, worker_ends, write_script, writes
from tests.running.words import SED, words

pytestmark = [pytest.mark.slow, pytest.mark.sandbox, pytest.mark.timeout(300)]

DEMO = Path(__file__).parents[2] / "orchestrator" / "demo"
GOOD, BROKEN = "    return a + b\n", "    return a - b\n"


def goal(place: Path, *others: str) -> Start:
    """Tasks one after the other, the first of which is red at first; `others` are more of them, side by side."""
    last = {"key": "more", "depends_on": ["sum"]}
    items = [
        plans("root", {"key": "sum"}, *({"key": name, "depends_on": ["sum"]} for name in others), last),
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
    for name in others:
        items += [writes(name, f"{name}.txt", f"{name}\n"), worker_ends(name), reviews(name)]
    calculator(place / "repo")
    model = write_script(place / "script.json", items)
    models = [word for role in ("planner", "worker", "judge") for word in ("--model", f"{role}={model}")]
    words = ("run", "better sums", "--gate", GATE, "--set", "gate.report=unittest", *models)
    return Start(words, ("--repo", str(place / "repo"), "--state", str(place / "state")), place, environment(place))


def goal_of_eight(place: Path) -> Start:
    """Eight tasks, with hooks, notifications and a push."""
    start = goal(place, *"bcdefg")
    bare(place / "remote.git", place / "repo")
    config = user_path({"HOME": str(place)})
    config.parent.mkdir(parents=True)
    config.write_text(
        f'[pr]\npush = "origin"\n[notify]\ncommand = "cat >>{place}/sent; echo >>{place}/sent"\n'
        f'[[hooks]]\non = "after_landing"\nrun = "echo landed >>{place}/hook"\ntrusted = true\n'
    )
    return start


def migration(place: Path) -> Start:
    """The sample of the demo, of which one file is ejected."""
    shop(place).rename(place / "repo")
    where = ("--repo", str(place / "repo"), "--state", str(place / "state"))
    return Start(("migrate", "run", str(DEMO / "sample.toml")), where, place, environment(place))


def tail(place: Path) -> Start:
    """A migration whose codemod fails on two files, for which a model finds a word: for one at once, for one later."""
    words(place / "repo", {"a": ["old", "new"], "b": ["old", "better"], "c": ["old", "best"]})
    (place / "r.toml").write_text(TAIL)
    step = load_recipe(place / "r.toml").step[1]
    first, second = leaf_id(step, "b.txt"), leaf_id(step, "c.txt")
    items = [
        *(writes(first, "b.txt", "better\n"), worker_ends(first)),
        *(writes(second, "c.txt", "worse\n"), worker_ends(second)),
        *(writes(second, "c.txt", "best\n"), worker_ends(second)),
    ]
    model = write_script(place / "script.json", items)
    where = ("--repo", str(place / "repo"), "--state", str(place / "state"))
    return Start(
        ("migrate", "run", str(place / "r.toml"), "--model", f"worker={model}"), where, place, environment(place)
    )


def shards(place: Path) -> Start:
    """A migration of three shards that land at once, a commit each, but for one file."""
    files = {f"{name}/{number}.txt": "old" for name in "abc" for number in (1, 2)}
    texts(place / "repo", files | {"b/1.txt": "older"})
    (place / "r.toml").write_text(SHARDS)
    where = ("--repo", str(place / "repo"), "--state", str(place / "state"))
    return Start(("migrate", "run", str(place / "r.toml")), where, place, environment(place))


TAIL = f"""
schema = 1
[migration]
id = "words"
[scope]
include = ["*.txt"]
[[step]]
id = "codemod"
run = "{SED}"
[[step]]
id = "tail"
kind = "llm"
when = "failed"
[[verify.check]]
id = "t"
run = "{GATE}"
report = "unittest"
"""

SHARDS = f"""
schema = 1
[migration]
id = "words"
[scope]
include = ["*.txt"]
[sample]
first = 100
[shard]
by = ["directory"]
depth = 1
min_files = 1
[[step]]
id = "codemod"
run = "sed -i 's/older/odd/; s/old/new/' {{files}}"
[[verify.check]]
id = "t"
run = "{GATE}"
report = "unittest"
"""

Story = Callable[[Path], Start]
OUTSIDE = {"hook", "notification", "push"}
JUDGEMENTS = {"lens.voted", "verdict.given", "iteration.judged"}
SOME = {
    goal: (
        *("snapshot.before-done", "candidate.before-done:2", "check.after-intent:2"),
        *("landing.before-done", "pr.before-done"),
    ),
    migration: ("step.before-done", "landing.after-intent"),
    tail: ("snapshot.before-done", "candidate.before-done:2"),
    shards: ("landing.before-done", "landing.after-done"),
}


@pytest.mark.parametrize("story", SOME)
def test_a_run_killed_around_an_effect_and_again_while_resuming_ends_the_same(story: Story, tmp_path: Path) -> None:
    _check(story, SOME[story], tmp_path)


@pytest.mark.extended
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("story", [goal_of_eight, migration])
def test_a_run_killed_at_any_point_and_again_while_resuming_ends_the_same(story: Story, tmp_path: Path) -> None:
    elsewhere = {goal_of_eight: {"step"}, migration: {"model", "tool", "snapshot", "candidate"} | OUTSIDE}[story]
    points = [name for name in CRASH_POINTS if name.partition(".")[0] not in {*elsewhere, "inbox"}]
    assert len(points) >= 30
    _check(story, points, tmp_path)


def test_a_command_that_is_being_taken_at_a_kill_is_taken_once(tmp_path: Path) -> None:
    start = goal(tmp_path)
    asked = orchestrate(*start.words, *start.where, "--approval", "pr", cwd=tmp_path, env=start.env)
    assert asked.code == 6
    answer = orchestrate("approve", "latest", "--no-wake", *start.where, cwd=tmp_path, env=start.env)
    assert "waits for the next engine" in answer.err
    for moment in ("inbox.before-record", "inbox.after-record"):
        die(start, moment, ("resume",))
    result = as_json(start.resume())
    kinds = Counter(one.event.kind for one in read_all(Path(result["journal"])))
    assert (result["outcome"], kinds["approval.decided"], kinds["pr.opened"]) == ("done", 1, 1)


def _check(story: Story, moments: Sequence[str], tmp_path: Path) -> None:
    wanted = outcome(story(_place(tmp_path, "calm")), moment=None)
    for number, moment in enumerate(moments):
        place = _place(tmp_path, f"kill-{number}")
        assert outcome(story(place), moment) == wanted, f"killed at {moment}"
        assert processes_about(place) == []


def outcome(start: Start, moment: str | None) -> dict[str, object]:
    """How a run ends that is killed at a moment, and once more when it has recovered."""
    repository = start.cwd / "repo"
    before = fingerprint(repository)
    if moment is None:
        result = as_json(start.to_the_end()[0])
    else:
        die(start, moment, start.words)
        die(start, "recovery.after", ("resume",))
        result = as_json(start.resume())
    journal = Path(result["journal"])
    assert fingerprint(repository) == before
    assert landed_more_than_once(journal) == []
    assert unsettled(journal) == []
    known = {result["run"]: "RUN", result["pr_branch"]: "BRANCH"}
    told = start.cwd / "sent"
    sent = [json.loads(line) for line in told.read_text().splitlines() if line] if told.exists() else []
    assert len({one["key"] for one in sent}) == len(sent), "nobody is notified twice of the same"
    return terminal(result) | {
        "tree": tree_at(repository, result["pr_branch"]),
        "refs": sorted(_renamed(ref, known) for ref in refs(repository) if "/wip/" not in ref),
        "judgements": Counter(one.event.kind for one in read_all(journal) if one.event.kind in JUDGEMENTS),
        "shards": git(repository, "log", "--format=%(trailers:key=Shard,valueonly,separator=)", result["pr_branch"]),
        "pull requests": git(repository, "rev-list", "--count", "refs/orchestrate/prs/1"),
    }


def die(start: Start, moment: str, words: Sequence[str]) -> None:
    """Work on the run until the moment comes."""
    done = orchestrate(*words, *start.where, cwd=start.cwd, env={**start.env, VARIABLE: moment})
    assert done.code == -9 or "ended without a word (signal 9)" in done.err or words == ("resume",), (moment, done.err)


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
