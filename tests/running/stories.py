"""Runs to be killed: each story starts one of them in a place of its own, and says by which words it is run."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from orchestrator.config.layers import get_user_config_path
from orchestrator.config.roles import ROLE_NAMES
from orchestrator.llm.scripted_model.script import ScriptedReply
from orchestrator.migrate.models.file_tasks import build_file_task_id
from orchestrator.migrate.recipe import load_recipe
from tests.running.cli import environment, orchestrate
from tests.running.killing import Start
from tests.running.migrating import words as texts
from tests.running.projects import GATE, calculator, git, repository, shop
from tests.running.remotes import bare
from tests.running.scripts import edits, judges, planner_ends, plans, reviews, uses, worker_ends, write_script, writes
from tests.running.shards import project
from tests.running.words import SED, words

DEMO = Path(__file__).parents[2] / "orchestrator" / "demo"
GOOD, BROKEN = "    return a + b\n", "    return a - b\n"

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

GROUPS = f"""{SHARDS}
[merge]
group_pr = "directory"
max_open_prs = 2
"""

WORLDS = """
schema = 1
[migration]
id = "words"
[scope]
include = ["*.txt"]
[env]
setup = ["mkdir vendor"]
before = ["echo old > vendor/word"]
after = ["echo new > vendor/word"]
[[step]]
id = "codemod"
run = "sed -i s/old/$(cat vendor/word)/ {files}"
[[verify.check]]
id = "t"
run = "grep -qx $(cat vendor/word) a.txt"
report = "exit-code"
"""


def goal(place: Path, *others: str, corrections: Sequence[ScriptedReply] = ()) -> Start:
    """Tasks one after the other, the first of which is red at first; `others` are more of them, side by side.

    `corrections` are what follows once the first one could land.
    """
    last = {"key": "more", "depends_on": ["sum"]}
    items = [
        plans("root", {"key": "sum"}, *({"key": name, "depends_on": ["sum"]} for name in others), last),
        edits("sum", "calc.py", GOOD, BROKEN),
        worker_ends("sum"),
        edits("sum", "calc.py", BROKEN, "    return b + a\n"),
        worker_ends("sum"),
        reviews("sum"),
        *corrections,
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


def merged(place: Path) -> Start:
    """A goal whose pull request is merged into a branch of the repository."""
    root = calculator(place / "repo")
    git(root, "branch", "release")
    items = [plans("root", {"key": "a"}), writes("a", "a.txt", "a\n"), worker_ends("a"), reviews("a"), planner_ends()]
    model = write_script(place / "script.json", [*items, judges()])
    models = [word for role in ("planner", "worker", "judge") for word in ("--model", f"{role}={model}")]
    merge = ("--target", "release", "--set", "pr.merge=when-green")
    words = ("run", "merge it", "--gate", GATE, "--set", "gate.report=unittest", *merge, *models)
    return Start(words, ("--repo", str(root), "--state", str(place / "state")), place, environment(place))


def restarted(place: Path) -> Start:
    """A goal whose first iteration is left behind, after which another task does it."""
    items = [
        *(plans("root", {"key": "a"}), writes("a", "a.txt", "a\n"), worker_ends("a"), reviews("a"), planner_ends()),
        judges("restart", "another way is needed"),
        *(plans("root", {"key": "b"}), writes("b", "b.txt", "b\n"), worker_ends("b"), reviews("b"), planner_ends()),
        judges(),
    ]
    calculator(place / "repo")
    model = write_script(place / "script.json", items)
    models = [word for role in ("planner", "worker", "judge") for word in ("--model", f"{role}={model}")]
    words = ("run", "another way", "--gate", GATE, "--set", "gate.report=unittest", *models)
    return Start(words, ("--repo", str(place / "repo"), "--state", str(place / "state")), place, environment(place))


def verified(place: Path) -> Start:
    """A task with a verifier, of whose two tests a wrong change fails one, and the other one is contested and dropped.

    The tests that stand land with the change.
    """
    good = "    def test_three(self):\n        self.assertEqual(half(3), 1.5)\n"
    wrong = "    def test_name(self):\n        self.assertEqual(half.__name__, 'halve')\n"
    head = "import unittest\n\nfrom half import half\n\n\nclass T(unittest.TestCase):\n"
    files = [{"path": "test_three.py", "text": head + good}, {"path": "test_name.py", "text": head + wrong}]
    items = [
        plans("root", {"key": "half", "outcome": "half(n) in half.py is n / 2", "lands_tests": True}),
        uses("verifier", "half", "submit_tests", files=[*files, {"path": "conftest.py", "text": "no = 1\n"}]),
        uses("verifier", "half", "submit_tests", files=files),
        *(writes("half", "half.py", "def half(n):\n    return n // 2\n"), worker_ends("half")),
        uses("worker", "half", "contest_test", test="test_name", why="nothing says what it is called inside"),
        *(edits("half", "half.py", "//", "/"), worker_ends("half")),
        uses("judge", "half", "submit_verdict", decision="drop", reasons=["nothing says that"]),
        *(reviews("half"), planner_ends(), judges()),
    ]
    calculator(place / "repo")
    model = write_script(place / "script.json", items)
    models = [word for role in ROLE_NAMES for word in ("--model", f"{role}={model}")]
    gate = ("--gate", GATE, "--set", "gate.report=unittest", "--set", "roles.verifier.when=always")
    where = ("--repo", str(place / "repo"), "--state", str(place / "state"))
    return Start(("run", "halves", *gate, *models), where, place, environment(place))


def clashing(place: Path) -> Start:
    """Two tasks that change one line, of which the second goes on from its own work: its review waits for the first."""
    items = [plans("root", {"key": "left"}, {"key": "right"})]
    for name in ("left", "right"):
        both = f"def add(a, b):  # left, right\n{GOOD}\n\ndef double(a):\n    return add(a, a)\n"
        items += [edits(name, "calc.py", "def add(a, b):\n", f"def add(a, b):  # {name}\n"), worker_ends(name)]
        review = reviews(name).model_copy(update={"delay_s": 2.0 * (name == "right")})
        items += [review, writes(name, "calc.py", both), worker_ends(name), reviews(name)]
    start = goal(place)
    write_script(place / "script.json", [*items, planner_ends(), judges()])
    return replace(start, words=(*start.words, "--max-workers", "1"))


def rivals(place: Path) -> Start:
    """A task that two workers try, and of whose results the judge chooses the second."""
    items = [plans("root", {"key": "a", "best_of": 2})]
    for name in ("a", "a-2"):
        items += [writes(name, "a.txt", f"{name}\n"), worker_ends(name), reviews(name)]
    items.append(uses("judge", "a", "submit_verdict", chosen="a-2", reasons=["it is plainer"]))
    start = goal(place)
    write_script(place / "script.json", [*items, planner_ends(), judges()])
    return replace(start, words=(*start.words, "--max-workers", "1"))


def goal_of_eight(place: Path) -> Start:
    """Eight tasks, with hooks, notifications and a push."""
    start = goal(place, *"bcdefg")
    bare(place / "remote.git", place / "repo")
    config = get_user_config_path({"HOME": str(place)})
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
    first, second = build_file_task_id(step, "b.txt"), build_file_task_id(step, "c.txt")
    items = [
        *(writes(first, "b.txt", "better\n"), worker_ends(first)),
        *(writes(second, "c.txt", "worse\n"), worker_ends(second)),
        *(writes(second, "c.txt", "best\n"), worker_ends(second)),
    ]
    model = write_script(place / "script.json", items)
    start = _recipe(place)
    return replace(start, words=(*start.words, "--model", f"worker={model}"))


def shards(place: Path) -> Start:
    """A migration of three shards that land at once, a commit each, but for one file."""
    files = {f"{name}/{number}.txt": "old" for name in "abc" for number in (1, 2)}
    texts(place / "repo", files | {"b/1.txt": "older"})
    (place / "r.toml").write_text(SHARDS)
    return _recipe(place)


def taking_back(place: Path) -> Start:
    """Three shards have landed, and two are to be taken back: one that the rest needs, and one that it does not."""
    needs = {"b_needs_a": "first('b/1.txt') == 'old' or first('a/1.txt') == 'new'"}
    return _told(_directories(place, needs, SHARDS), ("rollback", "latest", "a", "c", "--reason", "too slow"))


def groups(place: Path) -> Start:
    """Three shards have a pull request and a pushed branch each, of which two may be open at a time."""
    start = _directories(place, {}, GROUPS)
    bare(place / "remote.git", place / "repo")
    config = get_user_config_path({"HOME": str(place)})
    config.parent.mkdir(parents=True)
    config.write_text('[pr]\npush = "origin"\n')
    return start


def groups_taken_back(place: Path) -> Start:
    """Of two open pull requests one loses the shard that it was for, and a person wants the third to be opened, too."""
    return _told(groups(place), ("rollback", "latest", "a"), ("publish", "latest", "c"))


def worlds(place: Path) -> Start:
    """A migration whose old and new world are each set up by commands of the recipe."""
    repository(place / "repo", {".gitignore": "vendor/\n", "a.txt": "old\n", "b.txt": "old\n"})
    (place / "r.toml").write_text(WORLDS)
    start = _recipe(place)
    return replace(start, words=(*start.words, "--set", 'hands.registries=["registry.test:443"]'))


def _directories(place: Path, tests: Mapping[str, str], recipe: str) -> Start:
    """Two files in each of three directories, and what has to hold of them all."""
    files = {f"{name}/{number}.txt": "old\n" for name in "abc" for number in (1, 2)}
    project(place / "repo", {"word": "first('c/1.txt') in ('old', 'new')"} | dict(tests), files)
    (place / "r.toml").write_text(recipe)
    return _recipe(place)


def _recipe(place: Path) -> Start:
    where = ("--repo", str(place / "repo"), "--state", str(place / "state"))
    return Start(("migrate", "run", str(place / "r.toml")), where, place, environment(place))


def _told(start: Start, *commands: Sequence[str]) -> Start:
    """The migration has come to its end, and the next process hears what people say of it."""
    ended = start.to_the_end()[0]
    assert ended.code == 0, ended.err
    for command in commands:
        told = orchestrate("migrate", *command, "--no-wake", *start.where, cwd=start.cwd, env=start.env)
        assert told.code == 0, told.err
    return replace(start, words=("resume",))
