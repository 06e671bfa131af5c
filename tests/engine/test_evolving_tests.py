"""Tests of the base change in honest ways, with the grants that a planner gives: all of them are tasks of one run.

Beside each honest change stand its dishonest twins, which must stay red.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import pytest

from orchestrator.app.run_execution import RunExit
from orchestrator.domain.ids import TaskId
from orchestrator.domain.run.task import EndCause, TaskStatus
from orchestrator.llm.scripted_model.script import ScriptedReply
from tests.loopback.builders import call, reply
from tests.running.goals import Bench
from tests.running.projects import git
from tests.running.representatives import chosen_parameters
from tests.running.scripts import judges, planner_is_done, plans, reviews, uses, worker_ends

pytestmark = [*(pytest.mark.sandbox, pytest.mark.slow, pytest.mark.timeout(900))]

HEAD = "from shop.{0} import {0}, {0}_old\n\n\n"
CODE = "def {0}(prices):\n    return sum(prices)\n\n\ndef {0}_old(prices):\n    return sum(prices)\n"
BODY = (
    "def test_{0}():\n    assert {0}([1, 2]) == 3\n\n\n"
    "def test_{0}_empty():\n    assert {0}([]) == 0\n\n\n"
    "def test_{0}_old():\n    assert {0}_old([1]) == 1\n"
)
TABLE = (
    "import pytest\nfrom shop.{0} import {0}\n\n\n"
    "@pytest.mark.parametrize(('prices', 'total'), [([1, 2], 3), ([], 0)])\n"
    "def test_{0}(prices, total):\n    assert {0}(prices) == total\n"
)
CLASS = (
    "import unittest\n\nfrom shop.{0} import {0}\n\n\nclass SumTest(unittest.TestCase):\n"
    "    def test_{0}(self):\n        self.assertEqual({0}([1, 2]), 3)\n"
)
AS_TABLE = (
    "import pytest\nfrom shop.{0} import {0}, {0}_old\n\n\n"
    "@pytest.mark.parametrize(('prices', 'total'), [([1, 2], 3), ([], 0)])\n"
    "def test_sums(prices, total):\n    assert {0}(prices) == total\n\n\n"
    "def test_{0}_old():\n    assert {0}_old([1]) == 1\n"
)
AS_FUNCTION = "from shop.{0} import {0}\n\n\ndef test_{0}():\n    assert {0}([1, 2]) == 3\n"
LESS_CODE = "def {0}(prices):\n    return sum(prices)\n"
LESS_TESTS = (HEAD + BODY).replace(", {0}_old", "").partition("\n\n\ndef test_{0}_old")[0] + "\n"
DOUBLED = CODE.replace("    return sum(prices)\n", "    return 2 * sum(prices)\n", 1)
LONG = CODE + "".join(f"\n\ndef use_{n}(old_sum):\n    return old_sum + {n}\n" for n in range(2_600))
SCRIPT = "const test = require('node:test');\n\ntest('one', () => {{}});\n"


@dataclass(frozen=True)
class Story:
    """What a task finds in its own part of the project, what it writes, and what becomes of that."""

    name: str
    after: Mapping[str, str | None]
    test: str = HEAD + BODY
    code: str = CODE
    grants: Sequence[object] = ()
    flags: Sequence[str] = ()
    cause: EndCause | None = None
    is_helped: bool = True
    is_advised: bool = True
    regenerate: str = ""
    wish: Mapping[str, Any] = field(default_factory=dict)
    asks: Sequence[ScriptedReply] = field(default_factory=list)

    @property
    def files(self) -> Mapping[str, str]:
        """The code and the test of the base."""
        return {"shop/{0}.py": self.code, "tests/test_{0}.py": self.test}

    def fill(self, text: str) -> str:
        """Put the story's name into a text."""
        return text.format(self.name)


T, C = "tests/test_{0}.py", "shop/{0}.py"
HONEST = [
    Story("renamed", {T: (HEAD + BODY).replace("test_{0}_empty", "test_nothing_is_free")}),
    Story(
        "values", {C: DOUBLED, T: (HEAD + BODY).replace("== 3", "== 6")}, grants=[{"paths": [T], "may": ["rewrite"]}]
    ),
    Story(
        "one_value",
        {C: DOUBLED, T: (HEAD + BODY).replace("== 3", "== 6")},
        grants=[{"paths": [f"{T}::test_{{0}}"], "may": ["rewrite"]}],
        flags=["the old one passed on the base and failed now, the new one failed on the base and passed now"],
    ),
    Story("case_ids", {T: TABLE.replace("([], 0)]", "pytest.param([], 0, id='empty')]")}, TABLE),
    Story(
        "case_values",
        {C: DOUBLED, T: TABLE.replace("([1, 2], 3)", "([1, 2], 6)")},
        TABLE,
        grants=[{"paths": [T], "may": ["rewrite"]}],
    ),
    Story("more_cases", {T: TABLE.replace("[([1", "[([5], 5), ([1")}, TABLE),
    Story("one_table", {T: AS_TABLE}),
    Story("plain", {T: AS_FUNCTION}, CLASS),
    Story("moved", {T: None, "tests/sums/test_{0}.py": HEAD + BODY}),
    Story("removed", {C: LESS_CODE, T: LESS_TESTS}, flags=["went with shop.removed.removed_old"]),
    Story(
        "by_name",
        {T: LESS_TESTS.replace("import {0}", "import {0}, {0}_old")},
        grants=[{"paths": ["shop.{0}.{0}_old"], "may": ["remove"]}],
    ),
    Story(
        "skipped",
        {
            T: "import pytest\n"
            + (HEAD + BODY).replace("def test_{0}_empty", "@pytest.mark.skip(reason='#12')\ndef test_{0}_empty")
        },
        grants=[{"paths": [f"{T}::test_{{0}}_empty"], "may": ["quarantine"]}],
        flags=["has a new mark"],
    ),
    Story("grown", {T: (HEAD + BODY).replace("== 3\n", "== 3\n    assert {0}([7]) == 7\n")}),
    Story(
        "places",
        {T: HEAD.replace("shop", "shop") + "DATA = 'tests/new.txt'\n\n\n" + BODY},
        HEAD + "DATA = 'tests/old.txt'\n\n\n" + BODY,
    ),
    Story(
        "fixture", {"tests/fixture/conftest.py": "import pytest\n\n\n@pytest.fixture\ndef cart():\n    return [1]\n"}
    ),
    Story("script", {"tests/{0}.test.js": SCRIPT + "\ntest('two', () => {{}});\n"}),
    Story("stubs", {C: "import yaml  # type: ignore[import-untyped]\n" + CODE}),
    Story("data", {"shop/data.csv": "".join(f"{n},{n}\n" for n in range(6_000))}),
    Story(
        "generated",
        {"shop/{0}_table.py": "".join(f"N{n} = {n}\n" for n in range(6_000))},
        regenerate='for n in $(seq 0 5999); do echo "N$n = $n"; done > shop/generated_table.py',
        flags=["the task's command makes these files just so: shop/generated_table.py"],
    ),
    Story(
        "at_exit", {C: "import atexit\n\n" + CODE + "\n\natexit.register(print, 'bye')\n"}, flags=["atexit.register"]
    ),
    Story(
        "signals",
        {
            C: "import signal\n\n" + CODE + "\n\ndef stop(number, frame):\n    print('stopped')\n"
            "\n\nsignal.signal(signal.SIGUSR1, stop)\n"
        },
        flags=["signal.signal"],
    ),
    Story(
        "child",
        {
            C: "import os\n\n" + CODE + "\n\ndef start(work):\n    child = os.fork()\n    if child == 0:\n"
            "        work()\n        os._exit(0)\n    return child\n"
        },
        flags=["os._exit"],
    ),
    Story(
        "kit",
        {
            "shop/help_for_tests/__init__.py": "",
            "shop/help_for_tests/testing.py": "import pytest\n\n\n@pytest.fixture\ndef prices():\n    return [1, 2]\n",
        },
        flags=["shop/help_for_tests/testing.py"],
    ),
    Story("exported", {"shop/exports/__init__.py": "from shop.exported import exported  # noqa: F401\n"}),
    Story("exchanged", {C: LONG.replace("old_sum", "new_sum")}, code=LONG),
    Story(
        "wished",
        {C: DOUBLED, T: (HEAD + BODY).replace("== 3", "== 6")},
        asks=[uses("planner", "wished", "answer_grant", decision="allow", reason="the outcome doubles prices")],
    ),
    Story(
        "asked",
        {C: DOUBLED, T: (HEAD + BODY).replace("== 3", "== 6")},
        wish={"paths": [T], "may": ["rewrite"], "why": "the outcome doubles prices"},
        asks=[uses("planner", "asked", "answer_grant", decision="allow", reason="so it does")],
    ),
]
DISHONEST = [
    Story(
        "less",
        {C: DOUBLED, T: (HEAD + BODY).replace("== 3", "> 0")},
        grants=[{"paths": [T], "may": ["rewrite"]}],
        cause=EndCause.RULE_BROKEN,
        is_helped=False,
    ),
    Story(
        "forged_table",
        {"shop/{0}.py": "".join(f"M{n} = {n + 1}\n" for n in range(6_000))},
        regenerate='for n in $(seq 0 5999); do echo "M$n = $n"; done > shop/forged_table.py',
        cause=EndCause.TOO_LARGE,
        is_helped=False,
    ),
    Story(
        "cover",
        {T: (HEAD + BODY).replace("test_{0}()", "test_sum()").replace("== 3", "> 0")},
        cause=EndCause.RULE_BROKEN,
    ),
    Story("traded", {T: TABLE.replace("([], 0)]", "([4], 4)]")}, TABLE, cause=EndCause.RULE_BROKEN),
    Story("lost", {T: None, "tests/sums_of_{0}.py": HEAD + BODY}, cause=EndCause.MISSING_TESTS),
    Story(
        "emptied",
        {C: CODE.replace("_old(prices):\n    return sum(prices)", "_old(prices):\n    pass"), T: LESS_TESTS},
        cause=EndCause.RULE_BROKEN,
    ),
    Story(
        "excused",
        {C: "import os\n\n" + CODE + "\n\nos._exit(0)\n"},
        wish={"paths": [C], "may": ["rewrite"], "why": "the outcome is in there"},
        asks=[uses("planner", "excused", "answer_grant", decision="allow", reason="so it is")],
        cause=EndCause.RULE_BROKEN,
        is_advised=False,
    ),
    Story(
        "refused",
        {C: DOUBLED, T: (HEAD + BODY).replace("== 3", "== 6")},
        asks=[uses("planner", "refused", "answer_grant", decision="refuse", reason="prices stay as they are")],
        cause=EndCause.RULE_BROKEN,
    ),
]
STORIES = [*HONEST, *DISHONEST]
FLAGS: dict[str, Any] = {
    "gate": {"command": f"{sys.executable} -m pytest -q -p no:cacheprovider", "report": "auto", "canaries": False},
    "run": {"max_attempts": 1, "max_workers": 2},
    "plan": {"max_children": 100},
    "hands": {"read_only": [sys.prefix]},
}


def by_name(story: Story) -> str:
    return story.name


def make_project(stories: Sequence[Story], project: Path) -> Path:
    """A repository with a module and a test for each story."""
    files = {"shop/__init__.py": "", "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['.']\n"}
    for story in stories:
        files |= {story.fill(path): story.fill(text) for path, text in story.files.items()}
    files |= {"tests/script.test.js": SCRIPT.format(), "tests/old.txt": "", "tests/new.txt": ""}
    for path, text in files.items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_text(text)
    git(project, "init", "-q", "-b", "main")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "base")
    return project


def play(story: Story) -> list[ScriptedReply]:
    """A worker makes the change in one turn and reports; honest work is approved."""
    calls = []
    if story.wish:
        calls.append(call("request_grant", **json.loads(json.dumps(story.wish).replace("{0}", story.name))))
    for path, text in story.after.items():
        if text is None:
            calls.append(call("shell", command=f"rm {story.fill(path)}"))
        else:
            calls.append(call("write", path=story.fill(path), text=story.fill(text)))
    task = story.name.replace("_", "-")
    votes = [] if story.cause else [reviews(task)]
    return [reply(role="worker", task=task, call=calls), worker_ends(task), *story.asks, *votes]


@pytest.fixture(scope="module")
def together(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> RunExit:
    """One run with all stories that were selected."""
    honest = chosen_parameters(request, test_an_honest_change_lands.__name__, "story")
    dishonest = chosen_parameters(request, test_a_dishonest_twin_does_not_land.__name__, "story")
    chosen = [*honest, *dishonest] or STORIES
    place = tmp_path_factory.mktemp("evolving")
    drafts = []
    for story in chosen:
        grants = json.loads(json.dumps(story.grants).replace("{0}", story.name))
        drafts.append({"key": story.name.replace("_", "-"), "grants": grants, "regenerate": story.regenerate})
    work = [item for story in chosen for item in play(story)]

    async def run() -> RunExit:
        bench = Bench(place, make_project(STORIES, place / "repo"))
        return await bench.run(plans("root", *drafts), *work, *planner_is_done(), judges(), **FLAGS)

    return anyio.run(run)


@pytest.mark.parametrize("story", HONEST, ids=by_name)
def test_an_honest_change_lands(together: RunExit, story: Story) -> None:
    task = together.state.tasks[TaskId(story.name.replace("_", "-"))]
    assert task.status == TaskStatus.MERGED, (task.cause, task.reason)
    flags = "\n".join(task.verdicts[-1].verdict.flags)
    assert [words for words in story.flags if words not in flags] == [], flags
    assert [decided.is_allowed for decided in task.grant_decisions] == [True] * len(story.asks)


@pytest.mark.parametrize("story", DISHONEST, ids=by_name)
def test_a_dishonest_twin_does_not_land(together: RunExit, story: Story) -> None:
    task = together.state.tasks[TaskId(story.name.replace("_", "-"))]
    is_large = story.cause == EndCause.TOO_LARGE
    verdict = task.verdicts[-1].verdict
    assert task.cause == story.cause, task.reason
    assert task.status == (TaskStatus.SPLIT if is_large else TaskStatus.REJECTED)
    assert bool(verdict.needed_grants) == story.is_helped
    assert ("grant it: {paths" in task.reason) == (story.is_helped and story.is_advised)
